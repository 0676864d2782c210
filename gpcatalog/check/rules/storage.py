"""Distribution and storage."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import created, name_of, property_of, rule
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.expansion import options_of
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, plural
from gpcatalog.model.storage import Storage


@rule("distribution-missing")
def distribution_missing(s: RuleContext) -> None:
    """A table without a distribution clause.

    What it finds: CREATE TABLE and CREATE TABLE AS on Greenplum without DISTRIBUTED, PARTITION OF
    and INHERITS excepted.
    Why it matters: the server picks the first column that fits, or spreads rows at random,
    depending on keys, types and gp_create_table_random_default_distribution; the choice decides
    skew and joins.
    How sure it is: certain that it is not said.
    What to do: write DISTRIBUTED BY (…), RANDOMLY or REPLICATED.
    """
    tree = created(s)
    if (
        tree is None
        or not s.edition.greenplum
        or property_of(tree, exp.DistributedByProperty) is not None
    ):
        return
    if (
        property_of(tree, exp.PartitionedOfProperty) is not None
        or property_of(tree, exp.InheritsProperty) is not None
    ):
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
        at=name_of(tree),
        confidence=Confidence.HIGH,
    )


@rule("distribution-random")
def distribution_random(s: RuleContext) -> None:
    """A partitioned table spread at random.

    What it finds: DISTRIBUTED RANDOMLY on a partitioned table.
    Why it matters: every join and every grouping on it moves rows between segments.
    How sure it is: certain that it is written; it can be right where no column spreads evenly.
    What to do: choose a column of many values that joins use.
    """
    tree = created(s)
    if (
        tree is None
        or s.effect.table is None
        or s.effect.table.distribution != "random"
        or not s.effect.table.partitioned
    ):
        return
    s.find(
        "distribution-random",
        Severity.NOTICE,
        f"{s.effect.table.title} is partitioned and distributed randomly",
        "joins and groupings on it move rows between segments",
        "choose a column of many values that joins use",
        at=property_of(tree, exp.DistributedByProperty),
    )


@rule("distribution-key-mistake")
def distribution_key_mistake(s: RuleContext) -> None:
    """A distribution that the server refuses or that cannot spread rows.

    What it finds: DISTRIBUTED REPLICATED with partitions; key columns that the table does not have;
    a boolean or date as the only key; a primary key or unique constraint that leaves a key column
    out.
    Why it matters: the server refuses some of them when they run; the others put rows on few
    segments.
    How sure it is: refusals are certain; skew depends on the values.
    What to do: choose a key of many values that every unique key holds.
    """
    tree = created(s)
    table = s.effect.table
    if tree is None or table is None or not table.distribution:
        return
    at = property_of(tree, exp.DistributedByProperty)
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
    if len(table.distribution_keys) == 1 and types.get(table.distribution_keys[0]) in (
        "bool",
        "date",
    ):
        (key,) = table.distribution_keys
        problems.append(
            (
                Severity.WARNING,
                f"the only distribution column {key} is a {types[key]}: few values, few segments",
            )
        )
    if isinstance(tree.this, exp.Schema) and table.distribution == "hash":
        for constraint in tree.this.expressions:
            kind = (
                constraint.args.get("kind") if isinstance(constraint, gx.TableConstraint) else None
            )
            if isinstance(kind, gx.KeyConstraint) and kind.expressions:
                unique = {c.name.lower() for c in kind.expressions}
                missing = [k for k in table.distribution_keys if k.lower() not in unique]
                if missing:
                    problems.append(
                        (
                            Severity.CRITICAL,
                            f"{kind.args['kind']} leaves out the distribution column {missing[0]}",
                        )
                    )
    for severity, title in problems:
        s.find(
            "distribution-key-mistake",
            severity,
            title,
            (
                "the server refuses it when it runs"
                if severity is Severity.CRITICAL
                else "rows with the same value lie on one segment"
            ),
            "choose a key of many values that every unique key holds",
            at=at,
            confidence=Confidence.HIGH if severity is Severity.CRITICAL else Confidence.LOW,
        )


@rule("heap-fact")
def heap_fact(s: RuleContext) -> None:
    """A partitioned table that is stored as heap.

    What it finds: partitioned tables on Greenplum whose leaves are heap because nothing else is
    said.
    Why it matters: heap is not compressed and is bloated by updates; facts that are loaded and read
    are smaller and faster append-optimized.
    How sure it is: certain that it is heap; for rows that change often heap is right.
    What to do: WITH (appendoptimized=true, …), or say heap on purpose with appendonly=false or
    USING heap.
    """
    tree = created(s)
    table = s.effect.table
    if tree is None or table is None or not table.parts or not s.edition.greenplum:
        return
    said = (
        any(k in table.options for k in ("appendonly", "appendoptimized"))
        or property_of(tree, gx.AccessMethod) is not None
    )
    heap = sum(1 for p in table.leaves() if p.storage is Storage.HEAP)
    if (
        heap
        and not said
        and all(
            "appendonly" not in options_of(p.node.args.get("options") if p.node else None)
            for p in table.leaves()
        )
    ):
        s.find(
            "heap-fact",
            Severity.NOTICE,
            f"{table.title}: {plural(heap, 'leaf', 'leaves')} stored as heap because nothing else"
            " is said",
            "heap is not compressed, and updates bloat it",
            "say WITH (appendoptimized=true, …), or heap on purpose",
            at=name_of(tree),
            confidence=Confidence.HIGH,
        )


@rule("index-on-append-optimized")
def index_on_append_optimized(s: RuleContext) -> None:
    """An index on append-optimized leaves.

    What it finds: the first index on an append-optimized table.
    Why it matters: each relation gets a block directory besides the index: 3 more pg_class rows, 14
    more of pg_attribute and 3 files.
    How sure it is: measured on Greenplum 6 and 7.
    What to do: weigh it against a scan of one leaf; columnar scans often win.
    """
    table = s.effect.table
    if (
        s.effect.verb != "index"
        or table is None
        or not table.known
        or not table.storage.append_optimized
    ):
        return
    leaves = table.numbers[1] or 1
    rows = sum(s.effect.rows(s.edition, Instance.SEGMENT).values())
    first = len(table.indexes) == 1
    s.find(
        "index-on-append-optimized",
        Severity.WARNING if leaves > 100 and first else Severity.NOTICE,
        f"the index adds {count(rows)} catalog rows an instance and"
        f" {count(s.effect.files(s.edition))} files a segment",
        f"{plural(leaves, 'leaf', 'leaves')}"
        + (" get a block directory besides the index" if first else " get one more index each"),
        "weigh it against a scan of one leaf",
        confidence=Confidence.HIGH,
        figures=(
            Figure("rows", rows, "rows", "derived"),
            Figure("leaves", leaves, "leaves", "derived"),
        ),
    )
