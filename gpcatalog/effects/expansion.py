"""Expands the partition trees of statements as the server does, with the names, bounds and storage
of all relations.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.version import Edition
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.keys import child_name, fold
from gpcatalog.effects.relations import Level, Partition, Table
from gpcatalog.model.names import cut
from gpcatalog.model.storage import Storage

# --- columns --------------------------------------------------------------------------------------

_CATALOG_NAMES = {
    exp.DType.INT: "int4",
    exp.DType.SMALLINT: "int2",
    exp.DType.BIGINT: "int8",
    exp.DType.FLOAT: "float4",
    exp.DType.DOUBLE: "float8",
    exp.DType.DECIMAL: "numeric",
    exp.DType.BOOLEAN: "bool",
    exp.DType.TEXT: "text",
    exp.DType.DATE: "date",
    exp.DType.CHAR: "bpchar",
    exp.DType.VARCHAR: "varchar",
    exp.DType.VARBINARY: "bytea",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamptz",
    exp.DType.TIME: "time",
    exp.DType.TIMETZ: "timetz",
    exp.DType.INTERVAL: "interval",
    exp.DType.UUID: "uuid",
    exp.DType.JSON: "json",
    exp.DType.JSONB: "jsonb",
    exp.DType.XML: "xml",
    exp.DType.MONEY: "money",
    exp.DType.INET: "inet",
    exp.DType.SERIAL: "int4",
    exp.DType.BIGSERIAL: "int8",
    exp.DType.SMALLSERIAL: "int2",
}
SERIAL = (exp.DType.SERIAL, exp.DType.BIGSERIAL, exp.DType.SMALLSERIAL)


def catalog_type(kind: exp.Expression) -> tuple[str, int]:
    """(typname, typmod) of a type as written.

    >>> import sqlglot
    >>> catalog_type(exp.DataType(this=exp.DType.INT))
    ('int4', -1)
    """
    if not isinstance(kind, exp.DataType):
        return "record", -1
    if kind.this == exp.DType.ARRAY:
        return "_array", -1
    params = [p.this for p in kind.expressions if isinstance(p, exp.DataTypeParam)]
    numbers = [int(p.this) for p in params if isinstance(p, exp.Literal) and str(p.this).isdigit()]
    name = _CATALOG_NAMES.get(kind.this)
    if name is None:
        kind_node = kind.args.get("kind")
        written = (
            kind_node.sql("greenplum") if isinstance(kind_node, exp.Expression) else str(kind_node)
        )
        text = written.lower()
        if text.endswith('"') and text != '"char"':
            quoted = re.search(r'"((?:[^"]|"")*)"$', written)
            return cut(quoted[1].replace('""', '"') if quoted else text), -1
        if text == '"char"':
            return "char", -1  # one byte; without quotes, it is another type
        text = text.rsplit(".", 1)[-1].strip('"')
        if text in ("bit", "bit varying", "varbit"):
            return ("bit" if text == "bit" else "varbit"), (
                numbers[0] if numbers else (1 if text == "bit" else -1)
            )
        if text in ("varchar", "bpchar", "numeric", "char"):
            name = {"char": "bpchar"}.get(text, text)
        else:
            return ("interval" if text.startswith("interval") else text), -1
    if name == "float4" and numbers:
        return ("float4" if numbers[0] <= 24 else "float8"), -1
    if name in ("varchar", "bpchar"):
        if numbers:
            return name, numbers[0] + 4
        return name, 5 if name == "bpchar" and kind.this == exp.DType.CHAR else -1
    if name == "numeric" and numbers:
        return name, ((numbers[0] << 16) | (numbers[1] if len(numbers) > 1 else 0)) + 4
    return name, -1


def sized(kind: exp.Expression) -> bool:
    """Whether a type as written, or the element type of an array, has a length or a precision."""
    name = catalog_type(kind)[0]
    return name != "interval" and kind.find(exp.DataTypeParam) is not None


def storage_of(
    options: dict[str, str], method: str, fallback: Storage, edition: Edition
) -> Storage:
    """The storage that WITH options and USING specify; `fallback` if they specify none.

    With appendonly and without orientation, it is row-oriented. On Greenplum 6, it is heap if the
    options do not specify the storage.
    """
    if method:
        return {"ao_row": Storage.AO_ROW, "ao_column": Storage.AO_COLUMN, "heap": Storage.HEAP}.get(
            method, Storage.OTHER
        )
    if not edition.greenplum:
        return Storage.HEAP
    setting = options.get("appendonly", options.get("appendoptimized"))
    if setting is None:
        return fallback
    if setting in ("false", "off", "0", "no", "f", "n"):
        return Storage.HEAP
    return Storage.AO_COLUMN if options.get("orientation") == "column" else Storage.AO_ROW


def options_of(node: exp.Expression | None) -> dict[str, str]:
    """WITH options as a dictionary of lower-case text."""
    if node is None:
        return {}
    return {o.option: o.setting for o in node.expressions if isinstance(o, gx.StorageOption)}


# --- partitions -----------------------------------------------------------------------------------


def _after(found: object, kind: str) -> object:
    """The smallest value after an exclusive START; text if there is none."""
    if kind == "integer" and isinstance(found, int):
        return found + 1
    if kind == "date" and isinstance(found, date):
        return found + timedelta(days=1)
    return f"after {found}"


def _range_parts(
    element: exp.Expression,
    bound: gx.PartitionRange,
    kind: str,
    zone: ZoneInfo,
    classic: bool,
    top: int | None = None,
) -> Iterator[tuple[str, object, object, bool]]:
    """(name, lower, upper, closed) of the partitions that one range element creates; top: the
    largest value of an integer key.
    """
    start, end, every = bound.args.get("start"), bound.args.get("end"), bound.args.get("every")
    name = fold(element.args.get("this"))
    if every is None:
        lower = upper = None
        for edge, which in ((start, 0), (end, 1)):
            if edge is not None and len(edge.expressions) == 1:
                try:
                    found: object = calendar.value(edge.expressions[0], kind, zone)
                except Unknown:
                    found = edge.expressions[0].sql("greenplum")
                if which:
                    upper = found
                elif edge.args.get("inclusive") != "EXCLUSIVE":
                    lower = found
                else:
                    lower = _after(found, kind)
        yield name, lower, upper, bool(end is not None and end.args.get("inclusive") == "INCLUSIVE")
        return
    if start is None or end is None:
        raise Unknown("EVERY without START and END")
    if len(every.expressions) != 1 or len(start.expressions) != 1:
        raise Unknown("EVERY over several columns")
    if kind == "text":
        raise Unknown("EVERY on a key of this type")
    low = calendar.value(start.expressions[0], kind, zone)
    high = calendar.value(end.expressions[0], kind, zone)
    by = calendar.stride(every.expressions[0], kind)
    inclusive = end.args.get("inclusive") == "INCLUSIVE"
    if inclusive and not classic and top is not None and high == top:
        inclusive = False  # there is no next value: the last partition ends at MAXVALUE
    exclusive_start = start.args.get("inclusive") == "EXCLUSIVE"
    parts = calendar.ranges(
        low, high, by, classic=classic, closed=inclusive, open_start=exclusive_start
    )
    found_parts = list(parts)
    # a single partition keeps the name (Greenplum 6.25.3, measured)
    alone = classic and len(found_parts) == 1
    for number, (a, b, closed) in enumerate(found_parts, 1):
        yield (f"{name}_{number}" if name and not alone else name), a, b, closed


def _close(parts: list[Partition]) -> None:
    """A range without END ends where the next one begins, and one without START begins where the
    one before it ends.
    """
    ranges = [part for part in parts if not part.default]
    for one, following in itertools.pairwise(ranges):
        if one.upper is None and following.lower is not None:
            one.upper = following.lower
        elif following.lower is None and one.upper is not None:
            following.lower = one.upper if not one.closed else "?"


def _tablename(element: exp.Expression) -> str:
    """The name in WITH (tablename='…') for the relation of a partition, as pg_dump writes it; "" if
    there is none.
    """
    options = element.args.get("options")
    for option in options.expressions if options is not None else ():
        if isinstance(option, gx.StorageOption) and option.option == "tablename":
            value = option.args.get("value")
            return cut(str(value.this)) if isinstance(value, exp.Literal) else ""
    return ""


# pg_type.typname → how a partition key of this type is ordered
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **{name: name for name in ("numeric", "date", "timestamp", "timestamptz")},
}


@dataclass
class PartitionExpander:
    """Expands a partition tree for one edition; `zone` is the session's time zone."""

    edition: Edition
    table: Table
    zone: ZoneInfo
    table_options: dict[str, str]
    created: int = 0

    def kind(self, level: int) -> str:
        """How the key of a level is ordered."""
        keys = self.table.levels[level].keys
        by_name = {c.name: c for c in self.table.columns}
        column = by_name.get(keys[0]) if len(keys) == 1 else None
        if column is None:
            return "text"
        return _KINDS.get(column.type, "text")

    def top(self, level: int) -> int | None:
        """The largest value of an integer key; None for others."""
        keys = self.table.levels[level].keys
        column = next((c for c in self.table.columns if len(keys) == 1 and c.name == keys[0]), None)
        bits = {"int2": 15, "int4": 31, "int8": 63}.get(column.type if column is not None else "")
        return None if bits is None else (1 << bits) - 1

    def storage(self, element: exp.Expression, above: Storage) -> Storage:
        """Storage of a partition: its own WITH replaces that of the level above."""
        options = element.args.get("options")
        if options is None or set(options_of(options)) == {"tablename"}:
            return above
        return storage_of(
            options_of(options), "", Storage.HEAP if self.edition.classic else above, self.edition
        )

    def _ranges(
        self, element: exp.Expression, level: int
    ) -> list[tuple[str, object, object, bool]]:
        """(name, lower, upper, closed) of each partition that an element creates at a level; only
        ranges have bounds, others have None.
        """
        bound = element.args.get("bound")
        if not isinstance(bound, gx.PartitionRange):
            return [(fold(element.args.get("this")), None, None, False)]
        if _tablename(element):
            # as in old dumps: the relation has this name, and EVERY is stored without an effect
            bound = bound.copy()
            bound.set("every", None)
        kind, top = self.kind(level), self.top(level)
        return [*_range_parts(element, bound, kind, self.zone, self.edition.classic, top)]

    def level(
        self,
        elements: Sequence[exp.Expression],
        level: int,
        parent: str,
        above: Storage,
        bounds: int,
        first: int = 1,
    ) -> list[Partition]:
        """The partitions that a list of elements creates at a level, with their children."""
        real = [e for e in elements if e.args.get("encoding") is None]
        strategy = self.table.levels[level].strategy
        if not self.edition.classic or strategy == "range":
            # the default partition is created first, at any position in the list
            real.sort(key=lambda e: not e.args.get("default"))
        out: list[Partition] = []
        number = first - 1
        for element in real:
            bound = element.args.get("bound")
            storage = self.storage(element, above)
            default = bool(element.args.get("default"))
            named = _tablename(element)
            listed = (
                tuple(v.sql("greenplum") for v in bound.expressions)
                if isinstance(bound, gx.PartitionValues)
                else ()
            )
            for name, lower, upper, closed in self._ranges(element, level):
                number += 1
                self.created += 1
                if self.created > calendar.MOST:
                    raise Unknown(f"more than {calendar.MOST:,} partitions")
                relation = named or child_name(parent, level + 1, name or str(number))
                mine = bounds + (not default)
                part = Partition(
                    name=relation,
                    partition=name,
                    default=default,
                    storage=storage,
                    bounds=mine,
                    lower=lower,
                    upper=upper,
                    closed=closed,
                    listed=listed,
                    dropped_before=self.table.dropped,
                    node=element,
                )
                if level + 1 < len(self.table.levels):
                    explicit = element.args.get("partitions")
                    template = self.table.levels[level + 1].template
                    inner = explicit if explicit else template
                    if inner:
                        part.children = self.level(inner, level + 1, relation, storage, mine)
                out.append(part)
        if strategy == "range":
            _close(out)
        return out


