"""The cost model against live servers: the predicted numbers of rows and files must equal the counted numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from gpcatalog.capacity.generation import Generation, generation
from gpcatalog.capacity.model import (
    EMPTY,
    Index,
    Instance,
    Shape,
    Use,
    relation_files,
    relation_rows,
    tree,
)
from gpcatalog.model.storage import Storage
from tests.recorded import Recording, by_instance, read, recorded, share, some_of

from .live import RELATION_CATALOGS, Live, added, own_database

HEAP, AO_ROW, AO_COLUMN = Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN
SPAN = 1000  # length of every range partition
DEFAULT_BASE = 900_000  # a key that only a default partition accepts
BASES = (0, SPAN, 2 * SPAN, 3 * SPAN, DEFAULT_BASE)
BATCHES = 6

_CLAUSE = {
    ("gp6", HEAP): "",
    ("gp6", AO_ROW): "WITH (appendonly=true)",
    ("gp6", AO_COLUMN): "WITH (appendonly=true, orientation=column)",
    ("gp7", HEAP): "USING heap",
    ("gp7", AO_ROW): "USING ao_row",
    ("gp7", AO_COLUMN): "USING ao_column",
}


@dataclass(frozen=True)
class Case:
    """One table to create: a shape, and its partitions (none: a plain table)."""

    shape: Shape
    parts: tuple[int, ...] = ()
    defaults: tuple[bool, ...] = ()
    template: bool = False
    declarative: bool = False
    ctas: bool = False
    deleted: int = 0  # segfiles in which rows are deleted before VACUUM
    brief: bool = False  # only compared while empty: its catalog rows are enough to check it

    def relations(self) -> dict[Shape, int]:
        if not self.parts:
            return {self.shape: 1}
        templates = (
            tuple(n + d for n, d in zip(self.parts, self.defaults, strict=True))[1:]
            if self.template
            else ()
        )
        return tree(self.shape, self.parts, defaults=self.defaults, templates=templates)

    def __str__(self) -> str:
        s = self.shape
        words = [s.storage.value, f"{s.columns} columns", "toastable" if s.toastable else "fixed"]
        words += [
            f"index({x.columns}){' constraint' if x.constraint else ''}{' bitmap' if x.bitmap else ''}"
            for x in s.indexes
        ]
        words += [
            f"{name}={value}"
            for name in ("dropped", "not_null", "defaults", "checks")
            if (value := getattr(s, name))
        ]
        words += [name for name in ("owned", "unlogged", "analyzed") if getattr(s, name)]
        words += [name for name in ("template", "declarative", "ctas") if getattr(self, name)]
        words += [f"rows deleted in {self.deleted} segfiles"] if self.deleted else []
        if self.parts:
            words.append(
                "partitions "
                + "×".join(
                    f"{n}{'+1' if d else ''}"
                    for n, d in zip(self.parts, self.defaults, strict=True)
                )
            )
        return ", ".join(words)


# --- the matrix ----------------------------------------------------------------------------------------------------------


def shapes(gen: Generation) -> Iterator[Case]:
    """Storage × columns × toastable × index × partitioned, and special cases."""
    for storage in gen.storages:
        ao = storage.append_optimized
        plain, one, two = (), (Index(1),), (Index(2), Index(1))
        for columns, toastable, indexed in (
            (3, False, two),
            (3, True, one),
            (20, False, one),
            (20, True, two),
            (100, True, one),
        ):
            yield Case(Shape(storage, columns, toastable=toastable))
            yield Case(Shape(storage, columns, toastable=toastable, indexes=indexed))
        basic = Shape(storage, 6, toastable=True)
        unique = not (gen.rule_catalogs and ao)
        constraints = (Index(1, constraint=True), Index(3, constraint=True)) if unique else ()
        for index in constraints:
            yield Case(replace(basic, indexes=(index,)))
            yield Case(replace(basic, indexes=(index, Index(2))))
        yield Case(replace(basic, dropped=2))
        yield Case(replace(basic, dropped=1, indexes=(Index(1),)))
        yield Case(replace(basic, not_null=2), brief=True)
        yield Case(replace(basic, defaults=3), brief=True)
        yield Case(replace(basic, checks=2), brief=True)
        yield Case(replace(basic, owned=True), brief=True)
        yield Case(replace(basic, owned=True, indexes=(Index(2),)), brief=True)
        yield Case(replace(basic, analyzed=True))
        yield Case(replace(basic, unlogged=True, indexes=(Index(2),)))
        yield Case(Shape(storage, 3, unlogged=True), brief=True)
        if gen.greenplum:
            yield Case(replace(basic, indexes=(Index(2, bitmap=True), Index(1))), brief=True)
            yield Case(replace(basic, unlogged=True, indexes=(Index(1, bitmap=True),)), brief=True)
        yield Case(basic, ctas=True)
        for deleted in (1, 2, 3):
            yield Case(basic, deleted=deleted)
            yield Case(replace(basic, indexes=(Index(1),)), deleted=deleted)
        trees: list[Case] = []
        for toastable, indexes in ((False, plain), (True, two)):
            shape = Shape(storage, 5, toastable=toastable, indexes=indexes)
            trees += [
                Case(shape, (3,), (False,)),
                Case(shape, (2,), (True,)),
                Case(shape, (2, 2), (False, False)),
            ]
        # a unique key contains every partition key
        unusual = [Case(replace(basic, indexes=(x,)), (2,), (True,)) for x in constraints]
        unusual += [
            Case(replace(basic, indexes=(x,)), (2, 2), (True, False))
            for x in constraints
            if x.columns > 1
        ]
        unusual += [
            Case(replace(basic, not_null=2, defaults=2, checks=1), (2,), (False,)),
            Case(replace(basic, owned=True), (2,), (False,)),
            Case(replace(basic, indexes=(Index(1),)), (2, 2), (True, True)),
            Case(basic, (2, 1, 2), (False, True, False)),
        ]
        if gen.greenplum:
            unusual += [
                Case(replace(basic, indexes=(Index(1, bitmap=True),)), (2, 2), (True, False)),
                Case(basic, (2, 2), (False, False), template=True),
                Case(basic, (2, 1), (True, True), template=True),
                Case(basic, (2, 2, 1), (False, False, True), template=True),
            ]
        trees += [replace(x, brief=True) for x in unusual]
        if gen.rule_catalogs:
            yield from trees
        else:
            yield from trees if gen.greenplum else ()
            # every second case is enough: the classic syntax creates the same tables
            yield from [replace(x, declarative=True) for x in trees if not x.template][
                :: 2 if gen.greenplum else 1
            ]


# --- creating the tables -------------------------------------------------------------------------------------------------


class Keys:
    """Distribution keys whose segment is known: every INSERT adds exactly one row per leaf to each segment.

    The number of rows must be this small, so that autovacuum has no reason to ANALYZE a table while it is examined.
    """

    def __init__(self, live: Live) -> None:
        self.homes: dict[int, list[list[int]]] = {}
        for base in BASES:
            if not live.server.greenplum:
                self.homes[base] = [list(range(base, base + BATCHES))]
                continue
            live.work.execute(
                f"CREATE TABLE keys (k int) DISTRIBUTED BY (k); INSERT INTO keys SELECT generate_series({base}, {base + 99})".encode()
            )
            found: dict[object, list[int]] = {}
            for content, key in live.rows("SELECT gp_segment_id, k FROM keys ORDER BY k"):
                found.setdefault(content, []).append(int(str(key)))
            live.work.execute("DROP TABLE keys")
            assert len(found) == len(live.instances) - 1
            self.homes[base] = list(found.values())

    def batch(self, base: int, number: int) -> list[int]:
        """One key for each segment, from `base` to `base` + 99, that no other batch contains."""
        return [keys[number] for keys in self.homes[base]]


@dataclass
class Table:
    """The table of a case, and the statements that change its state."""

    case: Case
    name: str
    gen: Generation
    keys: Keys
    batches: int = 0

    def columns(self) -> str:
        s = self.case.shape
        parts = []
        for i in range(1, s.columns + s.dropped + 1):
            # the first columns are keys; the last columns are dropped later
            words = [f"c{i}", "text" if self._text(i) else "int"]
            if i > 1 and i <= s.not_null + 1:
                words.append("NOT NULL")
            if i > 1 and i <= s.defaults + 1:
                words.append("DEFAULT 7" if words[1] == "int" else "DEFAULT 'x'")
            if i > 1 and i <= s.checks + 1:
                words.append(f"CHECK (c{i} IS NOT NULL)")
            parts.append(" ".join(words))
        constraint = [f"UNIQUE ({self._keys(x)})" for x in s.indexes if x.constraint]
        return ", ".join(parts + constraint)

    def _keys(self, index: Index) -> str:
        # a unique key contains the distribution key and the partition keys
        return ", ".join(f"c{i}" for i in range(1, index.columns + 1))

    def create(self) -> list[str]:
        gen, case, s = self.gen, self.case, self.case.shape
        clause = _CLAUSE.get((gen.name, s.storage), "")
        distributed = "DISTRIBUTED BY (c1)" if gen.greenplum else ""
        statements: list[str]
        if case.ctas:
            rows = ", ".join(f"({key})" for key in self.keys.batch(0, 0))
            values = [self._value(i, 0) for i in range(2, s.columns + 1)]
            typed = [value + ("::int" if value.isdigit() else "::text") for value in values]
            body = ", ".join(f"{value} AS c{i}" for i, value in enumerate(typed, 2))
            statements = [
                f"CREATE TABLE {self.name} {clause} AS SELECT c1, {body} FROM (VALUES {rows}) v (c1) {distributed}"
            ]
        elif not case.parts:
            statements = [
                f"CREATE {'UNLOGGED ' if s.unlogged else ''}TABLE {self.name} ({self.columns()}) {clause} {distributed}"
            ]
        elif case.declarative:
            statements = [
                f"CREATE TABLE {self.name} ({self.columns()}) PARTITION BY RANGE (c1) {clause} {distributed}"
            ]
            statements += self._declared(self.name, 0, clause)
        else:
            statements = [
                f"CREATE TABLE {self.name} ({self.columns()}) {clause} {distributed} {self._classic()}"
            ]
        for number, index in enumerate(x for x in s.indexes if not x.constraint):
            method = "bitmap" if index.bitmap else "btree"
            statements.append(
                f"CREATE INDEX {self.name}_i{number} ON {self.name} USING {method} ({self._keys(index)})"
            )
        for i in range(s.columns + 1, s.columns + s.dropped + 1):
            statements.append(f"ALTER TABLE {self.name} DROP COLUMN c{i}")
        if s.owned:
            statements = ["SET ROLE capacity_owner", *statements, "RESET ROLE"]
        return statements

    # the partition keys of the levels are c1, c2, c3
    def _declared(self, parent: str, depth: int, clause: str) -> list[str]:
        case, statements = self.case, []
        last = depth + 1 == len(case.parts)
        below = "" if last else f"PARTITION BY RANGE (c{depth + 2})"
        bounds = [
            f"FOR VALUES FROM ({n * SPAN}) TO ({n * SPAN + SPAN})" for n in range(case.parts[depth])
        ]
        for n, bound in enumerate([*bounds, *["DEFAULT"] * case.defaults[depth]]):
            child = f"{parent}_{n}"
            statements.append(
                f"CREATE TABLE {child} PARTITION OF {parent} {bound} {below} {clause}"
            )
            if not last:
                statements += self._declared(child, depth + 1, clause)
        return statements

    def _classic(self) -> str:
        case = self.case
        header = "PARTITION BY RANGE (c1)"

        def body(depth: int) -> str:
            word = "SUBPARTITION" if depth else "PARTITION"
            inner = (
                f" ({body(depth + 1)})" if depth + 1 < len(case.parts) and not case.template else ""
            )
            found = [
                f"{word} p{n} START ({n * SPAN}) END ({n * SPAN + SPAN}){inner}"
                for n in range(case.parts[depth])
            ]
            found += [f"DEFAULT {word} other{inner}"] * case.defaults[depth]
            return ", ".join(found)

        for depth in range(1, len(case.parts)):
            header += f" SUBPARTITION BY RANGE (c{depth + 1})"
            header += f" SUBPARTITION TEMPLATE ({body(depth)})" if case.template else ""
        return f"{header} ({body(0)})"

    def _leaf_values(self) -> list[tuple[int, ...]]:
        """For every leaf, a base value of each partition key."""
        found: list[tuple[int, ...]] = [()]
        for n, default in zip(self.case.parts, self.case.defaults, strict=True):
            found = [
                (*path, value)
                for path in found
                for value in [*(x * SPAN for x in range(n)), *[DEFAULT_BASE] * default]
            ]
        return found

    def _text(self, column: int) -> bool:
        # the first three columns may be keys
        s = self.case.shape
        return s.toastable and (column > 3 or (s.columns <= 3 and column == s.columns))

    def _value(self, column: int, number: int) -> str:
        return "'x'" if self._text(column) else str(number)

    def insert(self) -> str:
        """INSERT of a row for every leaf on every segment, with keys that no earlier batch contains."""
        columns = range(1, self.case.shape.columns + 1)
        rows = []
        for path in self._leaf_values() if self.case.parts else [(0,)]:
            for key in self.keys.batch(path[0], self.batches):
                above = key - path[0]
                values = [
                    self._value(i, (path[i - 1] if i <= len(path) else 0) + above) for i in columns
                ]
                rows.append(f"({', '.join(values)})")
        self.batches += 1
        return f"INSERT INTO {self.name} ({', '.join(f'c{i}' for i in columns)}) VALUES {', '.join(rows)}"

    def delete(self, batches: tuple[int, ...]) -> str:
        """DELETE of the rows of these batches of a plain table."""
        keys = [key for number in batches for key in self.keys.batch(0, number)]
        return f"DELETE FROM {self.name} WHERE c1 IN ({', '.join(map(str, keys))})"


# --- comparing -----------------------------------------------------------------------------------------------------------


def predicted(gen: Generation, case: Case, use: Use, content: int) -> dict[str, int]:
    """Rows by catalog, and files, that the model predicts for one instance."""
    instance = Instance.COORDINATOR if content < 0 else Instance.SEGMENT
    total: Counter[str] = Counter()
    for shape, number in case.relations().items():
        # only leaves store rows, but VACUUM also processes parents
        state = replace(use, rows=use.rows and not shape.place.parent)
        total.update(
            {
                catalog: n * number
                for catalog, n in relation_rows(gen, shape, instance, state).items()
            }
        )
        total["files"] += number * relation_files(gen, shape, state, instance)
    if case.shape.dropped and gen.greenplum and content < 0:
        total["pg_stat_last_operation"] += 1  # ALTER
    return dict(total)


def changed(use: Use) -> dict[str, object]:
    """Fields of a use that do not have their default values."""
    return {k: v for k, v in asdict(use).items() if v != getattr(Use(), k)}


class Walk:
    """The comparison of all cases of a server, and their differences."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.gen = generation(live.generation)
        self.compared = 0
        self.differences: list[str] = []
        self.keys = Keys(live)
        self.base = self.now = live.count()
        self.recording = Recording("capacity", self.gen.name, live.banner)

    def compare(self, case: Case, name: str, state: str, use: Use) -> None:
        self.now = self.live.count()
        found = added(self.base, self.now)
        uses: dict[int, Use] = {}
        self.compared += 1
        for content, rows in found.items():
            if use.rows and case.shape.storage is HEAP and not case.parts:
                # whether there is a free space map depends on the pages of the rows: their size is input of the model, not predicted
                size = (
                    self.live.instances[content]
                    .execute("SELECT pg_catalog.pg_relation_size(%s)", [f"work.{name}"])
                    .fetchone()
                )
                use = replace(use, bytes=int(str((size or (0,))[0])))
            uses[content] = use
            expected = {name: n for name, n in predicted(self.gen, case, use, content).items() if n}
            if expected != rows:
                off = {
                    k: (expected.get(k, 0), rows.get(k, 0))
                    for k in {**expected, **rows}
                    if expected.get(k, 0) != rows.get(k, 0)
                }
                self.differences.append(
                    f"{self.gen.name} {case}, {state}, content {content}: (predicted, counted) {off}"
                )

        self.record(case, state, found, uses)

    def record(
        self, case: Case, state: str, found: dict[int, Counter[str]], uses: dict[int, Use]
    ) -> None:
        counted = {
            content: {"use": changed(uses[content]), "counted": dict(rows)}
            for content, rows in found.items()
        }
        self.recording.add([str(case), state, by_instance(counted)])

    def writers(self, *statements: str) -> None:
        """Run the statements in concurrent transactions."""
        sessions = [self.live.session() for _ in statements]
        try:
            for session, statement in zip(sessions, statements, strict=True):
                session.execute(statement.encode())
            for session in sessions:
                session.commit()
        finally:
            for session in sessions:
                session.close()

    def walk(self, case: Case, name: str) -> None:
        run = self.live.work.execute
        table = Table(case, name, self.gen, self.keys)
        self.base = self.now
        for statement in table.create():
            run(statement.encode())
        if case.ctas:
            table.batches = 1
            self.compare(
                case, name, "created with rows", Use(rows=True, segfiles=0, segment_zero=True)
            )
            run(table.insert().encode())
            self.compare(case, name, "filled", Use(rows=True, segment_zero=True))
            return
        if case.shape.analyzed:
            run(table.insert().encode())
            run(f"ANALYZE {name}".encode())
            self.compare(case, name, "analyzed", Use(rows=True))
            return
        self.compare(case, name, "empty", EMPTY)
        if case.brief:
            return
        run(table.insert().encode())
        self.compare(case, name, "filled", Use(rows=True))
        if self.gen.greenplum:
            # if rows are deleted, each writer has one batch to delete and one to keep
            count = max(2, case.deleted)
            self.writers(
                *(
                    table.insert() + ("; " + table.insert() if case.deleted and n else "")
                    for n in range(count)
                )
            )
            self.compare(case, name, f"{count} writers", Use(rows=True, segfiles=count))
        segfiles = count if self.gen.greenplum else 1
        if case.deleted:
            # the segfile of the first writer, then that of the second
            run(
                table.delete(
                    ((0,), (0, 2), (0, 2, 4))[case.deleted - 1] if self.gen.greenplum else (0,)
                ).encode()
            )
        run(f"VACUUM {name}".encode())
        self.compare(
            case,
            name,
            "vacuumed",
            Use(rows=True, segfiles=segfiles, hidden=case.deleted, vacuumed=True),
        )


