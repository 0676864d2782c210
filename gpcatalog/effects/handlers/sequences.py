"""CREATE, ALTER and DROP SEQUENCE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.effects import auxiliary_rows
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import drops, handles
from gpcatalog.effects.handlers.views import drop_dependent_views
from gpcatalog.effects.keys import fold
from gpcatalog.effects.outer_dependencies import DEFAULTS
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.renames import rename_reads
from gpcatalog.effects.taken_names import may_own_sequence
from gpcatalog.effects.view_sequences import column_with_sequence, sequence_name

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState


@handles("CreateSequence")
def create_sequence(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE SEQUENCE: one relation and its rows."""
    effect = Effect()
    name = state.new_name(tree.this)
    if str(tree.args.get("temporary") or "") not in ("", "UNLOGGED"):
        name = "pg_temp", name[1]
    elif name[0] in ("", "public") and not state.sequences.isdisjoint(
        {("", name[1]), ("public", name[1])}
    ):
        return effect
    if name in state.sequences:
        return effect
    if name[0] != "pg_temp" and Presence(state).another_kind(tree, *name, "sequence"):
        return effect
    if tree.args.get("if_not_exists") and (
        state.existing is not None or state.may_be_created_by_code(name[1])
    ):
        effect.add_unknown(f"whether {name[1]} exists")
    state.sequences.add(name)
    effect.other_files = 1
    if str(tree.args.get("temporary") or "") == "UNLOGGED":
        state.unlogged_sequences.add(name)
        effect.other_files = 2
    for instance in Instance:
        effect.add(instance, auxiliary_rows.sequence(state.edition, instance))
    set_owner(state, tree, name, effect)
    return effect


def separate(state: SchemaState, name: exp.Expression) -> tuple[str, str]:
    """(schema, name) of a sequence; that of a serial column becomes a separate sequence, which the
    column owns and its default uses.
    """
    key = state.known_name(name, state.sequences)
    found = column_with_sequence(state, key)
    if found is None or found[1].serial != "serial":
        return key
    table, column = found
    key = table.schema, key[1]
    used = replace(column, serial="", sequences_used=frozenset((key[1],)))
    state.ties.use_sequences(table, used.sequences_used)
    table.columns = [used if c is column else c for c in table.columns]
    table.owned.append(key)
    table.owners[key] = column.name
    state.owned_once.add(key)
    state.sequences.add(key)
    return key


def _of_a_column(state: SchemaState, key: tuple[str, str]) -> bool:
    """Whether a serial or identity column may own a sequence of that name."""
    state.disowned.add(key[1])
    owners = [t for t in state.tables.values() if may_own_sequence(t, key[1])]
    for table in owners:
        table.uncounted = table.uncounted or f"owner of sequence {key[1]}"
    return bool(owners) or state.existing is not None


def set_owner(
    state: SchemaState, tree: exp.Expression, name: tuple[str, str], effect: Effect
) -> None:
    """OWNED BY: the sequence will be dropped with the table."""
    for option in tree.args.get("options") or ():
        owner = option.args.get("owner")
        if owner is None:
            continue
        for table in state.tables.values() if name in state.owned_once else ():
            if name in table.owned:
                table.owned = [key for key in table.owned if key != name]
                effect.minor.append("dependencies of the sequence")
        if name not in state.sequences and _of_a_column(state, name):
            effect.add_unknown(f"previous owner of sequence {name[1]}")
        if owner.args.get("db") is None:
            continue  # NONE
        schema = fold(owner.args["catalog"]) if owner.args.get("catalog") is not None else ""
        found = state.named(schema, fold(owner.args["db"]))
        if found is None and (hit := state.partition(schema, fold(owner.args["db"]))) is not None:
            hit[0].uncounted = hit[0].uncounted or "sequence that a partition owns"
        if found is not None and name not in state.sequences:
            found.uncounted = found.uncounted or f"owner of sequence {name[1]}"
        if found is None or name not in state.sequences:
            effect.minor.append("owner of the sequence")
        else:
            found.owned.append(name)
            found.owners[name] = fold(owner.this)
            state.owned_once.add(name)
            effect.minor.append("dependencies of the sequence")


