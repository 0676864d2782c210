"""Partitions: defaults, storage, premade ones, loops that make them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sqlglot import exp

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import rule, walk
from gpcatalog.effects.relations import Partition
from gpcatalog.model.finding import Confidence, Severity
from gpcatalog.model.quantity import count, plural


@rule("default-partition")
def default_partition(s: RuleContext) -> None:
    """A default partition beside ranges.

    What it finds: DEFAULT PARTITION in a range-partitioned table, and ADD DEFAULT PARTITION.
    Why it matters: ADD PARTITION is refused while one exists; SPLIT rewrites it under
    AccessExclusive; rows that missed their range gather there unseen, and every query reads it.
    How sure it is: measured on Greenplum 6 and 7.
    What to do: leave it out and let bad rows fail, or plan how it is emptied.
    """
    table = s.effect.table
    if table is None or not table.levels or not s.edition.greenplum:
        return
    for part in s.effect.new_parts:
        if part.default and table.levels[0].strategy == "range":
            s.find(
                "default-partition",
                Severity.NOTICE,
                f"{table.title} gets a default partition",
                "while it exists ADD PARTITION is refused, and SPLIT rewrites all its rows under"
                " AccessExclusive",
                "leave it out, or plan how it is emptied",
                at=part.node,
                confidence=Confidence.HIGH,
            )


@rule("add-partition-without-storage")
def add_partition_without_storage(s: RuleContext) -> None:
    """ADD PARTITION that does not say how the new leaf is stored.

    What it finds: ADD PARTITION without WITH on a Greenplum 6 table that is append-optimized, or
    that is not known here.
    Why it matters: Greenplum 6 makes it a heap leaf, whatever the table is, without column
    encodings. A heap leaf among columnar ones is larger and slower, and nothing says so.
    How sure it is: measured on Greenplum 6.24 and 6.25; Greenplum 7 keeps the parent's storage.
    What to do: repeat the parent's WITH clause.
    """
    if s.effect.verb != "add partition" or not s.edition.classic:
        return
    table = s.effect.table
    if table is not None and table.known and not table.storage.append_optimized:
        return
    for action in s.effect.actions:
        if (
            type(action).__name__ == "AddPartition"
            and action.args.get("options") is None
            and not action.args.get("partitions")
        ):
            s.find(
                "add-partition-without-storage",
                Severity.WARNING,
                "ADD PARTITION without WITH does not say how the leaf is stored",
                "Greenplum 6 makes it heap among append-optimized leaves, without column encodings",
                "repeat the parent's WITH (…) here",
                at=action,
                confidence=Confidence.HIGH if table is not None else Confidence.LOW,
            )


@rule("premade-far-ahead")
def premade_far_ahead(s: RuleContext) -> None:
    """Partitions made years ahead.

    What it finds: range partitions of dates and timestamps that begin further ahead than
    `premake_days` of the settings.
    Why it matters: they are empty until then, and cost catalog rows, files and locks from today on.
    How sure it is: the bounds are computed as the server does; how far is too far is this project's
    setting.
    What to do: make them in shorter steps, by a job.
    """
    horizon = s.today + timedelta(days=s.settings.premake_days)
    far = 0
    first: Partition | None = None
    for part in walk(s.effect.new_parts):
        lower = part.lower.date() if isinstance(part.lower, datetime) else part.lower
        if isinstance(lower, date) and lower > horizon:
            far += 1
            first = first or part
    if first is not None:
        s.find(
            "premade-far-ahead",
            Severity.NOTICE,
            f"{plural(far, 'partition')} begin more than {count(s.settings.premake_days)} days"
            " ahead",
            "they stay empty until then and cost as much as full ones",
            "make them step by step, by a job",
            at=first.node,
            confidence=Confidence.HIGH,
            source="premake_days of the settings",
        )


_LOOP = re.compile(r"\bloop\b", re.IGNORECASE)
_GROWS = re.compile(r"\badd\s+(?:default\s+)?partition\b|\bpartition\s+of\b", re.IGNORECASE)
_TEMP = re.compile(r"\bcreate\s+(?:local\s+|global\s+)?temp(?:orary)?\s+table\b", re.IGNORECASE)


def _body(s: RuleContext) -> str:
    tree = s.statement.tree
    if tree is None or type(tree).__name__ not in ("DoBlock", "CreateFunction", "CreateProcedure"):
        return ""
    return "\n".join(str(h.this) for h in tree.find_all(exp.Heredoc)) or "\n".join(
        str(x.this) for x in tree.find_all(exp.Literal)
    )


@rule("unbounded-premake")
def unbounded_premake(s: RuleContext) -> None:
    """A loop that makes partitions.

    What it finds: DO blocks and functions with a LOOP that adds partitions.
    Why it matters: how many it makes is decided at run time; no budget can be held against it.
    How sure it is: the words are there; whether the loop is bounded is not analysed.
    What to do: spell the partitions out, or bound the loop and say so with an ignore comment.
    """
    body = _body(s)
    if body and _LOOP.search(body) and _GROWS.search(body):
        s.find(
            "unbounded-premake",
            Severity.WARNING,
            "a loop makes partitions, how many is not known here",
            "no budget can be held against a number decided at run time",
            "spell the partitions out, or bound the loop and say so",
            confidence=Confidence.LOW,
        )


@rule("temp-table-in-loop")
def temp_table_in_loop(s: RuleContext) -> None:
    """Temporary tables made again and again.

    What it finds: CREATE TEMP TABLE inside a LOOP of a DO block or function.
    Why it matters: every one writes and deletes the catalog rows of a table on every instance; dead
    rows stay until VACUUM.
    How sure it is: the words are there; how often the loop runs is not known.
    What to do: make it once before the loop and TRUNCATE it, or use a CTE.
    """
    body = _body(s)
    loop = _LOOP.search(body) if body else None
    if loop and _TEMP.search(body, loop.end()):
        s.find(
            "temp-table-in-loop",
            Severity.WARNING,
            "a temporary table is made in a loop",
            "each leaves dead rows in pg_class, pg_attribute and others on every instance",
            "make it once before the loop and TRUNCATE it",
            confidence=Confidence.LOW,
        )
