"""Distribution and storage."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import created, name_of, property_of, rule
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.definition import copies
from gpcatalog.effects.expansion import options_of
from gpcatalog.effects.keys import fold
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, plural
from gpcatalog.model.storage import Storage


@rule("distribution-missing")
def distribution_missing(s: RuleContext) -> None:
    """A table has no distribution clause.

    What it finds: CREATE TABLE and CREATE TABLE AS on Greenplum without DISTRIBUTED, except
    PARTITION OF and INHERITS.
    Why it matters: the server chooses a key or random distribution, depending on keys, types and
    gp_create_table_random_default_distribution. The choice determines skew and join performance.
    How sure it is: certain: the clause is missing.
    What to do: write DISTRIBUTED BY (…), DISTRIBUTED RANDOMLY or DISTRIBUTED REPLICATED.
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
        "the server chooses a key or random distribution, depending on its settings",
        "write DISTRIBUTED BY (…), DISTRIBUTED RANDOMLY or DISTRIBUTED REPLICATED",
        at=name_of(tree),
        confidence=Confidence.HIGH,
    )


@rule("encoding-crash")
def encoding_crash(s: RuleContext) -> None:
    """A statement can crash Greenplum 7.

    What it finds: on Greenplum 7, LIKE with INCLUDING ALL or INCLUDING ENCODING of a row-oriented
    append-optimized table that got a column by ALTER TABLE ADD COLUMN, and SET ACCESS METHOD
    ao_column on such a table. Of a table of the baseline that is row-oriented, LIKE is reported.
    Why it matters: the server reads column encodings that such a column does not have. It ends with
    a segmentation fault, and so do all sessions of the cluster.
    How sure it is: tested on Greenplum 7.0.0, not on later versions. Whether a column was added is
    known of tables that the files create, not of those of the baseline.
    What to do: add EXCLUDING ENCODING. Instead of SET ACCESS METHOD, create a new table and copy
    the rows.
    """
    tree = s.statement.tree
    if tree is None or not s.edition.greenplum or s.edition.classic:
        return
    for like in tree.find_all(gx.LikeClause):
        table = s.state.source(like.this) if copies(like, "ENCODING") else None
        if table is None or table.storage is Storage.AO_COLUMN:
            continue
        if table.widened:
            _crashes(s, table.title, Severity.CRITICAL, "EXCLUDING ENCODING prevents it", like)
        elif table.oid and table.storage is Storage.AO_ROW:
            advice = "if a column was added to it: EXCLUDING ENCODING prevents it"
            _crashes(s, table.title, Severity.WARNING, advice, like)
    for action in s.effect.actions:
        method = fold(action.args.get("method"))
        if method == "ao_column" and s.effect.table is not None and s.effect.table.widened:
            advice = "create a column-oriented table and copy the rows instead"
            _crashes(s, s.effect.table.title, Severity.CRITICAL, advice, action)


def _crashes(
    s: RuleContext, table: str, severity: Severity, advice: str, at: exp.Expression
) -> None:
    s.find(
        "encoding-crash",
        severity,
        f"the statement can crash the server: {table} is row-oriented and has no column encodings",
        "Greenplum 7.0.0 ends with a segmentation fault if a column was added by ALTER TABLE",
        advice,
        at=at,
        confidence=Confidence.HIGH if severity is Severity.CRITICAL else Confidence.MEDIUM,
        relation=table,
    )


@rule("distribution-random")
def distribution_random(s: RuleContext) -> None:
    """A partitioned table is distributed randomly.

    What it finds: DISTRIBUTED RANDOMLY on a partitioned table.
    Why it matters: every join and every GROUP BY on it moves rows between segments.
    How sure it is: the clause is certain. It can be correct if no column has an even distribution.
    What to do: choose a column that has many distinct values and is used in joins.
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
        "joins and GROUP BY on it move rows between segments",
        "choose a column that has many distinct values and is used in joins",
        at=property_of(tree, exp.DistributedByProperty),
    )


@rule("distribution-key-mistake")
def distribution_key_mistake(s: RuleContext) -> None:
    """A distribution key has few values.

    What it finds: a boolean or date as the only distribution column.
    Why it matters: all rows with the same value are on one segment, so few segments do the work.
    How sure it is: skew depends on the values.
    What to do: choose a key that has many distinct values and is part of every unique key.
    """
    tree = created(s)
    table = s.effect.table
    if tree is None or table is None or len(table.distribution_keys) != 1:
        return
    (key,) = table.distribution_keys
    kind = next((c.type for c in table.columns if c.name == key), "")
    if kind in ("bool", "date"):
        s.find(
            "distribution-key-mistake",
            Severity.WARNING,
            f"the only distribution column {key} has type {kind}: few values",
            "all rows with the same value are on one segment",
            "choose a key with many distinct values that is part of every unique key",
            at=property_of(tree, exp.DistributedByProperty),
            confidence=Confidence.LOW,
        )


@rule("heap-fact")
def heap_fact(s: RuleContext) -> None:
    """A partitioned table uses heap storage by default.

    What it finds: partitioned tables on Greenplum whose leaves are heap because no storage is
    specified.
    Why it matters: heap is not compressed, and updates bloat it. Fact tables that are loaded and
    read are smaller and faster as append-optimized tables.
    How sure it is: the storage is certain. Heap is correct for rows that change often.
    What to do: use WITH (appendoptimized=true, …), or specify heap with appendonly=false or USING
    heap.
    """
    tree = created(s)
    table = s.effect.table
    if tree is None or table is None or not table.parts or not s.edition.greenplum:
        return
    explicit = (
        any(k in table.options for k in ("appendonly", "appendoptimized"))
        or property_of(tree, gx.AccessMethod) is not None
    )
    heap = sum(1 for p in table.leaves() if p.storage is Storage.HEAP)
    if (
        heap
        and not explicit
        and all(
            "appendonly" not in options_of(p.node.args.get("options") if p.node else None)
            for p in table.leaves()
        )
    ):
        s.find(
            "heap-fact",
            Severity.NOTICE,
            f"{table.title}: {plural(heap, 'leaf', 'leaves')} stored as heap, because no storage"
            " is specified",
            "heap is not compressed, and updates bloat it",
            (
                "use WITH (appendoptimized=true, …), or specify heap with appendonly=false or"
                " USING heap"
            ),
            at=name_of(tree),
            confidence=Confidence.HIGH,
        )


@rule("index-on-append-optimized")
def index_on_append_optimized(s: RuleContext) -> None:
    """An index is created on append-optimized leaves.

    What it finds: the first index on an append-optimized table.
    Why it matters: each relation gets a block directory in addition to the index: 3 more rows in
    pg_class, 14 more in pg_attribute and 3 files.
    How sure it is: high: measured on Greenplum 6 and 7.
    What to do: compare the index with a scan of one leaf. Column-oriented scans are often faster.
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
        f"the index adds {count(rows)} catalog rows per instance and"
        f" {count(s.effect.files(s.edition))} files per segment",
        f"{plural(leaves, 'leaf', 'leaves')}"
        + (" get a block directory in addition to the index" if first else " get one more index"),
        "compare the index with a scan of one leaf",
        confidence=Confidence.HIGH,
        figures=(
            Figure("rows", rows, "rows", "derived"),
            Figure("leaves", leaves, "leaves", "derived"),
        ),
    )
