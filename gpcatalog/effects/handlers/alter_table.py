"""ALTER TABLE, ALTER INDEX and ALTER VIEW: dispatch of actions, constraints and properties of the
table; records what is unknown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.generation import generation
from gpcatalog.capacity.model import Instance
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.definition import constraint, deferrable, require, traits_of
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.expansion import options_of, storage_of
from gpcatalog.effects.handlers.actions import (
    ACTIONS,
    NO_ROWS,
    WEAK_LOCK,
    action_has_only,
    acts,
    affected_tables,
    losing,
    own_constraints,
)
from gpcatalog.effects.handlers.alter_columns import drop_not_null, set_oids
from gpcatalog.effects.handlers.drops import drop_referencing
from gpcatalog.effects.handlers.indexes import attach_index, owners_of_index
from gpcatalog.effects.handlers.registry import handles
from gpcatalog.effects.handlers.sequences import rename_sequence, separate
from gpcatalog.effects.handlers.views import VIEWS, alter_foreign, doubt_views
from gpcatalog.effects.held_locks import AlterTableLocks
from gpcatalog.effects.keys import Check, Key, fold, object_name, qualified
from gpcatalog.effects.outer_dependencies import (
    DEPENDENCIES,
    FOREIGN,
    NOT_NULL,
    SEVERAL_PARENTS,
    note_taken_over,
)
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.effects.renames import move_table, name_of_partition, rename_reads
from gpcatalog.effects.rewrites import (
    Before,
    note_rewrite,
    without_needless_toast,
)
from gpcatalog.effects.ties import keys_of_partitions
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


# actions that make a table a partition, or a partition a table
_MOVES = ("ExchangePartition", "AttachPartition", "DetachPartition")


def alter(state: SchemaState, tree: exp.Expression) -> Effect:
    """The effect of ALTER TABLE, ALTER INDEX or ALTER VIEW."""
    if tree.args.get("this") is None:
        return Effect()
    table = state.find(tree.this)
    actions = list(tree.args.get("actions") or [])
    actions += [
        tree.args[single] for single in ("action", "move") if tree.args.get(single) is not None
    ]
    if table is not None and type(tree).__name__ == "AlterIndex" and tree.args.get("rename"):
        actions.append(tree.args["rename"])  # it also renames tables
    effect = Effect(verb="alter", table=table, actions=actions)
    effect.exclusive = (table is None or (table.schema, table.name) in state.before) and any(
        type(a).__name__ not in WEAK_LOCK for a in actions
    )
    if any(type(a).__name__ == "AddPartition" for a in actions):
        effect.verb = "add partition"
    if table is None:
        return _alter_no_table(state, tree, actions, effect)
    if tree.args.get("exists") and (reason := state.why_not_found(tree.this, table)):
        table.known = False
        effect.add_unknown(reason)
    counts = any(type(a).__name__ not in NO_ROWS | {"OwnerTo"} for a in actions)
    for one in (table, *state.partitions_of(table), *state.inheriting(table)) if counts else ():
        if not one.known:
            effect.add_unknown(one.unknown_definition)
        if one.uncounted:
            effect.add_unknown(one.uncounted)
    if (
        table.toast_missing
        and table.storage is not Storage.AO_COLUMN
        and any(type(a).__name__ not in _NO_TOAST for a in actions)
    ):
        with state.changing(effect, table):
            table.toast_missing = False
    only = isinstance(tree.this, gx.RelationName) and bool(tree.this.args.get("only"))
    effect.targets.append((table, 1 if only else state.leaves_of(table)))
    before = Before.of(table)
    locks = AlterTableLocks(state, table, only=only)
    for action in sorted(actions, key=_pass):
        with locks.action(action):
            _act(state, table, action, effect)
    note_rewrite(state, table, before, effect)
    if counts and effect.unknown:
        reason = effect.unknown[0]
        if not reason.startswith(_EARLIER):
            reason = f"{_EARLIER} {table.title}: {reason}"
        table.uncounted = table.uncounted or reason
        for child in [] if only else state.inheriting(table):
            child.uncounted = child.uncounted or reason
        _uncount_moved(state, actions, reason)
    effect.locks += locks.total(effect)
    return effect


_EARLIER = "earlier change to"


def _pass(action: exp.Expression) -> int:
    """The rank of an action in the server's order, independent of the written order: first drops,
    then changes of types, then new columns, then all others.
    """
    if type(action).__name__ == "AlterColumnAction":
        if str(action.args.get("form") or "").startswith("DROP "):
            return 0
        return 1 if action.args.get("kind") is not None else 3
    if type(action).__name__ == "AddTableConstraint":  # keys before foreign keys
        references = isinstance(action.this.args.get("kind"), gx.ReferencesConstraint)
        return 4 if references else 3
    return {"DropColumn": 0, "DropConstraint": 0, "AddColumn": 2}.get(type(action).__name__, 3)


_OF_SEQUENCES = ("RenameTo", "SetSchema", "OwnerTo")


def _alter_no_table(
    state: SchemaState, tree: exp.Expression, actions: list[exp.Expression], effect: Effect
) -> Effect:
    """The effect on an object that is not a known table: a sequence, an index, a partition or an
    unknown table.

    effect: the effect so far, as for a table
    """
    moves = bool(actions) and all(type(a).__name__ in _OF_SEQUENCES for a in actions)
    sequence = separate(state, tree.this) if moves else state.known_name(tree.this, state.sequences)
    if sequence in state.sequences:
        effect.exclusive = False
        _move_sequence(state, sequence, actions)
        return effect
    renames = bool(actions) and all(type(a).__name__ == "RenameTo" for a in actions)
    if (index := tree.args.get("attach")) is not None:
        return attach_index(state, tree, index)
    if type(tree).__name__ == "AlterIndex" or (
        renames
        and isinstance(tree.this, exp.Table | gx.RelationName)
        and owners_of_index(state, *qualified(tree.this))
    ):
        _rename_index(state, tree, actions)
        return Effect(locks=1)
    hit = (
        state.partition(*qualified(tree.this))
        if not isinstance(tree.this, exp.Identifier)
        else None
    )
    if hit is not None and all(
        type(a).__name__ in NO_ROWS | {"OwnerTo", "RenameTo"} for a in actions
    ):
        _alter_partition_alone(state, *hit, actions)
        effect.table = hit[0]
        effect.targets.append((hit[0], 1))
        effect.exclusive = (hit[0].schema, hit[0].name) in state.before
        return effect
    effect.rewritten = any(
        type(a).__name__ == "SplitPartition"
        or (type(a).__name__ == "AlterColumnAction" and a.args.get("kind") is not None)
        for a in actions
    )
    if tree.args.get("exists") and Presence(state).created_later(tree.this):
        return Effect(verb="alter", may_exist=[qualified(tree.this)])
    if any(type(a).__name__ not in NO_ROWS | {"OwnerTo"} for a in actions):
        effect.add_unknown(f"unknown table {tree.this.sql('greenplum')}")
        _uncount_moved(state, actions, effect.unknown[0])
    return effect


def _move_sequence(
    state: SchemaState, sequence: tuple[str, str], actions: list[exp.Expression]
) -> None:
    """Change the name and the schema of a sequence, by (schema, name), as the actions specify."""
    for action in actions:
        kind = type(action).__name__
        schema, name = sequence
        new = (
            (schema, fold(action.this))
            if kind == "RenameTo"
            else (fold(action.this), name)
            if kind == "SetSchema"
            else sequence
        )
        rename_sequence(state, sequence, new)
        sequence = new


def _uncount_moved(state: SchemaState, actions: list[exp.Expression], reason: str) -> None:
    """Mark the tables that actions with an unknown effect exchange, attach or detach as unknown:
    their relations are then those of a partition, or unknown.
    """
    for action in actions:
        for node in action.walk():
            if type(node).__name__ not in _MOVES:
                continue
            other = node.args.get("table") or node.args.get("this")
            moved = state.find(other) if isinstance(other, exp.Table | gx.RelationName) else None
            if moved is not None:
                moved.uncounted = moved.uncounted or reason


def _alter_partition_alone(
    state: SchemaState, table: Table, path: list[Partition], actions: list[exp.Expression]
) -> None:
    """Change the name or schema of a partition that is not a separate table here."""
    part = path[-1]
    for action in actions:
        if type(action).__name__ == "RenameTo":
            part.name = fold(action.this)
        elif type(action).__name__ == "SetSchema":
            part.schema = fold(action.this)
    state.keep(table, path)


# all other actions create a missing TOAST relation
_NO_TOAST = ("RenameTo", "RenameColumnTo", "RenameConstraint", "SetSchema")


def _rename_index(state: SchemaState, tree: exp.Expression, actions: list[exp.Expression]) -> None:
    rename = tree.args.get("rename") or next(
        (a for a in actions if type(a).__name__ == "RenameTo"), None
    )
    if rename is None:
        return
    schema, old = qualified(tree.this)
    new = fold(rename.this)
    owners = owners_of_index(state, schema, old)
    if not owners:
        state.unknown_indexes.add(new)
    family = [one for table in owners for one in (table, *state.partitions_of(table))]
    for table in family:
        table.indexes = [
            (
                replace(k, name=new)
                if k.name == old
                else replace(k, of=new)
                if old and k.of == old
                else k
            )
            for k in table.indexes
        ]


def _act(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    kind = type(action).__name__
    handler = ACTIONS.get(kind)
    if handler is not None:
        handler(state, table, action, effect)
    elif kind not in NO_ROWS:
        effect.add_unknown(f"effect of {action.sql('greenplum').split('(')[0].strip()}")


@acts("AddTableConstraint")
def _add_constraint(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    element = action.this
    if isinstance(element.args.get("kind"), gx.ReferencesConstraint):
        state.find(
            element.args["kind"].this
        )  # a partition becomes a separate table now, not while changes are measured
    if not action_has_only(action):
        state.separate_odd(table)
    family = affected_tables(state, table, action)
    unknown: list[str] = []
    kind = element.args.get("kind")
    if (
        isinstance(kind, gx.KeyConstraint)
        and kind.args.get("index") is not None
        and kind.args.get("kind") != "NOT NULL"
    ):
        _promote(state, table, element, effect)
        return
    table.created_at_once = table.created_at_once and bool(table.foreign)
    if table.parts and len(family) == 1 and action_has_only(action):
        effect.add_unknown("constraint added to the parent ONLY")
        return
    new_keys: list[Key] = []
    settled: list[Table] = []
    checks: list[Check] = []
    with state.changing(effect, *family):
        for one in family:
            if one is not table and (not one.parent or isinstance(kind, gx.CheckConstraint)):
                _inherit_constraint(one, element, checks)
                continue
            keys, before = len(one.indexes), len(one.checks)
            own = {c.name for c in one.columns if c.own_not_null}
            constraint(state, one, element, unknown)
            if one is table:
                new_keys, checks = one.indexes[keys:], one.checks[before:]
            else:
                one.columns = [replace(c, own_not_null=c.name in own) for c in one.columns]
                del one.indexes[keys:]
                for key in new_keys if not any(one is other for other in settled) else ():
                    if state.take_over(one, key, any_key=True):
                        settled += state.partitions_of(one)  # they keep those of that key
                    else:
                        one.indexes.append(key.for_partition(one))
    for reason in unknown:
        effect.add_unknown(reason)


def _inherit_constraint(child: Table, element: exp.Expression, checks: list[Check]) -> None:
    """Inherit CHECK constraints, unless the child has one of that name, and NOT NULL; neither with
    NO INHERIT.

    checks: the constraints that its parent got
    """
    names = {c.name for c in child.checks}
    if child.parent is None and any(c.name in names for c in checks):
        child.leave_out(SEVERAL_PARENTS)
    if child.parent is not None:  # in a partition, it becomes that of its table
        merged = {c.name for c in checks}
        child.checks = [replace(c, own=c.own and c.name not in merged) for c in child.checks]
    child.checks += [replace(c, own=False) for c in checks if not c.alone and c.name not in names]
    kind = element.args["kind"]
    if not isinstance(kind, gx.KeyConstraint) or "NO INHERIT" in traits_of(element):
        return
    if kind.args.get("kind") == "NOT NULL":
        require(child, (fold(kind.args.get("index")),), own=False)
    elif kind.args.get("kind") == "PRIMARY KEY":
        require(child, [fold(c) for c in kind.expressions], own=False)


def _promote(state: SchemaState, table: Table, element: exp.Expression, effect: Effect) -> None:
    """ADD … USING INDEX: the index gets the constraint's name."""
    kind = element.args["kind"]
    old = fold(kind.args["index"])
    key = next((k for k in table.indexes if k.name == old), None)
    if key is None:
        effect.add_unknown(f"unknown index {old}")
        return
    if key.of:
        note_taken_over(state.ties, table)
    primary = kind.args["kind"] == "PRIMARY KEY"
    with state.changing(effect, table):
        name = fold(element.args.get("this")) or old
        table.indexes = [
            (
                replace(
                    k,
                    name=name,
                    constraint=True,
                    deferrable=deferrable(element),
                    like=f"primary key {k.simple} 0" if primary else k.like,
                )
                if k is key
                else k
            )
            for k in table.indexes
        ]
        if primary:
            require(table, key.simple)


