"""ALTER TABLE: actions on columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.capacity.toast import needs_toast
from gpcatalog.ddl.definition import column, default_names, volatile
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.effects.actions import acts, affected_tables, reshape, unknown_toast
from gpcatalog.ddl.expansion import catalog_type
from gpcatalog.ddl.relations import Table, fold
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World


@acts("AddColumn")
def _add_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    if (action.args.get("exists") or action.args.get("if_not_exists")) and any(c.name == fold(action.this.this) for c in table.columns):
        return
    family = affected_tables(world, table, action)
    unknown: list[str] = []
    with world.changing(effect, *family):
        for one in family:
            child = table.inherited and one is not table and not one.parent
            if child and any(c.name == fold(action.this.this) for c in one.columns):
                continue  # it becomes the same column
            one.made_alone = one.made_alone and bool(one.foreign)
            before = len(one.columns), len(one.indexes), len(one.checks)
            made = column(world, one, action.this, unknown)
            if made is None:
                continue
            if reason := unknown_toast(one, world.edition):
                unknown.append(reason)
            if one is not table:
                made = one.columns[-1] = replace(made, serial="", local=False)
            if child:
                del one.indexes[before[1] :]  # keys are not inherited
            if one.baseline_shapes is not None:
                toast = needs_toast(world.edition.name, [(made.type, made.typmod)])
                keys = tuple(k.index for k in one.indexes[before[1] :])
                checks = len(one.checks) - before[2]
                reshape(
                    one,
                    lambda shape, made=made, toast=toast, keys=keys, checks=checks: replace(  # type: ignore[misc]
                        shape,
                        columns=shape.columns + 1,
                        toastable=shape.toastable or toast,
                        not_null=shape.not_null + made.not_null,
                        defaults=shape.defaults + made.default,
                        indexes=shape.indexes + keys,
                        checks=shape.checks + checks,
                    ),
                )
                if made.serial or one.foreign:
                    unknown.append("sequence or key of a table known only from the baseline")
            if made.default and world.edition.base < 11:
                effect.rewritten = True
            if not world.edition.classic and (made.serial or volatile(action.this)):
                effect.rewritten = True  # and a rewrite notes no encoding
            else:
                _rewritten_by_column(world, one, effect, made.default)
            if world.edition.classic and _columnar(one) and (len(one.checks) > before[2] or len(one.indexes) > before[1]):
                one.doubt = _LEFT_BY_REWRITE
                effect.add_unknown(one.doubt)
    for reason in unknown:
        effect.add_unknown(reason)


_LEFT_BY_REWRITE = "files left on segments by the rewrite of a column-oriented table"


def _columnar(table: Table) -> bool:
    if table.baseline_shapes is not None:
        return any(shape.storage is Storage.AO_COLUMN for shape in table.baseline_shapes)
    return table.storage is Storage.AO_COLUMN or any(p.storage is Storage.AO_COLUMN for p in table.relations())


def _rewritten_by_column(world: World, table: Table, effect: Effect, default: bool) -> None:
    """Add the rows that ADD COLUMN leaves on row-oriented append-optimized tables and on rewritten tables."""
    edition = world.edition
    written = (Storage.AO_ROW, Storage.HEAP) if default and edition.classic else (Storage.AO_ROW,)
    if table.baseline_shapes is not None:
        rows = sum(n for shape, n in table.baseline_shapes.items() if shape.storage in written)
        indexes = max((len(shape.indexes) for shape in table.baseline_shapes), default=0)
    else:
        stored = [p for p in table.relations() if edition.classic or not p.children]
        rows = sum(p.storage in written for p in stored)
        rows += table.storage in written and (edition.classic or not table.partitioned)
        indexes = len(table.indexes)
    if not rows or not edition.greenplum:
        return
    if edition.classic:
        effect.rewritten = True
        if table.storage in written:
            table.toasted = False
        # the rewrite rebuilds the indexes, which segments note once
        noted = table.extra.get(Instance.SEGMENT.value, Counter())["pg_stat_last_operation"]
        left = {Instance.SEGMENT: Counter({"pg_stat_last_operation": max(0, rows * indexes - noted)})}
    else:
        left = {instance: Counter({"pg_attribute_encoding": rows}) for instance in Instance}
    for instance, counted in left.items():
        table.extra.setdefault(instance.value, Counter()).update(counted)
        if table.baseline_shapes is not None:
            effect.add(instance, counted)


@acts("DropColumn")
def _drop_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    name = fold(action.this)
    family = affected_tables(world, table, action)
    kept = {t.title for t in family if t is not table and not t.parent and any(c.name == name and c.local for c in t.columns)}
    if table.inherited and len(family) == 1:
        effect.add_unknown("the column in tables that inherit it (ONLY)")
    if table.owned:
        effect.add_unknown("whether a sequence is owned by the column")
    with world.changing(effect, *family):
        for one in family:
            if one.title in kept or (one is not table and not one.parent and not any(c.name == name for c in one.columns)):
                continue
            if len(one.inherits) > 1:
                effect.add_unknown("column inherited from another parent")
            if one.baseline_shapes is not None:
                if one is table and not any(c.name == name for c in one.columns):
                    effect.add_unknown("indexes and constraints dropped with the column")
                    reshape(one, lambda s: replace(s, columns=max(0, s.columns - 1), dropped=s.dropped + 1))
                continue
            if not any(c.name == name for c in one.columns):
                if not action.args.get("exists"):
                    effect.add_unknown(f"unknown column {name}")
                continue
            if not one.toasted:
                one.toasted, one.toasted_at = one.needs_toast(world.edition), one.dropped + 1
            one.columns = [c for c in one.columns if c.name != name]
            one.dropped += 1
            one.indexes = [k for k in one.indexes if name not in k.reads]
            one.checks = [c for c in one.checks if name not in c.reads]
            one.foreign = [f for f in one.foreign if name not in f.columns]


@acts("AlterColumnAction")
def _alter_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    kind = action.args.get("kind")
    name = fold(action.this)
    if kind is not None or "SET ENCODING" in form:
        effect.rewritten = True
        if kind is not None and world.edition.classic and _columnar(table):
            table.doubt = _LEFT_BY_REWRITE
            effect.add_unknown(table.doubt)
    if table.baseline_shapes is not None:
        _alter_baseline_column(table, form, kind, effect, world)
        return
    if not table.known:
        return
    if not any(c.name == name for c in table.columns):
        effect.add_unknown(f"unknown column {name}")
        return
    family = affected_tables(world, table, action)
    if action.args.get("storage") is not None:
        # other columns may have a storage of their own as well
        effect.add_unknown("TOAST relation after SET STORAGE")
    with world.changing(effect, *family):
        for one in family:
            for at, c in enumerate(one.columns):
                if c.name != name:
                    continue
                if action.args.get("default") is not None:
                    value = action.args["default"]
                    null = isinstance(value, exp.Null)
                    one.columns[at] = replace(c, default=not null, named=default_names(value))
                elif form == "DROP DEFAULT":
                    one.columns[at] = replace(c, default=False, named=0)
                elif form == "SET NOT NULL":
                    one.columns[at] = replace(c, not_null=True)
                elif form == "DROP NOT NULL":
                    one.columns[at] = replace(c, not_null=False)
                elif kind is not None:
                    called = one.needs_toast(world.edition) and not one.toasted
                    new, typmod = world.types.resolved(*catalog_type(kind))
                    if not new:
                        effect.add_unknown(f"unknown type of {name} (TOAST relation)")
                    if one.toasted:
                        effect.add_unknown("TOAST relation after a rewrite")
                    one.columns[at] = replace(c, type=new, typmod=typmod)
                    if called and not one.needs_toast(world.edition):
                        one.toasted = False  # only a rewrite makes a type of a fixed length
                elif form.startswith("ADD GENERATED"):
                    if c.serial and one is table:
                        effect.add_unknown("sequence that the column owns already")
                    one.columns[at] = replace(c, serial="identity" if one is table else "")
                elif form.startswith("DROP IDENTITY"):
                    one.columns[at] = replace(c, serial="")
                elif form.startswith("DROP EXPRESSION"):
                    one.columns[at] = replace(c, default=False, named=0)


def _alter_baseline_column(table: Table, form: str, kind: exp.Expression | None, effect: Effect, world: World) -> None:
    if kind is not None and needs_toast(world.edition.name, [catalog_type(kind)]):
        with world.changing(effect, table):
            reshape(table, lambda s: replace(s, toastable=True))
    elif form.startswith(("SET DEFAULT", "DROP DEFAULT", "ADD GENERATED", "DROP IDENTITY", "DROP EXPRESSION")) or (
        form.endswith("NOT NULL") and world.edition.base >= 18
    ):
        effect.add_unknown(f"{form} on a column known only from the baseline")


@acts("RenameColumnTo")
def _rename_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    old, new = fold(action.this), fold(action.args.get("to"))
    for one in (table, *world.partitions_of(table)):
        one.columns = [replace(c, name=new) if c.name == old else c for c in one.columns]

        def renamed(names: frozenset[str]) -> frozenset[str]:
            return frozenset(new if n == old else n for n in names)

        one.indexes = [
            replace(
                k,
                simple=tuple(new if n == old else n for n in k.simple),
                expressions=renamed(k.expressions),
                predicate=renamed(k.predicate),
            )
            for k in one.indexes
        ]
        one.checks = [replace(c, reads=renamed(c.reads)) for c in one.checks]
        one.foreign = [replace(f, columns=tuple(new if n == old else n for n in f.columns)) for f in one.foreign]
