"""The rules of the check: each is one function whose docstring is its page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity import limits
from gpcatalog.capacity.model import FILLED, Instance, relation_files
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.expansion import options_of
from gpcatalog.ddl.relations import Partition
from gpcatalog.ddl.script import Outcome
from gpcatalog.errors import CatalogError
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.names import NAMEDATALEN
from gpcatalog.model.quantity import count, plural
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.ddl.check import Ignore, Subject

Check = Callable[["Subject"], None]
PARTS = ("What it finds", "Why it matters", "How sure it is", "What to do")
# About what was written, not about what it costs: no comment excuses these
NEVER_IGNORED = frozenset(("syntax-error", "ignore-without-reason", "ignore-unused", "ignore-unknown-rule"))
DEFAULT_LOCK_SLOTS = 128 * 250  # max_locks_per_transaction × max_connections as Greenplum is installed

_RULES: dict[str, Check] = {}


def rule(id: str) -> Callable[[Check], Check]:
    """Register a rule under its id."""

    def keep(check: Check) -> Check:
        _RULES[id] = check
        return check

    return keep


def every() -> dict[str, Check]:
    """All rules by id."""
    return dict(sorted(_RULES.items()))


def page(id: str) -> dict[str, str]:
    """A rule's docstring: its title under "", then its four parts. Raises CatalogError when no rule has this id."""
    check = _RULES.get(id)
    if check is None:
        raise CatalogError(f"no rule is called {id}", hint="`gpcatalog check --rules` lists them")
    pieces = re.split(rf"^({'|'.join(PARTS)}):", inspect.getdoc(check) or "", flags=re.MULTILINE)
    found = {"": pieces[0].strip()}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        found[name] = " ".join(body.split())
    return found


def _created(s: Subject) -> exp.Create | None:
    """The CREATE TABLE under judgement, when it is one."""
    tree = s.statement.tree
    return tree if isinstance(tree, exp.Create) and tree.args.get("kind") == "TABLE" and s.effect.table is not None else None


def _property(tree: exp.Create, kind: type[exp.Expression]) -> exp.Expression | None:
    properties = tree.args.get("properties")
    return next((p for p in properties.expressions if isinstance(p, kind)), None) if properties is not None else None


def _name(tree: exp.Create) -> exp.Expression:
    found = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    assert isinstance(found, exp.Expression)
    return found


# --- what could not be read -------------------------------------------------------------------------------------------


@rule("syntax-error")
def syntax_error(s: Subject) -> None:
    """A statement that the server will refuse.

    What it finds: text that the grammar of the chosen server does not take, with the place and what could have stood there.
    Why it matters: the migration stops there, and what ran before it stays unless it was in one transaction.
    How sure it is: the grammar is held against live servers; a statement it refuses was refused by them in every known case.
    What to do: correct it, or name the right server with --server.
    """
    fault = s.statement.fault
    if s.statement.outcome is not Outcome.ERROR or fault is None:
        return
    expected = ", ".join(fault.expected[:8])
    s.find(
        "syntax-error",
        Severity.CRITICAL,
        fault.message,
        f"expected {expected}" if expected else "the text ends or breaks off here",
        "correct the statement, or name the right server with --server",
        at=_At(fault.offset, fault.offset + max(1, len(fault.found))),
        confidence=Confidence.HIGH,
    )


class _At:
    """A place in the text for a finding that has no node."""

    def __init__(self, start: int, end: int) -> None:
        self._meta = {"start": start, "end": end}


@rule("not-understood")
def not_understood(s: Subject) -> None:
    """A statement of a kind that is not known here.

    What it finds: statements that begin as no statement of the chosen server's grammar does.
    Why it matters: what is not understood is not checked; passing it over in silence would be a lie.
    How sure it is: certain that it was not checked; the server may take it all the same.
    What to do: check it by hand, and say so with an ignore comment.
    """
    if s.statement.outcome is Outcome.NOT_UNDERSTOOD:
        words = " ".join(s.statement.words).upper()
        s.find(
            "not-understood",
            Severity.WARNING,
            f"{words}: not understood, so not checked",
            "no statement of this server begins so",
            "check it by hand",
            confidence=Confidence.HIGH,
        )


