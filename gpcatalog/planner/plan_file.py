"""The plan file: JSON with a versioned schema. Partitions are columns with runs, because a plan may
contain a million of them.

The file is written table by table, so memory does not grow with the steps. Repeated values are
stored once:

* `texts` (at the end): bounds and conditions; other places refer to them by number.
* `partitions` of a table: partitions that its steps change, `made`: partitions that they create.
  Both are stored as columns; steps refer to their rows by number.
* A column is a list of values; a list in it is a run. Of numbers, `[first, how many]` counts up,
  and `[value, how many, 0]` repeats. Of names, `[text, how many]` repeats, and
  `[before, first, after, how many]` counts up between two texts.
* The typed ends of units are derived from their bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from gpcatalog.model.bounds import Family
from gpcatalog.model.names import json_safe
from gpcatalog.planner import operations as op
from gpcatalog.planner.ends import Ends, family_of
from gpcatalog.planner.plan import SCHEMA, Plan, TablePlan

Number = int | float | None
Numbers = list[Number | list[Number]]
Texts = list[str | list[str | int]]

_LEAST = 3  # minimum number of values of a run
# maximum number of values of a run that is read: more partitions than any database has
_LONGEST = 20_000_000
_DIGITS = re.compile(r"(\d+)")


# --- columns --------------------------------------------------------------------------------------


def pack_numbers(values: Sequence[Number]) -> Numbers:
    """Pack numbers: sequences that count up by one, or repeat, become runs.

    >>> pack_numbers([7, 8, 9, 20, 4, 4, 4, 4])
    [[7, 3], 20, [4, 4, 0]]
    """
    out: Numbers = []
    n, i = len(values), 0
    while i < n:
        first = values[i]
        step: Number = None
        if i + _LEAST <= n:
            if values[i + 1] == first:
                step = 0
            elif type(first) is int and values[i + 1] == first + 1:
                step = 1
        if step is None:
            out.append(first)
            i += 1
            continue
        j, expected = i + 1, cast("Any", first)
        while j < n:
            if step:
                expected += 1
            if values[j] != expected:
                break
            j += 1
        if j - i >= _LEAST:
            out.append([first, j - i] if step else [first, j - i, 0])
        else:
            out += values[i:j]
        i = j
    return out


def numbers(column: Numbers) -> Iterator[Number]:
    """The values of a column.

    >>> list(numbers([[7, 3], 20, [4, 2, 0]]))
    [7, 8, 9, 20, 4, 4]
    """
    for one in column:
        if not isinstance(one, list):
            yield one
        elif (
            len(one) == 2
            and isinstance(one[0], int)
            and isinstance(one[1], int)
            and 0 < one[1] <= _LONGEST
        ):
            yield from range(one[0], one[0] + one[1])
        elif len(one) == 3 and isinstance(one[1], int) and 0 < one[1] <= _LONGEST and one[2] == 0:
            for _ in range(one[1]):
                yield one[0]
        else:
            raise msgspec.ValidationError(f"{one} is not a list of numbers")


def _places(column: Numbers) -> Iterator[int]:
    for one in numbers(column):
        if not isinstance(one, int) or one < 0:
            raise msgspec.ValidationError(f"{one} is not a valid row number")
        yield one


def _counted(first: str, second: str) -> tuple[str, int, str] | None:
    """Split the first text at the only number that is one higher in the second text: the text
    before it, the number, the text after it. None if there is no such number.
    """
    a, b = _DIGITS.split(first), _DIGITS.split(second)
    if len(a) != len(b):
        return None
    differ = [k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    if len(differ) != 1 or not differ[0] % 2:
        return None
    k = differ[0]
    if (
        len(a[k]) > 18 or str(int(a[k])) != a[k] or str(int(a[k]) + 1) != b[k]
    ):  # numbers with leading zeros do not count up
        return None
    return "".join(a[:k]), int(a[k]), "".join(a[k + 1 :])


def pack_texts(values: Sequence[str]) -> Texts:
    """Pack texts: sequences that repeat, or in which one number counts up, become runs.

    >>> pack_texts(["p1_x", "p2_x", "p3_x", "a", "a", "a"])
    [['p', 1, '_x', 3], ['a', 3]]
    """
    out: Texts = []
    n, i = len(values), 0
    while i < n:
        first, j = values[i], i + 1
        if i + _LEAST <= n and values[i + _LEAST - 1] != first:
            found = _counted(first, values[j]) if values[j] != first else None
            if found is not None:
                before, at, after = found
                while j < n and values[j] == f"{before}{at + j - i}{after}":
                    j += 1
                if j - i >= _LEAST:
                    out.append([before, at, after, j - i])
                    i = j
                    continue
            out.append(first)
            i += 1
            continue
        while j < n and values[j] == first:
            j += 1
        out += [[first, j - i]] if j - i >= _LEAST else values[i:j]
        i = j
    return out


def texts(column: Texts) -> Iterator[str]:
    """The values of a column.

    >>> list(texts([["p", 9, "_x", 2], "b", ["a", 2]]))
    ['p9_x', 'p10_x', 'b', 'a', 'a']
    """
    for one in column:
        if isinstance(one, str):
            yield one
        elif (
            len(one) == 2
            and isinstance(one[0], str)
            and isinstance(one[1], int)
            and 0 < one[1] <= _LONGEST
        ):
            for _ in range(one[1]):
                yield one[0]
        elif (
            len(one) == 4
            and isinstance(one[1], int)
            and isinstance(one[3], int)
            and 0 < one[3] <= _LONGEST
        ):
            for n in range(one[1], one[1] + one[3]):
                yield f"{one[0]}{n}{one[2]}"
        else:
            raise msgspec.ValidationError(f"{one} is not a list of strings")


# --- the file -------------------------------------------------------------------------------------


class PartitionProfile(msgspec.Struct, frozen=True, omit_defaults=True):
    """Common properties of many partitions: schema, storage, options and tablespace."""

    schema: str = ""
    storage: str = ""
    options: str = ""
    tablespace: int = 0


class SourcePartitions(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Partitions that steps change, as columns; see `Leaf`.

    look: number in the table's `looks`; bound: number in `texts`.

    Units that are not leaves are included, without sizes.
    """

    oid: Numbers = []
    name: Texts = []
    partition: Texts = []
    bound: Numbers = []
    look: Numbers = []
    rows: Numbers = []
    bytes: Numbers = []
    segment_bytes: Numbers = []
    filled: Numbers = []  # 1, 0, or null if unknown


