"""Changes of the name or schema of tables, and of the name of schemas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpcatalog.effects.relations import Table
from gpcatalog.model.names import NAMEDATALEN, cut

if TYPE_CHECKING:
    from gpcatalog.dialect.version import Edition
    from gpcatalog.effects.schema_state import SchemaState


def move_table(state: SchemaState, table: Table, schema: str, name: str) -> None:
    """Change the schema or name of a table, also in the objects that refer to it."""
    old, new = (table.schema, table.name), (schema, name)
    if state.existing is not None and (was := state.renamed_schemas.get(old[0], old[0])):
        for view_schema, view_name in state.existing.reading(was, old[1]):
            state._read(state.new_schema(view_schema), view_name)
    state.forget(table, moved=True)
    table.schema, table.name = new
    if schema != old[0]:  # partitions stay in their schema
        for part in table.relations():
            part.schema = part.schema or old[0] or "public"
    if old in state.before:
        state.before.add(new)
    for other in state.tables.values():
        if old in other.own_children:
            other.own_children = [new if key == old else key for key in other.own_children]
            if other.taken_bounds is not None:
                other.taken_bounds.rename(old, new)
        if old in other.inherits:
            other.inherits = tuple(new if key == old else key for key in other.inherits)
        if other.parent == old:
            other.parent = new
        if any(k.target == old for k in other.foreign):
            other.foreign = [
                replace(k, target=new) if k.target == old else k for k in other.foreign
            ]
    rename_reads(state, {old: new})
    state.keep(table)


def rename_reads(state: SchemaState, names: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Update the views and materialized views that read relations with other names now.

    names: new (schema, name) by the old one
    """

    def named(reads: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        return frozenset(names.get(key, key) for key in reads)

    for old, new in names.items():
        state.ties.renamed(old, new)
    for key, view in state.views.items():
        if not view.reads.isdisjoint(names):
            reading = view.reading.with_relations(names)
            state.views[key] = replace(view, reads=named(view.reads), reading=reading)
    for table in state.tables.values():
        if not table.reads.isdisjoint(names):
            table.reads = named(table.reads)
            table.reading = table.reading.with_relations(names)


def move_schema(state: SchemaState, old: str, new: str) -> None:
    """Change the schema of all tables to its new name, also in the objects that refer to them."""

    temporary = {key for key, table in state.tables.items() if table.temporary}
    # before search_path is set, public is ""
    names = {old, ""} if old == "public" else {old}

    def named(key: tuple[str, str]) -> tuple[str, str]:
        return (new if key[0] in names and key not in temporary else key[0]), key[1]

    state.before |= {named(key) for key in state.before}
    for table in list(state.tables.values()):
        state.forget(table, moved=True)
        table.schema = named((table.schema, table.name))[0]
        table.own_children = [named(key) for key in table.own_children]
        table.inherits = tuple(named(key) for key in table.inherits)
        table.parent = None if table.parent is None else named(table.parent)
        table.foreign = [replace(k, target=named(k.target)) for k in table.foreign]
        moved = {key: named(key) for key in table.reads}
        table.reads = frozenset(moved.values())
        table.reading = table.reading.with_relations(moved)
        for part in table.relations():
            part.schema = new if part.schema == old else part.schema
        state.keep(table)
    for key, view in state.views.items():
        moved = {read: named(read) for read in view.reads}
        reading = view.reading.with_relations(moved)
        state.views[key] = replace(view, reads=frozenset(moved.values()), reading=reading)
        state.ties.index(key, state.views[key].reads)
    for table in state.tables.values():
        state.ties.index((table.schema, table.name), table.reads)


def name_of_partition(edition: Edition, name: str, old: str, new: str) -> str:
    """The name of a partition after its table was renamed: unchanged if it does not begin with the
    old name of the table, or, on Greenplum 7, if it would be too long. Greenplum 6 truncates names
    of 64 bytes (measured on 6.25.3 and 7.0.0).
    """
    if not name.startswith(old):
        return name
    renamed = new + name.removeprefix(old)
    if edition.classic:
        return cut(renamed)
    return name if len(renamed.encode()) > NAMEDATALEN else renamed


def too_long(table: Table, new: str) -> str:
    """Why Greenplum 6 does not rename a table: the name of a partition would have more than 64
    bytes; "" if it renames it.
    """
    for part in table.relations():
        if part.name.startswith(table.name):
            name = new + part.name.removeprefix(table.name)
            if len(name.encode()) > NAMEDATALEN + 1:
                return f"the name of partition {part.name} would be too long: {name}"
    return ""
