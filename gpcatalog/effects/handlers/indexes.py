"""CREATE INDEX and DROP INDEX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects import held_locks
from gpcatalog.effects.definition import index_key
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import has_only
from gpcatalog.effects.keys import Key, fold, qualified
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.model.names import NAMEDATALEN

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_SHORTENED = NAMEDATALEN - 5  # generated names of that length may have a truncated table name


def create_index(state: SchemaState, tree: exp.Create) -> Effect:
    """CREATE INDEX on a table or on all of its partitions."""
    target = tree.this.args["table"]
    table = state.find(target)
    effect = Effect(verb="index", table=table, index=tree)
    if table is None and (hit := state.partition(*qualified(target))) is not None:
        return _index_of_partition(state, *hit, tree, effect)
    if table is None or not table.known:
        state.unknown_indexes.add(fold(tree.this.args.get("this")))
        effect.add_unknown(f"unknown table {target.sql('greenplum')}")
        state.note_change_by_name(target)
        return effect
    for one in (table, *state.partitions_of(table)):
        if not one.known:
            effect.add_unknown(one.unknown_definition)
        if one.uncounted:
            effect.add_unknown(one.uncounted)
    name = fold(tree.this.args.get("this"))
    if name and tree.args.get("exists") and owners_of_index(state, table.schema, name):
        return effect
    if not table.temporary and Presence(state).another_kind(tree, table.schema, name):
        return effect
    state.index_names.add(name)
    if not has_only(target):
        state.separate_odd(table)
    family = [table, *state.partitions_of(table)]
    effect.targets.append((table, 1 if has_only(target) else state.leaves_of(table)))
    if has_only(target):
        family = [table]
    key = index_key(
        state, table, name, tree.this.args["params"], unique=bool(tree.this.args.get("unique"))
    )
    state.index_names.add(key.name)
    if not has_only(target):
        doubt_equality(table, key, family[1:], effect)
    if table.parts and has_only(target):
        with state.changing(effect, table):
            table.only.append(key)
        return effect
    settled: list[Table] = []  # partitions below an existing index keep theirs
    with state.changing(effect, *family):
        for part in table.relations() if state.edition.classic else ():
            part.odd = part.odd.without_like(state.edition.name, key)
        for one in family:
            if any(one is x for x in settled):
                continue
            if one is table:
                one.indexes.append(key)
            elif state.take_over(one, key):
                settled += state.partitions_of(one)
            else:
                one.indexes.append(key.for_partition(one))
    doubt_children(state, table, effect)
    effect.locks = held_locks.indexed(state, family, key)
    return effect


def doubt_children(state: SchemaState, table: Table, effect: Effect) -> None:
    """Greenplum 6 gives indexes of a partitioned table to tables that inherit from it, too."""
    if not (state.edition.classic and table.partitioned):
        return
    for child in state.inheriting(table):
        reason = f"indexes of {child.title}, which inherits from {table.title}"
        effect.add_unknown(reason)
        child.uncounted = child.uncounted or reason
        table.uncounted = table.uncounted or reason


def doubt_equality(table: Table, key: Key, partitions: Iterable[Table], effect: Effect) -> None:
    """Note that it is unknown whether an index of a partition becomes part of this index."""
    for one in partitions:
        own = next((k for k in one.indexes if key.may_fit(k)), None)
        if own is not None and not any(key.fits(k) for k in one.indexes):
            reason = f"whether index {own.name} of {one.title} equals {key.name}"
            effect.add_unknown(reason)
            table.uncounted = table.uncounted or reason


def attach_index(state: SchemaState, tree: exp.Expression, index: exp.Expression) -> Effect:
    """ALTER INDEX … ATTACH PARTITION: the index of a partition becomes part of an index of its
    table.
    """
    effect = Effect()
    tops, owners = (owners_of_index(state, *qualified(name)) for name in (tree.this, index.this))
    if len(tops) != 1 or len(owners) != 1 or not (tops[0].known and owners[0].known):
        effect.add_unknown(f"unknown index {tree.this.sql('greenplum')}")
        return effect
    top, own, owner = qualified(tree.this)[1], qualified(index.this)[1], owners[0]
    above = next(k for k in (*tops[0].indexes, *tops[0].only) if k.name == top)
    with state.changing(effect, owner, *state.partitions_of(owner)):
        for keys in (owner.indexes, owner.only):
            keys[:] = [
                replace(k, of=above.of or top) if k.name == own and not k.of else k for k in keys
            ]
        state.part_of(owner, own, above.of or top)
    return effect


def _index_of_partition(
    state: SchemaState, table: Table, path: list[Partition], tree: exp.Create, effect: Effect
) -> Effect:
    """CREATE INDEX on one partition that is not a separate table here."""
    part, server = path[-1], state.edition.name
    name = fold(tree.this.args.get("this"))
    if (
        name
        and tree.args.get("exists")
        and (
            owners_of_index(state, table.schema, name) or any(k.name == name for k in part.odd.keys)
        )
    ):
        return effect
    unique = bool(tree.this.args.get("unique"))
    key = index_key(state, table, name, tree.this.args["params"], unique=unique, of=part.name)
    effect.table = table
    effect.targets.append((table, sum(one.is_leaf for one in part.walk())))
    effect.exclusive = False
    effect.locks = sum(1 for _ in part.walk())  # their indexes are not locked
    with state.changing(effect, table):
        for one in part.walk():
            one.odd = one.odd.with_own(server, key, one.storage)
        table.odd_parts = True
    return effect


def _drop_of_partition(state: SchemaState, index: str, effect: Effect) -> bool:
    """Drop an index that only a partition has; return whether there is one of that name."""
    for table in state.tables.values():
        for part in table.relations() if table.odd_parts else ():
            for key in part.odd.keys:
                if key.name == index:
                    effect.table = table
                    with state.changing(effect, table):
                        table.drop_odd_keys({index}, state.edition)
                    return True
    return False


def owners_of_index(state: SchemaState, schema: str, index: str) -> list[Table]:
    """Tables that have an index of that name; schema "": any schema, or the schemas of search_path
    if it is set.
    """
    schemas = {schema} if schema else set(state.path)
    for there, name in state.existing.owner_of_index(index) if state.existing is not None else ():
        state.named(state.new_schema(there), name)
    found = [
        t for t in state.tables.values() if any(key.name == index for key in (*t.indexes, *t.only))
    ]
    if not schemas:  # the default search_path is public; otherwise, any schema is assumed
        return [t for t in found if t.schema in ("", "public")] or found
    public = "public" in schemas
    return [
        t
        for t in found
        if t.schema in schemas or (t.schema == "" and (public or (t.temporary and not schema)))
    ]


def _may_have_index(state: SchemaState, schema: str, index: str) -> bool:
    """Whether an index may exist whose name is unknown here: code may have created it, a baseline
    may have it, or its name begins with that of an unknown table or of a partition, like names that
    the server generates.
    """
    if state.existing is not None or state.opaque or index in {"", *state.unknown_indexes}:
        return True
    if len(index) >= _SHORTENED:
        return True
    schemas = {schema, ""} if schema else {"", "public", *state.path}
    begins = [(s, index[:at]) for s in schemas for at in range(1, len(index))]
    return any(
        (key in state.tables and not state.tables[key].known) or key in state.leaf_of
        for key in begins
    )


def drop_indexes(state: SchemaState, tree: exp.Expression, gone: list[tuple[Table, Key]]) -> Effect:
    """DROP INDEX, with the indexes of partitions. gone: gets the indexes of tables that are dropped"""
    effect, locked = Effect(verb="alter"), list[Table]()
    for name in tree.args["indexes"]:
        schema, plain = qualified(name) if not isinstance(name, exp.Dot) else ("", "")
        owners = owners_of_index(state, schema, plain) if plain else []
        if len(owners) > 1:
            effect.add_unknown(f"which of {len(owners)} indexes named {plain}")
            for one in owners:
                one.uncounted = one.uncounted or effect.unknown[-1]
            continue
        owner = owners[0] if owners else None
        if owner is None and _drop_of_partition(state, plain, effect):
            continue
        if owner is None:
            if not tree.args.get("exists") or _may_have_index(state, schema, plain):
                effect.add_unknown(f"unknown index {name.sql('greenplum')}")
            continue  # as with DROP TABLE IF EXISTS
        effect.table = owner
        if not owner.known:
            effect.add_unknown(owner.unknown_definition)
        if owner.uncounted:
            effect.add_unknown(owner.uncounted)
        if tree.args.get("exists") and not schema and (reason := state.why_not_found(name, owner)):
            owner.uncounted = owner.uncounted or reason
            effect.add_unknown(reason)
            continue
        if any(key.name == plain for key in owner.only):
            with state.changing(effect, owner, *state.partitions_of(owner)):
                owner.only = [key for key in owner.only if key.name != plain]
                for one in state.partitions_of(owner):
                    keys = [key for key in one.indexes if key.of == plain]
                    one.drop_keys(keys, state.edition)
                owner.drop_odd_keys({plain}, state.edition)
            continue
        family = [
            t
            for t in (owner, *state.partitions_of(owner))
            if any(plain in (key.name if t is owner else key.of,) for key in t.indexes)
        ]
        for t in family if not state.edition.classic else [owner]:
            if not any(t is one for one in locked):
                locked.append(t)
                effect.locks += 1 if state.edition.classic else 1 + t.numbers[0]
        with state.changing(effect, *family):
            for one in family:
                keys = [k for k in one.indexes if plain == (k.name if one is owner else k.of)]
                one.drop_keys(keys, state.edition)
                gone += [(one, k) for k in keys if one is owner]
                each = 1 if state.edition.classic else 1 + one.numbers[0]
                effect.locks += each * sum(1 + k.constraint for k in keys)
    return effect
