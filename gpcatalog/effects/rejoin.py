"""Converts partitions that became separate tables, because a statement named them, back to
partitions: Greenplum 7's commands on partitions find them by name, value or rank among all others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from gpcatalog.capacity.model import EMPTY, Instance, Shape, relation_files, relation_rows
from gpcatalog.effects.relations import Odd, Partition, Table, index_rows

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_CATALOGS = ("pg_class", "pg_attribute")


def rejoin(state: SchemaState, table: Table) -> None:
    """Convert the partitions of a table that are separate tables back to partitions if no
    information is lost: one with columns, constraints or sequences of its own remains a separate
    table.
    """
    for key in list(table.own_children):
        child = state.tables.get(key)
        if child is None or child.origin is None:
            continue
        rejoin(state, child)
        part = _as_partition(state, table, child)
        if part is None or _figures(state, table, part) != _own_figures(state, child):
            continue
        state.forget(child)
        state.before.discard(key)
        for reason in child.not_counted:
            table.leave_out(reason)
        table.odd_parts = table.odd_parts or any(one.odd != Odd() for one in part.walk())
        table.parts.insert(min(child.origin_at, len(table.parts)), part)
        table.counted([part], 1)
        state.keep(table, [part])


def _as_partition(state: SchemaState, table: Table, child: Table) -> Partition | None:
    """A separate table as a partition; None if it has properties that a partition cannot have
    here.
    """
    assert child.origin is not None
    server = state.edition.name
    alone = (
        child.foreign
        or child.owned
        or child.inherits
        or child.inherited
        or child.own_children
        or child.array_kept
        or child.array_missing
        or child.doubt
        or child.uncounted
        or child.toast_missing
        or not child.known
        or [c.of_partition() for c in child.columns] != [c.of_partition() for c in table.columns]
        or child.checks != table.checks
        or any(set(rows) - set(_CATALOGS) for rows in child.extra.values())
    )
    dropped_before = max(0, table.dropped - child.dropped)
    if alone or child.toasted != (table.toasted and dropped_before < table.toasted_at):
        return None
    of = {key.of or key.name for key in table.indexes}
    added = [key for key in child.indexes if key.of not in of]
    if len(child.indexes) - len(added) != len(of):
        return None
    children = [one.copy() for one in child.parts]
    for one in (one for part in children for one in part.walk()):
        one.dropped_before += table.dropped - child.dropped
        for key in added:
            partition_key = replace(key, name="", of=key.of or key.name)
            one.odd = one.odd.with_own(server, partition_key, one.storage, stored=one.is_leaf)
    own = (*added, *child.only)
    rows, columns, files = index_rows(server, own)
    extra = child.extra.get(Instance.SEGMENT.value, Counter())
    leaf = not child.partitioned
    odd = Odd(
        extra["pg_class"] + rows,
        extra["pg_attribute"] + columns,
        child.extra_files + (files if leaf else 0),
        own,
        leaf and child.storage.append_optimized and (child.directory or bool(own)),
    )
    return replace(
        child.origin,
        name=child.name,
        schema=child.schema if child.schema != table.schema else "",
        storage=child.storage,
        dropped_before=dropped_before,
        children=children,
        unlogged=None if child.unlogged == table.unlogged else child.unlogged,
        odd=odd,
    )


def _figures(state: SchemaState, table: Table, part: Partition) -> Counter[str]:
    """Rows of the two catalogs and files of a partition of a table."""
    server = state.edition
    had, table.odd_parts = table.odd_parts, True
    beyond, files = table.odd_rows([part], server), table.odd_files([part])
    table.odd_parts = had
    return _sum(server.name, table.shapes_of([part], server), beyond, files)


def _own_figures(state: SchemaState, child: Table) -> Counter[str]:
    """Rows of the two catalogs and files of a separate table."""
    shapes, beyond, files = state.count_resources(child)
    return _sum(state.edition.name, shapes, beyond[Instance.SEGMENT], files)


def _sum(server: str, shapes: Counter[Shape], beyond: Counter[str], files: int) -> Counter[str]:
    found = Counter({name: beyond[name] for name in _CATALOGS} | {"files": files})
    for shape, number in shapes.items():
        rows = relation_rows(server, shape, Instance.SEGMENT)
        found.update({name: number * rows[name] for name in _CATALOGS})
        found["files"] += number * relation_files(server, shape, EMPTY)
    return found
