"""ALTER TABLE: actions on columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.capacity.toast import toastable
from gpcatalog.effects.attached import rename_attached
from gpcatalog.effects.column_defaults import with_default
from gpcatalog.effects.columns_read import view_of_column
from gpcatalog.effects.definition import column, reads, require
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.expansion import catalog_type, sized
from gpcatalog.effects.handlers.actions import acts, affected_tables, losing, unknown_toast
from gpcatalog.effects.handlers.sequences import (
    any_default,
    drop_sequence,
    named_sequences,
    note_defaults,
)
from gpcatalog.effects.handlers.views import VIEWS, doubt_views
from gpcatalog.effects.keys import fold
from gpcatalog.effects.outer_dependencies import (
    FOREIGN,
    SEVERAL_PARENTS,
    STATISTICS,
    note_dependencies,
    note_outer,
)
from gpcatalog.effects.relations import Table
from gpcatalog.effects.rewrites import ENCODINGS, NEW_COLUMN, by_new_column, by_type
from gpcatalog.effects.ties import keys_of_partitions
from gpcatalog.effects.view_sequences import owned_sequences
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@acts("AddColumn")
def _add_column(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    if (action.args.get("exists") or action.args.get("if_not_exists")) and any(
        c.name == fold(action.this.this) for c in table.columns
    ):
        return
    family = affected_tables(state, table, action)
    unknown: list[str] = []
    with state.changing(effect, *family):
        for one in family:
            child = table.inherited and one is not table and not one.parent
            if child and any(c.name == fold(action.this.this) for c in one.columns):
                continue  # the columns are merged
            one.created_at_once = one.created_at_once and bool(one.foreign)
            had_toast = one.needs_toast(state.edition)
            if state.edition.classic and _columnar(one) and _writes_all(one, effect):
                unknown.append("rewrite of a column-oriented table")
            before = len(one.foreign), len(one.indexes), len(one.checks)
            new_column = column(state, one, action.this)
            if new_column is None:
                continue
            if reason := unknown_toast(one, state.edition):
                unknown.append(reason)
            if one.toast_doubt and (
                effect.rewritten
                or toastable(new_column.type, new_column.typmod)
                or one.needs_toast(state.edition) != had_toast
            ):
                unknown.append(one.toast_doubt)
            rewrites = by_new_column(state, action.this, new_column)
            if one is not table:
                new_column = one.columns[-1] = new_column.of_partition()
            if child:
                del one.indexes[before[1] :]  # keys are not inherited
                del one.foreign[before[0] :]
            if rewrites and state.edition.base < 11:
                effect.rewritten = True
            loses_toast = one.toasted and not one.columns_call_for_toast(state.edition)
            if rewrites is None and (loses_toast or (state.edition.classic and one.indexes)):
                unknown.append(NEW_COLUMN)
            if rewrites and not state.edition.classic:
                effect.rewritten = True  # a rewrite adds no rows of encodings
                if one.toast_doubt:
                    unknown.append(one.toast_doubt)
                # a rewrite keeps no TOAST relation that no column needs; of a column-oriented
                # table, only the new column is written
                one.toasted = one.toasted and one.storage is Storage.AO_COLUMN
                one.lose_directories()
            else:
                _rewritten_by_column(state, one, effect, bool(rewrites))
                one.widened |= one.storage is Storage.AO_ROW or any(
                    part.storage is Storage.AO_ROW for part in one.relations()
                )
            if state.edition.classic and _columnar(one):
                _note_constraints(one, before, effect)
    for reason in unknown:
        effect.add_unknown(reason)


def _writes_all(table: Table, effect: Effect) -> bool:
    """Whether Greenplum 6 rewrites all columns of a column-oriented table to add one: if the table
    has no columns, or the statement also has other actions.
    """
    return not table.columns or any(type(a).__name__ != "AddColumn" for a in effect.actions)


_LEFT_BY_REWRITE = "files left on segments by the rewrite of a column-oriented table"


def _note_constraints(table: Table, before: tuple[int, int, int], effect: Effect) -> None:
    """Note that a new column with a constraint rewrites a column-oriented table (Greenplum 6).

    before: numbers of foreign keys, indexes and checks before it was added
    """
    if (len(table.foreign), len(table.indexes), len(table.checks)) != before:
        effect.rewritten = True
        table.doubt = _LEFT_BY_REWRITE
        effect.add_unknown(table.doubt)


def _columnar(table: Table) -> bool:
    return table.storage is Storage.AO_COLUMN or any(
        p.storage is Storage.AO_COLUMN for p in table.relations()
    )


def _rewritten_by_column(state: SchemaState, table: Table, effect: Effect, default: bool) -> None:
    """Add the rows that ADD COLUMN leaves for row-oriented append-optimized tables and for
    rewritten tables.
    """
    edition = state.edition
    written = (Storage.AO_ROW, Storage.HEAP) if default and edition.classic else (Storage.AO_ROW,)
    stored = [p for p in table.relations() if edition.classic or p.is_leaf]
    rows = sum(p.storage in written for p in stored)
    rows += table.storage in written and (edition.classic or not table.partitioned)
    indexes = len(table.indexes)
    if not rows or not edition.greenplum:
        return
    if edition.classic:
        effect.rewritten = True
        kept = table.toasted and not table.columns_call_for_toast(edition)
        if kept and {p.storage in written for p in stored} - {table.storage in written}:
            table.toast_doubt = "TOAST relations of the partitions that are not rewritten"
            table.uncounted = table.uncounted or table.toast_doubt
            effect.add_unknown(table.toast_doubt)
        elif table.storage in written:
            table.toasted = False
        table.lose_directories()
        # the rewrite rebuilds the indexes, which segments record once
        noted = table.extra.get(Instance.SEGMENT.value, Counter())["pg_stat_last_operation"]
        left = {
            Instance.SEGMENT: Counter({"pg_stat_last_operation": max(0, rows * indexes - noted)})
        }
    else:
        left = {instance: Counter({"pg_attribute_encoding": rows}) for instance in Instance}
        if table.partitioned:  # those of a partition are dropped with it
            table.leave_out(ENCODINGS)
    for instance, counted in left.items():
        table.extra.setdefault(instance.value, Counter()).update(counted)


def set_oids(state: SchemaState, family: list[Table], effect: Effect, *, present: bool) -> None:
    """Add a column of OIDs to tables, or remove it (Greenplum 6)."""
    effect.rewritten = effect.rewritten or present
    if len(family) > 1 and not family[0].partitioned:
        effect.add_unknown("OID column of the tables that inherit it")
        for one in family[1:]:  # a table that also has OIDs of its own keeps them
            one.uncounted = one.uncounted or f"OID column of {one.title}"
    with state.changing(effect, *family):
        for one in family:
            one.oids = present


def _drop_owned(state: SchemaState, table: Table, name: str, effect: Effect) -> None:
    """Drop the sequences that are owned by a column."""
    for sequence in list(table.owned):
        if sequence not in table.owners:
            effect.add_unknown("whether a sequence is owned by the column")
        elif table.owners[sequence] == name and sequence in state.sequences:
            table.owned.remove(sequence)
            del table.owners[sequence]
            drop_sequence(state, sequence, effect)
            note_defaults(state, effect)
            if doubt_views(state, {sequence}, VIEWS):
                effect.add_unknown(VIEWS)


def _keeping(
    state: SchemaState, table: Table, family: list[Table], name: str
) -> set[tuple[str, str]]:
    """Child tables that keep a column, because it is also their own, or because they inherit it
    from another table.
    """
    losing, before = {(table.schema, table.name)}, 0
    children = [t for t in family if t is not table and not t.parent]
    while len(losing) > before:
        before = len(losing)
        for child in children:
            own = any(c.name == name and c.local for c in child.columns)
            others = [state.tables.get(key) for key in child.inherits if key not in losing]
            if not own and not any(
                c.name == name for t in others if t is not None for c in t.columns
            ):
                losing.add((child.schema, child.name))
    return {(child.schema, child.name) for child in children} - losing


@acts("DropColumn")
def _drop_column(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    name = fold(action.this)
    family = affected_tables(state, table, action)
    if name == "oid" and table.oids and not any(c.name == "oid" for c in table.columns):
        set_oids(state, family, effect, present=False)
        return
    kept = _keeping(state, table, family, name)
    if table.inherited and len(family) == 1:  # ONLY: it becomes the children's own column
        for child in [
            t for t in state.inheriting(table) if (table.schema, table.name) in t.inherits
        ]:
            child.columns = [replace(c, local=True) if c.name == name else c for c in child.columns]
    for reason in (SEVERAL_PARENTS, STATISTICS):
        if any(reason in one.not_counted for one in family):
            effect.minor.append(reason)
    cascade = str(action.args.get("behavior") or "") == "CASCADE"
    names = {(t.schema, t.name) for t in family} if cascade else set()
    if cascade and state.types.of_rows():
        effect.minor.append("constraints of domains")
    if cascade and state.views:  # views can read a partition
        names |= {(p.schema or table.schema, p.name) for p in table.relations()}
        names |= {key for key, of, _ in owned_sequences(state, table) if of in ("", name)}
    if cascade and doubt_views(state, names, VIEWS):
        effect.add_unknown(VIEWS)
    elif not cascade and (view := view_of_column(state, table, name, certain=False)):
        effect.add_unknown(f"whether view {view} depends on column {name}")
    for one in family if cascade else ():
        if (one.schema, one.name) not in kept:
            drop_references(state, one, _with_generated(one, name), effect)
    serial = any(c.name == name and c.serial for c in table.columns) or table.owned
    if cascade and serial and any_default(state):  # defaults that use the sequence
        note_defaults(state, effect)
    with state.changing(effect, *family):
        _drop_owned(state, table, name, effect)
        for one in family:
            if (one.schema, one.name) in kept or (
                one is not table and not one.parent and not any(c.name == name for c in one.columns)
            ):
                continue
            if any(above not in state.tables for above in one.inherits):
                effect.add_unknown("column inherited from another parent")
            if not any(c.name == name for c in one.columns):
                if not action.args.get("if_exists"):
                    effect.add_unknown(f"unknown column {name}")
                continue
            # existing relations keep their TOAST relation; partitions that are created later may
            # have none
            if not one.toast_missing and one.columns_call_for_toast(state.edition):
                one.toasted, one.toasted_at = True, one.dropped + 1
            gone = _with_generated(one, name)
            one.columns = [c for c in one.columns if c.name not in gone]
            one.dropped += len(gone)
            one.drop_keys([key for key in one.indexes if gone & key.reads], state.edition)
            one.only = [k for k in one.only if not gone & k.reads]
            one.drop_odd_keys(set(), state.edition, columns=gone)
            one.checks = [c for c in one.checks if not gone & c.reads]
            one.foreign = [f for f in one.foreign if not gone & set(f.columns)]
            if gone & {*one.distribution_keys, *one.default_keys}:
                one.distribution, one.distribution_keys, one.default_keys = "random", (), ()


def _with_generated(table: Table, name: str) -> set[str]:
    """A column and the columns that are generated from it."""
    gone = {name}
    while more := {c.name for c in table.columns if c.generated & gone} - gone:
        gone |= more
    return gone


def drop_references(state: SchemaState, table: Table, gone: set[str], effect: Effect) -> None:
    """Drop the foreign keys that reference columns of a table, before these columns are dropped."""
    key = table.schema, table.name
    for other in state.tables.values() if key in state.ties.referenced else ():
        if not any(f.target == key for f in other.foreign):
            continue
        if not table.primary_key and not all(f.to for f in other.foreign if f.target == key):
            effect.minor.append("foreign keys dropped by CASCADE")
        kept = [
            f for f in other.foreign if f.target != key or not gone & set(f.to or table.primary_key)
        ]
        if len(kept) < len(other.foreign):
            if keys_of_partitions(state, other):
                effect.minor.append(FOREIGN)
            with state.changing(effect, other):
                other.foreign = kept


def _retype(
    state: SchemaState, table: Table, at: int, action: exp.Expression, effect: Effect
) -> None:
    """Change the type of a column."""
    kind, old = action.args["kind"], table.columns[at]
    called = table.needs_toast(state.edition) and not table.toasted
    new, typmod = state.types.resolved(*catalog_type(kind))
    if not new:
        effect.add_unknown(f"unknown type of {table.columns[at].name} (TOAST relation)")
    own = state.types.outer(kind)
    if old.default and (own or old.own_type):
        note_dependencies(state.ties, table)  # the cast of the default is kept
    state.ties.use_type(table, state.types.used(kind))
    table.columns[at] = replace(
        old,
        type=new,
        typmod=typmod,
        own_type=own,
        type_used=state.types.used(kind),
        sized=sized(kind),
    )
    # with or without a rewrite, a table keeps a TOAST relation that a column needs
    kept = table.columns_call_for_toast(state.edition) and not table.toast_doubt
    if (table.toasted or table.toast_doubt) and not kept:
        rewrites = None
        if not (table.toast_doubt or own or old.own_type or state.edition.greenplum):
            rewrites = by_type(old, table.columns[at], action.args.get("using"))
        if rewrites is None or (not rewrites and not _only_changes(effect.actions)):
            effect.add_unknown(table.toast_doubt or "TOAST relation after a rewrite")
        elif rewrites:  # it keeps a TOAST relation only if a column needs one
            table.toasted = False
    if called and not table.needs_toast(state.edition):
        table.toasted = False  # a change to a type of fixed length is always a rewrite


def _only_changes(actions: list[exp.Expression]) -> bool:
    """Whether all actions change or drop columns: only a change of type can rewrite the table."""
    return all(type(a).__name__ in ("AlterColumnAction", "DropColumn") for a in actions)


def _required(table: Table, name: str) -> tuple[bool, bool]:
    """Whether a column is NOT NULL, and whether by the table's own constraint."""
    found = next((c for c in table.columns if c.name == name), None)
    return (found.not_null, found.own_not_null) if found is not None else (False, False)