@handles("AlterSequence")
def alter_sequence(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER SEQUENCE: a new owner, name or schema."""
    effect = Effect()
    name = separate(state, tree.this)
    set_owner(state, tree, name, effect)
    for action in tree.args.get("actions") or ():
        form = str(action.args.get("form") or "")
        if form in ("SET LOGGED", "SET UNLOGGED"):
            _set_logged(state, name, effect, logged=form == "SET LOGGED")
    rename = tree.args.get("rename")
    new = rename.this if rename is not None else None
    if isinstance(new, exp.Identifier) and name not in state.sequences:
        for table in state.tables.values():
            if may_own_sequence(table, name[1]):
                table.former_sequences |= {fold(new)}
    if isinstance(new, exp.Identifier) and name in state.sequences:
        rename_sequence(state, name, (name[0], fold(new)))
    schema = tree.args.get("schema")
    if (
        isinstance(schema, exp.Expression)
        and isinstance(schema.this, exp.Identifier)
        and name in state.sequences
    ):
        rename_sequence(state, name, (fold(schema.this), name[1]))
    elif isinstance(schema, exp.Expression) and isinstance(schema.this, exp.Identifier):
        state.schemas_unknown.add(fold(schema.this))  # an unknown sequence is in it now
    return effect


def _set_logged(state: SchemaState, key: tuple[str, str], effect: Effect, *, logged: bool) -> None:
    if key not in state.sequences:
        effect.add_unknown(f"unknown sequence {key[1]}")
        for table in state.tables.values():  # its sequence has another number of files now
            if may_own_sequence(table, key[1]):
                table.uncounted = table.uncounted or f"persistence of sequence {key[1]}"
    elif logged != (key not in state.unlogged_sequences):
        effect.other_files += -1 if logged else 1
        (state.unlogged_sequences.discard if logged else state.unlogged_sequences.add)(key)


def named_sequences(tree: exp.Expression) -> frozenset[str]:
    """Names in SEQUENCE NAME of identity columns."""
    return frozenset(
        fold(node.args["owner"].this)
        for node in tree.walk()
        if str(node.args.get("form")) == "SEQUENCE NAME" and node.args.get("owner") is not None
    )


def any_default(state: SchemaState, *, unread: bool = False) -> bool:
    """Whether a known table has a default that uses a sequence other than its own. unread: only
    defaults whose sequence is not known
    """
    return any(
        c.named and not c.serial and not c.generated and not (unread and c.sequences_used)
        for table in state.tables.values()
        for c in table.columns
    )


def _users(state: SchemaState, key: tuple[str, str]) -> list[Table]:
    """The existing tables that may have a default that uses a sequence."""
    found: list[Table] = []
    for table in state.ties.sequence_users.get(key[1], ()):
        if state.tables.get((table.schema, table.name)) is table:
            family = (table, *state.partitions_of(table), *state.inheriting(table))
            found += [one for one in family if not any(one is other for other in found)]
    return found


def _drop_defaults(state: SchemaState, key: tuple[str, str], effect: Effect) -> None:
    """CASCADE: drop the defaults that use a sequence."""
    for table in _users(state, key):
        used = [
            c.name
            for c in table.columns
            if c.default and any(sequence_name(state, t) == key for t in c.sequences_used)
        ]
        if not used:
            continue
        if not table.known or table.uncounted:
            effect.add_unknown(f"defaults of {table.title}")
            continue
        with state.changing(effect, table):
            table.columns = [
                replace(c, default=False, named=0, sequences_used=frozenset())
                if c.name in used
                else c
                for c in table.columns
            ]


def note_defaults(state: SchemaState, effect: Effect) -> None:
    """Note that defaults that use a dropped sequence were dropped with it."""
    effect.minor.append(DEFAULTS)
    for table in state.tables.values():
        if any(c.named and not c.serial and not c.generated for c in table.columns):
            table.leave_out(DEFAULTS)


@drops("SEQUENCE")
def drop_sequences(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP SEQUENCE."""
    effect = Effect()
    keys = [(name, separate(state, name)) for name in tree.args.get("names") or ()]
    cascade = cascades(tree)
    sure = (
        state.existing is None and not state.unsure and all(k in state.sequences for _, k in keys)
    )
    if cascade and not sure:
        if state.views or any(t.reads for t in state.tables.values()) or state.existing is not None:
            effect.add_unknown("views dropped by CASCADE")
        note_defaults(state, effect)
    elif cascade:
        if any_default(state, unread=True):
            note_defaults(state, effect)
        for _, key in keys:
            if sum(name == key[1] for _, name in state.sequences) > 1:
                note_defaults(state, effect)  # the name in a default may be that of another one
            _drop_defaults(state, key, effect)
        drop_dependent_views(state, {key for _, key in keys}, effect)
    for name, key in keys:
        if key not in state.sequences:
            if tree.args.get("exists") and not state.opaque and not _of_a_column(state, key):
                continue  # as with DROP TABLE IF EXISTS
            _of_a_column(state, key)
            effect.add_unknown(f"unknown sequence {name.sql('greenplum')}")
            continue
        for table in state.tables.values() if key in state.owned_once else ():
            if key in table.owned:
                table.owned.remove(key)
                table.owners.pop(key, None)
                effect.add_rows({"pg_depend": -1})
        drop_sequence(state, key, effect)
    return effect


def drop_sequence(state: SchemaState, key: tuple[str, str], effect: Effect) -> None:
    """Drop one known sequence."""
    state.sequences.discard(key)
    state.ties.sequence_users.pop(key[1], None)
    effect.other_files -= 1 + (key in state.unlogged_sequences)
    state.unlogged_sequences.discard(key)
    for instance in Instance:
        effect.add(instance, auxiliary_rows.sequence(state.edition, instance), -1)


def _rename_in_defaults(state: SchemaState, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Change the name of a sequence in the defaults that use it."""
    users = _users(state, old)
    state.ties.sequence_users.pop(old[1], None)
    schema, name = (part.replace('"', '""') for part in new)
    text = f'"{schema}"."{name}"' if schema else f'"{name}"'
    for table in users:
        table.columns = [
            replace(
                c,
                sequences_used=frozenset(
                    text if sequence_name(state, one) == old else one for one in c.sequences_used
                ),
            )
            if c.sequences_used
            else c
            for c in table.columns
        ]
        for c in table.columns:
            state.ties.use_sequences(table, c.sequences_used)


def rename_sequence(state: SchemaState, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Change the (schema, name) of a sequence, also in the table that owns it."""
    if old == new:
        return
    _rename_in_defaults(state, old, new)
    rename_reads(state, {old: new})
    state.sequences.discard(old)
    state.sequences.add(new)
    if old in state.unlogged_sequences:
        state.unlogged_sequences.discard(old)
        state.unlogged_sequences.add(new)
    for table in state.tables.values() if old in state.owned_once else ():
        if old in table.owned:
            state.owned_once.add(new)
            table.owned = [new if key == old else key for key in table.owned]
            if old in table.owners:
                table.owners[new] = table.owners.pop(old)