@rule("cost-unknown")
def cost_unknown(s: Subject) -> None:
    """A statement whose cost cannot be told from the text.

    What it finds: DDL on tables that neither the files nor a baseline know, values that only the server can compute.
    Why it matters: the totals are then a lower bound, and budgets hold only for the rest.
    How sure it is: certain; the reason is named.
    What to do: give a baseline snapshot, or check the files that create the table together with this one.
    """
    if s.effect.unknown and s.effect.verb:
        reasons = "; ".join(dict.fromkeys(s.effect.unknown))
        s.find(
            "cost-unknown",
            Severity.INFO,
            f"what this adds is not fully known: {reasons}",
            "the totals leave it out",
            "give --baseline, or check the files that create the table together with this one",
            confidence=Confidence.HIGH,
        )


# --- budgets ----------------------------------------------------------------------------------------------------------


@rule("budget-exceeded")
def budget_exceeded(s: Subject) -> None:
    """More leaves, files or catalog rows than the project allows.

    What it finds: tables whose leaves, files on a segment or a host, or catalog rows go over [table]; the whole change over
    [change]; and with a baseline the cluster over [total].
    Why it matters: the catalogs and files of a cluster are shared by all its tables, and partitions are easier made than removed.
    How sure it is: counts are exact where the statement could be weighed; it says when it could not.
    What to do: make coarser partitions, drop what is empty, or raise the budget on purpose.
    """
    from gpcatalog.ddl.check import _cost, over_budget

    table = s.effect.table
    if table is None or not s.effect.leaves_made:
        return
    cost = _cost(s.effect, s.edition)
    if s.effect.verb != "create" and table.parts:
        import msgspec

        cost = msgspec.structs.replace(cost, leaves=len(table.leaves()))
    for finding in over_budget(f"table {table.title}", s.settings.table, cost, s.settings):
        s.findings.append((finding, s.statement.start, s.statement.end))


@rule("leaves-over-guideline")
def leaves_over_guideline(s: Subject) -> None:
    """More leaves in one table than the server's makers advise, or than a level can hold.

    What it finds: tables with more than 20,000 leaves, and levels with more than 32,767 partitions.
    Why it matters: every query on the table plans over its leaves, every DDL locks them, every instance keeps their catalog rows.
    How sure it is: leaves are counted by spelling out the partitions as the server does; the limits are the documentation's.
    What to do: choose a coarser step, or fewer levels.
    """
    table = s.effect.table
    over = next((u for u in s.effect.unknown if u.startswith("more than")), "")
    if over:
        s.find(
            "leaves-over-guideline",
            Severity.CRITICAL,
            f"this makes {over}",
            f"a level holds at most {count(limits.LEAVES_PER_LEVEL.value)}",
            "choose a coarser step or fewer levels",
            confidence=Confidence.HIGH,
            source=limits.LEAVES_PER_LEVEL.source,
        )
        return
    if table is None or not s.effect.leaves_made or not table.parts:
        return
    leaves = len(table.leaves())
    widest = max(len(table.parts), *(len(p.children) for p in table.relations()), 0)
    for amount, limit, severity in (
        (widest, limits.LEAVES_PER_LEVEL, Severity.CRITICAL),
        (leaves, limits.LEAVES_PER_TABLE, Severity.WARNING),
    ):
        if amount > limit.value:
            s.find(
                "leaves-over-guideline",
                severity,
                f"{table.title} has {plural(amount, 'leaf', 'leaves')}, {limit.note or limit.id} is {count(limit.value)}",
                "planning, locking and the catalogs of every instance grow with it",
                "choose a coarser step or fewer levels",
                confidence=Confidence.HIGH,
                figures=(Figure("leaves", amount, "leaves", "derived"), Figure(limit.id, limit.value, limit.unit, "limit")),
                source=limit.source,
            )
            return