def check(dsn: str) -> None:
    with own_database(dsn, "capacity_matrix") as live:
        live.work.execute("DROP ROLE IF EXISTS capacity_owner")
        live.work.execute("CREATE ROLE capacity_owner")
        live.work.execute("CREATE SCHEMA work")
        live.work.execute("GRANT ALL ON SCHEMA work TO capacity_owner")
        live.work.execute("SET search_path = work")
        live.schema = "work"
        walk = Walk(live)
        before = live.count(everything=True)
        try:
            for number, case in enumerate(some_of(shapes(walk.gen))):
                walk.walk(case, f"m{number}")
            others = {
                name
                for rows in added(before, live.count(everything=True)).values()
                for name in rows
            }
        finally:
            live.work.execute("DROP OWNED BY capacity_owner CASCADE")
            live.work.execute("DROP SCHEMA IF EXISTS work CASCADE")
            live.work.execute("DROP ROLE capacity_owner")
    print(f"{walk.gen.name}: {walk.compared} cases compared, {len(walk.differences)} differences")
    assert walk.differences == []
    # only the compared catalogs have grown
    assert others <= {*RELATION_CATALOGS, "files"}
    assert walk.compared >= (200 if walk.gen.greenplum else 60) // share()
    walk.recording.save()


@pytest.mark.parametrize("path", recorded("capacity"), ids=lambda p: p.stem)
def test_model_equals_what_was_counted(path: Path) -> None:
    """Predictions equal the recorded counts; needs no server."""
    gen = generation(path.stem.rpartition("_")[2])
    cases = {str(case): case for case in shapes(gen)}
    entries = read(path)
    assert {name for name, _, _ in entries} == set(cases)
    for name, state, instances in entries:
        for content, one in instances.items():
            expected = predicted(gen, cases[name], Use(**one["use"]), int(content))
            found = {k: n for k, n in expected.items() if n}
            assert found == one["counted"], f"{gen.name} {name}, {state}, content {content}"


def test_model_equals_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn)


def test_model_equals_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn)


def test_model_equals_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn)


def test_model_equals_the_newest_postgresql(pgnew_dsn: str) -> None:
    check(pgnew_dsn)


def test_model_equals_postgresql_19(pg19_dsn: str) -> None:
    check(pg19_dsn)
