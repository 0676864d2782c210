"""ALTER TABLE: actions on partitions, in Greenplum's and PostgreSQL's syntax."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from decimal import InvalidOperation
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity import locks
from gpcatalog.capacity.model import Instance
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.definition import check_name
from gpcatalog.effects.divided import divide
from gpcatalog.effects.effect import REJECTED, Effect
from gpcatalog.effects.expansion import PartitionExpander, storage_of, template_sizes
from gpcatalog.effects.handlers.actions import NO_ROWS, acts, own_constraints
from gpcatalog.effects.handlers.indexes import doubt_equality
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.views import drop_dependent_views
from gpcatalog.effects.held_locks import default_beside
from gpcatalog.effects.keys import Check, child_name, fold, like_of
from gpcatalog.effects.outer_dependencies import FOREIGN, OF_BOUNDS, TEMPLATE
from gpcatalog.effects.partition_lookup import locate
from gpcatalog.effects.refused_partitions import note_bound
from gpcatalog.effects.rejoin import rejoin
from gpcatalog.effects.relations import Level, Odd, Partition, Table
from gpcatalog.effects.renames import rename_reads
from gpcatalog.effects.ties import keys_of_partitions
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@acts("AddPartition")
def _add_partition(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    effect.verb = "add partition"
    if not table.levels:
        effect.add_unknown(f"unknown partitioning of {table.title}")
        effect.leaves_created += 1
        return
    rejoin(state, table)
    _add_parts(state, table, table.parts, action, 0, table.name, 0, effect)


def _add_parts(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    parent: str,
    bounds: int,
    effect: Effect,
    above_part: Partition | None = None,
) -> None:
    """Add a partition next to `siblings`, which are `level` levels below the root's partitions.

    above_part: the partition that contains them
    """
    if level >= len(table.levels):
        effect.add_unknown(f"{REJECTED}{table.title} has no partitions at level {level + 1}")
        return
    expander = PartitionExpander(state.edition, table, state.zone, table.options)
    # Greenplum 6 stores an added partition as heap by default, independent of the storage of the
    # table
    above = table.storage
    if state.edition.classic:
        above = storage_of(state.defaults.options, "", Storage.HEAP, state.edition)
        templates = table.levels[1:]
        if any(
            x.encoded
            or any(element.args.get("encoding") is not None for element in x.template or ())
            for x in templates
        ):
            above = table.storage  # column encodings cannot be kept in any other way
    first = (
        len(siblings) + 1 if state.edition.classic else _free_number(state, table, parent, level)
    )
    try:
        parts = expander.level([action], level, parent, above, bounds, first=first)
    except Unknown as e:
        effect.add_unknown(str(e))
        return
    for deeper in table.levels[level + 1 :]:
        if deeper.doubt and not action.args.get("partitions"):
            effect.add_unknown(deeper.doubt)
    keys = above_part.odd.keys if above_part is not None else table.only
    for key in () if state.edition.classic else keys:
        table.odd_parts = True
        own = replace(key, name="", of=key.of or key.name)
        for one in (one for part in parts for one in part.walk()):
            one.odd = one.odd.with_own(state.edition.name, own, one.storage, stored=one.is_leaf)
    _doubt_equal_indexes(state, table, effect)
    if level and state.edition.classic and table.levels[level].template:
        table.leave_out(TEMPLATE)
        _into_template(table.levels[level], siblings, parts, action, effect)
    effect.locks += _default_among(state, siblings)
    siblings += parts
    table.counted(parts, 1)
    if table.known:
        new = table.shapes_of(parts, state.edition, level + 1)
        effect.created += new
        effect.locks += max(  # of several levels, the coordinator also locks the one above
            locks.create_locks(state.edition.name, new, on_segment=False) + bool(level),
            locks.create_locks(state.edition.name, new),
        )
        _each(state, table, parts, effect, 1)
    effect.new_parts += parts
    effect.leaves_created += sum(1 for p in parts for x in p.walk() if x.is_leaf)
    state.keep(table, parts)


def _into_template(
    level: Level,
    siblings: list[Partition],
    parts: list[Partition],
    action: exp.Expression,
    effect: Effect,
) -> None:
    """Add a new subpartition to the template if the template has no element at that position yet
    (measured on Greenplum 6).
    """
    elements = level.template or []
    positions = level.template_positions
    if positions is None:
        default = sum(bool(element.args.get("default")) for element in elements)
        positions = frozenset(range(1 - default, level.template_parts + 1 - default))
    places = _places(level, siblings, parts)
    if places <= positions:
        return
    if len(places) > 1 or level.doubt:
        level.doubt = level.doubt or "whether the subpartition template takes partitions over"
        effect.add_unknown(level.doubt)
        return
    level.template, level.template_positions = [*elements, action], positions | places
    level.template_parts += 1
    effect.add(Instance.COORDINATOR, Counter({"pg_partition_rule": 1}))


def _places(level: Level, siblings: list[Partition], parts: list[Partition]) -> set[int]:
    """Positions that an added partition may have among its siblings, from 1; 0 for the default."""
    if all(part.default for part in parts):
        return {0}
    others = [part for part in siblings if not part.default]
    anywhere = set(range(1, len(others) + len(parts) + 1))
    if len(parts) > 1 or (level.gaps and level.strategy == "list"):
        return anywhere
    if level.strategy == "list":
        return {len(others) + 1}
    if level.gaps:
        return {*anywhere, len(others) + 2}  # dropped partitions may increase its number
    for ends in ("upper", "lower"):
        own, known = getattr(parts[0], ends), [getattr(part, ends) for part in others]
        try:
            if own is not None and None not in known:
                return {1 + sum(one < own for one in known)}
        except (TypeError, InvalidOperation):
            continue
    return anywhere


def _doubt_equal_indexes(state: SchemaState, table: Table, effect: Effect) -> None:
    """Note that a new partition on Greenplum 6 gets one index if its table has several equal
    indexes.
    """
    alike = {like_of(k.simple, True) if k.constraint else k.like for k in table.indexes}
    if state.edition.classic and len(alike) < len(table.indexes):
        effect.add_unknown("indexes of a new partition, of those that are equal")


def _free_number(state: SchemaState, table: Table, parent: str, level: int) -> int:
    """The number in the name of an added partition without a name: the first of 1, 11, 12 and so on
    that no relation has (measured on Greenplum 7).
    """
    known = (state.leaf_of, state.tables, state.views, state.sequences)
    for number in itertools.chain((1,), itertools.count(11)):
        key = (table.schema, child_name(parent, level + 1, str(number)))
        if not any(key in names for names in known):
            return number
    raise AssertionError  # the sequence of numbers is infinite


def _each(
    state: SchemaState, table: Table, parts: list[Partition], effect: Effect, sign: int
) -> None:
    """Add to the effect the rows of created (sign 1) or removed (-1) partitions that are not part
    of their shapes.
    """
    number = sum(1 for part in parts for _ in part.walk())
    rows = Counter({catalog: n * number for catalog, n in table.each(state.edition).items()})
    rows.update(table.odd_rows(parts, state.edition))
    effect.other_files += sign * table.odd_files(parts)
    if rows:
        for instance in Instance:
            effect.add(instance, rows, sign)


def _default_among(state: SchemaState, siblings: list[Partition]) -> int:
    """1 if there is a default partition, which a change of its siblings locks (Greenplum 7)."""
    return int(not state.edition.classic and any(part.default for part in siblings))


@acts("TruncatePartition")
def _truncate_partition(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    rejoin(state, table)
    _truncate_among(state, table, table.parts, action, 0, effect)


def _truncate_among(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    effect: Effect,
) -> None:
    """TRUNCATE PARTITION: only its locks are counted."""
    part = _target(state, table, siblings, action, level, Effect())
    found = table.shapes_of([part], state.edition, level + 1) if part and table.known else {}
    effect.locks += locks.truncate_locks(state.edition.name, found)
    effect.locks += bool(level) and not state.edition.classic  # the partition above


@acts("DropPartition")
def _drop_partition(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    effect.verb = "drop partition"
    rejoin(state, table)
    _shrink(state, table, table.parts, action, 0, effect)


def _shrink(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    effect: Effect,
) -> None:
    optional = "IF EXISTS" in str(action.args.get("form", ""))
    part = _target(state, table, siblings, action, level, effect, optional)
    if part is None:
        effect.leaves_removed += not optional
        return
    if cascades(action):
        names = {(one.schema or table.schema, one.name) for one in part.walk()}
        drop_dependent_views(state, names, effect)
    siblings.remove(part)
    effect.locks += _default_among(state, siblings)
    if level < len(table.levels):
        table.levels[level].gaps = True
    table.counted([part], -1)
    effect.locks += bool(level) and not state.edition.classic  # the partition above
    if table.known:
        gone = table.shapes_of([part], state.edition, level + 1)
        effect.removed += gone
        effect.locks += locks.partition_drop_locks(state.edition.name, gone)
        _each(state, table, [part], effect, -1)
    effect.leaves_removed += sum(1 for p in part.walk() if p.is_leaf)


def _target(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    effect: Effect,
    optional: bool = False,
) -> Partition | None:
    """Return the partition that an action names; if it cannot be identified, note this and return
    None.
    """
    kind = (
        PartitionExpander(state.edition, table, state.zone, table.options).kind(level)
        if level < len(table.levels)
        else "text"
    )
    try:
        found = locate(siblings, action, kind, state.zone)
    except Unknown as e:
        effect.add_unknown(str(e))
        return None
    named = action.args.get("target") or action.args.get("ref") or action.args.get("this")
    # separate tables are not searched: one of them may contain a value that no other partition has,
    # and ranks count them, too
    words = list(named.walk()) if isinstance(named, exp.Expression) else []
    by_rank = any(node.args.get("rank") is not None for node in words)
    by_value = any(node.args.get("values") is not None for node in words)
    separate = bool(table.own_children) and (
        found is None or by_rank or (by_value and found.default)
    )
    if separate or (found is None and not optional):
        effect.add_unknown("partition not identified")
        return None
    return found


@acts("AlterPartition")
def _alter_partition(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    """ALTER PARTITION … ACTION: apply the action to a partition that has subpartitions."""
    if not table.levels:
        effect.add_unknown("partition not identified")
        return
    rejoin(state, table)
    siblings, level, node, bounds = table.parts, 0, action, 0
    parent = table.name
    while type(node).__name__ == "AlterPartition":
        part = _target(state, table, siblings, node, level, effect)
        if part is None:
            return
        siblings, level, parent, bounds = part.children, level + 1, part.name, part.bounds
        node = node.args["action"]
    kind = type(node).__name__
    if kind == "AddPartition":
        effect.verb = "add partition"
        _add_parts(state, table, siblings, node, level, parent, bounds, effect, part)
    elif kind == "DropPartition":
        effect.verb = "drop partition"
        _shrink(state, table, siblings, node, level, effect)
    elif kind == "SplitPartition":
        _split_among(state, table, siblings, node, level, parent, effect)
    elif (
        kind == "SetSubpartitionTemplate"
        and state.edition.classic
        and len(table.levels) > level + 1
    ):
        _template(state, table, level + 1, node, effect)
    elif kind == "ExchangePartition":
        _exchange_with(state, table, siblings, node, level, effect)
    elif kind == "RenamePartition":
        _rename_among(state, table, siblings, node, level, parent, effect)
    elif kind == "TruncatePartition":
        _truncate_among(state, table, siblings, node, level, effect)
    elif kind not in NO_ROWS:
        effect.add_unknown(f"effect of {node.sql('greenplum').split('(')[0].strip()}")


@acts("RenamePartition")
def _rename_partition(
    state: SchemaState, table: Table, action: exp.Expression, effect: Effect
) -> None:
    rejoin(state, table)
    _rename_among(state, table, table.parts, action, 0, table.name, effect)


def _rename_among(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    parent: str,
    effect: Effect,
) -> None:
    """Rename a partition: its relation and those below it are renamed, too (measured on both
    Greenplum versions).
    """
    part = _target(state, table, siblings, action, level, Effect())
    if part is None:
        return
    old, part.partition = part.name, fold(action.args["to"])
    new = child_name(parent, level + 1, part.partition)
    for one in part.walk():
        if one.name == old or one.name.startswith(f"{old}_"):
            schema, was = one.schema or table.schema, one.name
            one.name = new + was.removeprefix(old)
            rename_reads(state, {(schema, was): (schema, one.name)})
            effect.locks += 1
    state.keep(table, [part])


@acts("SplitPartition")
def _split(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    rejoin(state, table)
    _split_among(state, table, table.parts, action, 0, table.name, effect)


def _split_among(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    parent: str,
    effect: Effect,
) -> None:
    """SPLIT: add one more partition like the one that is split."""
    effect.verb = "split partition"
    effect.leaves_created += 1
    effect.rewritten = True
    if not (table.known and table.levels and siblings):
        effect.add_unknown("unknown definition of the split partition")
        return
    if level < len(table.levels):
        table.levels[level].gaps = True
    named = action.args.get("this") is not None or action.args.get("ref") is not None
    part = (
        _target(state, table, siblings, action, level, effect)
        if named
        else next((p for p in siblings if p.default), None)
    )
    if part is None or not part.is_leaf:
        effect.add_unknown("partition not identified")
        return
    into = action.args.get("into") or action.args.get("into_named")
    names = []
    for piece in into.args.values() if into is not None else ():
        ref = piece.args.get("ref") or piece if isinstance(piece, exp.Expression) else None
        if ref is not None and isinstance(ref.args.get("this"), exp.Identifier):
            names.append(fold(ref.this))
    fresh = [n for n in names if n != part.partition] or [_no_name(siblings, 0)]
    if any(one.odd != Odd() for one in part.walk()) or table.only:
        effect.add_unknown("indexes and TOAST relation of the split partition")
    _doubt_equal_indexes(state, table, effect)
    if state.edition.classic:  # their constraints no longer belong to those of the table
        table.leave_out("constraints after SPLIT PARTITION")
    bounds = max((p.bounds for p in siblings), default=1)
    shape = table.part_shape(state.edition, part)
    effect.locks += locks.split_locks(state.edition.name, shape, table.numbers[0])
    new = replace(
        part,
        name=child_name(parent, level + 1, fresh[0]),
        partition=fresh[0],
        default=False,
        bounds=bounds,
        dropped_before=table.dropped,
        odd=Odd(),
        oid=0,
    )
    with state.changing(effect, table):
        part.dropped_before = table.dropped  # both are recreated
        if state.edition.classic:
            part.storage = new.storage = storage_of(
                state.defaults.options, "", part.storage, state.edition
            )
        if not names and not part.default:
            fresh.append(_no_name(siblings, 1))
        first_is_new = not names or names[0] != part.partition
        if part.partition not in names and len(fresh) > 1:  # both get a new name
            state.leaf_of.pop((part.schema or table.schema, part.name), None)
            part.partition, part.name = fresh[1], child_name(parent, level + 1, fresh[1])
        divide(state, table, part, new, action, level, first_is_new=first_is_new)
        siblings.append(new)
        table.counted([new], 1)
        state.keep(table, [part, new])


def _no_name(siblings: list[Partition], number: int) -> str:
    """A placeholder for a name that the server chooses at random; no written name is equal."""
    return f"\u2026{len(siblings) + number}"


@acts("ExchangePartition")
def _exchange(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    if not table.levels:
        effect.add_unknown("partition not identified")
        return
    rejoin(state, table)
    _exchange_with(state, table, table.parts, action, 0, effect)


def _exchange_with(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
    effect: Effect,
) -> None:
    """EXCHANGE: swap a partition and a table, with their storage, dropped columns and indexes."""
    other = state.find(action.args["table"])
    part = _target(state, table, siblings, action, level, effect)
    if part is None or not part.is_leaf:
        effect.add_unknown("partition not identified")
        return
    if other is None or not other.known or not table.known:
        effect.add_unknown("unknown table in EXCHANGE PARTITION")
        _doubt_external(state, action.args["table"])
        return
    setting = state.defaults.values.get("gp_enable_exchange_default_partition", "")
    if state.edition.classic and part.default and setting not in ("on", "true", "1", "yes"):
        effect.add_unknown("whether gp_enable_exchange_default_partition is on")
    if part.odd != Odd() or table.only:
        effect.add_unknown("indexes and TOAST relation of the exchanged partition")
        other.uncounted = other.uncounted or f"table {other.title} after EXCHANGE PARTITION"
    if (
        other.toasted
        or other.toast_missing
        or table.toasted
        or other.extra
        or other.owned
        or any(c.serial for c in other.columns)
    ):
        effect.add_unknown("sequences and TOAST relation of the exchanged table")
        other.uncounted = other.uncounted or f"table {other.title} after EXCHANGE PARTITION"
    same = len(other.indexes) == len(table.indexes)
    if not same and (state.edition.classic or other.indexes):
        effect.add_unknown("indexes of the exchanged table")
    if state.edition.classic:  # each keeps the constraint of its bounds, and its array type
        for one in (table, other):
            one.leave_out("constraints and types after EXCHANGE PARTITION")
    with state.changing(effect, table, other):
        if not same and not other.indexes:
            other.indexes = list(
                table.indexes
            )  # the table gets those of the partitioned table, and the partition keeps its own
        part.storage, other.storage = other.storage, part.storage
        own = table.unlogged if part.unlogged is None else part.unlogged
        part.unlogged, other.unlogged = other.unlogged, own
        was = table.dropped - part.dropped_before
        part.dropped_before, other.dropped = table.dropped - other.dropped, was
    # the indexes of the partition are locked, and on Greenplum 6 their constraints
    effect.locks += 2 + len(table.indexes) + _default_among(state, siblings)
    effect.locks += sum(k.constraint for k in table.indexes) if state.edition.classic else 0
    # views, triggers and rules belong to the relations, which exchange their names
    own_name, other_name = (part.schema or table.schema, part.name), (other.schema, other.name)
    rename_reads(state, {own_name: other_name, other_name: own_name})
    for reason in table.not_counted:
        other.leave_out(reason)
    for reason in other.not_counted:
        table.leave_out(reason)


def _doubt_external(state: SchemaState, name: exp.Expression) -> None:
    """Mark the columns of an external or foreign table that becomes a partition as unknown: it gets
    the columns of its table.
    """
    key = state.known_name(name, state.views)
    if key in state.views:
        state.views[key] = replace(state.views[key], columns=None, output=None)


@acts("SetSubpartitionTemplate")
def _set_template(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    if len(table.levels) < 2:
        effect.add_unknown("previous subpartition template")
        return
    _template(state, table, 1, action, effect)


def _template(
    state: SchemaState, table: Table, level: int, action: exp.Expression, effect: Effect
) -> None:
    with state.changing(effect, table):
        one = table.levels[level]
        one.template, one.template_positions = (
            list(action.args.get("partitions") or []) or None,
            None,
        )
        try:
            template_sizes(state.edition, table, state.zone)
        except Unknown as e:
            effect.add_unknown(str(e))


@acts("AttachPartition")
def _attach(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    child = state.find(action.this)
    if child is None or not child.known or not table.known:
        effect.add_unknown("unknown table in ATTACH PARTITION")
        _doubt_external(state, action.this)
        return
    if child is table or table in state.partitions_of(child):
        effect.add_unknown(REJECTED + "a table cannot be a partition of itself")
        return
    if child.partitioned and child.parts and table.indexes:
        effect.add_unknown("indexes of the partitions of the attached table")
    effect.locks += 1 + default_beside(state, table)
    if not state.edition.greenplum:
        effect.locks += sum(1 + key.constraint for key in table.indexes)
    with state.changing(effect, child, *state.partitions_of(child)):
        child.parent = (table.schema, table.name)
        own_constraints(child, table)
        for key in table.indexes:
            doubt_equality(table, key, (child, *state.partitions_of(child)), effect)
            settled: list[Table] = []
            for one in (child, *state.partitions_of(child)):
                if any(one is x for x in settled):
                    continue
                # before PostgreSQL 18, a unique constraint can become part of a primary key
                any_key = state.edition.base < 18
                if state.has_index(one, key, any_key=any_key) and state.take_over(
                    one, key, any_key=any_key
                ):
                    settled += state.partitions_of(one)
                else:
                    one.indexes.append(key.for_partition(one))
                    effect.locks += 1 + (key.constraint and not state.edition.greenplum)
        child.array_kept = (
            child.storage is Storage.HEAP
            and not _leaf_has_array_type(state)
            and not child.array_missing
        )
        child.array_missing = False
        _note(state, child)
    table.own_children.append((child.schema, child.name))
    note_bound(state, table, child, action.args.get("bound"))


@acts("DetachPartition")
def _detach(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    child = state.find(action.this)
    if child is None or not child.known:
        effect.add_unknown("unknown table in DETACH PARTITION")
        return
    if any(k.constraint for k in child.indexes):
        effect.minor.append("constraints kept by the detached table")
    below = sum(1 + one.numbers[0] for one in (child, *state.partitions_of(child)))
    effect.locks += (
        below + sum(bool(k.of) for k in child.indexes) + default_beside(state, table, child)
    )
    with state.changing(effect, child):
        # PostgreSQL 19 creates no constraint
        if action.args.get("concurrently") and child.parent and state.edition.base < 19:
            # the bound becomes a CHECK constraint
            read = _keys_above(state, child)
            names = {c.name for c in child.columns}
            if read is None or not read <= names:
                effect.minor.append("constraints kept by the detached table")
            else:
                child.checks.append(Check(check_name(child, read), frozenset(read)))
            if child.checks[1:] or child.partitioned:
                # a CHECK constraint that implies the bound is enough; partitions inherit it
                effect.minor.append(OF_BOUNDS)
                for one in (child, *state.partitions_of(child)):
                    one.leave_out(OF_BOUNDS)
        child.parent = None
        for one in (child, *state.partitions_of(child)):
            one.columns = [replace(c, identity=False) if c.identity else c for c in one.columns]
        child.may_have_lost |= bool(child.foreign)  # merged with those of the table
        own_constraints(child)
        child.array_missing = (
            child.storage is Storage.HEAP
            and not _leaf_has_array_type(state)
            and not child.array_kept
        )
        child.array_kept = False
        _note(state, child)
    if keys_of_partitions(state, table):
        child.leave_out(FOREIGN)
    if state.edition.greenplum and (child.partitioned or child.levels):
        child.leave_out(TEMPLATE)
        effect.minor.append(TEMPLATE)
    above: Table | None = table
    while above is not None:  # the foreign keys of the tables above become its own
        child.foreign += above.foreign
        above = state.tables.get(above.parent) if above.parent is not None else None
    state.detach_indexes(child)
    key = (child.schema, child.name)
    table.own_children = [name for name in table.own_children if name != key]


def _keys_above(state: SchemaState, child: Table) -> set[str] | None:
    """Columns of the partition keys of all tables above; None if one is unknown."""
    found: set[str] = set()
    above = child.parent
    while above is not None:
        table = state.tables.get(above)
        if table is None or not table.levels:
            return None
        found |= set(table.levels[0].keys)
        above = table.parent
    return found


def _note(state: SchemaState, child: Table) -> None:
    """Add the row with which segments record once that a partition was attached or detached."""
    if state.edition.greenplum:
        child.extra.setdefault(Instance.SEGMENT.value, Counter())["pg_stat_last_operation"] = 1


def _leaf_has_array_type(state: SchemaState) -> bool:
    from gpcatalog.capacity.generation import generation

    return generation(state.edition.name).array_type_of_leaf