@rule("grain-too-fine")
def grain_too_fine(s: Subject) -> None:
    """One EVERY that makes very many partitions.

    What it finds: a range spelled out by EVERY into more partitions than `every_parts` of the settings.
    Why it matters: the cost of a partition does not depend on how little it holds.
    How sure it is: the count is exact; that it is too many is this project's own setting.
    What to do: take the next coarser step; a week of days costs seven times a week.
    """
    tree = s.statement.tree
    if tree is None or s.effect.table is None:
        return
    seen: dict[int, int] = {}
    nodes: dict[int, exp.Expression] = {}
    for part in _walk(s.effect.new_parts):
        if part.node is not None:
            key = id(part.node)
            nodes[key] = part.node
            seen[key] = seen.get(key, 0) + 1
    seen = {key: n for key, n in seen.items() if n > 1 and nodes[key].find(gx.PartitionEvery) is not None}
    for key, number in seen.items():
        bound = nodes[key].args.get("bound")
        parents = 1 if nodes[key].args.get("role") != "SUBPARTITION" and not isinstance(nodes[key], gx.TemplateElement) else None
        if parents is None:
            parents = max(1, sum(1 for p in _walk(s.effect.new_parts) if any(id(c.node) == key for c in p.children)))
        each = number // parents
        if each <= s.settings.every_parts or bound is None:
            continue
        step = bound.args["every"].sql("greenplum")
        s.find(
            "grain-too-fine",
            Severity.WARNING,
            f"{step} makes {plural(each, 'partition')} over this span",
            "each costs the same in catalog rows, files and locks, however little it holds",
            f"a step {each / s.settings.every_parts:.0f} times as wide or wider stays within {count(s.settings.every_parts)}",
            at=bound.args["every"],
            confidence=Confidence.HIGH,
            figures=(Figure("partitions", each, "leaves", "derived"), Figure("every_parts", s.settings.every_parts, "leaves", "limit")),
            source="every_parts of the settings",
        )


def _walk(parts: list[Partition]) -> list[Partition]:
    return [x for part in parts for x in part.walk()]


@rule("level-cross-product")
def level_cross_product(s: Subject) -> None:
    """Levels of partitions that multiply.

    What it finds: tables of two or more levels whose leaves are more than `cross_leaves` of the settings.
    Why it matters: every value of one level exists under every value of the other, filled or not.
    How sure it is: the count is exact.
    What to do: leave out a level and cluster or index by it, or give the template only to the parts that need it.
    """
    table = s.effect.table
    if table is None or s.effect.verb != "create" or len(table.levels) < 2:
        return
    leaves = len(table.leaves())
    if leaves <= s.settings.cross_leaves:
        return
    sizes = [len(table.parts)]
    below = table.parts
    while below and below[0].children:
        sizes.append(max(len(p.children) for p in below))
        below = below[0].children
    s.find(
        "level-cross-product",
        Severity.WARNING,
        f"{' × '.join(count(n) for n in sizes)} partitions make {plural(leaves, 'leaf', 'leaves')}",
        "every value of one level exists under every value of the other, whether it holds rows or not",
        "leave out a level, or subpartition only the parts that need it",
        confidence=Confidence.HIGH,
        figures=(Figure("leaves", leaves, "leaves", "derived"),),
        source="cross_leaves of the settings",
    )


