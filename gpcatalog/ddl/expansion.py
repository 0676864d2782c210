"""What a statement makes: partition trees spelled out as the server does, with names, bounds and storage of every relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.capacity.toast import needs_toast
from gpcatalog.ddl import calendar
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.edition import Edition
from gpcatalog.model.names import NAMEDATALEN, cut
from gpcatalog.model.storage import Storage


def fold(name: exp.Expression | None) -> str:
    """An identifier as the server compares it: cut at 63 bytes, lower case unless quoted."""
    if name is None:
        return ""
    text = str(name.this) if isinstance(name, exp.Identifier) else name.name
    quoted = isinstance(name, exp.Identifier) and name.args.get("quoted")
    return cut(text if quoted else text.lower())


def qualified(table: exp.Expression) -> tuple[str, str]:
    """(schema, name) of a table; the schema is "" where none is written."""
    if isinstance(table, gx.RelationName):
        return qualified(table.this)
    return fold(table.args.get("db")), fold(table.args.get("this"))


def child_name(parent: str, level: int, partition: str) -> str:
    """Name of the relation behind a partition: parent_LEVEL_prt_partition, the parent's part cut so that 63 bytes hold it.

    >>> child_name("sales", 1, "p1"), len(child_name("s" * 63, 1, "p1"))
    ('sales_1_prt_p1', 63)
    """
    label, number = f"prt_{partition}", str(level)
    room = NAMEDATALEN - len(label.encode()) - 2
    first, second = len(parent.encode()), len(number)
    while first + second > room and first + second > 0:
        if first > second:
            first -= 1
        else:
            second -= 1
    return cut(f"{cut(parent, first)}_{number[:second]}_{label}")


@dataclass(frozen=True)
class Column:
    """A column: its type as the catalogs name it, typmod, and what hangs on it."""

    name: str
    type: str
    typmod: int = -1
    not_null: bool = False
    default: bool = False
    checks: int = 0


@dataclass
class Partition:
    """A partition's relation, with those below it."""

    name: str
    partition: str  # its name within its parent, "" when it has none
    default: bool
    storage: Storage
    bounds: int  # how many on the path have bounds
    lower: object = None
    upper: object = None
    closed: bool = False
    listed: tuple[str, ...] = ()
    children: list[Partition] = field(default_factory=list)
    node: exp.Expression | None = None

    def walk(self) -> Iterator[Partition]:
        """Itself and everything below."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Level:
    """One level of partitioning: strategy, key columns, and the template for its parts."""

    strategy: str
    keys: tuple[str, ...]
    template: list[exp.Expression] | None = None


@dataclass
class Table:
    """A table as a script leaves it.

    known: its columns and storage could be told from the script or the baseline
    unknown: why something about it could not be told
    """

    schema: str
    name: str
    storage: Storage = Storage.HEAP
    columns: list[Column] = field(default_factory=list)
    dropped: int = 0
    indexes: list[Index] = field(default_factory=list)
    checks: int = 0
    levels: list[Level] = field(default_factory=list)
    parts: list[Partition] = field(default_factory=list)
    distribution: str = ""  # "hash", "random", "replicated", or "" when it is not written
    distribution_keys: tuple[str, ...] = ()
    temporary: bool = False
    parent: str = ""  # PARTITION OF
    kind: str = "TABLE"
    known: bool = True
    unknown: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    baseline_shapes: Counter[Shape] | None = None
    partitioned: bool = False
    extra: dict[str, Counter[str]] = field(default_factory=dict)  # rows of its own that no shape explains, by instance
    node: exp.Expression | None = None

    @property
    def title(self) -> str:
        """schema.name as written."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    def relations(self) -> Iterator[Partition]:
        """Every partition at every level."""
        for part in self.parts:
            yield from part.walk()

    def leaves(self) -> list[Partition]:
        """Partitions that hold rows."""
        return [p for p in self.relations() if not p.children]

    def shape(self, edition: Edition, storage: Storage) -> Shape:
        """Costs of one of its relations, wherever it stands."""
        toast = needs_toast(edition.name, [(c.type, c.typmod) for c in self.columns])
        return Shape(
            storage,
            len(self.columns),
            toastable=toast,
            dropped=self.dropped,
            indexes=tuple(self.indexes),
            not_null=sum(c.not_null for c in self.columns),
            defaults=sum(c.default for c in self.columns),
            checks=self.checks + sum(c.checks for c in self.columns),
        )

    def shapes(self, edition: Edition) -> Counter[Shape]:
        """Every relation it consists of, as shapes with their number."""
        if self.baseline_shapes is not None:
            return Counter(self.baseline_shapes)
        found: Counter[Shape] = Counter()
        base = self.shape(edition, self.storage)
        keys = [len(level.keys) for level in self.levels]
        if not self.levels and not self.partitioned:
            place = Place.LEAF if self.parent else Place.PLAIN
            found[replace(base, place=place, bounds=1 if self.parent else 0)] += 1
            return found
        templates = tuple(_template_size(self, number) for number, level in enumerate(self.levels) if level.template)
        root_place = Place.INTERMEDIATE if self.parent else Place.ROOT
        found[
            replace(
                base,
                place=root_place,
                bounds=1 if self.parent else 0,
                key_columns=keys[0] if keys else 1,
                levels=max(1, len(self.levels)),
                templates=templates,
            )
        ] += 1
        for depth, part in _with_depth(self.parts):
            place = Place.INTERMEDIATE if part.children or depth < len(self.levels) else Place.LEAF
            shape = self.shape(edition, part.storage) if part.storage is not self.storage else base
            key = (keys[depth] if depth < len(keys) else 1) if not edition.classic and place is Place.INTERMEDIATE else keys[depth - 1]
            found[replace(shape, place=place, bounds=part.bounds, key_columns=key)] += 1
        return found


