"""Random partitioned tables, each with two to nine properties that a migration must keep or report as lost.

A property is on the table, on one leaf or on all leaves. Statements that a server rejects are left out.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import date, timedelta

import psycopg

_TYPES = (
    *("int", "bigint", "text", "varchar(20)", "numeric(9,2)", "date", "timestamptz", "boolean"),
    *("jsonb", "int[]", "odd_color", "odd_day", "bytea", "uuid", "point"),
)
_STORAGE = (
    "",
    " WITH (appendonly=true)",
    " WITH (appendonly=true, orientation=column)",
    " WITH (appendonly=true, orientation=column, compresstype=zlib, compresslevel=3)",
    " WITH (appendonly=true, compresstype=zlib, compresslevel=1)",
)
# {w}: the table, a leaf or an intermediate, {t}: the table, {l}: a leaf, {c}: a column, {n}: a number, {r}: a role, {x}: another column
_ONE = (
    "ALTER TABLE {t} ADD PRIMARY KEY (id, d, v)",
    "ALTER TABLE {t} ADD CONSTRAINT u{n} UNIQUE (d, id, v)",
    "ALTER TABLE {t} ADD CONSTRAINT c{n} CHECK (id > 0); COMMENT ON CONSTRAINT c{n} ON {t} IS 'positive'",
    "ALTER TABLE {t} ADD CONSTRAINT n{n} CHECK (id < 1000) NOT VALID",
    "ALTER TABLE {t} ALTER COLUMN {c} SET NOT NULL",
    "CREATE INDEX ON {t} ({c})",
    "CREATE INDEX x{n} ON {t} (lower(v), id DESC NULLS LAST) WHERE id > 3",
    "CREATE INDEX y{n} ON {l} ({c}); COMMENT ON INDEX y{n} IS 'one leaf''s'",
    "CREATE INDEX h{n} ON {t} USING hash (v)",
    "CREATE INDEX m{n} ON {t} USING bitmap (v)",
    "COMMENT ON TABLE {w} IS 'a {n}'",
    "COMMENT ON COLUMN {w}.{c} IS 'b {n}'",
    "GRANT SELECT, INSERT ON {w} TO {r}",
    "GRANT SELECT (id, v), UPDATE (v) ON {w} TO {r} WITH GRANT OPTION",
    "GRANT SELECT ON {w} TO PUBLIC",
    "REVOKE DELETE ON {w} FROM CURRENT_USER",
    "ALTER TABLE {w} ALTER COLUMN {c} SET STATISTICS {n}",
    "ALTER TABLE {w} ALTER COLUMN v SET STORAGE EXTERNAL",
    "ALTER TABLE {w} ALTER COLUMN v SET STORAGE PLAIN",
    "ALTER TABLE {w} ALTER COLUMN v SET COMPRESSION pglz",
    "ALTER TABLE {l} ALTER COLUMN id SET (n_distinct=7)",
    "ALTER TABLE {l} ADD CONSTRAINT k{n} CHECK (v <> 'zz')",
    "ALTER TABLE {l} ADD CONSTRAINT l{n} UNIQUE (id, d)",
    "ALTER TABLE {t} ALTER COLUMN v SET DEFAULT 'of the table'",
    "ALTER TABLE {t} REPLICA IDENTITY NOTHING",
    "CREATE TRIGGER a{n} AFTER INSERT ON {t} FOR EACH ROW EXECUTE PROCEDURE public.odd_trigger()",
    "CREATE TRIGGER s{n} AFTER INSERT ON {t} FOR EACH STATEMENT EXECUTE PROCEDURE public.odd_trigger()",
    "CREATE TRIGGER b{n} BEFORE UPDATE ON {l} FOR EACH ROW EXECUTE PROCEDURE public.odd_trigger()",
    "CREATE TRIGGER e{n} AFTER INSERT ON {t} FOR EACH ROW EXECUTE PROCEDURE public.odd_trigger(); ALTER TABLE {l} DISABLE TRIGGER e{n}",
    "CREATE STATISTICS st{n} ON id, v FROM {w}; COMMENT ON STATISTICS st{n} IS 'of two'",
    "CREATE STATISTICS so{n} (ndistinct) ON id, v FROM {w}; ALTER STATISTICS so{n} OWNER TO odd_writer",
    "ALTER TABLE {w} ENABLE ROW LEVEL SECURITY; CREATE POLICY p{n} ON {w} USING (id > 0)",
    "CREATE PUBLICATION pb{n} FOR TABLE {w}",
    "CREATE VIEW vw{n} AS SELECT id, d FROM {t}",
    "CREATE RULE r{n} AS ON DELETE TO {t} DO ALSO NOTHING",
    "ALTER TABLE {t} ADD COLUMN z{n} int DEFAULT 5",
    "ALTER TABLE {t} ADD COLUMN z{n} text",
    "ALTER TABLE {t} DROP COLUMN {x}",
    "ALTER TABLE {t} OWNER TO odd_writer",
    "CREATE TABLE fk{n} (a int, b date, c text); ALTER TABLE fk{n} ADD FOREIGN KEY (a, b, c) REFERENCES {t} (id, d, v)",
    "CREATE TABLE fo{n} (a int PRIMARY KEY); ALTER TABLE {w} ADD FOREIGN KEY (id) REFERENCES fo{n} NOT VALID",
    "CREATE TYPE ty{n} AS (a int); ALTER TABLE {t} ADD COLUMN q{n} ty{n}",
    "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
)
# on one leaf or on all leaves
_LEAVES = (
    "GRANT DELETE ON {l} TO {r}",
    "ALTER TABLE {l} SET (fillfactor=70)",
    "ALTER TABLE {l} SET (autovacuum_enabled=false, toast.autovacuum_enabled=false)",
    "ALTER TABLE {l} ALTER COLUMN v SET DEFAULT 'of a leaf'",
    "ALTER TABLE {l} SET UNLOGGED",
    "ALTER TABLE {l} REPLICA IDENTITY FULL",
    "ALTER TABLE {l} OWNER TO odd_writer",
)


@dataclass(frozen=True)
class _Shape:
    """A table with one partition per day.

    plain: its name without quotes and schema; more: further columns; deep: each day has two partitions;
    rest: the table has a default partition
    """

    name: str
    schema: str
    plain: str
    more: list[str]
    days: int
    deep: bool
    rest: bool

    @property
    def columns(self) -> str:
        """The column list for CREATE TABLE."""
        return ", ".join(("id int", "d date", "v text", *self.more))


class TableMaker:
    """Generates statements for tables. greenplum: with Greenplum's PARTITION BY; first: the day of the first partition."""

    def __init__(self, seed: int, *, greenplum: bool, first: date = date(2022, 1, 1)) -> None:
        self.r = random.Random(seed)
        self.greenplum = greenplum
        self.first = first

    def table(self, number: int) -> tuple[str, list[str]]:
        """Name of a table, and the statements that create and fill it."""
        r = self.r
        plain = f"t{number}"
        name = r.choice((plain, f'"T {number}"', f"s1.{plain}"))
        if name.startswith('"'):
            plain = f"T {number}"
        schema = "s1." if name.startswith("s1.") else ""
        more = [
            f"c{n} {r.choice(_TYPES)}{r.choice(('', '', ' DEFAULT NULL'))}"
            for n in range(r.randint(1, 4))
        ]
        if r.random() < 0.2:
            more.append("g int GENERATED ALWAYS AS (id * 2) STORED")
        if r.random() < 0.15:
            more.append("i serial" if self.greenplum else "i int GENERATED BY DEFAULT AS IDENTITY")
        days, deep, rest = r.randint(6, 14), r.random() < 0.25, r.random() < 0.3
        make = self._greenplum if self.greenplum else self._postgres
        found, leaves = make(_Shape(name, schema, plain, more, days, deep, rest))
        for _ in range(r.randint(2, 9)):
            found += self._property(name, leaves, more)
        found.append(
            f"INSERT INTO {name} (id, d, v) SELECT i, date '{self.first}' + i % {days}, (ARRAY['a','b','c'])[1 + i % 3]"
            f" FROM generate_series(1, {days * 6}) i"
        )
        return name, found

    def _greenplum(self, shape: _Shape) -> tuple[list[str], list[str]]:
        sub = (
            " SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION o)"
            if shape.deep
            else ""
        )
        # in a cluster that was upgraded from Greenplum 5, tables have the hash functions of Greenplum 5
        by = self.r.choice(("id", "id", "id cdbhash_int4_ops"))
        statement = (
            f"CREATE TABLE {shape.name} ({shape.columns}){self.r.choice(_STORAGE)} DISTRIBUTED BY ({by}) PARTITION BY RANGE (d){sub}"
            f" (START (date '{self.first}') END (date '{self.first + timedelta(shape.days)}') EVERY (interval '1 day')"
            f"{', DEFAULT PARTITION rest' if shape.rest else ''})"
        )
        tails = ("_2_prt_a", "_2_prt_o") if shape.deep else ("",)
        numbers = range(1 + shape.rest, shape.days + 1 + shape.rest)
        return [statement], [
            f'{shape.schema}"{shape.plain}_1_prt_{n}{tail}"' for n in numbers for tail in tails
        ]

    def _postgres(self, shape: _Shape) -> tuple[list[str], list[str]]:
        found, leaves = [f"CREATE TABLE {shape.name} ({shape.columns}) PARTITION BY RANGE (d)"], []
        for n in range(shape.days):
            leaf = f'{shape.schema}"{shape.plain}_p{n}"'
            bound = f"FOR VALUES FROM ('{self.first + timedelta(n)}') TO ('{self.first + timedelta(n + 1)}')"
            if shape.deep:
                found += [
                    f"CREATE TABLE {leaf} PARTITION OF {shape.name} {bound} PARTITION BY LIST (v)",
                    f"CREATE TABLE {leaf[:-1]}_a\" PARTITION OF {leaf} FOR VALUES IN ('a')",
                    f'CREATE TABLE {leaf[:-1]}_o" PARTITION OF {leaf} DEFAULT',
                ]
                leaves += [f'{leaf[:-1]}_a"', f'{leaf[:-1]}_o"']
                continue
            leaves.append(leaf)
            if self.r.random() < 0.1:  # with its columns in another order
                others = "".join(f", {one}" for one in shape.more)
                found += [
                    f"CREATE TABLE {leaf} (junk int, v text, d date, id int{others})",
                    f"ALTER TABLE {leaf} DROP COLUMN junk",
                    f"ALTER TABLE {shape.name} ATTACH PARTITION {leaf} {bound}",
                ]
            else:
                found.append(f"CREATE TABLE {leaf} PARTITION OF {shape.name} {bound}")
        if shape.rest:
            found.append(
                f'CREATE TABLE {shape.schema}"{shape.plain}_rest" PARTITION OF {shape.name} DEFAULT'
            )
        return found, leaves

    def _property(self, name: str, leaves: list[str], more: list[str]) -> list[str]:
        r = self.r
        leaf = r.choice(leaves)
        values = {
            "t": name,
            "l": leaf,
            "w": r.choice((name, leaf, *between(leaf))),
            "c": r.choice(("id", "d", "v", *(one.split()[0] for one in more))),
            "x": more[0].split()[0],
            "n": r.randint(1, 9999),
            "r": r.choice(("odd_reader", "odd_writer")),
        }
        text = r.choice((*_ONE, *_LEAVES))
        places = leaves if text in _LEAVES and r.random() < 0.5 else [leaf]
        return [
            one for place in places for one in text.format_map(values | {"l": place}).split("; ")
        ]


def between(leaf: str) -> list[str]:
    """The intermediate above this leaf in a table of two levels."""
    found = re.fullmatch(r"(.*)(_2_prt_[ao]|_[ao])\"", leaf)
    return [f'{found[1]}"'] if found else []


def fill(dsn: str, maker: TableMaker, number: int) -> list[str]:
    """Create tables in a database, without the statements that the server rejects; return the names of the tables that were created."""
    found = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA s1")
        for n in range(number):
            name, statements = maker.table(n)
            accepted = 0
            for at, statement in enumerate(statements):
                try:
                    conn.execute(statement.encode())
                except psycopg.Error:
                    assert not conn.closed, statement
                    if at == 0:
                        break
                else:
                    accepted += 1
            if accepted:
                found.append(name)
        conn.execute("ANALYZE")
    return found
