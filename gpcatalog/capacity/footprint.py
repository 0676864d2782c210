"""Row versions that one round of the active DDL probe writes, and that are dead on every instance
after its rollback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gpcatalog.capacity.cost import tree_cost
from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.model import Instance, Shape, catalog_bytes, known, relation_rows, tree
from gpcatalog.model.storage import Storage

# In addition to the rows of the cost model, a statement writes new versions of existing rows. They
# were counted with pg_stat_get_xact_tuples_* on Greenplum 6.25.3, 7.0.0 and PostgreSQL 15 and 18,
# and are checked by tests/latency/test_active.py.


@dataclass(frozen=True)
class ProbeTable:
    """A table that the probe creates: one text column, all others of fixed length; leaves is 0 for
    a plain table.
    """

    storage: Storage
    leaves: int = 0
    columns: int = 8

    @property
    def word(self) -> str:
        """The name of the table in reports."""
        return (
            f"{self.storage.value}, {self.leaves:,} leaves" if self.leaves else self.storage.value
        )

    def shape(self, *, owned: bool) -> Shape:
        """The shape for the cost model. owned: by a role that is not the bootstrap superuser."""
        return Shape(self.storage, self.columns, toastable=True, owned=owned)


def _created(
    gen: Generation, subject: ProbeTable, shape: Shape, instance: Instance
) -> Counter[str]:
    """Row versions that CREATE TABLE writes."""
    leaves = subject.leaves
    if leaves:
        cost = tree_cost(gen, tree(shape, (leaves,)))
        rows = Counter(
            {
                c: round(n)
                for c, n in (
                    cost.segment if instance is Instance.SEGMENT else cost.coordinator
                ).items()
            }
        )
    else:
        rows = Counter(relation_rows(gen, shape, instance))
    ao = subject.storage.append_optimized
    toasted = subject.storage in gen.toast
    stored = leaves + 1 if gen.root_is_table or not leaves else leaves
    if toasted:
        rows["pg_class"] += stored  # reltoastrelid is set afterwards
    if ao:
        rows["pg_appendonly"] += 2 * stored  # after an auxiliary relation is created
        if not gen.root_is_table:
            rows["pg_class"] += stored
    if leaves:
        if gen.greenplum:
            rows["pg_class"] += 2 * leaves + 1
        else:
            rows["pg_class"] += leaves + 1
        if gen.rule_catalogs:
            rows["pg_attribute"] += (
                leaves * subject.columns
            )  # attinhcount of every column of a leaf
    return rows


def _rewritten(gen: Generation, subject: ProbeTable, shape: Shape) -> Counter[str]:
    """Row versions that copying one relation writes: Greenplum 6 copies an ao_row table to add a
    column.
    """
    copy = Counter(relation_rows(gen, replace(shape, columns=shape.columns + 1), Instance.SEGMENT))
    toast = 1 if subject.storage in gen.toast else 0
    del copy["gp_distribution_policy"]
    # files and auxiliary relations of copy and original are swapped, then the copy is dropped
    copy += Counter(
        {
            "pg_class": 3 + 3 * toast,
            "pg_type": toast,
            "pg_depend": 4 + 2 * toast,
            "pg_appendonly": 4,
        }
    )
    copy["pg_attribute"] += 1
    return copy


def _column_added(
    gen: Generation, subject: ProbeTable, shape: Shape, instance: Instance
) -> Counter[str]:
    """Row versions that ALTER TABLE ADD COLUMN without a default writes."""
    leaves = subject.leaves
    relations = leaves + 1
    if subject.storage is Storage.AO_ROW and gen.rule_catalogs:
        copied = _rewritten(gen, subject, shape)
        copied["pg_stat_last_operation"] = 2 if instance is Instance.COORDINATOR else 0
        return Counter({catalog: n * relations for catalog, n in copied.items()})
    rows = Counter({"pg_attribute": relations, "pg_class": relations})
    coordinator = instance is Instance.COORDINATOR
    if gen.greenplum and coordinator:
        # Greenplum 6 records ALTER for the root and updates the row of each leaf; 7 adds a row per
        # leaf
        rows["pg_stat_last_operation"] = relations if gen.rule_catalogs else max(1, leaves)
    if subject.storage is Storage.AO_COLUMN:
        rows["pg_attribute_encoding"] = relations
    elif subject.storage is Storage.AO_ROW and not gen.rule_catalogs:
        rows["pg_attribute_encoding"] = max(1, leaves)
    return rows


def _dropped(gen: Generation, subject: ProbeTable) -> Counter[str]:
    """Row versions that DROP TABLE writes: deleting writes none, but Greenplum 6 first detaches
    each leaf from its parent.
    """
    return (
        Counter({"pg_class": subject.leaves}) if gen.rule_catalogs and subject.leaves else Counter()
    )


def versions(
    server: Generation | str, subject: ProbeTable, instance: Instance, *, owned: bool = False
) -> dict[str, int]:
    """Row versions, by catalog, that CREATE SCHEMA, CREATE TABLE, ADD COLUMN and DROP TABLE of
    `subject` write on one instance.

    All of them are dead once the transaction is rolled back.
    """
    shape = subject.shape(owned=owned)
    gen = known(server, shape)
    where = instance if gen.greenplum else Instance.COORDINATOR
    rows = Counter({"pg_namespace": 1})
    if gen.greenplum and where is Instance.COORDINATOR:
        rows["pg_stat_last_operation"] = 1
    if owned:
        rows["pg_shdepend"] = 1
    rows += _created(gen, subject, shape, where)
    rows += _column_added(gen, subject, shape, where)
    rows += _dropped(gen, subject)
    return {catalog: n for catalog, n in sorted(rows.items()) if n}


@dataclass(frozen=True)
class Footprint:
    """Dead row versions of the whole probe by catalog, and their estimated bytes (share of indexes
    included), on one instance.
    """

    rows: Mapping[str, int]
    bytes: float

    @property
    def total(self) -> int:
        """Dead rows in all catalogs."""
        return sum(self.rows.values())


def footprint(
    server: Generation | str,
    subjects: Iterable[ProbeTable],
    instance: Instance,
    *,
    rounds: int,
    owned: bool = False,
) -> Footprint:
    """Footprint of `rounds` rounds over all subjects on one coordinator or one segment."""
    rows: Counter[str] = Counter()
    for subject in subjects:
        for catalog, n in versions(server, subject, instance, owned=owned).items():
            rows[catalog] += n * rounds
    return Footprint(dict(sorted(rows.items())), catalog_bytes(server, rows))


def subjects(
    server: Generation | str, *, leaves: int, storage: Storage | None = None
) -> tuple[ProbeTable, ...]:
    """Tables of one round: a plain one of every storage type of the server, and one with `leaves`
    leaves.

    storage: of the table with leaves; default: column-oriented if the server supports it, else
             heap.
    """
    gen = known(server, Shape(Storage.HEAP, 1))
    plain = tuple(ProbeTable(one) for one in gen.storages)
    if not leaves:
        return plain
    leaf_storage = storage or (
        Storage.AO_COLUMN if Storage.AO_COLUMN in gen.storages else Storage.HEAP
    )
    known(
        server, replace(ProbeTable(leaf_storage).shape(owned=False))
    )  # fails for a storage that the server does not support
    return (*plain, ProbeTable(leaf_storage, leaves))