def _with_depth(parts: Sequence[Partition], depth: int = 1) -> Iterator[tuple[int, Partition]]:
    for part in parts:
        yield depth, part
        yield from _with_depth(part.children, depth + 1)


def _template_size(table: Table, number: int) -> int:
    level = table.levels[number]
    sizes = 0
    for element in level.template or ():
        every = element.args.get("bound")
        if isinstance(every, gx.PartitionRange) and every.args.get("every") is not None:
            sizes += len([*_range_parts(element, every, "integer", ZoneInfo("UTC"), True)]) if table.known else 1
        else:
            sizes += 1
    return sizes


# --- columns ----------------------------------------------------------------------------------------------------------

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
_SERIAL = (exp.DType.SERIAL, exp.DType.BIGSERIAL, exp.DType.SMALLSERIAL)


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
        said = kind.args.get("kind")
        text = said.sql("greenplum").lower() if isinstance(said, exp.Expression) else str(said).lower()
        text = text.rsplit(".", 1)[-1].strip('"')
        if text in ("bit", "bit varying", "varbit"):
            return ("bit" if text == "bit" else "varbit"), numbers[0] if numbers else (1 if text == "bit" else -1)
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


def storage_of(options: dict[str, str], method: str, fallback: Storage, edition: Edition) -> Storage:
    """Storage that WITH options and USING ask for; `fallback` where they say nothing.

    An appendonly without orientation is row-oriented. Options that say nothing of storage leave Greenplum 6 at heap.
    """
    if method:
        return {"ao_row": Storage.AO_ROW, "ao_column": Storage.AO_COLUMN, "heap": Storage.HEAP}.get(method, Storage.OTHER)
    if not edition.greenplum:
        return Storage.HEAP
    said = options.get("appendonly", options.get("appendoptimized"))
    if said is None:
        return fallback
    if said in ("false", "off", "0", "no", "f", "n"):
        return Storage.HEAP
    return Storage.AO_COLUMN if options.get("orientation") == "column" else Storage.AO_ROW


def options_of(node: exp.Expression | None) -> dict[str, str]:
    """WITH options as a dictionary of lower-case text."""
    if node is None:
        return {}
    return {o.option: o.setting for o in node.expressions if isinstance(o, gx.StorageOption)}


# --- partitions -------------------------------------------------------------------------------------------------------


def _range_parts(
    element: exp.Expression, bound: gx.PartitionRange, kind: str, zone: ZoneInfo, classic: bool
) -> Iterator[tuple[str, object, object, bool]]:
    """(name, lower, upper, closed) of what one range element makes."""
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
                else:
                    lower = found
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
    exclusive_start = start.args.get("inclusive") == "EXCLUSIVE"
    parts = calendar.ranges(low, high, by, classic=classic, closed=inclusive, open_start=exclusive_start)
    for number, (a, b, closed) in enumerate(parts, 1):
        yield (f"{name}_{number}" if name else ""), a, b, closed


