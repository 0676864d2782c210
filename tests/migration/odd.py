"""Unusual partitioned tables, each with one property that a migration must keep, merge by a stated rule, report as lost, or refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

FIRST = date(2022, 1, 1)
DAYS = 12
ROLES = ("odd_owner", "odd_reader", "odd_writer")


@dataclass(frozen=True)
class UnusualTable:
    """One table. since: the lowest server_version_num that supports it; statements: `{t}` is its name, `{l}` a leaf without its number."""

    name: str
    statements: tuple[str, ...]
    since: int = 0
    rows: str = "INSERT INTO {t} (id, d, v) SELECT i, date '2022-01-01' + i % 12, 'v' || i FROM generate_series(1, 240) i"

    def sql(self) -> list[str]:
        """Statements that create and fill the table."""
        fill = [self.rows] if self.rows else []
        return [s.replace("{t}", self.name) for s in (*self.statements, *fill)]


def _days(
    tail: str = "", *, first: int = 0, number: int = DAYS, like: Callable[[int], str] | None = None
) -> tuple[str, ...]:
    found = []
    for n in range(first, first + number):
        a, b = FIRST + timedelta(n), FIRST + timedelta(n + 1)
        found.append(
            f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} {like(n) if like else ''} FOR VALUES FROM ('{a}') TO ('{b}') {tail}"
        )
    return tuple(found)


def _pg(name: str, *more: str, columns: str = "id int, d date, v text", key: str = "RANGE (d)", since: int = 0, tail: str = "",
        leaves: tuple[str, ...] | None = None, rows: str | None = None) -> UnusualTable:  # fmt: skip
    statements = (
        f"CREATE TABLE {{t}} ({columns}) PARTITION BY {key}",
        *(_days(tail) if leaves is None else leaves),
        *more,
    )
    return (
        UnusualTable(name, statements, since)
        if rows is None
        else UnusualTable(name, statements, since, rows)
    )


def _each(text: str, numbers: range = range(DAYS)) -> tuple[str, ...]:
    return tuple(text.replace("{n}", str(n)) for n in numbers)


def _values(leaves: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(
        f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES FROM ({a}) TO ({b})"
        for n, (a, b) in enumerate(leaves)
    )


TRIGGER = (
    "CREATE TRIGGER {n} BEFORE INSERT ON {t} FOR EACH ROW EXECUTE PROCEDURE public.odd_trigger()"
)

POSTGRES = (
    _pg("plain"),
    _pg("premade", leaves=_days(number=20)),
    _pg(
        "premade_default", "CREATE TABLE {t}_rest PARTITION OF {t} DEFAULT", leaves=_days(number=20)
    ),
    _pg(
        "collated",
        columns='id int, d date, v text COLLATE "C"',
        key='LIST (v COLLATE "C" text_pattern_ops)',
        leaves=tuple(
            f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES IN ('v{n}')" for n in range(5)
        ),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v' || i % 5 FROM generate_series(1, 100) i",
    ),
    _pg("expression", key="RANGE ((d + 0))"),
    _pg(
        "two_keys",
        key="RANGE (d, id)",
        leaves=tuple(
            f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES FROM ('{FIRST + timedelta(n)}', MINVALUE) TO ('{FIRST + timedelta(n + 1)}', MINVALUE)"
            for n in range(DAYS)
        ),
    ),
    _pg(
        "halves_of_days",
        "CREATE TABLE {t}_rest PARTITION OF {t} DEFAULT",
        key="RANGE (d, id)",
        leaves=tuple(
            f"CREATE TABLE {{t}}_{n}{h} PARTITION OF {{t}} FOR VALUES FROM ('{FIRST + timedelta(n)}', {a}) TO ('{FIRST + timedelta(n)}', {b})"
            for n in range(DAYS)
            for h, a, b in (("a", "MINVALUE", "100"), ("b", "100", "MAXVALUE"))
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 13, 'v' FROM generate_series(1, 240) i",
    ),
    _pg(
        "years_and_months",
        columns="id int, d date, v text, y int, m smallint",
        key="RANGE (y, m)",
        leaves=tuple(
            f"CREATE TABLE {{t}}_{y}_{m} PARTITION OF {{t}} FOR VALUES FROM ({y}, {m}) TO ({y}, {m + 1})"
            for y in (2019, 2020)
            for m in range(1, 13)
        ),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', 2019 + i % 2, 1 + i % 12 FROM generate_series(1, 240) i",
    ),
    _pg(
        "statistics_on_leaves",
        *_each(
            "CREATE STATISTICS {t}_s{n} (dependencies) ON id, v FROM {t}_{n};"
            " ALTER STATISTICS {t}_s{n} OWNER TO odd_writer"
        ),
    ),
    _pg(
        "statistics_on_root",
        "CREATE STATISTICS {t}_s ON id, v FROM {t}",
        "ALTER STATISTICS {t}_s SET STATISTICS 50",
        since=130000,
    ),
    _pg(
        "toast_options",
        tail="WITH (toast.autovacuum_enabled=false, fillfactor=80, autovacuum_enabled=false)",
    ),
    _pg(
        "compression",
        *_each("ALTER TABLE {t}_{n} ALTER v SET COMPRESSION pglz"),
        "ALTER TABLE {t} ALTER v SET COMPRESSION pglz",
        since=140000,
    ),
    _pg("column_storage", "ALTER TABLE {t} ALTER v SET STORAGE EXTERNAL"),
    _pg("column_storage_of_leaves", *_each("ALTER TABLE {t}_{n} ALTER v SET STORAGE MAIN")),
    _pg(
        "attribute_options",
        "ALTER TABLE {t} ALTER v SET (n_distinct=-0.5)",
        *_each("ALTER TABLE {t}_{n} ALTER v SET (n_distinct=7)"),
    ),
    _pg(
        "statistics_targets",
        *_each("ALTER TABLE {t}_{n} ALTER v SET STATISTICS 300"),
        "ALTER TABLE {t} ALTER v SET STATISTICS 200",
    ),
    _pg(
        "marks_of_some",
        "CREATE INDEX {t}_v ON {t} (v)",
        "ALTER TABLE ONLY {t} ALTER v SET STATISTICS 77",
        "ALTER TABLE {t}_3 ALTER v SET STATISTICS 300",
        "ALTER TABLE {t}_4 REPLICA IDENTITY FULL",
        "ALTER TABLE {t}_5 CLUSTER ON {t}_5_v_idx",
        "ALTER TABLE {t}_6 SET (fillfactor=70)",
    ),
    _pg(
        "marks_between",
        "ALTER TABLE ONLY {t}_3 ALTER v SET STATISTICS 300",
        "ALTER TABLE {t}_4 REPLICA IDENTITY FULL",
        "COMMENT ON TABLE {t}_5 IS 'five'",
        "ALTER TABLE {t}_11_a ALTER id SET STATISTICS 11",
        "ALTER TABLE ONLY {t}_11 ALTER id SET STATISTICS 12",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
            *_each("CREATE TABLE {t}_{n}_b PARTITION OF {t}_{n} FOR VALUES IN ('b')"),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "one_below_marked",
        "ALTER TABLE ONLY {t}_3 ALTER v SET STATISTICS 300",
        "ALTER TABLE {t}_4 REPLICA IDENTITY FULL",
        "COMMENT ON TABLE {t}_5 IS 'five'",
        "ALTER TABLE {t}_6_rest ALTER v SET STATISTICS 66",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_rest PARTITION OF {t}_{n} DEFAULT"),
        ),
    ),
    _pg(  # the key needs the constraints, which have other names on each leaf
        "keyed_and_attached",
        columns="id int CONSTRAINT id_there NOT NULL, d date, v text, PRIMARY KEY (id, d)",
        leaves=tuple(
            s
            for n in range(DAYS)
            for s in (
                f"CREATE TABLE {{t}}_{n} (id int NOT NULL, d date NOT NULL, v text)",
                f"ALTER TABLE {{t}} ATTACH PARTITION {{t}}_{n} FOR VALUES FROM ('{FIRST + timedelta(n)}') TO ('{FIRST + timedelta(n + 1)}')",
            )
        ),
        since=180000,
    ),
    _pg("not_null_named", "ALTER TABLE {t} ADD CONSTRAINT v_there NOT NULL v", since=180000),
    _pg(
        "not_null_not_valid",
        "ALTER TABLE {t} ADD CONSTRAINT v_there NOT NULL v NOT VALID",
        since=180000,
    ),
    _pg("not_null_newest", "ALTER TABLE {t}_11 ALTER v SET NOT NULL"),
    _pg("not_null_most", *_each("ALTER TABLE {t}_{n} ALTER v SET NOT NULL", range(11))),
    _pg("trigger", TRIGGER.replace("{n}", "{t}_tr")),
    _pg(
        "trigger_off_on_leaves",
        TRIGGER.replace("{n}", "{t}_tr"),
        *_each("ALTER TABLE {t}_{n} DISABLE TRIGGER {t}_tr"),
    ),
    _pg(
        "trigger_always",
        TRIGGER.replace("{n}", "{t}_tr"),
        "ALTER TABLE {t} ENABLE ALWAYS TRIGGER {t}_tr",
        *_each("ALTER TABLE {t}_{n} ENABLE ALWAYS TRIGGER {t}_tr"),
    ),
    _pg("trigger_on_leaf", TRIGGER.replace("{n}", "own").replace("{t}", "{t}_3")),
    _pg(
        "defaults_of_leaves",
        *_each("ALTER TABLE {t}_{n} ALTER v SET DEFAULT 'leaf'"),
        columns="id int, d date, v text DEFAULT 'root'",
    ),
    _pg("default_of_newest", "ALTER TABLE {t}_11 ALTER v SET DEFAULT 'newest'"),
    _pg(
        "leaf_sequence",
        "CREATE SEQUENCE {t}_seq OWNED BY {t}_3.id",
        "ALTER TABLE {t}_3 ALTER id SET DEFAULT nextval('{t}_seq')",
        "SELECT setval('{t}_seq', 4711)",
    ),
    _pg(
        "root_sequence",
        "CREATE SEQUENCE {t}_seq OWNED BY {t}.id",
        "ALTER TABLE {t} ALTER id SET DEFAULT nextval('{t}_seq')",
    ),
    _pg(
        "serial_leaves",
        leaves=tuple(
            s
            for n in range(DAYS)
            for s in (
                f"CREATE TABLE {{t}}_{n} (id serial, d date, v text)",
                f"ALTER TABLE {{t}} ATTACH PARTITION {{t}}_{n} FOR VALUES FROM ('{FIRST + timedelta(n)}') TO ('{FIRST + timedelta(n + 1)}')",
            )
        ),
        columns="id int NOT NULL, d date, v text",
    ),
    _pg(
        "comments",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_c CHECK (id > 0)",
        "COMMENT ON COLUMN {t}.v IS 'of the root'",
        "COMMENT ON CONSTRAINT {t}_c ON {t} IS 'of the root'",
        *_each("COMMENT ON COLUMN {t}_{n}.v IS 'of leaf {n}'"),
        *_each("COMMENT ON CONSTRAINT {t}_c ON {t}_{n} IS 'of leaf {n}'"),
        *_each("COMMENT ON TABLE {t}_{n} IS 'leaf {n}'"),
    ),
    _pg(
        "clustered",
        "CREATE INDEX {t}_v ON {t} (v)",
        *_each("ALTER TABLE {t}_{n} CLUSTER ON {t}_{n}_v_idx"),
    ),
    _pg(
        "identity_index",
        "CREATE UNIQUE INDEX {t}_u ON {t} (id, d)",
        *_each("ALTER TABLE {t}_{n} REPLICA IDENTITY USING INDEX {t}_{n}_id_d_idx"),
        "ALTER TABLE {t} REPLICA IDENTITY USING INDEX {t}_u",
        columns="id int NOT NULL, d date NOT NULL, v text",
    ),
    _pg(
        "identity_full",
        *_each("ALTER TABLE {t}_{n} REPLICA IDENTITY FULL"),
        "ALTER TABLE {t} REPLICA IDENTITY FULL",
    ),
    _pg(
        "unlogged",
        leaves=tuple(s.replace("CREATE TABLE", "CREATE UNLOGGED TABLE") for s in _days()),
    ),
    _pg(
        "not_valid_check",
        "INSERT INTO {t} VALUES (-1, '2022-01-03', 'x')",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_c CHECK (id > 0) NOT VALID",
    ),
    _pg("row_type_as_column", "CREATE TABLE {t}_user (a {t}_3)"),
    _pg(
        "row_type_as_argument",
        "CREATE FUNCTION {t}_f({t}_3) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ),
    _pg(
        "atomic_function",
        "CREATE FUNCTION {t}_f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM {t}_3; END",
        since=140000,
    ),
    _pg("view_on_leaf", "CREATE VIEW {t}_see AS SELECT * FROM {t}_3"),
    _pg("policy_on_leaf", "CREATE POLICY p ON {t}_3 USING (id > 0)"),
    _pg(
        "constraint_comments",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_k PRIMARY KEY (d, id)",
        "COMMENT ON CONSTRAINT {t}_k ON {t} IS 'key of the root'",
        *_each("COMMENT ON CONSTRAINT {t}_{n}_pkey ON {t}_{n} IS 'key {n}'"),
        columns="id int NOT NULL, d date NOT NULL, v text",
    ),
    _pg(
        "index_targets",
        "CREATE INDEX {t}_e ON {t} ((id + 1), lower(v))",
        *_each("ALTER INDEX {t}_{n}_expr_lower_idx ALTER COLUMN 1 SET STATISTICS 7{n}"),
        "ALTER INDEX {t}_e ALTER COLUMN 2 SET STATISTICS 55",
    ),
    _pg("forced_row_security", "ALTER TABLE {t}_3 FORCE ROW LEVEL SECURITY"),
    _pg("view_of_row_type", "CREATE VIEW {t}_see AS SELECT NULL::{t}_3 AS x"),
    _pg("row_type_comment", "COMMENT ON TYPE {t}_3 IS 'row of three'"),
    _pg("row_type_usage", "REVOKE USAGE ON TYPE {t}_3 FROM PUBLIC"),
    _pg("in_extension", "ALTER EXTENSION plpgsql ADD TABLE {t}_3"),
    UnusualTable(
        "typed",
        (
            "CREATE TYPE {t}_y AS (id int, d date, v text)",
            "CREATE TABLE {t} OF {t}_y PARTITION BY RANGE (d)",
            *_days(),
        ),
    ),
    _pg("check_on_leaf", "ALTER TABLE {t}_3 ADD CHECK (id > 0)"),
    _pg("column_grant_on_leaf", "GRANT SELECT (v) ON {t}_3 TO odd_reader"),
    _pg(
        "column_grants_on_leaves",
        *_each("GRANT SELECT (v), UPDATE (v) ON {t}_{n} TO odd_reader WITH GRANT OPTION"),
        "GRANT INSERT (id) ON {t}_5 TO PUBLIC",
    ),
    _pg("column_grants_on_root", "GRANT SELECT (v) ON {t} TO odd_reader"),
    _pg(
        "grants",
        "GRANT SELECT ON {t} TO odd_reader",
        "GRANT SELECT ON {t}_3, {t}_4 TO odd_reader",
        "GRANT INSERT ON {t}_5 TO odd_writer",
    ),
    _pg(
        "grants_of_grantees",
        "GRANT ALL ON {t} TO odd_reader WITH GRANT OPTION",
        *_each("GRANT SELECT, INSERT ON {t}_{n} TO odd_reader WITH GRANT OPTION"),
        "SET ROLE odd_reader",
        "GRANT UPDATE ON {t} TO odd_writer WITH GRANT OPTION",
        *_each("GRANT SELECT ON {t}_{n} TO odd_writer, PUBLIC"),
        "GRANT INSERT ON {t}_5 TO odd_writer",
        "RESET ROLE",
    ),
    _pg(
        "owner_without",
        *_each("REVOKE INSERT, TRUNCATE ON {t}_{n} FROM CURRENT_USER"),
        "REVOKE DELETE ON {t}_4, {t} FROM CURRENT_USER",
    ),
    _pg("revoked_on_one", *_each("GRANT SELECT ON {t}_{n} TO odd_reader", range(11))),
    _pg("owners", "ALTER TABLE {t}_3 OWNER TO odd_owner"),
    _pg(
        "foreign_key",
        "CREATE TABLE {t}_to (id int PRIMARY KEY)",
        "INSERT INTO {t}_to SELECT generate_series(1, 240)",
        "ALTER TABLE {t} ADD FOREIGN KEY (id) REFERENCES {t}_to",
    ),
    _pg(
        "generated", columns="id int, d date, v text, g text GENERATED ALWAYS AS (upper(v)) STORED"
    ),
    _pg(
        "identity",
        columns="id int, d date, v text, n int GENERATED BY DEFAULT AS IDENTITY",
        since=170000,
    ),
    _pg(
        "other_order",
        leaves=tuple(
            s
            for n in range(DAYS)
            for s in (
                f"CREATE TABLE {{t}}_{n} (v text, id int, d date)",
                f"ALTER TABLE {{t}} ATTACH PARTITION {{t}}_{n} FOR VALUES FROM ('{FIRST + timedelta(n)}') TO ('{FIRST + timedelta(n + 1)}')",
            )
        ),
    ),
    _pg(
        "other_index_on_leaves",
        "CREATE INDEX {t}_v ON {t} (v)",
        *_each("CREATE INDEX {t}_own{n} ON {t}_{n} (id)"),
    ),
    _pg("index_on_one_leaf", "CREATE INDEX {t}_own ON {t}_3 (id)"),
    _pg(
        "index_options",
        "CREATE INDEX {t}_i ON {t} (lower(v) text_pattern_ops DESC NULLS LAST) WITH (fillfactor=60) WHERE id > 3",
        *_each("COMMENT ON INDEX {t}_{n}_lower_idx IS 'index {n}'"),
    ),
    _pg(
        "constraints",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_k PRIMARY KEY (d, id)",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_u UNIQUE (d, v)",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_c CHECK (id > 0)",
        columns="id int NOT NULL, d date NOT NULL, v text",
    ),
    _pg(
        "numeric_key",
        columns="id int, d date, v text, k numeric",
        key="RANGE (k)",
        leaves=_values([(f"{n / 2}", f"{(n + 1) / 2}") for n in range(DAYS)]),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (i % 12) / 2.0 FROM generate_series(1, 100) i",
    ),
    _pg(
        "float_key",
        columns="id int, d date, v text, k float8",
        key="RANGE (k)",
        leaves=_values([(f"{n / 10}", f"{(n + 1) / 10}") for n in range(DAYS)]),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (i % 12) / 10.0 FROM generate_series(1, 100) i",
    ),
    _pg("timestamp_key", columns="id int, d timestamp(6), v text"),
    _pg(
        "timestamptz_key",
        columns="id int, d timestamptz, v text",
        leaves=_values(
            [
                (f"'{FIRST + timedelta(n)} 00:00Z'", f"'{FIRST + timedelta(n + 1)} 00:00Z'")
                for n in range(DAYS)
            ]
        ),
        rows="INSERT INTO {t} SELECT i, timestamptz '2022-01-01 12:00Z' + i % 12 * interval '1 day', 'v' FROM generate_series(1, 100) i",
    ),
    _pg(
        "text_key",
        key="RANGE (v)",
        leaves=_values([(f"'{a}'", f"'{b}'") for a, b in zip("abcdef", "bcdefg", strict=True)]),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', substr('abcdef', 1 + i % 6, 1) || i FROM generate_series(1, 100) i",
    ),
    _pg("domain_key", columns="id int, d odd_day, v text"),
    _pg("domain_of_domain", columns="id int, d odd_later, v text"),
    _pg(
        "decimals_of_any_scale",
        columns="id int, d date, v text, k numeric",
        key="RANGE (k)",
        leaves=_values(
            [
                ("-1.500000", "-1.000"),
                ("-1.0", "-0.5"),
                ("-0.50", "-0.000001"),
                ("-0.000001", "0.0"),
                ("0", "0.50"),
            ]
        ),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (i % 20) / 10.0 - 1.5 FROM generate_series(1, 100) i",
    ),
    _pg(
        "constraint_trigger_off_on_one",
        "CREATE CONSTRAINT TRIGGER ct AFTER INSERT ON {t} FOR EACH ROW EXECUTE PROCEDURE public.odd_trigger()",
        "ALTER TABLE {t}_3 DISABLE TRIGGER ct",
    ),
    _pg(
        "unique_on_leaves",
        *_each("CREATE UNIQUE INDEX {t}_u{n} ON {t}_{n} (id)"),
        rows="INSERT INTO {t} SELECT i / 12, date '2022-01-01' + i % 12, 'v' FROM generate_series(0, 239) i",
    ),
    _pg(
        "unlogged_by_turns",
        leaves=tuple(s.replace("TABLE", "UNLOGGED TABLE", n % 2) for n, s in enumerate(_days())),
    ),
    _pg(
        "own_between",
        *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
        *_each("CREATE TABLE {t}_{n}_b PARTITION OF {t}_{n} FOR VALUES IN ('b')"),
        "CREATE INDEX {t}_own ON {t}_2 (id)",
        "CREATE STATISTICS {t}_s ON id, v FROM {t}_5",
        "ALTER TABLE {t}_8 ALTER id SET NOT NULL",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_later CHECK (id > 0) NOT VALID",
        "COMMENT ON COLUMN {t}.v IS 'of the table alone'",
        "ALTER TABLE ONLY {t} ALTER v SET DEFAULT 'of the table alone'",
        tail="PARTITION BY LIST (v)",
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "enum_list",
        columns="id int, d date, v odd_color",
        key="LIST (v)",
        leaves=tuple(
            f"CREATE TABLE {{t}}_{c} PARTITION OF {{t}} FOR VALUES IN ('{c}')"
            for c in ("red", "green", "blue")
        ),
        rows="INSERT INTO {t} SELECT i, '2022-01-01', (ARRAY['red','green','blue'])[1 + i % 3]::odd_color FROM generate_series(1, 90) i",
    ),
    _pg(
        "two_levels",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
            *_each("CREATE TABLE {t}_{n}_b PARTITION OF {t}_{n} FOR VALUES IN ('b')"),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "indexes_between",
        "CREATE INDEX {t}_by_text ON {t} (v)",
        "CREATE INDEX ON {t} USING hash (v)",
        "CREATE INDEX ON {t} (v) WHERE id > 5",
        "ALTER TABLE {t} ADD PRIMARY KEY (id, d, v)",
        # the server truncates the name of this index
        "DO $$ BEGIN EXECUTE (SELECT 'ALTER INDEX ' || i.indexrelid::regclass || ' RENAME TO {t}_named' FROM pg_index i"
        " WHERE i.indrelid = '{t}_lies_between_two_levels_and_is_called_so_3'::regclass AND pg_get_indexdef(i.indexrelid) LIKE '% hash %'); END $$",
        "COMMENT ON INDEX {t}_named IS 'of a partition between'",
        leaves=(
            *(
                s.replace("{t}_", "{t}_lies_between_two_levels_and_is_called_so_", 1)
                for s in _days("PARTITION BY LIST (v)")
            ),
            *(
                s
                for v in "ab"
                for s in _each(
                    f"CREATE TABLE {{t}}_lies_between_two_levels_and_is_called_{{n}}_{v}"
                    f" PARTITION OF {{t}}_lies_between_two_levels_and_is_called_so_{{n}} FOR VALUES IN ('{v}')"
                )
            ),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "two_levels_default",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
            *_each("CREATE TABLE {t}_{n}_b PARTITION OF {t}_{n} DEFAULT"),
        ),
    ),
    _pg(
        "hash_below",
        leaves=(
            *_days("PARTITION BY HASH (id)"),
            *_each(
                "CREATE TABLE {t}_{n}_0 PARTITION OF {t}_{n} FOR VALUES WITH (MODULUS 2, REMAINDER 0)"
            ),
            *_each(
                "CREATE TABLE {t}_{n}_1 PARTITION OF {t}_{n} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
            ),
        ),
    ),
    _pg(
        "three_levels",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *(
                s
                for v in "ab"
                for s in (
                    *_each(
                        f"CREATE TABLE {{t}}_{{n}}_{v} PARTITION OF {{t}}_{{n}} FOR VALUES IN ('{v}') PARTITION BY HASH (id)"
                    ),
                    *_each(f"COMMENT ON TABLE {{t}}_{{n}}_{v} IS 'between'"),
                    *_each(f"GRANT SELECT ON {{t}}_{{n}}_{v} TO odd_reader"),
                    *_each(
                        f"CREATE TABLE {{t}}_{{n}}_{v}0 PARTITION OF {{t}}_{{n}}_{v} FOR VALUES WITH (MODULUS 2, REMAINDER 0)"
                    ),
                    *_each(
                        f"CREATE TABLE {{t}}_{{n}}_{v}1 PARTITION OF {{t}}_{{n}}_{v} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
                    ),
                )
            ),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "days_of_years",
        columns="id int, d date, v text, y int",
        key="RANGE (y)",
        leaves=(
            "CREATE TABLE {t}_y PARTITION OF {t} FOR VALUES FROM (2022) TO (2023) PARTITION BY RANGE (d)",
            *(
                s
                for n in range(DAYS)
                for s in (
                    f"CREATE TABLE {{t}}_y{n} PARTITION OF {{t}}_y FOR VALUES FROM ('{FIRST + timedelta(n)}') TO ('{FIRST + timedelta(n + 1)}')"
                    " PARTITION BY LIST (v)",
                    f"CREATE TABLE {{t}}_y{n}_rest PARTITION OF {{t}}_y{n} DEFAULT",
                    f"CREATE TABLE {{t}}_y{n}_a PARTITION OF {{t}}_y{n} FOR VALUES IN ('a')",
                )
            ),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1), 2022 FROM generate_series(1, 240) i",
    ),
    _pg(
        "granted_between",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
            *_each("CREATE TABLE {t}_{n}_b PARTITION OF {t}_{n} FOR VALUES IN ('b')"),
            *_each("COMMENT ON TABLE {t}_{n} IS 'day {n}'"),
            "GRANT SELECT, INSERT ON {t}_3 TO odd_reader",
            "GRANT SELECT ON {t}_4_a TO odd_writer",
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "premade_below",
        leaves=(
            *_days("PARTITION BY HASH (id)"),
            *_each(
                "CREATE TABLE {t}_{n}_0 PARTITION OF {t}_{n} FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
            ),
            *(
                s
                for n in range(500, 504)
                for s in (
                    f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES FROM ('{FIRST + timedelta(9000 + 2 * n)}')"
                    f" TO ('{FIRST + timedelta(9001 + 2 * n)}') PARTITION BY LIST (v)",
                    f"CREATE TABLE {{t}}_{n}_a PARTITION OF {{t}}_{n} FOR VALUES IN ('a')",
                    f"CREATE TABLE {{t}}_{n}_rest PARTITION OF {{t}}_{n} DEFAULT",
                )
            ),
        ),
    ),
    _pg(
        "hashed",
        key="HASH (id)",
        leaves=tuple(
            f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES WITH (MODULUS 4, REMAINDER {n})"
            for n in range(4)
        ),
    ),
    _pg(
        "expression_below",
        leaves=(
            *_days("PARTITION BY LIST (lower(v))"),
            *_each("CREATE TABLE {t}_{n}_a PARTITION OF {t}_{n} FOR VALUES IN ('a')"),
            *_each("CREATE TABLE {t}_{n}_rest PARTITION OF {t}_{n} DEFAULT"),
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('Ab', 1 + i % 2, 1) FROM generate_series(1, 240) i",
    ),
    _pg(
        "one_below",
        leaves=(
            *_days("PARTITION BY LIST (v)"),
            *_each("CREATE TABLE {t}_{n}_rest PARTITION OF {t}_{n} DEFAULT"),
        ),
    ),
    _pg(
        "virtual",
        columns="id int, d date, v text, g text GENERATED ALWAYS AS (upper(v)) VIRTUAL",
        since=180000,
    ),
    _pg(
        "dropped_columns",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ADD COLUMN late int DEFAULT 3",
        columns="gone int, id int, d date, v text",
    ),
    _pg(
        "inherited_options",
        "ALTER TABLE {t}_11 SET (fillfactor=50)",
        "ALTER TABLE {t}_3 SET (parallel_workers=2)",
    ),
    _pg(
        "exclusion",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_x EXCLUDE USING btree (d WITH =, id WITH =)",
        since=170000,
    ),
    _pg(
        "not_enforced",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_c CHECK (id > 100) NOT ENFORCED",
        since=180000,
    ),
    _pg(
        "row_security",
        "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON {t} USING (id > 0)",
    ),
    _pg("rule_on_leaf", "CREATE RULE r AS ON DELETE TO {t}_3 DO ALSO NOTHING"),
    _pg(
        "security_label_like",
        "COMMENT ON TABLE {t} IS 'root'",
        "COMMENT ON COLUMN {t}.v IS 'a column'",
    ),
)

_EVERY = "(START (date '2022-01-01') END (date '2022-01-13') EVERY (interval '1 day'))"


def _gp(name: str, *more: str, columns: str = "id int, d date, v text", storage: str = "appendonly=true, orientation=column",
        by: str = "DISTRIBUTED BY (id)", split: str = "PARTITION BY RANGE (d) " + _EVERY, rows: str | None = None) -> UnusualTable:  # fmt: skip
    kind = f" WITH ({storage})" if storage else ""
    statements = (f"CREATE TABLE {{t}} ({columns}){kind} {by} {split}", *more)
    return (
        UnusualTable(name, statements) if rows is None else UnusualTable(name, statements, 0, rows)
    )


def _leaves(text: str, numbers: range = range(1, 13)) -> tuple[str, ...]:
    return tuple(text.replace("{n}", str(n)) for n in numbers)


_SUB = "PARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE ({s}) " + _EVERY
_TWO = "INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 240) i"

# Greenplum 6: classic partitions
GREENPLUM = (
    _gp("plain"),
    _gp("heap", storage=""),
    _gp(
        "grants_of_grantees",
        "GRANT ALL ON {t} TO odd_reader WITH GRANT OPTION",
        "SET ROLE odd_reader",
        "GRANT UPDATE, SELECT ON {t} TO odd_writer",
        "RESET ROLE",
    ),
    _gp("owner_without", "REVOKE INSERT, TRUNCATE ON {t} FROM gpadmin"),
    _gp("ao_row", storage="appendonly=true, compresstype=zlib, compresslevel=3"),
    _gp(
        "encodings",
        columns="id int ENCODING (compresstype=rle_type), d date, v text ENCODING (compresstype=zlib, compresslevel=5, blocksize=65536)",
    ),
    _gp(
        "premade",
        split="PARTITION BY RANGE (d) (START (date '2022-01-01') END (date '2022-01-21') EVERY (interval '1 day'))",
    ),
    _gp(
        "premade_default",
        split="PARTITION BY RANGE (d) (START (date '2022-01-01') END (date '2022-01-21') EVERY (interval '1 day'), DEFAULT PARTITION rest)",
    ),
    _gp("view_of_row_type", "CREATE VIEW {t}_see AS SELECT NULL::{t}_1_prt_4 AS x"),
    _gp("row_type_comment", "COMMENT ON TYPE {t}_1_prt_4 IS 'row of four'"),
    _gp("in_extension", "ALTER EXTENSION plpgsql ADD TABLE {t}_1_prt_4"),
    _gp("randomly", by="DISTRIBUTED RANDOMLY"),
    _gp("two_distribution_columns", by="DISTRIBUTED BY (v, id)"),
    _gp(
        "one_odd_leaf",
        "CREATE TABLE {t}_x (LIKE {t}) DISTRIBUTED BY (id)",
        "ALTER TABLE {t} EXCHANGE PARTITION FOR (date '2022-01-04') WITH TABLE {t}_x",
        "DROP TABLE {t}_x",
    ),
    _gp(
        "inclusive_ends",
        split="PARTITION BY RANGE (d) ("
        + ", ".join(
            f"START (date '{FIRST + timedelta(n - 1)}') EXCLUSIVE END (date '{FIRST + timedelta(n)}') INCLUSIVE"
            for n in range(DAYS)
        )
        + ")",
    ),
    _gp(
        "exclusive_every",
        split="PARTITION BY RANGE (d) (START (date '2021-12-31') EXCLUSIVE END (date '2022-01-12') INCLUSIVE EVERY (interval '1 day'))",
    ),
    _gp(
        "named",
        split="PARTITION BY RANGE (d) ("
        + ", ".join(
            f"PARTITION p{n} START (date '{FIRST + timedelta(n)}') END (date '{FIRST + timedelta(n + 1)}')"
            for n in range(DAYS)
        )
        + ")",
    ),
    _gp("timestamp_key", columns="id int, d timestamp(6), v text"),
    _gp("timestamptz_key", columns="id int, d timestamptz, v text"),
    _gp(
        "numeric_key",
        columns="id int, d date, v text, k numeric",
        split="PARTITION BY RANGE (k) (START (0) END (6) EVERY (0.5))",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (i % 12) / 2.0 FROM generate_series(1, 100) i",
    ),
    _gp(
        "float_key",
        columns="id int, d date, v text, k float8",
        split="PARTITION BY RANGE (k) (START (0) END (1.2) EVERY (0.1))",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (i % 12) / 10.0 + 0.05 FROM generate_series(1, 100) i",
    ),
    _gp(
        "integer_key",
        columns="id int, d date, v text, k int",
        split="PARTITION BY RANGE (k) (START (0) END (120) EVERY (10))",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', i % 120 FROM generate_series(1, 240) i",
    ),
    _gp(
        "lists",
        columns="id int, d date, v text, k int",
        split="PARTITION BY LIST (k) (PARTITION a VALUES (0), PARTITION b VALUES (1), PARTITION c VALUES (2, NULL),"
        " DEFAULT PARTITION rest)",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', i % 5 FROM generate_series(1, 100) i",
    ),
    _gp(
        "two_levels",
        split=_SUB.replace("{s}", "SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')"),
        rows=_TWO,
    ),
    _gp(
        "two_levels_premade",
        split=_SUB.replace(
            "{s}", "SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')"
        ).replace("2022-01-13", "2022-01-21"),
        rows=_TWO,
    ),
    _gp(
        "varchar_lists",
        columns="id int, d date, v text, k varchar(9)",
        split="PARTITION BY LIST (k) (VALUES ('a', 'A'), VALUES ('b'), VALUES ('it''s', 'c,d'), VALUES ('c'))",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', 'v', (ARRAY['a', 'A', 'b', 'it''s', 'c,d', 'c'])[1 + i % 6] FROM generate_series(1, 90) i",
    ),
    _gp(
        "block_size",
        storage="appendonly=true, orientation=column, blocksize=65536, checksum=false, compresstype=zlib, compresslevel=2",
    ),
    _gp(
        "days_below_lists",
        split="PARTITION BY LIST (v) SUBPARTITION BY RANGE (d) SUBPARTITION TEMPLATE "
        + _EVERY
        + " (PARTITION a VALUES ('a'), PARTITION b VALUES ('b'))",
        rows=_TWO,
    ),
    _gp(
        "keyed_two_levels",
        "ALTER TABLE {t} ADD PRIMARY KEY (id, d, v)",
        split=_SUB.replace("{s}", "SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')"),
        storage="",
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, 'a' FROM generate_series(1, 240) i",
    ),
    _gp(
        "ranges_below",
        split=_SUB.replace("LIST (v)", "RANGE (id)").replace(
            "{s}", "START (0) END (1000) EVERY (500)"
        ),
    ),
    _gp(
        "three_levels",
        split="PARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION rest)"
        " SUBPARTITION BY RANGE (id) SUBPARTITION TEMPLATE (START (0) END (100), SUBPARTITION high START (100) END (1000)) "
        + _EVERY,
        rows=_TWO,
    ),
    _gp(
        "three_levels_listed",
        split="PARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION BY RANGE (id) ("
        + ", ".join(
            f"PARTITION p{n} START (date '{FIRST + timedelta(n)}') END (date '{FIRST + timedelta(n + 1)}') (SUBPARTITION a VALUES ('a')"
            " (START (0) END (100), START (100) END (1000)), SUBPARTITION b VALUES ('b') WITH (appendonly=true)"
            " (SUBPARTITION low START (0) END (1000)))"
            for n in range(DAYS)
        )
        + ")",
        rows=_TWO,
    ),
    _gp(
        "days_of_years",
        columns="id int, d date, v text, y int",
        split="PARTITION BY RANGE (y) SUBPARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE"
        " (VALUES ('a'), DEFAULT SUBPARTITION rest) (PARTITION y START (2022) END (2023) "
        + "("
        + ", ".join(
            f"START (date '{FIRST + timedelta(n)}') END (date '{FIRST + timedelta(n + 1)}')"
            for n in range(DAYS)
        )
        + "))",
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, substr('ab', 1 + i % 2, 1), 2022 FROM generate_series(1, 240) i",
    ),
    _gp(
        "two_levels_default",
        split=_SUB.replace("{s}", "SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION rest"),
        rows=_TWO,
    ),
    _gp(
        "template_changed",
        "ALTER TABLE {t} SET SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b'), SUBPARTITION c VALUES ('c'))",
        split=_SUB.replace("{s}", "SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')"),
        rows=_TWO,
    ),
    _gp(
        "two_levels_and_default",
        split=_SUB.replace("{s}", "SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')")[:-1]
        + ", DEFAULT PARTITION other)",
        rows=_TWO,
    ),
    _gp("indexed", "CREATE INDEX {t}_v ON {t} (v)", "CREATE INDEX {t}_b ON {t} USING bitmap (id)"),
    _gp("index_on_one_leaf", "CREATE INDEX {t}_own ON {t}_1_prt_4 (v)"),
    _gp("index_on_leaves", *_leaves("CREATE INDEX {t}_own{n} ON {t}_1_prt_{n} (v)")),
    _gp("keyed", "ALTER TABLE {t} ADD PRIMARY KEY (id, d)", storage=""),
    _gp(
        "checked",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_c CHECK (id > 0)",
        "COMMENT ON CONSTRAINT {t}_c ON {t} IS 'of the root'",
    ),
    _gp(
        "grants",
        "GRANT SELECT ON {t} TO odd_reader",
        "GRANT SELECT ON {t}_1_prt_4 TO odd_writer",
        "REVOKE SELECT ON {t}_1_prt_5 FROM odd_reader",
    ),
    _gp(
        "owner",
        "ALTER TABLE {t} OWNER TO odd_owner",
        "GRANT SELECT ON {t} TO odd_reader WITH GRANT OPTION",
    ),
    _gp("column_grants_on_root", "GRANT SELECT (v) ON {t} TO odd_reader"),
    _gp("column_grant_on_leaf", "GRANT SELECT (v) ON {t}_1_prt_4 TO odd_reader"),
    _gp(
        "comments",
        "COMMENT ON COLUMN {t}.v IS 'of the root'",
        *_leaves("COMMENT ON COLUMN {t}_1_prt_{n}.v IS 'of leaf {n}'"),
        *_leaves("COMMENT ON TABLE {t}_1_prt_{n} IS 'leaf {n}'"),
        "COMMENT ON TABLE {t} IS 'root'",
    ),
    _gp(
        "attribute_options",
        "ALTER TABLE {t} ALTER v SET (n_distinct=-0.5)",
        *_leaves("ALTER TABLE {t}_1_prt_{n} ALTER v SET (n_distinct=7)"),
    ),
    _gp("statistics_targets", *_leaves("ALTER TABLE {t}_1_prt_{n} ALTER v SET STATISTICS 300")),
    _gp("marks_of_some", "ALTER TABLE {t}_1_prt_3 ALTER v SET STATISTICS 300"),
    _gp("column_storage", "ALTER TABLE {t} ALTER v SET STORAGE EXTERNAL", storage=""),
    _gp(
        "defaults_of_leaves",
        *_leaves("ALTER TABLE {t}_1_prt_{n} ALTER v SET DEFAULT 'leaf'"),
        columns="id int, d date, v text DEFAULT 'root'",
        storage="",
    ),
    _gp("default_of_newest", "ALTER TABLE {t}_1_prt_12 ALTER v SET DEFAULT 'newest'", storage=""),
    _gp("not_null_newest", "ALTER TABLE {t}_1_prt_12 ALTER v SET NOT NULL", storage=""),
    _gp("serial", columns="id serial, d date, v text"),
    _gp(
        "dropped_columns",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ADD COLUMN late int DEFAULT 3",
        columns="gone int, id int, d date, v text",
    ),
    _gp("view_on_leaf", "CREATE VIEW {t}_see AS SELECT * FROM {t}_1_prt_4"),
    _gp("view_on_root", "CREATE VIEW {t}_see AS SELECT * FROM {t}"),
    _gp(
        "row_type_as_argument",
        "CREATE FUNCTION {t}_f({t}_1_prt_4) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ),
    _gp(
        "moved_schema",
        "CREATE SCHEMA {t}_s",
        "ALTER TABLE {t} SET SCHEMA {t}_s",
        rows="INSERT INTO moved_schema_s.{t} SELECT i, date '2022-01-01' + i % 12, 'v' FROM generate_series(1, 240) i",
    ),
    UnusualTable(
        "unlogged",
        (
            "CREATE UNLOGGED TABLE {t} (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY RANGE (d) "
            + _EVERY,
        ),
    ),
    _gp("rule_on_root", "CREATE RULE r AS ON DELETE TO {t} DO ALSO NOTHING"),
    _gp(
        "enum_list",
        columns="id int, d date, v odd_color",
        split="PARTITION BY LIST (v) (VALUES ('red'), VALUES ('green'), VALUES ('blue'))",
        rows="INSERT INTO {t} SELECT i, '2022-01-01', (ARRAY['red','green','blue'])[1 + i % 3]::odd_color FROM generate_series(1, 90) i",
    ),
    _gp("domain_key", columns="id int, d odd_day, v text"),
    _gp(
        "all_in_default",
        split="PARTITION BY RANGE (d) (START (date '2022-01-01') END (date '2022-01-09') EVERY (interval '1 day'), DEFAULT PARTITION rest)",
        rows="INSERT INTO {t} SELECT i, '2030-01-01', 'v' FROM generate_series(1, 20) i",
    ),
    _gp("hashed_as_before", by="DISTRIBUTED BY (id cdbhash_int4_ops)"),
    _gp(
        "heap_options",
        *_leaves("ALTER TABLE {t}_1_prt_{n} SET (fillfactor=70)"),
        "ALTER TABLE {t} REPLICA IDENTITY NOTHING",
        "ALTER TABLE {t}_1_prt_4 REPLICA IDENTITY FULL",
        storage="",
    ),
    _gp("table_options_differ", "ALTER TABLE {t}_1_prt_4 SET (fillfactor=50)", storage=""),
    _gp(
        "toast_options",
        *_leaves("ALTER TABLE {t}_1_prt_{n} SET (toast.autovacuum_enabled=false)"),
        storage="",
    ),
    _gp(
        "every_hour",
        columns="id int, d timestamp, v text",
        split="PARTITION BY RANGE (d) (START (timestamp '2022-01-01') END (timestamp '2022-01-02') EVERY (interval '1 hour'))",
        rows="INSERT INTO {t} SELECT i, timestamp '2022-01-01' + i % 24 * interval '1 hour', 'v' FROM generate_series(1, 240) i",
    ),
    # LIKE ... INCLUDING ENCODING of such a leaf crashes Greenplum 7.0.0
    _gp("added_later", "ALTER TABLE {t} ADD COLUMN w text DEFAULT 'x'", storage="appendonly=true"),
    _gp(
        "added_later_deep",
        "ALTER TABLE {t} ADD COLUMN w int",
        split=_SUB.format(s="SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b')"),
        rows=_TWO,
        storage="appendonly=true",
    ),
    _gp(
        "all_in_default_deep",
        split="PARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION o)"
        " (START (date '2022-01-01') END (date '2022-01-09') EVERY (interval '1 day'), DEFAULT PARTITION rest)",
        rows="INSERT INTO {t} SELECT i, '2030-01-01', 'v' FROM generate_series(1, 20) i",
    ),
    _gp(
        "all_empty_below_one",
        split="PARTITION BY LIST (v) SUBPARTITION BY RANGE (d) SUBPARTITION TEMPLATE (START (date '2022-01-01') END (date '2022-01-09')"
        " EVERY (interval '1 day')) (PARTITION a VALUES ('a'), PARTITION b VALUES ('b'))",
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 8, 'a' FROM generate_series(1, 80) i",
    ),
    _gp(
        "all_in_default_below",
        split=_SUB.format(
            s="SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b'), DEFAULT SUBPARTITION o"
        ),
        rows="INSERT INTO {t} SELECT i, date '2022-01-01' + i % 12, 'z' FROM generate_series(1, 120) i",
    ),
)

SHARED = (
    "CREATE FUNCTION public.odd_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    "CREATE DOMAIN odd_day AS date CHECK (VALUE > '2000-01-01')",
    "CREATE DOMAIN odd_later AS odd_day NOT NULL CHECK (VALUE < '2030-01-01')",
    "CREATE TYPE odd_color AS ENUM ('red', 'green', 'blue')",
)
