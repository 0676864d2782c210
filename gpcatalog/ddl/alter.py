"""ALTER TABLE: the effect of each action on a known table; what is unknown is noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.model import Instance, Shape
from gpcatalog.capacity.toast import needs_toast
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.definition import column, constraint, default_names, volatile
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.expansion import Grower, catalog_type, options_of, storage_of, template_sizes
from gpcatalog.ddl.locate import locate
from gpcatalog.ddl.relations import Key, Partition, Table, child_name, fold, take_over
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World

# actions that take less than AccessExclusive on the table
_GENTLE = ("AttachPartition", "ValidateConstraint", "DetachPartition")
# actions that leave every catalog's number of rows as it is
_NO_ROWS = frozenset(
    """RenameColumnTo RenameConstraint ValidateConstraint ClusterOn EnableDisable ReplicaIdentity RenamePartition TruncatePartition
    AlterConstraint SetSchema AttachIndex""".split()
)


def reshape(table: Table, change: Callable[[Shape], Shape]) -> None:
    """Every relation of a baseline's table made another shape."""
    assert table.baseline_shapes is not None
    changed: Counter[Shape] = Counter()
    for shape, number in table.baseline_shapes.items():
        changed[change(shape)] += number
    table.baseline_shapes = changed
    table.reshaped.append(change)


def without_index(shape: Shape, gone: Key) -> Shape:
    """The shape with one index of that many columns less."""
    indexes = list(shape.indexes)
    for index in indexes:
        if index.columns == gone.columns:
            indexes.remove(index)
            break
    return replace(shape, indexes=tuple(indexes))


def alter(world: World, tree: exp.Expression) -> Effect:
    """The effect of ALTER TABLE, ALTER INDEX or ALTER VIEW."""
    if tree.args.get("this") is None:
        return Effect()
    table = world.find(tree.this)
    actions = list(tree.args.get("actions") or [])
    actions += [tree.args[single] for single in ("action", "move") if tree.args.get(single) is not None]
    effect = Effect("alter", table, actions=actions)
    effect.exclusive = (table is None or (table.schema, table.name) in world.before) and any(
        type(a).__name__ not in _GENTLE for a in actions
    )
    if any(type(a).__name__ == "AddPartition" for a in actions):
        effect.verb = "add partition"
    if table is None:
        if type(tree).__name__ == "AlterIndex":
            _rename_index(world, tree, actions)
            return Effect()
        effect.rewritten = any(
            type(a).__name__ == "SplitPartition" or (type(a).__name__ == "AlterColumnAction" and a.args.get("kind") is not None)
            for a in actions
        )
        effect.add_unknown(f"unknown table {tree.this.sql('greenplum')}")
        return effect
    if not table.known and table.baseline_shapes is None and any(type(a).__name__ not in _NO_ROWS | {"OwnerTo"} for a in actions):
        effect.add_unknown(f"unknown definition of {table.title}")
    counts = any(type(a).__name__ not in _NO_ROWS | {"OwnerTo"} for a in actions)
    if counts and table.uncounted:
        effect.add_unknown(table.uncounted)
    for action in actions:
        _act(world, table, action, effect)
    if counts and effect.unknown and not table.uncounted and table.baseline_shapes is None:
        table.uncounted = f"earlier change to {table.title}: {effect.unknown[0]}"
    effect.relations_locked = 1 + table.numbers[0]
    return effect


def _rename_index(world: World, tree: exp.Expression, actions: list[exp.Expression]) -> None:
    rename = tree.args.get("rename")
    if rename is None:
        return
    old = fold(tree.this.this)
    for table in world.tables.values():
        new = fold(rename.this)
        table.indexes = [replace(k, name=new) if k.name == old else replace(k, of=new) if old and k.of == old else k for k in table.indexes]


