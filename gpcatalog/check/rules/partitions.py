"""Partitions: default partitions, storage, partitions created in advance, loops that create
them.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sqlglot import exp

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import rule, walk
from gpcatalog.effects.effect import BLOCK_UNKNOWN
from gpcatalog.effects.relations import Partition
from gpcatalog.model.finding import Confidence, Severity
from gpcatalog.model.quantity import count, plural


@rule("default-partition")
def default_partition(s: RuleContext) -> None:
    """A range-partitioned table gets a default partition.

    What it finds: DEFAULT PARTITION in a range-partitioned table, and ADD DEFAULT PARTITION.
    Why it matters: ADD PARTITION fails while a default partition exists, and SPLIT rewrites it
    under an AccessExclusiveLock. Rows outside all ranges collect there unnoticed, and queries
    cannot prune it.
    How sure it is: high: measured on Greenplum 6 and 7.
    What to do: do not create it and let wrong rows fail, or plan how to empty it.
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
                "while it exists, ADD PARTITION fails and SPLIT rewrites its rows under an"
                " AccessExclusiveLock",
                "do not create it, or plan how to empty it",
                at=part.node,
                confidence=Confidence.HIGH,
            )


@rule("add-partition-without-storage")
def add_partition_without_storage(s: RuleContext) -> None:
    """ADD PARTITION does not specify the storage of the new leaf.

    What it finds: ADD PARTITION without WITH on a Greenplum 6 table that is append-optimized or
    unknown.
    Why it matters: Greenplum 6 creates a heap leaf without column encodings, without a warning. A
    heap leaf is larger and slower than a column-oriented one.
    How sure it is: high: measured on Greenplum 6.24 and 6.25. Greenplum 7 uses the storage of the
    parent.
    What to do: repeat the WITH clause of the parent.
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
                "ADD PARTITION without WITH does not specify the storage of the leaf",
                (
                    "Greenplum 6 creates a heap leaf without column encodings, even in an"
                    " append-optimized table"
                ),
                "repeat the WITH clause of the parent",
                at=action,
                confidence=Confidence.HIGH if table is not None else Confidence.LOW,
            )


@rule("premade-far-ahead")
def premade_far_ahead(s: RuleContext) -> None:
    """Partitions are created far in advance.

    What it finds: range partitions of dates and timestamps that begin later than `premake_days`
    from today.
    Why it matters: they are empty until then, but need catalog rows, files and locks from today on.
    How sure it is: the bounds are computed as the server does it. The limit is a setting of this
    project.
    What to do: create fewer partitions at a time with a scheduled job.
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
            f"{plural(far, 'partition begins', 'partitions begin')} more than"
            f" {count(s.settings.premake_days)} days ahead",
            (
                "they are empty until then, but need as many catalog rows, files and locks as"
                " full ones"
            ),
            "create fewer partitions at a time with a scheduled job",
            at=first.node,
            confidence=Confidence.HIGH,
            source="setting premake_days",
        )


_LOOP = re.compile(r"\bloop\b", re.IGNORECASE)
_GROWS = re.compile(r"\badd\s+(?:default\s+)?partition\b|\bpartition\s+of\b", re.IGNORECASE)
_TEMP = re.compile(r"\bcreate\s+(?:local\s+|global\s+)?temp(?:orary)?\s+table\b", re.IGNORECASE)


_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_STEP = re.compile(
    rf"(?P<end>\bend\s+loop\b)|(?P<loop>{_LOOP.pattern})|(?P<temp>{_TEMP.pattern})", re.IGNORECASE
)


def _in_loop(body: str) -> bool:
    """Whether CREATE TEMP TABLE occurs between LOOP and its END LOOP; comments are ignored."""
    depth = 0
    for step in _STEP.finditer(_COMMENT.sub(" ", body)):
        if step["temp"] and depth > 0:
            return True
        depth += {"loop": 1, "end": -1}.get(step.lastgroup or "", 0)
    return False


def _body(s: RuleContext) -> str:
    tree = s.statement.tree
    if tree is None or type(tree).__name__ not in ("DoBlock", "CreateFunction", "CreateProcedure"):
        return ""
    return "\n".join(str(h.this) for h in tree.find_all(exp.Heredoc)) or "\n".join(
        str(x.this) for x in tree.find_all(exp.Literal)
    )


@rule("unbounded-premake")
def unbounded_premake(s: RuleContext) -> None:
    """A loop creates partitions.

    What it finds: functions with a LOOP that adds partitions, and DO blocks with one whose number
    of partitions depends on the database.
    Why it matters: the number of partitions is known only at run time, so it cannot be checked
    against a budget.
    How sure it is: low: the keywords were found. Whether the loop of a function has a limit is not
    analyzed.
    What to do: write the partitions explicitly, or limit the loop and add an ignore comment.
    """
    body = _body(s)
    if type(s.statement.tree).__name__ == "DoBlock" and BLOCK_UNKNOWN not in s.effect.unknown:
        return  # its partitions are counted
    if body and _LOOP.search(body) and _GROWS.search(body):
        s.find(
            "unbounded-premake",
            Severity.WARNING,
            "a loop creates an unknown number of partitions",
            "a number that is known only at run time cannot be checked against a budget",
            "write the partitions explicitly, or limit the loop and add an ignore comment",
            confidence=Confidence.LOW,
        )


@rule("temp-table-in-loop")
def temp_table_in_loop(s: RuleContext) -> None:
    """A loop creates temporary tables.

    What it finds: CREATE TEMP TABLE inside a LOOP of a DO block or function.
    Why it matters: each table adds and removes catalog rows on every instance. The dead rows remain
    until VACUUM.
    How sure it is: low: the keywords were found. How often the loop runs is not known.
    What to do: create the table once before the loop and TRUNCATE it, or use a WITH query.
    """
    body = _body(s)
    if _in_loop(body):
        s.find(
            "temp-table-in-loop",
            Severity.WARNING,
            "a loop creates a temporary table",
            (
                "each one leaves dead rows in pg_class, pg_attribute and other catalogs on every"
                " instance"
            ),
            "create it once before the loop and TRUNCATE it",
            confidence=Confidence.LOW,
        )