@rule("columnar-file-explosion")
def columnar_file_explosion(s: Subject) -> None:
    """Many columns times many columnar leaves.

    What it finds: column-oriented tables whose leaves, once they hold rows, come to more files on a segment than
    `filled_columns`, or on a host than the documentation's 100,000.
    Why it matters: the first row of a leaf makes a file for each column on each segment; file systems, backups and recovery
    pay by the file.
    How sure it is: measured: filled files are exact for one writer; each further concurrent writer adds as many again.
    What to do: fewer leaves, row-oriented storage for leaves of few rows, or columnar storage for old leaves only.
    """
    table = s.effect.table
    if table is None or not s.effect.leaves_made or not table.columns:
        return
    columnar = sum(1 for p in table.leaves() if p.storage is Storage.AO_COLUMN) if table.parts else int(table.storage is Storage.AO_COLUMN)
    if not columnar:
        return
    if not table.known:
        return
    shape = table.shape(s.edition, Storage.AO_COLUMN)
    files = columnar * relation_files(s.edition.name, shape, FILLED)
    host = files * -(-s.settings.segments // s.settings.hosts)
    guide = limits.FILES_PER_HOST
    if files <= s.settings.filled_columns and host <= guide.value:
        return
    over = host > guide.value
    s.find(
        "columnar-file-explosion",
        Severity.CRITICAL if over else Severity.WARNING,
        f"{plural(columnar, 'columnar leaf', 'columnar leaves')} of {plural(len(table.columns), 'column')} come to {count(files)} files "
        f"on a segment, {count(host)} on a host, once filled",
        "each column of each leaf is a file on each segment as soon as one row arrives, and again for every concurrent writer",
        "fewer leaves, or row-oriented storage where leaves hold few rows",
        confidence=Confidence.HIGH,
        figures=(
            Figure("files a segment", files, "files", "derived"),
            Figure("files a host", host, "files", "derived"),
            Figure(guide.id, guide.value, guide.unit, "limit"),
        ),
        source=guide.source if over else "filled_columns of the settings",
    )


# --- partitions -------------------------------------------------------------------------------------------------------


@rule("default-partition")
def default_partition(s: Subject) -> None:
    """A default partition beside ranges.

    What it finds: DEFAULT PARTITION in a range-partitioned table, and ADD DEFAULT PARTITION.
    Why it matters: ADD PARTITION is refused while one exists; SPLIT rewrites it under AccessExclusive; rows that missed their range
    gather there unseen, and every query reads it.
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
                "while it exists ADD PARTITION is refused, and SPLIT rewrites all its rows under AccessExclusive",
                "leave it out, or plan how it is emptied",
                at=part.node,
                confidence=Confidence.HIGH,
            )


@rule("add-partition-without-storage")
def add_partition_without_storage(s: Subject) -> None:
    """ADD PARTITION that does not say how the new leaf is stored.

    What it finds: ADD PARTITION without WITH on a Greenplum 6 table that is append-optimized, or that is not known here.
    Why it matters: Greenplum 6 makes it a heap leaf, whatever the table is, without column encodings. A heap leaf among columnar
    ones is larger and slower, and nothing says so.
    How sure it is: measured on Greenplum 6.24 and 6.25; Greenplum 7 keeps the parent's storage.
    What to do: repeat the parent's WITH clause.
    """
    if s.effect.verb != "add partition" or not s.edition.classic:
        return
    table = s.effect.table
    if table is not None and table.known and not table.storage.append_optimized:
        return
    for action in s.effect.actions:
        if type(action).__name__ == "AddPartition" and action.args.get("options") is None and not action.args.get("partitions"):
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
def premade_far_ahead(s: Subject) -> None:
    """Partitions made years ahead.

    What it finds: range partitions of dates and timestamps that begin further ahead than `premake_days` of the settings.
    Why it matters: they are empty until then, and cost catalog rows, files and locks from today on.
    How sure it is: the bounds are computed as the server does; how far is too far is this project's setting.
    What to do: make them in shorter steps, by a job.
    """
    horizon = s.today + timedelta(days=s.settings.premake_days)
    far = 0
    first: Partition | None = None
    for part in _walk(s.effect.new_parts):
        lower = part.lower.date() if isinstance(part.lower, datetime) else part.lower
        if isinstance(lower, date) and lower > horizon:
            far += 1
            first = first or part
    if first is not None:
        s.find(
            "premade-far-ahead",
            Severity.NOTICE,
            f"{plural(far, 'partition')} begin more than {count(s.settings.premake_days)} days ahead",
            "they stay empty until then and cost as much as full ones",
            "make them step by step, by a job",
            at=first.node,
            confidence=Confidence.HIGH,
            source="premake_days of the settings",
        )


_LOOP = re.compile(r"\bloop\b", re.IGNORECASE)
_GROWS = re.compile(r"\badd\s+(?:default\s+)?partition\b|\bpartition\s+of\b", re.IGNORECASE)
_TEMP = re.compile(r"\bcreate\s+(?:local\s+|global\s+)?temp(?:orary)?\s+table\b", re.IGNORECASE)


def _body(s: Subject) -> str:
    tree = s.statement.tree
    if tree is None or type(tree).__name__ not in ("DoBlock", "CreateFunction", "CreateProcedure"):
        return ""
    return "\n".join(str(h.this) for h in tree.find_all(exp.Heredoc)) or "\n".join(str(x.this) for x in tree.find_all(exp.Literal))


@rule("unbounded-premake")
def unbounded_premake(s: Subject) -> None:
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
def temp_table_in_loop(s: Subject) -> None:
    """Temporary tables made again and again.

    What it finds: CREATE TEMP TABLE inside a LOOP of a DO block or function.
    Why it matters: every one writes and deletes the catalog rows of a table on every instance; dead rows stay until VACUUM.
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


# --- distribution and storage -----------------------------------------------------------------------------------------


@rule("distribution-missing")
def distribution_missing(s: Subject) -> None:
    """A table without a distribution clause.

    What it finds: CREATE TABLE and CREATE TABLE AS on Greenplum without DISTRIBUTED, PARTITION OF and INHERITS excepted.
    Why it matters: the server picks the first column that fits, or spreads rows at random, depending on keys, types and
    gp_create_table_random_default_distribution; the choice decides skew and joins.
    How sure it is: certain that it is not said.
    What to do: write DISTRIBUTED BY (…), RANDOMLY or REPLICATED.
    """
    tree = _created(s)
    if tree is None or not s.edition.greenplum or _property(tree, exp.DistributedByProperty) is not None:
        return
    if _property(tree, exp.PartitionedOfProperty) is not None or _property(tree, exp.InheritsProperty) is not None:
        return
    table = s.effect.table
    assert table is not None
    temporary = table.temporary
    s.find(
        "distribution-missing",
        Severity.NOTICE if temporary else Severity.WARNING,
        f"{table.title} has no DISTRIBUTED clause",
        "the server picks a key, or random distribution, by rules that depend on its settings",
        "write DISTRIBUTED BY (…), RANDOMLY or REPLICATED",
        at=_name(tree),
        confidence=Confidence.HIGH,
    )


@rule("distribution-random")
def distribution_random(s: Subject) -> None:
    """A partitioned table spread at random.

    What it finds: DISTRIBUTED RANDOMLY on a partitioned table.
    Why it matters: every join and every grouping on it moves rows between segments.
    How sure it is: certain that it is written; it can be right where no column spreads evenly.
    What to do: choose a column of many values that joins use.
    """
    tree = _created(s)
    if tree is None or s.effect.table is None or s.effect.table.distribution != "random" or not s.effect.table.partitioned:
        return
    s.find(
        "distribution-random",
        Severity.NOTICE,
        f"{s.effect.table.title} is partitioned and distributed randomly",
        "joins and groupings on it move rows between segments",
        "choose a column of many values that joins use",
        at=_property(tree, exp.DistributedByProperty),
    )


@rule("distribution-key-mistake")
def distribution_key_mistake(s: Subject) -> None:
    """A distribution that the server refuses or that cannot spread rows.

    What it finds: DISTRIBUTED REPLICATED with partitions; key columns that the table does not have; a boolean or date as the only
    key; a primary key or unique constraint that leaves a key column out.
    Why it matters: the server refuses some of them when they run; the others put rows on few segments.
    How sure it is: refusals are certain; skew depends on the values.
    What to do: choose a key of many values that every unique key holds.
    """
    tree = _created(s)
    table = s.effect.table
    if tree is None or table is None or not table.distribution:
        return
    at = _property(tree, exp.DistributedByProperty)
    problems: list[tuple[Severity, str]] = []
    if table.distribution == "replicated" and table.partitioned:
        problems.append((Severity.CRITICAL, "a replicated table cannot be partitioned"))
    names = {c.name for c in table.columns}
    if table.known and names and isinstance(tree.this, exp.Schema):
        problems += [
            (Severity.CRITICAL, f"the distribution column {key} is no column of the table")
            for key in table.distribution_keys
            if key not in names
        ]
    types = {c.name: c.type for c in table.columns}
    if len(table.distribution_keys) == 1 and types.get(table.distribution_keys[0]) in ("bool", "date"):
        (key,) = table.distribution_keys
        problems.append((Severity.WARNING, f"the only distribution column {key} is a {types[key]}: few values, few segments"))
    if isinstance(tree.this, exp.Schema) and table.distribution == "hash":
        for constraint in tree.this.expressions:
            kind = constraint.args.get("kind") if isinstance(constraint, gx.TableConstraint) else None
            if isinstance(kind, gx.KeyConstraint) and kind.expressions:
                unique = {c.name.lower() for c in kind.expressions}
                missing = [k for k in table.distribution_keys if k.lower() not in unique]
                if missing:
                    problems.append((Severity.CRITICAL, f"{kind.args['kind']} leaves out the distribution column {missing[0]}"))
    for severity, title in problems:
        s.find(
            "distribution-key-mistake",
            severity,
            title,
            "the server refuses it when it runs" if severity is Severity.CRITICAL else "rows with the same value lie on one segment",
            "choose a key of many values that every unique key holds",
            at=at,
            confidence=Confidence.HIGH if severity is Severity.CRITICAL else Confidence.LOW,
        )


@rule("heap-fact")
def heap_fact(s: Subject) -> None:
    """A partitioned table that is stored as heap.

    What it finds: partitioned tables on Greenplum whose leaves are heap because nothing else is said.
    Why it matters: heap is not compressed and is bloated by updates; facts that are loaded and read are smaller and faster
    append-optimized.
    How sure it is: certain that it is heap; for rows that change often heap is right.
    What to do: WITH (appendoptimized=true, …), or say heap on purpose with appendonly=false or USING heap.
    """
    tree = _created(s)
    table = s.effect.table
    if tree is None or table is None or not table.parts or not s.edition.greenplum:
        return
    said = any(k in table.options for k in ("appendonly", "appendoptimized")) or _property(tree, gx.AccessMethod) is not None
    heap = sum(1 for p in table.leaves() if p.storage is Storage.HEAP)
    if heap and not said and all("appendonly" not in options_of(p.node.args.get("options") if p.node else None) for p in table.leaves()):
        s.find(
            "heap-fact",
            Severity.NOTICE,
            f"{table.title}: {plural(heap, 'leaf', 'leaves')} stored as heap because nothing else is said",
            "heap is not compressed, and updates bloat it",
            "say WITH (appendoptimized=true, …), or heap on purpose",
            at=_name(tree),
            confidence=Confidence.HIGH,
        )


@rule("index-on-append-optimized")
def index_on_append_optimized(s: Subject) -> None:
    """An index on append-optimized leaves.

    What it finds: the first index on an append-optimized table.
    Why it matters: each relation gets a block directory besides the index: 3 more pg_class rows, 14 more of pg_attribute and 3 files.
    How sure it is: measured on Greenplum 6 and 7.
    What to do: weigh it against a scan of one leaf; columnar scans often win.
    """
    table = s.effect.table
    if s.effect.verb != "index" or table is None or not table.known or not table.storage.append_optimized:
        return
    leaves = len(table.leaves()) or 1
    rows = sum(s.effect.rows(s.edition, Instance.SEGMENT).values())
    first = len(table.indexes) == 1
    s.find(
        "index-on-append-optimized",
        Severity.WARNING if leaves > 100 and first else Severity.NOTICE,
        f"the index adds {count(rows)} catalog rows an instance and {count(s.effect.files(s.edition))} files a segment",
        f"{plural(leaves, 'leaf', 'leaves')}" + (" get a block directory besides the index" if first else " get one more index each"),
        "weigh it against a scan of one leaf",
        confidence=Confidence.HIGH,
        figures=(Figure("rows", rows, "rows", "derived"), Figure("leaves", leaves, "leaves", "derived")),
    )


# --- what it does to others -------------------------------------------------------------------------------------------


@rule("drop-wide-root")
def drop_wide_root(s: Subject) -> None:
    """DROP of a table with very many relations.

    What it finds: DROP TABLE whose partitions take more lock slots than `lock_slots` (Greenplum's defaults: 128 × 250).
    Why it matters: every relation is a lock to the end of the transaction on the coordinator and each segment; "out of shared
    memory" ends it. Files are removed one by one.
    How sure it is: relations are counted; the number of slots is the server's, told by the settings or the baseline.
    What to do: drop the leaves in groups, one transaction each, then the root.
    """
    slots = s.settings.lock_slots or DEFAULT_LOCK_SLOTS
    if s.effect.verb == "drop" and s.effect.relations_locked > slots // 2:
        s.find(
            "drop-wide-root",
            Severity.CRITICAL if s.effect.relations_locked > slots else Severity.WARNING,
            f"DROP locks {plural(s.effect.relations_locked, 'relation')} at once; the lock table has {count(slots)} slots",
            "beyond them the server answers: out of shared memory",
            "drop the leaves in groups, one transaction each",
            figures=(Figure("relations", s.effect.relations_locked, "locks", "derived"), Figure("slots", slots, "locks", "limit")),
            source="lock_slots of the settings" if s.settings.lock_slots else "max_locks_per_transaction × max_connections by default",
        )


@rule("rewrite-of-leaves")
def rewrite_of_leaves(s: Subject) -> None:
    """ALTER that writes every leaf anew.

    What it finds: ALTER COLUMN TYPE, SET ENCODING, SET DISTRIBUTED, SET ACCESS METHOD, SPLIT and ADD COLUMN with a default (before
    PostgreSQL 11's base) on partitioned or unknown tables.
    Why it matters: old and new files stand beside each other until the end of the transaction, under AccessExclusive.
    How sure it is: that it rewrites is certain; how long it takes depends on the rows.
    What to do: do it leaf by leaf, in separate transactions, or build a new table and exchange.
    """
    table = s.effect.table
    if not s.effect.rewritten or (
        table is not None and (not table.parts or ((table.schema, table.name) not in s.world.before and s.effect.verb == "create"))
    ):
        return
    leaves = len(table.leaves()) if table is not None else 0
    s.find(
        "rewrite-of-leaves",
        Severity.WARNING,
        f"this rewrites {plural(leaves, 'leaf', 'leaves') if leaves else 'the table'}",
        "files are doubled until it ends, and everyone waits",
        "do it leaf by leaf, or build a new table and exchange",
        confidence=Confidence.HIGH if leaves else Confidence.LOW,
    )


@rule("exclusive-without-lock-timeout")
def exclusive_without_lock_timeout(s: Subject) -> None:
    """AccessExclusive on a table in use without a limit on waiting.

    What it finds: ALTER, DROP, TRUNCATE on tables that the files do not create themselves, before any SET lock_timeout.
    Why it matters: while it waits for a long reader, everyone behind it waits too: readers, loads, the whole queue.
    How sure it is: the lock is certain; whether the table is in use is not known.
    What to do: SET lock_timeout = '5s' first, and try again when it ends.
    """
    if not s.effect.exclusive or s.guarded:
        return
    name = s.effect.table.title if s.effect.table is not None else ""
    s.find(
        "exclusive-without-lock-timeout",
        Severity.WARNING if s.settings.hosts else Severity.NOTICE,
        f"AccessExclusive on {name or 'a table that is there already'} without a lock_timeout",
        "while it waits, every reader behind it waits too",
        "SET lock_timeout = '5s' before it, and try again when it ends",
        confidence=Confidence.MEDIUM,
    )


# --- names ------------------------------------------------------------------------------------------------------------


@rule("name-cut")
def name_cut(s: Subject) -> None:
    """Names longer than 63 bytes.

    What it finds: identifiers that the server cuts, leaves whose generated name cuts that of their parent, and such that then
    collide.
    Why it matters: two long names may become one; scripts that address a leaf by name miss it.
    How sure it is: names are computed as the server does.
    What to do: shorten the table's or the partition's name.
    """
    tree = s.statement.tree
    if tree is None:
        return
    for node in tree.find_all(exp.Identifier):
        name = str(node.this)
        if len(name) > 15 and len(name.encode()) > NAMEDATALEN and not name.upper().startswith("INTERVAL"):
            s.find(
                "name-cut",
                Severity.WARNING,
                f"the name {name[:40]}… has {len(name.encode())} bytes and is cut at {NAMEDATALEN}",
                "two long names may become one",
                "shorten it",
                confidence=Confidence.HIGH,
            )
            return
    table = s.effect.table
    if table is None or not s.effect.new_parts:
        return
    cut_off = [p for p in _walk(s.effect.new_parts) if not p.name.startswith(table.name + "_1_prt_")]
    if cut_off:
        names = [p.name for p in table.relations()]
        collide = len(names) - len(set(names))
        s.find(
            "name-cut",
            Severity.CRITICAL if collide else Severity.WARNING,
            f"{plural(len(cut_off), 'leaf name')} cut at {NAMEDATALEN} bytes"
            + (f", {collide} collide" if collide else f", e.g. {cut_off[0].name}"),
            "a leaf can no longer be found by its parent's name",
            "shorten the table's or the partition's name",
            confidence=Confidence.HIGH,
        )


# --- ignore comments --------------------------------------------------------------------------------------------------


def judge_ignore(s: Subject, ignore: Ignore) -> None:
    """Findings about an ignore comment itself: without reason, without rule, of an unknown rule, or unused."""
    at = _At(ignore.start, ignore.end)
    known = every()
    if not ignore.rules:
        s.find(
            "ignore-without-reason",
            Severity.WARNING,
            "the ignore comment names no rule",
            "write -- gpcatalog: ignore RULE reason",
            "name the rule",
            at=at,
            confidence=Confidence.HIGH,
        )
        return
    for name in ignore.rules:
        if name not in known:
            s.find(
                "ignore-unknown-rule",
                Severity.WARNING,
                f"no rule is called {name}",
                "the comment has no effect",
                "`gpcatalog check --rules` lists them",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif not ignore.reason:
            s.find(
                "ignore-without-reason",
                Severity.WARNING,
                f"ignore {name} gives no reason",
                "the finding stays until the reason is written",
                "write why, after the rule",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif name not in ignore.used and name not in s.settings.disable:
            s.find(
                "ignore-unused",
                Severity.WARNING,
                f"ignore {name} excuses nothing",
                "the statement has no such finding",
                "remove the comment",
                at=at,
                confidence=Confidence.HIGH,
            )


@rule("ignore-without-reason")
def ignore_without_reason(s: Subject) -> None:
    """An ignore comment without a rule or without a reason.

    What it finds: `-- gpcatalog: ignore RULE` with nothing behind it.
    Why it matters: the next reader has to know why.
    How sure it is: certain.
    What to do: write the reason after the rule.
    """


@rule("ignore-unused")
def ignore_unused(s: Subject) -> None:
    """An ignore comment that excuses nothing.

    What it finds: ignore comments whose rule has no finding in their statement.
    Why it matters: it would hide the next one.
    How sure it is: certain.
    What to do: remove it.
    """


@rule("ignore-unknown-rule")
def ignore_unknown_rule(s: Subject) -> None:
    """An ignore comment for a rule that does not exist.

    What it finds: names that are no rule.
    Why it matters: it does nothing.
    How sure it is: certain.
    What to do: correct the name.
    """