class NewPartitions(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Leaves that steps create, as columns; see `NewLeaf`.

    storing: number in the table's `storings`.
    """

    name: Texts = []
    partition: Texts = []
    bound: Numbers = []
    path: list[tuple[str, ...]] = []
    storing: Numbers = []
    bytes: Numbers = []
    segment_bytes: Numbers = []
    like: Numbers = []


class StorageProfile(msgspec.Struct, frozen=True, omit_defaults=True):
    """Storage of created leaves; see `NewLeaf`."""

    storage: str = ""
    options: dict[str, str] = {}
    tablespace: int = 0


class StepLeaves(msgspec.Struct, omit_defaults=True):
    """Leaves of a step: row in `partitions`, number of the step's unit, number of its new leaf."""

    at: Numbers = []
    unit: Numbers = []
    lane: Numbers = []


class StepRecord(
    msgspec.Struct, omit_defaults=True, tag_field="operation", tag="other", kw_only=True
):
    """A step in the file; see the step of that operation.

    units, new: rows of `partitions` and `made`; rests_on, lost: numbers of `texts`
    """

    id: str
    explanation: str
    gain: op.Gain
    cost: op.Price
    rests_on: list[int] = []
    lost: list[int] = []
    parent: int = 0
    parent_name: str = ""
    proposal: bool = False
    units: Numbers = []
    leaves: StepLeaves = msgspec.field(default_factory=StepLeaves)
    new: Numbers = []


class MergeLine(StepRecord, omit_defaults=True, tag="merge", kw_only=True):
    """See `Merge`. Its ends are those of its first and last unit."""

    grain: str
    partition: str
    name: str
    bound: str
    whole: bool = False


class ConvertLine(StepRecord, tag="convert"):
    """See `Convert`."""


class DropLine(StepRecord, tag="drop-empty", kw_only=True):
    """See `DropEmpty`."""

    where: str


class UnpartitionLine(StepRecord, tag="unpartition"):
    """See `Unpartition`."""


class FlattenLine(StepRecord, tag="flatten", kw_only=True):
    """See `Flatten`."""

    level: int


class ExternaliseLine(StepRecord, tag="externalise", kw_only=True):
    """See `Externalise`."""

    file_bytes: int


class ReconfigureLine(StepRecord, omit_defaults=True, tag="reconfigure", kw_only=True):
    """See `Reconfigure`."""

    maker: str
    version: str = ""
    now: dict[str, str | None] = {}
    wanted: dict[str, str] = {}


AnyLine = (
    MergeLine
    | ConvertLine
    | DropLine
    | UnpartitionLine
    | FlattenLine
    | ExternaliseLine
    | ReconfigureLine
)

_LINES: dict[type[op.AnyStep], type[StepRecord]] = {
    op.Merge: MergeLine,
    op.Convert: ConvertLine,
    op.DropEmpty: DropLine,
    op.Unpartition: UnpartitionLine,
    op.Flatten: FlattenLine,
    op.Externalise: ExternaliseLine,
    op.Reconfigure: ReconfigureLine,
}
_STEPS = {line: step for step, line in _LINES.items()}
_OWN = {  # fields that a step and its line both have, with the same value
    step: [
        f.name
        for f in msgspec.structs.fields(line)
        if f.name not in ("rests_on", "lost", "units", "leaves", "new")
    ]
    for step, line in _LINES.items()
}


class TableLine(TablePlan, omit_defaults=True, kw_only=True):
    """A table in the file: `TablePlan`, and the partitions that its steps change and create."""

    looks: list[PartitionProfile] = msgspec.field(default_factory=list)
    partitions: SourcePartitions = msgspec.field(default_factory=SourcePartitions)
    storings: list[StorageProfile] = msgspec.field(default_factory=list)
    made: NewPartitions = msgspec.field(default_factory=NewPartitions)
    steps: list[AnyLine] = msgspec.field(default_factory=list)  # type: ignore[assignment]


class File(Plan, kw_only=True):
    """The plan file: `Plan`, and the texts that are referred to by number."""

    tables: list[TableLine] = msgspec.field(default_factory=list)  # type: ignore[assignment]
    texts: list[str] = msgspec.field(default_factory=list)


_TABLE = [f.name for f in msgspec.structs.fields(TablePlan) if f.name != "steps"]
_PLAN = [f.name for f in msgspec.structs.fields(Plan) if f.name != "tables"]


class _SharedTexts:
    """Texts that are stored once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


class _Rows:
    """Partitions that steps of one table change, each once, as rows."""

    def __init__(self) -> None:
        self.rows: list[op.Leaf] = []
        self._at: dict[int, int] = {}  # row of every partition, by OID

    def __contains__(self, oid: int) -> bool:
        return oid in self._at

    def add(self, leaf: op.Leaf) -> None:
        """Add a partition that has no row yet."""
        self._at[leaf.oid] = len(self.rows)
        self.rows.append(leaf)

    def numbers(self, partitions: Iterable[op.Leaf | op.Unit]) -> Numbers:
        """The rows of partitions, as a column."""
        return pack_numbers([self._at[p.oid] for p in partitions])


def _step_line(
    step: op.AnyStep, changed: _Rows, created: list[op.NewLeaf], shared: _SharedTexts
) -> AnyLine:
    """Convert a step for the file. The partitions that it changes and creates are added to
    `changed` and `created`.
    """
    leaves, units, new = (
        getattr(step, "leaves", ()),
        getattr(step, "units", ()),
        getattr(step, "new", ()),
    )
    for leaf in leaves:
        if leaf.oid not in changed:
            changed.add(leaf)
    for unit in units:
        if unit.oid not in changed:
            changed.add(
                op.Leaf(oid=unit.oid, name=unit.name, partition=unit.partition, bound=unit.bound)
            )
    line = _LINES[type(step)](
        **{name: getattr(step, name) for name in _OWN[type(step)]},
        rests_on=[shared(text) for text in step.rests_on],
        lost=[shared(text) for text in step.lost],
        units=changed.numbers(units),
        leaves=StepLeaves(
            changed.numbers(leaves),
            pack_numbers([x.unit for x in leaves]),
            pack_numbers([x.lane for x in leaves]),
        ),
        new=pack_numbers(range(len(created), len(created) + len(new))),
    )
    created += new
    return cast("AnyLine", line)


def _source_partitions(
    rows: list[op.Leaf], shared: _SharedTexts
) -> tuple[SourcePartitions, list[PartitionProfile]]:
    """Partitions that steps change, as columns, and their common properties, by number."""
    profiles: dict[PartitionProfile, int] = {}
    columns = SourcePartitions(
        oid=pack_numbers([r.oid for r in rows]),
        name=pack_texts([r.name for r in rows]),
        partition=pack_texts([r.partition for r in rows]),
        bound=pack_numbers([shared(r.bound) for r in rows]),
        look=pack_numbers(
            [
                profiles.setdefault(
                    PartitionProfile(r.schema, r.storage, r.options, r.tablespace), len(profiles)
                )
                for r in rows
            ]
        ),
        rows=pack_numbers([r.rows for r in rows]),
        bytes=pack_numbers([r.bytes for r in rows]),
        segment_bytes=pack_numbers([r.segment_bytes for r in rows]),
        filled=pack_numbers([None if r.filled is None else int(r.filled) for r in rows]),
    )
    return columns, list(profiles)


def _new_partitions(
    created: list[op.NewLeaf], shared: _SharedTexts
) -> tuple[NewPartitions, list[StorageProfile]]:
    """Leaves that steps create, as columns, and their storage, by number."""
    storage_profiles: dict[tuple[str, tuple[tuple[str, str], ...], int], int] = {}
    columns = NewPartitions(
        name=pack_texts([m.name for m in created]),
        partition=pack_texts([m.partition for m in created]),
        bound=pack_numbers([shared(m.bound) for m in created]),
        path=[m.path for m in created] if any(m.path for m in created) else [],
        storing=pack_numbers(
            [
                storage_profiles.setdefault(
                    (m.storage, tuple(m.options.items()), m.tablespace), len(storage_profiles)
                )
                for m in created
            ]
        ),
        bytes=pack_numbers([m.bytes for m in created]),
        segment_bytes=pack_numbers([m.segment_bytes for m in created]),
        like=pack_numbers([m.like for m in created]),
    )
    return columns, [
        StorageProfile(storage, dict(options), tablespace)
        for storage, options, tablespace in storage_profiles
    ]


def _line(table: TablePlan, shared: _SharedTexts) -> TableLine:
    """Convert a table for the file; its texts are added to `shared`."""
    changed = _Rows()
    created: list[op.NewLeaf] = []
    lines = [_step_line(step, changed, created, shared) for step in table.steps]
    partitions, profiles = _source_partitions(changed.rows, shared)
    created_columns, storage_profiles = _new_partitions(created, shared)
    return TableLine(
        **{name: getattr(table, name) for name in _TABLE},
        looks=profiles,
        partitions=partitions,
        storings=storage_profiles,
        made=created_columns,
        steps=lines,
    )


def write(plan: Plan, tables: Iterable[TablePlan], out: Callable[[str], object]) -> int:
    """Write the plan with these tables to `out`. Returns the number of steps written."""
    encoder = msgspec.json.Encoder()

    def write_part(part: str) -> None:
        out(json_safe(part))

    head = encoder.encode(msgspec.structs.replace(plan, tables=[])).decode()
    opening = '"tables":[]}'
    assert head.endswith(opening)
    write_part(head[: -len(opening)] + '"tables":[')
    shared = _SharedTexts()
    steps = 0
    for n, table in enumerate(tables):
        write_part((",\n" if n else "\n") + encoder.encode(_line(table, shared)).decode())
        steps += len(table.steps)
    write_part('\n],\n"texts":' + encoder.encode(list(shared.numbers)).decode() + "}\n")
    return steps


# --- reading --------------------------------------------------------------------------------------


def _rows(table: TableLine, texts_: list[str]) -> list[op.Leaf]:
    t, profiles = table.partitions, table.looks
    found = []
    columns = (
        _places(t.oid),
        texts(t.name),
        texts(t.partition),
        _places(t.bound),
        _places(t.look),
        numbers(t.rows),
        numbers(t.bytes),
    )
    for oid, name, partition, bound, profile, rows, size, segment, filled in zip(
        *columns, numbers(t.segment_bytes), numbers(t.filled), strict=True
    ):
        properties = profiles[profile]
        found.append(
            op.Leaf(
                oid=oid,
                name=name,
                schema=properties.schema,
                partition=partition,
                bound=texts_[bound],
                unit=0,
                lane=0,
                storage=properties.storage,
                options=properties.options,
                tablespace=properties.tablespace,
                rows=float(cast("float", rows)),
                bytes=cast("int | None", size),
                segment_bytes=cast("int | None", segment),
                filled=None if filled is None else bool(filled),
            )
        )
    return found


def _new_leaves(table: TableLine, texts_: list[str]) -> list[op.NewLeaf]:
    m, storings = table.made, table.storings
    bound = list(_places(m.bound))
    paths = m.path or [()] * len(bound)
    return [
        op.NewLeaf(
            name=name,
            partition=partition,
            bound=texts_[at],
            path=path,
            storage=s.storage,
            options=dict(s.options),
            tablespace=s.tablespace,
            bytes=cast("int | None", size),
            segment_bytes=cast("int | None", segment),
            like=like,
        )
        for name, partition, at, path, s, size, segment, like in zip(
            texts(m.name),
            texts(m.partition),
            bound,
            paths,
            (storings[x] for x in _places(m.storing)),
            numbers(m.bytes),
            numbers(m.segment_bytes),
            _places(m.like),
            strict=True,
        )
    ]


def _table(table: TableLine, texts_: list[str], known_ends: dict[Family, Ends]) -> TablePlan:
    rows, created = _rows(table, texts_), _new_leaves(table, texts_)
    family = family_of(table.axis)
    ends = known_ends.setdefault(family, Ends(family))
    units: dict[int, op.Unit] = {}

    def unit(at: int) -> op.Unit:
        if at not in units:
            r = rows[at]
            units[at] = op.Unit(r.oid, r.name, r.partition, r.bound, *ends.of(r.bound, r.bound))
        return units[at]

    def leaf(at: int, number: int, lane: int) -> op.Leaf:
        r = rows[at]
        if not number and not lane:
            return r
        return op.Leaf(
            oid=r.oid,
            name=r.name,
            schema=r.schema,
            partition=r.partition,
            bound=r.bound,
            unit=number,
            lane=lane,
            storage=r.storage,
            options=r.options,
            tablespace=r.tablespace,
            rows=r.rows,
            bytes=r.bytes,
            segment_bytes=r.segment_bytes,
            filled=r.filled,
        )

    steps: list[op.AnyStep] = []
    for line in table.steps:
        kind = _STEPS[type(line)]
        known: dict[str, Any] = {name: getattr(line, name) for name in _OWN[kind]}
        known["rests_on"] = tuple(texts_[n] for n in _places([*line.rests_on]))
        known["lost"] = tuple(texts_[n] for n in _places([*line.lost]))
        field_names = kind.__struct_fields__
        if "units" in field_names:
            known["units"] = tuple(unit(n) for n in _places(line.units))
        if "leaves" in field_names:
            leaf_numbers = line.leaves
            places = zip(
                _places(leaf_numbers.at),
                _places(leaf_numbers.unit),
                _places(leaf_numbers.lane),
                strict=True,
            )
            known["leaves"] = tuple(leaf(a, u, n) for a, u, n in places)
        if "new" in field_names:
            known["new"] = tuple(created[n] for n in _places(line.new))
        if "lower" in field_names:
            first, last = known["units"][0], known["units"][-1]
            known["lower"], known["upper"] = ends.of(first.bound, last.bound)
        steps.append(kind(**known))
    return TablePlan(**{name: getattr(table, name) for name in _TABLE}, steps=steps)


class OtherSchema(Exception):
    """A file of another schema. The argument is the name of that schema, "" if it has none."""


def read(text: str | bytes) -> Plan:
    """Read a plan from its JSON.

    Raises OtherSchema; or msgspec.ValidationError or DecodeError with the position if it is not a
    plan.
    """
    version = msgspec.json.decode(text, type=_Version).schema
    if version != SCHEMA:
        raise OtherSchema(version)
    file = msgspec.json.decode(text, type=File)
    ends: dict[Family, Ends] = {}
    try:
        tables = [_table(table, file.texts, ends) for table in file.tables]
    except (IndexError, KeyError, TypeError, ValueError) as e:
        if isinstance(e, msgspec.ValidationError):
            raise
        raise msgspec.ValidationError(f"its columns are inconsistent: {e}") from None
    return Plan(**{name: getattr(file, name) for name in _PLAN}, tables=tables)


class _Version(msgspec.Struct):
    schema: str = ""
