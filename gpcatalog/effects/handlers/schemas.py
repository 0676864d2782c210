"""CREATE SCHEMA and ALTER SCHEMA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.certain import maybe_in_role_schema
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.drops import drop_foreign_keys
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPPED, drops, handles
from gpcatalog.effects.handlers.sequences import (
    any_default,
    drop_sequence,
    note_defaults,
    rename_sequence,
)
from gpcatalog.effects.handlers.views import drop_dependent_views, drop_view
from gpcatalog.effects.keys import fold
from gpcatalog.effects.renames import move_schema, rename_reads
from gpcatalog.model.quantity import plural

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


_ELEMENTS = ("SEQUENCE", "TABLE", "VIEW", "INDEX")


def _order(element: exp.Expression) -> int:
    """The order in which the server creates the elements of a schema: first sequences, then tables,
    views, indexes and the rest.
    """
    kind = "SEQUENCE" if "Sequence" in type(element).__name__ else element.args.get("kind")
    return _ELEMENTS.index(kind) if kind in _ELEMENTS else len(_ELEMENTS)


# usual names of the role that runs scripts: search_path begins with the schema of that name
_SUPERUSERS = ("postgres", "gpadmin")


@handles("CreateSchema")
def create_schema(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE SCHEMA with its elements."""
    if isinstance(tree.args.get("this"), exp.Identifier):
        known = (
            state.schemas_unknown
            if tree.args.get("exists") or tree.args.get("if_not_exists")
            else state.schemas
        )
        if fold(tree.this) not in state.schemas:
            known.add(fold(tree.this))
        state.schemas_gone.discard(fold(tree.this))
    effect = Effect(verb="create" if tree.args.get("elements") else "")
    outside = state.defaults
    try:
        if isinstance(tree.args.get("this"), exp.Identifier):
            state.defaults = outside.with_({"search_path": fold(tree.this)})
        elif tree.args.get("elements"):
            effect.add_unknown("name of the schema")
        for element in sorted(tree.args.get("elements") or (), key=_order):
            effect.include(state.effect_of(element))
    finally:
        state.defaults = outside
    return effect


@drops("SCHEMA")
def drop_schemas(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP SCHEMA: with CASCADE, all known objects in it. As with DROP TABLE IF EXISTS, an unknown
    schema is assumed not to exist.
    """
    effect = Effect(verb="drop", minor=[DROPPED])
    names = [
        fold(n if isinstance(n, exp.Identifier) else n.args.get("this"))
        for n in tree.args.get("simple") or tree.args.get("names") or ()
    ]
    for name in names:
        inside = {name, ""} if name == "public" else {name}
        new = name in state.schemas or (
            state.existing is not None and name not in state.schemas_unknown
        )
        known = new or tree.args.get("exists")
        if cascades(tree) and (state.opaque or name in state.schemas_unknown or not known):
            effect.add_unknown(f"objects in schema {name}")
        if name in _SUPERUSERS and maybe_in_role_schema(state, ""):
            effect.add_unknown(f"objects in schema {name}, which may be that of the role")
        state.schemas.discard(name)
        state.schemas_gone.add(name)
        if not cascades(tree):
            continue  # it fails unless the schema is empty
        state.read_schema(name)
        _note_partitions(state, name, inside, effect)
        tables = [t for t in state.tables.values() if t.schema in inside and not t.temporary]
        tables += [
            t
            for one in tables
            for t in (*state.partitions_of(one), *state.inheriting(one))
            if t not in tables
        ]
        gone = {(t.schema, t.name) for t in tables}
        gone |= {(p.schema or t.schema, p.name) for t in tables for p in t.relations()}
        for table in tables:
            if (table.schema, table.name) in state.tables:
                part = Effect(verb="drop", table=table)
                state.drop(table, part)
                effect.include(part)
        for key in [k for k in state.views if k[0] in inside]:
            gone.add(key)
            drop_view(state, key, effect)
        sequences = [k for k in state.sequences if k[0] in inside]
        for key in sequences:
            drop_sequence(state, key, effect)
        if (sequences or effect.unknown) and any_default(state):
            note_defaults(state, effect)
        drop_dependent_views(state, gone, effect)
        drop_foreign_keys(state, tables, effect)
        _drop_types(state, name, inside, effect)
        if state.renamed_schemas.get(name, name) in state.schemas_with_code:
            effect.add_unknown(f"objects that use functions or operators of schema {name}")
    return effect


def _note_partitions(
    state: SchemaState, schema: str, inside: Collection[str], effect: Effect
) -> None:
    """Mark tables of other schemas as unknown whose partitions are dropped with this schema."""
    found = Counter(
        root
        for (place, part), root in state.leaf_of.items()
        if place == schema and root[0] not in inside and (place, part) not in state.tables
    )
    for root, number in found.items():
        name = ".".join(one for one in root if one)
        effect.add_unknown(f"{plural(number, 'partition')} of {name} in schema {schema}")
        if root in state.tables:
            state.tables[root].known = False


def _drop_types(state: SchemaState, schema: str, inside: set[str], effect: Effect) -> None:
    """Drop the types of a schema: composite ones have counted rows."""
    for kind, definition in list(state.types.definitions.items()):
        if not definition.base and kind not in state.types.several - state.types.mixed:
            effect.add_unknown(f"type {kind}, which several schemas have")
        if definition.columns is None and definition.schema in inside:
            del state.types.definitions[kind]
            state.ties.type_users.pop(kind, None)
            continue
        if definition.columns is None or definition.schema not in inside | {""}:
            continue
        if definition.schema not in inside:
            effect.add_unknown(f"composite type {kind}, which may be in schema {schema}")
            continue
        del state.types.definitions[kind]
        state.ties.type_users.pop(kind, None)
        effect.add_rows({"pg_class": -1, "pg_attribute": -definition.columns})


@handles("AlterSchema")
def rename_schema(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER SCHEMA … RENAME."""
    new = tree.args.get("rename")
    old = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
    if isinstance(new, exp.Identifier):
        state.read_reading(old)
        if state.existing is not None:
            state.renamed_schemas[fold(new)] = state.renamed_schemas.get(old, old)
            state.renamed_schemas[old] = ""
        if old not in state.schemas | state.schemas_unknown:
            state.schemas_unknown.add(old)
        state.schemas_gone.discard(fold(new))
        state.schemas_gone.add(old)
        for known in (state.schemas, state.schemas_unknown):
            if old in known:
                known.discard(old)
                known.add(fold(new))
        olds = {old, ""} if old == "public" else {old}  # "": before search_path is set
        for key in [k for k in state.views if k[0] in olds]:
            state.views[fold(new), key[1]] = state.views.pop(key)
            state.ties.renamed(key, (fold(new), key[1]))
            rename_reads(state, {key: (fold(new), key[1])})
        for kind, definition in state.types.definitions.items():
            if definition.schema in olds:
                state.types.definitions[kind] = definition._replace(schema=fold(new))
        for key in [k for k in state.sequences if k[0] in olds]:
            rename_sequence(state, key, (fold(new), key[1]))
        move_schema(state, old, fold(new))
    return Effect()