def levels_of(by: exp.Expression) -> list[Level]:
    """The levels of a PARTITION BY clause."""
    out: list[Level] = []
    node: exp.Expression | None = by
    while node is not None:
        kind = node.args.get("kind")
        strategy = (kind if isinstance(kind, str) else fold(kind)).lower()
        keys = tuple(
            (
                fold(k)
                if isinstance(k, exp.Identifier)
                else fold(key.this)
                if isinstance(key := k.this.unnest(), exp.Column)
                else ""
            )
            for k in node.expressions
        )
        read = {
            fold(column.this)
            for k, name in zip(node.expressions, keys, strict=True)
            for column in (k.find_all(exp.Column) if not name else ())
        }
        reads = sum(map(bool, keys)) + len(read) if read else 0
        template = node.args.get("template")
        out.append(Level(strategy=strategy, keys=keys, template=template, reads=reads))
        node = node.args.get("subpartition")
    return out


def template_sizes(edition: Edition, table: Table, zone: ZoneInfo) -> None:
    """Record on each level the number of partitions that its template creates."""
    for number, level in enumerate(table.levels):
        expander = PartitionExpander(edition, table, zone, table.options)
        level.template_parts = 0
        for element in level.template or ():
            bound = element.args.get("bound")
            every = isinstance(bound, gx.PartitionRange) and bound.args.get("every") is not None
            if element.args.get("encoding") is not None:
                continue
            level.template_parts += (
                sum(
                    1
                    for _ in _range_parts(
                        element, bound, expander.kind(number), zone, edition.classic
                    )
                )
                if every and isinstance(bound, gx.PartitionRange)
                else 1
            )