def _tablename(element: exp.Expression) -> str:
    """The name that WITH (tablename='…') gives a partition's relation, as pg_dump writes it; "" without one."""
    options = element.args.get("options")
    for option in options.expressions if options is not None else ():
        if isinstance(option, gx.StorageOption) and option.option == "tablename":
            value = option.args.get("value")
            return cut(str(value.this)) if isinstance(value, exp.Literal) else ""
    return ""


# pg_type.typname → how a partition key of it is ordered
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "integer"),
    **dict.fromkeys(("numeric", "float4", "float8"), "numeric"),
    **{name: name for name in ("date", "timestamp", "timestamptz")},
}


@dataclass
class Grower:
    """Spells out a partition tree for one edition; `zone` is the session's time zone."""

    edition: Edition
    table: Table
    zone: ZoneInfo
    table_options: dict[str, str]
    made: int = 0

    def kind(self, level: int) -> str:
        """How the key of a level is ordered."""
        keys = self.table.levels[level].keys
        by_name = {c.name: c for c in self.table.columns}
        column = by_name.get(keys[0]) if len(keys) == 1 else None
        if column is None:
            return "text"
        return _KINDS.get(column.type, "text")

    def storage(self, element: exp.Expression, above: Storage) -> Storage:
        """Storage of a partition: its own WITH replaces the one above it."""
        options = element.args.get("options")
        if options is None or set(options_of(options)) == {"tablename"}:
            return above
        return storage_of(options_of(options), "", Storage.HEAP if self.edition.classic else above, self.edition)

    def level(
        self, elements: Sequence[exp.Expression], level: int, parent: str, above: Storage, bounds: int, first: int = 1
    ) -> list[Partition]:
        """The partitions that a list of elements makes at a level, with their children."""
        real = [e for e in elements if e.args.get("encoding") is None]
        strategy = self.table.levels[level].strategy
        if not self.edition.classic or strategy == "range":
            # the default partition is made first, whatever its place in the list
            real.sort(key=lambda e: not e.args.get("default"))
        out: list[Partition] = []
        classic = self.edition.classic
        number = first - 1
        for element in real:
            bound = element.args.get("bound")
            storage = self.storage(element, above)
            default = bool(element.args.get("default"))
            made: list[tuple[str, object, object, bool]]
            named = _tablename(element)
            if named and isinstance(bound, gx.PartitionRange):
                # as old dumps have it: the relation has this name, and EVERY is only remembered
                whole = bound.copy()
                whole.set("every", None)
                made = [*_range_parts(element, whole, self.kind(level), self.zone, classic)]
            elif isinstance(bound, gx.PartitionRange):
                made = [*_range_parts(element, bound, self.kind(level), self.zone, classic)]
            else:
                made = [(fold(element.args.get("this")), None, None, False)]
            listed = tuple(v.sql("greenplum") for v in bound.expressions) if isinstance(bound, gx.PartitionValues) else ()
            for name, lower, upper, closed in made:
                number += 1
                self.made += 1
                if self.made > calendar.MOST:
                    raise Unknown(f"more than {calendar.MOST:,} partitions")
                relation = named or child_name(parent, level + 1, name or str(number))
                mine = bounds + (not default)
                part = Partition(relation, name, default, storage, mine, lower, upper, closed, listed, node=element)
                if level + 1 < len(self.table.levels):
                    explicit = element.args.get("partitions")
                    template = self.table.levels[level + 1].template
                    inner = explicit if explicit else template
                    if inner:
                        part.children = self.level(inner, level + 1, relation, storage, mine)
                out.append(part)
        return out


def levels_of(by: exp.Expression) -> list[Level]:
    """Levels of a PARTITION BY clause."""
    out: list[Level] = []
    node: exp.Expression | None = by
    while node is not None:
        kind = node.args.get("kind")
        strategy = (kind if isinstance(kind, str) else fold(kind)).lower()
        keys = tuple(
            fold(k) if isinstance(k, exp.Identifier) else fold(k.this.this) if isinstance(k.this, exp.Column) else ""
            for k in node.expressions
        )
        out.append(Level(strategy, keys, node.args.get("template")))
        node = node.args.get("subpartition")
    return out