def drop_not_null(state: SchemaState, family: list[Table], name: str, effect: Effect) -> None:
    """Drop the NOT NULL constraint of a column of the first table, and of the others that only
    inherit it.
    """
    nullable = losing(family, lambda t: _required(t, name)[0], lambda t: _required(t, name)[1])
    with state.changing(effect, *family):
        for one in family:
            if (one.schema, one.name) in nullable:
                one.columns = [
                    replace(c, not_null=False, own_not_null=False) if c.name == name else c
                    for c in one.columns
                ]


def _note_retype(state: SchemaState, table: Table, name: str, effect: Effect) -> None:
    """Note what is unknown about a change of the type of a column."""
    if state.edition.classic and _columnar(table):
        table.doubt = _LEFT_BY_REWRITE
        effect.add_unknown(table.doubt)
    if view := view_of_column(state, table, name, certain=False):
        effect.add_unknown(f"whether view {view} depends on column {name}")


@acts("AlterColumnAction")
def _alter_column(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    kind = action.args.get("kind")
    name = fold(action.this)
    if kind is not None or "SET ENCODING" in form:
        effect.rewritten = True
    if kind is not None:
        _note_retype(state, table, name, effect)
    if not table.known:
        return
    if not any(c.name == name for c in table.columns):
        effect.add_unknown(f"unknown column {name}")
        return
    family = affected_tables(state, table, action)
    if form == "DROP NOT NULL":
        drop_not_null(state, family, name, effect)
        return
    with state.changing(effect, *family):
        for one in family:
            if kind is not None:
                one.lose_directories()
            for at, c in enumerate(one.columns):
                if c.name != name:
                    continue
                if action.args.get("default") is not None:
                    value = action.args["default"]
                    note_outer(state.types, state.ties, one, value)
                    one.columns[at] = with_default(state.types, state.ties, one, c, value)
                elif form == "DROP DEFAULT":
                    one.columns[at] = replace(c, default=False, named=0)
                elif action.args.get("storage") is not None:
                    plain = fold(action.args["storage"]) == "plain"
                    if one.needs_toast(state.edition):
                        one.toasted, one.toasted_at = (
                            True,
                            one.dropped,
                        )  # an existing relation remains
                    one.columns[at] = replace(c, plain=plain)
                elif form == "SET NOT NULL":
                    require(one, (name,), own=one is table)
                elif kind is not None:
                    _retype(state, one, at, action, effect)
                elif form.startswith("ADD GENERATED"):
                    if one is not table and not one.parent:
                        continue  # child tables do not inherit it
                    if c.serial and one is table:
                        effect.add_unknown("existing sequence of the column")
                    one.columns[at] = replace(
                        c, serial="identity" if one is table else "", identity=one is not table
                    )
                    one.former_sequences |= named_sequences(action)
                elif form.startswith("DROP IDENTITY"):
                    if one is table or one.parent:  # child tables keep their own
                        one.columns[at] = replace(c, serial="", identity=False)
                elif action.args.get("generation") is not None:  # SET EXPRESSION
                    effect.rewritten |= not c.virtual
                    read = reads(action.args["generation"], one)
                    one.columns[at] = replace(c, named=len(read), generated=read)
                elif form.startswith("DROP EXPRESSION"):
                    one.columns[at] = replace(c, default=False, named=0, generated=frozenset())


def _rename_referenced(state: SchemaState, table: Table, old: str, new: str) -> None:
    """Rename a column in the foreign keys that reference it."""
    key = table.schema, table.name
    for other in state.tables.values() if key in state.ties.referenced else ():
        if any(f.target == key and old in f.to for f in other.foreign):
            other.foreign = [
                replace(f, to=tuple(new if n == old else n for n in f.to)) if f.target == key else f
                for f in other.foreign
            ]


@acts("RenameColumnTo")
def _rename_column(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    old, new = fold(action.this), fold(action.args.get("to"))

    def renamed(names: frozenset[str]) -> frozenset[str]:
        return frozenset(new if n == old else n for n in names)

    table.former_sequences |= table.sequence_names
    for one in affected_tables(state, table, action):
        rename_attached(one, old, new)
        state.ties.rename_column(state, (one.schema, one.name), old, new)
        one.columns = [
            replace(c, name=new if c.name == old else c.name, generated=renamed(c.generated))
            for c in one.columns
        ]
        one.indexes = [k.renamed(old, new) for k in one.indexes]
        one.only = [k.renamed(old, new) for k in one.only]
        one.checks = [replace(c, reads=renamed(c.reads)) for c in one.checks]
        one.owners = {key: new if c == old else c for key, c in one.owners.items()}
        one.foreign = [
            replace(f, columns=tuple(new if n == old else n for n in f.columns))
            for f in one.foreign
        ]
        _rename_referenced(state, one, old, new)
        for names in ("distribution_keys", "default_keys"):
            keys = getattr(one, names)
            setattr(one, names, tuple(new if n == old else n for n in keys))
        for level in one.levels:
            level.keys = tuple(new if n == old else n for n in level.keys)
        for part in one.relations() if one.odd_parts else ():
            part.odd = replace(part.odd, keys=tuple(k.renamed(old, new) for k in part.odd.keys))