def _act(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    kind = type(action).__name__
    handler = _ACTIONS.get(kind)
    if handler is not None:
        handler(world, table, action, effect)
    elif kind not in _NO_ROWS:
        effect.add_unknown(f"effect of {action.sql('greenplum').split('(')[0].strip()}")


def _says_only(action: exp.Expression) -> bool:
    target = action.parent.this if action.parent is not None else None
    return isinstance(target, gx.RelationName) and bool(target.args.get("only"))


def _family(world: World, table: Table, action: exp.Expression) -> list[Table]:
    """The table, its partitions that are tables of their own here, and the tables that inherit from it."""
    only = _says_only(action)
    return [table] if only else [table, *world.partitions_of(table), *world.inheriting(table)]


# --- columns ------------------------------------------------------------------------------------------------------------


def _add_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    if (action.args.get("exists") or action.args.get("if_not_exists")) and any(c.name == fold(action.this.this) for c in table.columns):
        return
    family = _family(world, table, action)
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


def unknown_toast(table: Table, edition: Edition) -> str:
    """Return which unknown column types leave it open whether the table has a TOAST relation, or ""."""
    names = [c.name for c in table.columns if not c.type]
    if not names or replace(table, columns=[c for c in table.columns if c.type]).needs_toast(edition):
        return ""
    return f"unknown type of {', '.join(names[:3])} (TOAST relation)"


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


def _drop_column(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    name = fold(action.this)
    family = _family(world, table, action)
    kept = {t.title for t in family if t is not table and not t.parent and any(c.name == name and c.local for c in t.columns)}
    if table.inherited and len(family) == 1:
        effect.add_unknown("the column in tables that inherit it (ONLY)")
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
    family = _family(world, table, action)
    if action.args.get("storage") is not None:
        others = replace(table, columns=[c for c in table.columns if c.name != name], toasted=False)
        if not others.needs_toast(world.edition):
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
                    new, typmod = catalog_type(kind)
                    one.columns[at] = replace(c, type=new, typmod=typmod)
                    if called and not one.needs_toast(world.edition):
                        one.toasted = False  # only a rewrite makes a type of a fixed length
                elif form.startswith("ADD GENERATED"):
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


# --- constraints --------------------------------------------------------------------------------------------------------


def _add_constraint(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    element = action.this
    family = _family(world, table, action)
    unknown: list[str] = []
    kind = element.args.get("kind")
    if isinstance(kind, gx.KeyConstraint) and kind.args.get("index") is not None and kind.args.get("kind") != "NOT NULL":
        _promote(world, table, element, effect)
        return
    table.made_alone = table.made_alone and bool(table.foreign)
    if table.parts and len(family) == 1 and _says_only(action):
        effect.add_unknown("constraint added to the parent ONLY")
        return
    made: list[Key] = []
    with world.changing(effect, *family):
        for one in family:
            if table.inherited and one is not table and not one.parent:
                _inherit_check(world, one, element, unknown)
                continue
            keys, checks = len(one.indexes), len(one.checks)
            constraint(world, one, element, unknown)
            if one is table:
                made = one.indexes[keys:]
            else:
                del one.indexes[keys:]
                one.indexes += [key.for_partition(one) for key in made if not take_over(one, key)]
            if one.baseline_shapes is not None:
                new = tuple(k.index for k in one.indexes[keys:])
                more = len(one.checks) - checks
                reshape(one, lambda s, new=new, more=more: replace(s, indexes=s.indexes + new, checks=s.checks + more))  # type: ignore[misc]
                if one.foreign:
                    unknown.append("foreign key of a table known only from the baseline")
    for reason in unknown:
        effect.add_unknown(reason)


def _inherit_check(world: World, child: Table, element: exp.Expression, unknown: list[str]) -> None:
    """Inherit a CHECK constraint, unless it says NO INHERIT or the child has one of that name."""
    if isinstance(element.args.get("kind"), gx.CheckConstraint) and "NO INHERIT" not in element.sql("greenplum").upper():
        name = fold(element.args.get("this"))
        if not name or all(c.name != name for c in child.checks):
            constraint(world, child, element, unknown)


def _promote(world: World, table: Table, element: exp.Expression, effect: Effect) -> None:
    """ADD … USING INDEX: the index gets the constraint's name."""
    kind = element.args["kind"]
    old = fold(kind.args["index"])
    key = next((k for k in table.indexes if k.name == old), None)
    if key is None:
        effect.add_unknown(f"unknown index {old}")
        return
    with world.changing(effect, table):
        name = fold(element.args.get("this")) or old
        table.indexes = [replace(k, name=name, constraint=True) if k is key else k for k in table.indexes]
        if kind.args["kind"] == "PRIMARY KEY":
            table.columns = [replace(c, not_null=True) if c.name in key.simple else c for c in table.columns]


def _drop_constraint(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    name = fold(action.this)
    if not table.known:
        return
    found = [k for k in table.indexes if k.constraint and k.name == name]
    found_checks = [c for c in table.checks if c.name == name]
    found_keys = [f for f in table.foreign if f.name == name]
    if not (found or found_checks or found_keys):
        if not action.args.get("exists") or table.baseline_shapes is not None:
            effect.add_unknown(f"unknown constraint {name}")
        return
    family = _family(world, table, action)
    with world.changing(effect, *family):
        for one in family:
            gone = next((k for k in one.indexes if (k in found if one is table else bool(found) and k.of == name)), None)
            if gone is not None:
                one.indexes.remove(gone)
                if one.baseline_shapes is not None:
                    reshape(one, lambda s, gone=gone: without_index(s, gone))  # type: ignore[misc]
            one.checks = [c for c in one.checks if c.name != name]
            one.foreign = [f for f in one.foreign if f.name != name]
            if found_checks and one.baseline_shapes is not None:
                reshape(one, lambda s: replace(s, checks=max(0, s.checks - 1)))
    if found and str(action.args.get("behavior") or "") == "CASCADE":
        for other in world.tables.values():
            if any(f.target == (table.schema, table.name) for f in other.foreign):
                effect.add_unknown("foreign keys dropped by CASCADE")


# --- the table itself ---------------------------------------------------------------------------------------------------


def _set_table(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    options = action.args.get("options")
    storage = {"appendonly", "appendoptimized", "orientation"} & set(options_of(options)) if isinstance(options, exp.Expression) else set()
    if action.args.get("distribution") is not None or action.args.get("method") is not None or storage:
        effect.rewritten = True
    if action.args.get("method") is not None or storage:
        if table.baseline_shapes is None:
            table.known = False
            table.unknown.append("catalog rows kept after a change of storage")
        effect.add_unknown("catalog rows kept after a change of storage")
    elif action.args.get("tablespace") is not None:
        effect.add_unknown("catalog rows and files after a change of tablespace")
    elif form in ("SET WITH OIDS", "SET WITHOUT OIDS"):
        effect.add_unknown("change of the OID column")
    if action.args.get("distribution") is not None:
        node = action.args["distribution"]
        word = str(node.args.get("kind") or "")
        table.distribution = {"HASH": "hash", "RANDOM": "random"}.get(word, "replicated")
        table.distribution_keys = tuple(fold(k if isinstance(k, exp.Identifier) else k.this) for k in node.expressions)


def _rename(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    world.forget(table, moved=True)
    old, table.name = table.name, fold(action.this)
    for other in world.tables.values():
        other.own_children = [(s, table.name if n == old and s == table.schema else n) for s, n in other.own_children]
    world.keep(table)


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


def _rename_constraint(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    old, new = fold(action.this), fold(action.args.get("to"))
    table.indexes = [replace(k, name=new) if k.name == old else k for k in table.indexes]
    table.checks = [replace(c, name=new) if c.name == old else c for c in table.checks]
    table.foreign = [replace(f, name=new) if f.name == old else f for f in table.foreign]


def _set_schema(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    world.forget(table, moved=True)
    old, table.schema = table.schema, fold(action.this)
    for other in world.tables.values():
        other.own_children = [(table.schema if n == table.name and s == old else s, n) for s, n in other.own_children]
    world.keep(table)


def _inherit(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    form = str(action.args.get("form", ""))
    if not form.endswith("INHERIT") or table.baseline_shapes is not None:
        effect.add_unknown(f"effect of {form}")
        return
    parent = world.find(action.this)
    title = parent.title if parent is not None else fold(action.this)
    with world.changing(effect, table):
        if form == "INHERIT":
            table.inherits = (*table.inherits, title)
            if parent is not None:
                parent.inherited = True
        else:
            table.inherits = tuple(t for t in table.inherits if t != title)
            if not table.inherits:
                table.columns = [replace(c, local=True) for c in table.columns]


def _owner(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    effect.minor.append("pg_shdepend rows")


# --- partitions ---------------------------------------------------------------------------------------------------------


def _add_partition(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    effect.verb = "add partition"
    if not table.levels:
        effect.add_unknown(f"unknown partitioning of {table.title}")
        effect.leaves_made += 1
        return
    if table.baseline_shapes is not None:
        _add_to_baseline(world, table, action, effect)
        return
    _grow(world, table, table.parts, action, 0, table.name, 0, effect)


def _grow(
    world: World, table: Table, siblings: list[Partition], action: exp.Expression, level: int, parent: str, bounds: int, effect: Effect
) -> None:
    """ADD PARTITION next to `siblings`, which are `level` levels below the root's partitions."""
    if level >= len(table.levels):
        effect.add_unknown(f"rejected by the server: {table.title} has no partitions at level {level + 1}")
        return
    grower = Grower(world.edition, table, world.zone, table.options)
    # Greenplum 6 stores an added partition as heap by default, whatever the storage of the table
    above = table.storage
    if world.edition.classic:
        above = storage_of(world.defaults.options, "", Storage.HEAP, world.edition)
        if any(element.args.get("encoding") is not None for below in table.levels[1:] for element in below.template or ()):
            above = table.storage  # encodings of columns can be kept in no other way
    try:
        parts = grower.level([action], level, parent, above, bounds, first=len(siblings) + 1)
    except Unknown as e:
        effect.add_unknown(str(e))
        return
    siblings += parts
    table.counted(parts, 1)
    if level and world.edition.classic and table.levels[level].template:
        table.levels[level].template_parts += 1  # the template takes it over
        table.levels[level].template = [*(table.levels[level].template or ()), action]
        effect.add(Instance.COORDINATOR, Counter({"pg_partition_rule": 1}))
    if table.known:
        effect.made += table.shapes_of(parts, world.edition, level + 1)
        _each(world, table, parts, effect, 1)
    effect.new_parts += parts
    effect.leaves_made += sum(1 for p in parts for x in p.walk() if not x.children)
    world.keep(table, parts)


def _each(world: World, table: Table, parts: list[Partition], effect: Effect, sign: int) -> None:
    """Rows of partitions that come or go beyond their shapes."""
    number = sum(1 for part in parts for _ in part.walk())
    rows = Counter({catalog: n * number for catalog, n in table.each(world.edition).items()})
    if rows:
        for instance in Instance:
            effect.add(instance, rows, sign)


def _add_to_baseline(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    """ADD PARTITION to a table that only a baseline knows: one more of its commonest leaf."""
    assert table.baseline_shapes is not None
    leaves = Counter({s: n for s, n in table.baseline_shapes.items() if s.place is model.Place.LEAF})
    if not leaves or len(table.levels) > 1:
        effect.leaves_made += 1
        effect.add_unknown(f"subpartitions of the new partition of {table.title}")
        return
    shape = leaves.most_common(1)[0][0]
    options = action.args.get("options")
    fallback = Storage.HEAP if world.edition.classic else shape.storage
    storage = storage_of(options_of(options), "", fallback, world.edition) if options is not None else fallback
    default = bool(action.args.get("default"))
    new = replace(shape, storage=storage, dropped=0 if world.edition.classic else shape.dropped, bounds=0 if default else 1)
    effect.made[new] += 1
    table.baseline_shapes[new] += 1
    effect.leaves_made += 1
    added = Partition(child_name(table.name, 1, fold(action.args.get("this"))), "", False, storage, 1)
    table.parts.append(added)
    table.counted([added], 1)


def _drop_partition(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    effect.verb = "drop partition"
    if table.baseline_shapes is not None:
        _drop_from_baseline(table, action, effect)
        return
    _shrink(world, table, table.parts, action, 0, effect)


def _shrink(world: World, table: Table, siblings: list[Partition], action: exp.Expression, level: int, effect: Effect) -> None:
    optional = "IF EXISTS" in str(action.args.get("form", ""))
    part = _target(world, table, siblings, action, level, effect, optional)
    if part is None:
        effect.leaves_gone += not optional
        return
    siblings.remove(part)
    table.counted([part], -1)
    if table.known:
        effect.gone += table.shapes_of([part], world.edition, level + 1)
        _each(world, table, [part], effect, -1)
    effect.leaves_gone += sum(1 for p in part.walk() if not p.children)


def _target(
    world: World, table: Table, siblings: list[Partition], action: exp.Expression, level: int, effect: Effect, optional: bool = False
) -> Partition | None:
    """Return the partition that an action names, or None; notes it when it cannot be identified."""
    kind = Grower(world.edition, table, world.zone, table.options).kind(level) if level < len(table.levels) else "text"
    try:
        found = locate(siblings, action, kind, world.zone)
    except Unknown as e:
        effect.add_unknown(str(e))
        return None
    if found is None and not optional:
        effect.add_unknown("partition not identified")
    return found


def _drop_from_baseline(table: Table, action: exp.Expression, effect: Effect) -> None:
    assert table.baseline_shapes is not None
    default = "DEFAULT" in str(action.args.get("form", "")) or (action.this is not None and action.this.args.get("default") is not None)
    leaves = [s for s in table.baseline_shapes if s.place is model.Place.LEAF and (s.bounds == 0) == default]
    effect.leaves_gone += 1
    if len(table.levels) > 1 or not leaves:
        effect.add_unknown("partition not identified")
        return
    shape = max(leaves, key=lambda s: table.baseline_shapes[s] if table.baseline_shapes is not None else 0)
    if len(leaves) > 1:
        effect.add_unknown("storage of the dropped partition")
    effect.gone[shape] += 1
    table.baseline_shapes[shape] -= 1
    table.baseline_shapes = +table.baseline_shapes
    if table.parts:
        table.counted([table.parts.pop()], -1)


def _alter_partition(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    """ALTER PARTITION … ACTION: the action on a partition that has partitions of its own."""
    if table.baseline_shapes is not None or not table.levels:
        effect.add_unknown("partition not identified")
        return
    siblings, level, node, bounds = table.parts, 0, action, 0
    parent = table.name
    while type(node).__name__ == "AlterPartition":
        part = _target(world, table, siblings, node, level, effect)
        if part is None:
            return
        siblings, level, parent, bounds = part.children, level + 1, part.name, part.bounds
        node = node.args["action"]
    kind = type(node).__name__
    if kind == "AddPartition":
        effect.verb = "add partition"
        _grow(world, table, siblings, node, level, parent, bounds, effect)
    elif kind == "DropPartition":
        effect.verb = "drop partition"
        _shrink(world, table, siblings, node, level, effect)
    elif kind == "SplitPartition":
        _split(world, table, node, effect, siblings, level, parent)
    elif kind == "SetSubpartitionTemplate" and world.edition.classic and len(table.levels) > level + 1:
        _template(world, table, level + 1, node, effect)
    elif kind == "ExchangePartition":
        _exchange_with(world, table, siblings, node, level, effect)
    elif kind not in _NO_ROWS:
        effect.add_unknown(f"effect of {node.sql('greenplum').split('(')[0].strip()}")


def _split(
    world: World,
    table: Table,
    action: exp.Expression,
    effect: Effect,
    siblings: list[Partition] | None = None,
    level: int = 0,
    parent: str = "",
) -> None:
    """SPLIT: one partition more of the kind that is split."""
    effect.verb = "split partition"
    effect.leaves_made += 1
    effect.rewritten = True
    siblings = table.parts if siblings is None else siblings
    if table.baseline_shapes is not None or not (table.known and table.levels and siblings):
        effect.add_unknown("unknown definition of the split partition")
        return
    named = action.args.get("this") is not None or action.args.get("ref") is not None
    part = _target(world, table, siblings, action, level, effect) if named else next((p for p in siblings if p.default), None)
    if part is None or part.children:
        effect.add_unknown("partition not identified")
        return
    into = action.args.get("into") or action.args.get("into_named")
    names = []
    for piece in into.args.values() if into is not None else ():
        ref = piece.args.get("ref") or piece if isinstance(piece, exp.Expression) else None
        if ref is not None and isinstance(ref.args.get("this"), exp.Identifier):
            names.append(fold(ref.this))
    fresh = [n for n in names if n != part.partition] or ["split"]
    bounds = max((p.bounds for p in siblings), default=1)
    new = replace(
        part,
        name=child_name(parent or table.name, level + 1, fresh[0]),
        partition=fresh[0],
        default=False,
        bounds=bounds,
        born=table.dropped,
    )
    with world.changing(effect, table):
        part.born = table.dropped  # both are recreated
        if world.edition.classic:
            part.storage = new.storage = storage_of(world.defaults.options, "", part.storage, world.edition)
        siblings.append(new)
        table.counted([new], 1)


def _exchange(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    if table.baseline_shapes is not None or not table.levels:
        effect.add_unknown("partition not identified")
        return
    _exchange_with(world, table, table.parts, action, 0, effect)


def _exchange_with(world: World, table: Table, siblings: list[Partition], action: exp.Expression, level: int, effect: Effect) -> None:
    """EXCHANGE: swap a partition and a table, with their storage, dropped columns and indexes."""
    other = world.find(action.args["table"])
    part = _target(world, table, siblings, action, level, effect)
    if part is None or part.children:
        effect.add_unknown("partition not identified")
        return
    if other is None or not other.known or other.baseline_shapes is not None or not table.known:
        effect.add_unknown("unknown table in EXCHANGE PARTITION")
        return
    same = len(other.indexes) == len(table.indexes)
    if not same and (world.edition.classic or other.indexes):
        effect.add_unknown("indexes of the exchanged table")
    with world.changing(effect, table, other):
        if not same and not other.indexes:
            other.indexes = list(table.indexes)  # it gets those of the table, and the partition keeps its own
        part.storage, other.storage = other.storage, part.storage
        was = table.dropped - part.born
        part.born, other.dropped = table.dropped - other.dropped, was


def _set_template(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    if table.baseline_shapes is not None or len(table.levels) < 2:
        effect.add_unknown("previous subpartition template")
        return
    _template(world, table, 1, action, effect)


def _template(world: World, table: Table, level: int, action: exp.Expression, effect: Effect) -> None:
    with world.changing(effect, table):
        table.levels[level].template = list(action.args.get("partitions") or []) or None
        try:
            template_sizes(world.edition, table, world.zone)
        except Unknown as e:
            effect.add_unknown(str(e))


def _attach(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    child = world.find(action.this)
    if child is None or not child.known or not table.known:
        effect.add_unknown("unknown table in ATTACH PARTITION")
        return
    if child is table or table in world.partitions_of(child):
        effect.add_unknown("rejected by the server: a table cannot be a partition of itself")
        return
    if child.baseline_shapes is not None or table.baseline_shapes is not None:
        effect.add_unknown("ATTACH PARTITION with a table known only from the baseline")
        return
    if child.foreign or table.foreign or (child.partitioned and child.parts):
        effect.add_unknown("indexes and foreign keys of the attached table")
    effect.leaves_made += 0  # it was counted as a table, and is one still
    with world.changing(effect, child, *world.partitions_of(child)):
        child.parent = table.title
        for key in table.indexes:
            settled: list[Table] = []
            for one in (child, *world.partitions_of(child)):
                if any(one is x for x in settled):
                    continue
                if take_over(one, key):
                    settled += world.partitions_of(one)
                else:
                    one.indexes.append(key.for_partition(one))
        child.array_kept = child.storage is Storage.HEAP and not _leaf_has_array_type(world) and not child.array_missing
        child.array_missing = False
        _note(world, child)
    table.own_children.append((child.schema, child.name))


def _detach(world: World, table: Table, action: exp.Expression, effect: Effect) -> None:
    child = world.find(action.this)
    if child is None or child.baseline_shapes is not None or not child.known:
        effect.add_unknown("unknown table in DETACH PARTITION")
        return
    if any(k.constraint for k in child.indexes):
        effect.add_unknown("constraints kept by the detached table")
    with world.changing(effect, child):
        child.parent = ""
        child.array_missing = child.storage is Storage.HEAP and not _leaf_has_array_type(world) and not child.array_kept
        child.array_kept = False
        _note(world, child)
    child.indexes = [replace(k, of="") for k in child.indexes]
    key = (child.schema, child.name)
    table.own_children = [name for name in table.own_children if name != key]


def _note(world: World, child: Table) -> None:
    """Segments note once that a partition was attached or detached."""
    if world.edition.greenplum:
        child.extra.setdefault(Instance.SEGMENT.value, Counter())["pg_stat_last_operation"] = 1


def _leaf_has_array_type(world: World) -> bool:
    from gpcatalog.capacity.generation import generation

    return generation(world.edition.name).array_type_of_leaf


_ACTIONS: dict[str, Callable[[World, Table, Any, Effect], None]] = {
    "AddColumn": _add_column,
    "DropColumn": _drop_column,
    "AlterColumnAction": _alter_column,
    "AddTableConstraint": _add_constraint,
    "DropConstraint": _drop_constraint,
    "SetTable": _set_table,
    "RenameTo": _rename,
    "RenameColumnTo": _rename_column,
    "RenameConstraint": _rename_constraint,
    "SetSchema": _set_schema,
    "InheritAction": _inherit,
    "OwnerTo": _owner,
    "AddPartition": _add_partition,
    "DropPartition": _drop_partition,
    "AlterPartition": _alter_partition,
    "SplitPartition": _split,
    "SetSubpartitionTemplate": _set_template,
    "ExchangePartition": _exchange,
    "AttachPartition": _attach,
    "DetachPartition": _detach,
}