@acts("DropConstraint")
def _drop_constraint(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    name = fold(action.this)
    if not table.known:
        return
    found = [k for k in table.indexes if k.constraint and k.name == name]
    found_checks = [c for c in table.checks if c.name == name]
    found_keys = [f for f in table.foreign if f.name == name]
    if not (found or found_checks or found_keys):
        # names of NOT NULL constraints, which have rows since PostgreSQL 18, are not stored here
        required = [c.name for c in table.columns if c.not_null and state.edition.base >= 18]
        column = next((c for c in required if object_name(table.name, c, "not_null") == name), "")
        if column:
            drop_not_null(state, affected_tables(state, table, action), column, effect)
        elif not action.args.get("if_exists") or (required and _may_be_not_null(table, name)):
            effect.add_unknown(f"unknown constraint {name}")
        return
    if found_keys and keys_of_partitions(state, table):
        effect.minor.append(FOREIGN)
    family = affected_tables(state, table, action)
    # ONLY does not keep the indexes of partitions
    with_keys = [table, *state.partitions_of(table)] if found else []
    if found_checks and any(SEVERAL_PARENTS in one.not_counted for one in family):
        effect.minor.append(SEVERAL_PARENTS)
    unchecked = losing(family, lambda t: _check(t, name) is not None, lambda t: _owns(t, name))
    if state.edition.greenplum and any(_owns(one, name) for one in family[1:]):
        for one in family:  # segments drop constraints that the coordinator keeps
            one.leave_out(_ON_SEGMENTS)
        effect.minor.append(_ON_SEGMENTS)
    if len(family) == 1:  # ONLY: it becomes the children's own constraint
        _own_check([*state.partitions_of(table), *state.inheriting(table)], table, name)
    with state.changing(effect, *family, *(t for t in with_keys if t not in family)):
        for one in with_keys:
            dropped_keys = found if one is table else [k for k in one.indexes if k.of == name]
            one.drop_keys(dropped_keys, state.edition)
        for one in family:
            if (one.schema, one.name) in unchecked:
                one.checks = [c for c in one.checks if c.name != name]
            one.foreign = [f for f in one.foreign if f.name != name]
    if found and str(action.args.get("behavior") or "") == "CASCADE":
        keys = {(t.schema, t.name) for t in family}
        # a view that groups by the key and selects other columns depends on the key
        if doubt_views(state, keys, VIEWS):
            effect.add_unknown(VIEWS)
        for key in found:
            drop_referencing(state, table, key, effect)


def _may_be_not_null(table: Table, name: str) -> bool:
    """Whether the name can be that of a NOT NULL constraint: given by a script, generated for
    another name of the table or a column, or inherited.
    """
    return table.not_null_named or bool(table.inherits or table.parent) or "_not_null" in name


_ON_SEGMENTS = "constraints that a table and its children have in common, on segments"


def _check(table: Table, name: str) -> Check | None:
    return next((c for c in table.checks if c.name == name), None)


def _owns(table: Table, name: str) -> bool:
    check = _check(table, name)
    return check is not None and check.own


def _own_check(children: list[Table], table: Table, name: str) -> None:
    key = table.schema, table.name
    for child in children:
        if key in (child.parent, *child.inherits):
            child.checks = [replace(c, own=True) if c.name == name else c for c in child.checks]


@acts("AlterConstraint")
def _alter_constraint(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    """ALTER CONSTRAINT [NOT] ENFORCED: a foreign key that is not enforced has no triggers
    (PostgreSQL 18).
    """
    traits = traits_of(action)
    if traits.isdisjoint(("ENFORCED", "NOT ENFORCED")):
        return
    name, enforced = fold(action.this), "NOT ENFORCED" not in traits
    with state.changing(effect, table):
        table.foreign = [
            replace(f, enforced=enforced) if f.name == name else f for f in table.foreign
        ]


@acts("InheritConstraint")
def _inherit_named(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    """ALTER CONSTRAINT … INHERIT and NO INHERIT of a NOT NULL constraint, whose name is not
    stored.
    """
    family = [table, *state.partitions_of(table), *state.inheriting(table)]
    if len(family) > 1:
        effect.minor.append(NOT_NULL)
    for one in family:
        one.leave_out(NOT_NULL)


_KEPT_ROWS = "catalog rows kept after a change of storage"


def _change_storage(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    """Change the storage of a plain table of Greenplum 7.

    Measured on 7.0.0: the table keeps the system columns that it was created with, and a table that
    was column-oriented gets its TOAST relation only with the next ALTER TABLE."""
    plain = not (table.partitioned or table.levels or table.parent or table.inherited)
    if not plain or not table.known or not state.edition.greenplum or state.edition.classic:
        effect.add_unknown(_KEPT_ROWS)
        children = state.partitions_of(table) if state.edition.greenplum else []
        for one in (table, *children):
            one.known = False
            one.unknown.append(_KEPT_ROWS)
        return
    if table.directory and not table.indexes:
        effect.add_unknown("block directory after a change of storage")
    given, named = action.args.get("options"), action.args.get("method")
    options = options_of(given) if isinstance(given, exp.Expression) else {}
    old = table.storage
    columns = generation(state.edition.name).system_columns
    new = storage_of(
        options, fold(named) if isinstance(named, exp.Identifier) else "", old, state.edition
    )
    if new not in columns:
        effect.add_unknown(
            f"access method {named.sql('greenplum') if isinstance(named, exp.Expression) else ''}"
        )
        table.known = False
        table.unknown.append("unknown access method")
        return
    effect.minor.append("rows of other catalogs after a change of storage")
    with state.changing(effect, table):
        if new is not old:
            table.toasted = False
            table.toast_missing = old is Storage.AO_COLUMN
        table.storage = new
        for instance in Instance:
            table.extra.setdefault(instance.value, Counter())["pg_attribute"] += (
                columns[old] - columns[new]
            )


@acts("ExpandTable")
def _expand(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    """EXPAND TABLE: rows are moved to new segments; the relations remain."""
    effect.rewritten = True
    effect.minor.append("catalog rows of the expansion")


@acts("SetTable")
def _set_table(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    options = action.args.get("options")
    storage = (
        {"appendonly", "appendoptimized", "orientation"} & set(options_of(options))
        if isinstance(options, exp.Expression)
        else set()
    )
    if (
        action.args.get("distribution") is not None
        or action.args.get("method") is not None
        or storage
    ):
        effect.rewritten = True
    if action.args.get("method") is not None or storage:
        _change_storage(state, table, action, effect)
    elif action.args.get("tablespace") is not None:
        effect.add_unknown("catalog rows and files after a change of tablespace")
    elif form in ("SET LOGGED", "SET UNLOGGED"):
        effect.rewritten = True
        if table.partitioned or table.levels:
            effect.add_unknown("persistence of partitions")
        changed = table.unlogged is not (form == "SET UNLOGGED")
        with state.changing(effect, table):
            table.unlogged = form == "SET UNLOGGED"
            if changed and (doubt := without_needless_toast(table)):
                effect.add_unknown(doubt)
    elif form in ("SET WITH OIDS", "SET WITHOUT OIDS"):
        if not state.edition.classic:
            return  # other servers accept WITHOUT OIDS and do nothing
        set_oids(
            state, affected_tables(state, table, action), effect, present=form == "SET WITH OIDS"
        )
    if action.args.get("distribution") is not None:
        if any(c.outer_order for c in table.columns):
            effect.minor.append(DEPENDENCIES)
        node = action.args["distribution"]
        word = str(node.args.get("kind") or "")
        table.distribution = {"HASH": "hash", "RANDOM": "random"}.get(word, "replicated")
        table.distribution_keys = tuple(
            fold(k if isinstance(k, exp.Identifier) else k.this) for k in node.expressions
        )


@acts("RenameTo")
def _rename(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    table.former_sequences |= table.sequence_names
    old, new = table.name, fold(action.this)
    other = state.tables.get((table.schema, new))
    if other is not None and other.temporary != table.temporary:
        table.known = False
        table.unknown.append(f"a temporary and a permanent table {new}")
    move_table(state, table, table.schema, new)
    if state.edition.greenplum and table.partitioned:
        _rename_partitions(state, table, old, new)


def _rename_partitions(state: SchemaState, table: Table, old: str, new: str) -> None:
    """Rename the partitions whose names begin with the old name of their table."""
    for part in table.relations():
        name = name_of_partition(state.edition, part.name, old, new)
        if name != part.name:
            schema, was = part.schema or table.schema, part.name
            part.name = name
            rename_reads(state, {(schema, was): (schema, name)})
    state.keep(table)
    for one in state.partitions_of(table):
        name = name_of_partition(state.edition, one.name, old, new)
        if name != one.name:
            move_table(state, one, one.schema, name)


@acts("RenameConstraint")
def _rename_constraint(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    old, new = fold(action.this), fold(action.args.get("to"))
    table.not_null_named = True
    table.indexes = [replace(k, name=new) if k.name == old else k for k in table.indexes]
    for one in state.partitions_of(table):
        one.indexes = [replace(k, of=new) if k.of == old else k for k in one.indexes]
    table.checks = [replace(c, name=new) if c.name == old else c for c in table.checks]
    table.foreign = [replace(f, name=new) if f.name == old else f for f in table.foreign]


@acts("SetSchema")
def _set_schema(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    if {fold(action.this), table.schema} & {"pg_catalog", "pg_temp"}:
        # nothing depends on a system schema
        effect.minor.append("dependency on the schema")
        table.leave_out("dependency on the schema")
    for sequence in list(table.owned):
        if sequence in state.sequences:
            rename_sequence(state, sequence, (fold(action.this), sequence[1]))
    move_table(state, table, fold(action.this), table.name)


@acts("InheritAction")
def _inherit(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    if not form.endswith("INHERIT"):
        effect.add_unknown(f"effect of {form}")
        return
    parent = state.find(action.this)
    key = (parent.schema, parent.name) if parent is not None else qualified(action.this)
    with state.changing(effect, table):
        if form == "INHERIT":
            table.inherits = (*table.inherits, key)
            if parent is not None:
                parent.inherited = True
        else:
            table.inherits = tuple(t for t in table.inherits if t != key)
            if not table.inherits:
                table.columns = [replace(c, local=True) for c in table.columns]
                own_constraints(table)


@acts("OwnerTo")
def _owner(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    effect.minor.append("pg_shdepend rows")


@handles("AlterTable", "AlterIndex", "AlterView", "AlterMaterializedView")
def alter_relation(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER of a view, index or sequence, also if it is written as ALTER TABLE."""
    if (
        tree.args.get("this") is not None
        and state.known_name(tree.this, state.views) in state.views
    ):
        return alter_foreign(state, tree)
    effect = alter(state, tree)
    if (
        effect.table is None
        and tree.args.get("this") is not None
        and not isinstance(tree.this, exp.Identifier)
    ):
        state.note_change_by_name(tree.this)
        for other in (
            a.args.get("table")
            for a in tree.find_all(exp.Expression)
            if type(a).__name__ == "ExchangePartition"
        ):
            if other is not None and (there := state.find(other)) is not None:
                there.uncounted = there.uncounted or f"table {there.title} after EXCHANGE PARTITION"
    return effect
