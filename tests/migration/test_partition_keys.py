"""Partitions whose partition keys differ at any level below them are not merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcatalog.planner.operations import KEY_NOT_COMPARED, no_comparison
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from tests.conftest import fresh_database
from tests.migration import made
from tests.program import run

SERVERS = ["gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]
CREATE = "CREATE TABLE {t} (id int, a date, b text, c int) PARTITION BY RANGE (a)"
PART = "CREATE TABLE {t}_{n} PARTITION OF {t} FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{m}') PARTITION BY "
DAYS = range(1, 7)

# partition keys of odd and even partitions, and the children of each
DIFFERENT = {
    "columns": (("LIST (id)", "LIST (c)"), ["DEFAULT"]),
    "strategies": (("LIST (id)", "RANGE (id)"), ["DEFAULT"]),
    "hashes": (
        ("HASH (id)", "HASH (c)"),
        [f"FOR VALUES WITH (MODULUS 2, REMAINDER {r})" for r in (0, 1)],
    ),
    "expressions": (("LIST (lower(b))", "LIST (upper(b))"), ["FOR VALUES IN ('a')", "DEFAULT"]),
    "collations": (("LIST (b)", 'LIST (b COLLATE "C")'), ["FOR VALUES IN ('a')", "DEFAULT"]),
    "classes": (("LIST (b)", "LIST (b text_pattern_ops)"), ["FOR VALUES IN ('a')", "DEFAULT"]),
}
SAME = {
    "same_columns": ("LIST (id)", ["DEFAULT"]),
    "same_expressions": ("LIST (lower(b))", ["FOR VALUES IN ('a')", "DEFAULT"]),
}


def _table(dsn: str, table: str, keys: tuple[str, str], children: list[str]) -> None:
    """Six partitions of a day each, and their partitions, with rows."""
    made.execute(dsn, CREATE.format(t=table))
    for n in DAYS:
        made.execute(
            dsn,
            PART.format(t=table, n=n, m=n + 1) + keys[n % 2],
            *(
                f"CREATE TABLE {table}_{n}_{i} PARTITION OF {table}_{n} {bound}"
                for i, bound in enumerate(children)
            ),
        )
    _fill(dsn, table)


def _fill(dsn: str, table: str) -> None:
    made.execute(
        dsn,
        f"INSERT INTO {table} SELECT i, date '2020-01-01' + i % 6, (ARRAY['a', 'A', 'b'])[1 + i % 3], i + 1"
        " FROM generate_series(1, 300) i",
    )


def _tables(dsn: str) -> None:
    for name, (keys, children) in DIFFERENT.items():
        _table(dsn, name, keys, children)
    for name, (key, children) in SAME.items():
        _table(dsn, name, (key, key), children)
    # the keys of the third level differ
    made.execute(dsn, CREATE.format(t="deep"))
    for n in DAYS:
        made.execute(
            dsn,
            PART.format(t="deep", n=n, m=n + 1) + "LIST (id)",
            f"CREATE TABLE deep_{n}_x PARTITION OF deep_{n} DEFAULT PARTITION BY LIST ({'bc'[n % 2]})",
            f"CREATE TABLE deep_{n}_xx PARTITION OF deep_{n}_x DEFAULT",
        )
    _fill(dsn, "deep")
    # the same expression, although the columns have other numbers
    made.execute(dsn, CREATE.format(t="numbered"))
    for n in DAYS:
        gone = ", gone int" if n % 2 else ""
        made.execute(
            dsn,
            f"CREATE TABLE numbered_{n} (id int{gone}, a date, b text, c int) PARTITION BY LIST (lower(b))",
            *([f"ALTER TABLE numbered_{n} DROP COLUMN gone"] if gone else []),
            f"CREATE TABLE numbered_{n}_x PARTITION OF numbered_{n} DEFAULT",
            f"ALTER TABLE numbered ATTACH PARTITION numbered_{n} FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')",
        )
    _fill(dsn, "numbered")


@pytest.mark.parametrize("fixture", SERVERS)
def test_only_equal_keys_are_merged(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The plan merges partitions with equal keys only, and the explanation shows the keys. The scripts run."""
    dsn = fresh_database(request.getfixturevalue(fixture), "partition_keys")
    _tables(dsn)
    plan = made.plan_of(dsn)
    merged = {t.table for t in plan.tables if t.steps}
    assert merged == {*SAME, "numbered"}
    rows = {t: made.rows_of(dsn, t) for t in merged}
    files = made.written(dsn, tmp_path / "sql", plan)
    assert not files.refused
    files.all()
    assert {t: made.rows_of(dsn, t) for t in merged} == rows
    policy = tmp_path / "policy.toml"
    policy.write_text(made.EAGER)
    with connect(dsn) as session:
        snapshot = collect(session, tmp_path / "now.gpcatalog")
    for table, key in (("columns", "list (c)"), ("strategies", "range (id)"), ("classes", "ops)")):
        done = run("plan", "--snapshot", str(snapshot), "--policy", str(policy), "--explain", table)
        shown = " ".join(done.stdout.split())
        assert "partition keys below it (its own is" in shown, shown
        assert key in shown


@pytest.mark.parametrize("fixture", SERVERS)
def test_migrate_refuses_other_keys(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """If a partition has another key since the plan, `migrate` refuses the merge and names both keys."""
    dsn = fresh_database(request.getfixturevalue(fixture), "partition_keys_refused")
    _, children = DIFFERENT["hashes"]
    _table(dsn, "t", ("HASH (id)", "HASH (id)"), children)
    plan = made.plan_of(dsn)
    assert plan.tables[0].steps
    made.execute(
        dsn,
        "DROP TABLE t_1",
        PART.format(t="t", n=1, m=2) + "HASH (c)",
        *(f"CREATE TABLE t_1_{i} PARTITION OF t_1 {bound}" for i, bound in enumerate(children)),
    )
    files = made.written(dsn, tmp_path / "sql", plan)
    (refused,) = files.refused
    assert refused.reason == "t_1 is partitioned by HASH (c), but t_6 by HASH (id)"


# name: (type of column k, partition key, two values)
COMPARED = {
    "domains": ("some_domain", "k", ("1", "2")),
    "enums": ("some_enum", "k", ("a", "b")),
    "arrays": ("int[]", "k", ("{1}", "{2}")),
    # for lists, only equality matters
    "pattern_classes": ("text", "k text_pattern_ops", ("a", "b")),
    "own_collations": ("text", 'k COLLATE "C"', ("a", "b")),
    "own_collation_of_column": ('text COLLATE "C"', "k", ("a", "b")),
}
NOT_COMPARED = {
    "composites": ("some_composite", "k", ("(1,a)", "(2,b)")),
    "objects": ("regclass", "k", ("pg_class", "pg_proc")),
    "own_classes": ("int", "k some_class", ("1", "2")),
}
RANGES = {"range_of_class": "k text_pattern_ops", "range_of_collation": 'k COLLATE "C"'}


@pytest.mark.parametrize("fixture", SERVERS)
def test_keys_that_scripts_cannot_compare(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Scripts look up operators in pg_catalog, by the type of a value: another operator would choose other rows. A plan
    leaves such tables out; `migrate` refuses them if the snapshot was of a version that did not read this."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_keys_compared")
    made.execute(
        dsn,
        "CREATE TYPE some_composite AS (a int, b text)",
        "CREATE TYPE some_enum AS ENUM ('a', 'b')",
        "CREATE DOMAIN some_domain AS int",
        "CREATE OPERATOR CLASS some_class FOR TYPE int4 USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =,"
        " OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4)",
    )
    tail = " DISTRIBUTED BY (v)" if fixture == "gp7_dsn" else ""
    for table, key in RANGES.items():
        made.execute(
            dsn,
            f"CREATE TABLE {table} (d date, v int, k text) PARTITION BY RANGE (d){tail}",
            *(
                f"CREATE TABLE {table}_{day} PARTITION OF {table} FOR VALUES FROM ('2020-01-{day}') TO ('2020-01-{day + 1}')"
                f" PARTITION BY RANGE ({key})"
                for day in (11, 12)
            ),
            *(
                f"CREATE TABLE {table}_{day}_a PARTITION OF {table}_{day} FOR VALUES FROM ('a') TO ('c')"
                for day in (11, 12)
            ),
            f"INSERT INTO {table} VALUES ('2020-01-11', 1, 'b'), ('2020-01-12', 2, 'b')",
        )
    for table, (kind, key, values) in {**COMPARED, **NOT_COMPARED}.items():
        made.execute(
            dsn,
            f"CREATE TABLE {table} (v int, k {kind}) PARTITION BY LIST ({key}){tail}",
            *(
                f"CREATE TABLE {table}_{n} PARTITION OF {table} FOR VALUES IN ('{value}')"
                for n, value in enumerate(values)
            ),
            f"INSERT INTO {table} SELECT g, '{values[0]}' FROM generate_series(1, 9) g",
        )
    odd = {f"public.{name}" for name in (*NOT_COMPARED, *RANGES)}
    rules = made.EAGER + "merge_lists = 2\n"
    before = made.plan_of(dsn, rules, without=KEY_NOT_COMPARED)
    files = made.written(dsn, tmp_path / "before", before)
    assert {r.table for r in files.refused} == odd
    assert {r.reason for r in files.refused} == {no_comparison("k")}

    plan = made.plan_of(dsn, rules)
    left = {t.name: {x.reason for x in t.left} for t in plan.tables if not t.steps}
    assert left == {name: {no_comparison("k")} for name in odd}
    files = made.written(dsn, tmp_path / "sql", plan)
    assert not files.refused
    files.all()
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert len(files.forward()) == len(COMPARED)


def test_keys_that_scripts_cannot_compare_on_greenplum_6(gp6_dsn: str, tmp_path: Path) -> None:
    """As above. Keys of Greenplum 6 have the default operator class of their type, and must be neither composite nor reg…."""
    dsn = fresh_database(gp6_dsn, "mig_keys_compared")
    operators = {"<": "lt", "<=": "le", "=": "eq", ">=": "ge", ">": "gt"}
    made.execute(
        dsn,
        *(f"CREATE TYPE {name} AS ENUM ('a', 'b')" for name in ("some_enum", "own_enum")),
        *(
            f"CREATE FUNCTION own_{f}(own_enum, own_enum) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT enum_{f}($1, $2)'"
            for f in operators.values()
        ),
        *(
            f"CREATE OPERATOR {sign} (LEFTARG = own_enum, RIGHTARG = own_enum, PROCEDURE = own_{f})"
            for sign, f in operators.items()
        ),
        "CREATE OPERATOR CLASS own_class DEFAULT FOR TYPE own_enum USING btree AS "
        + ", ".join(f"OPERATOR {n} {sign}" for n, sign in enumerate(operators, 1))
        + ", FUNCTION 1 enum_cmp(anyenum, anyenum)",
        *(
            f"CREATE TABLE {table} (v int, k {kind}) DISTRIBUTED BY (v) PARTITION BY LIST (k)"
            " (PARTITION a VALUES ('a'), PARTITION b VALUES ('b'))"
            for table, kind in (("own_classes", "own_enum"), ("enums", "some_enum"))
        ),
    )
    rules = made.EAGER + "merge_lists = 2\n"
    before = made.plan_of(dsn, rules, without=KEY_NOT_COMPARED)
    (refused,) = made.written(dsn, tmp_path, before).refused
    assert (refused.table, refused.reason) == ("public.own_classes", no_comparison("k"))
    left = {t.name: [x.reason for x in t.left] for t in made.plan_of(dsn, rules).tables}
    assert left == {"public.own_classes": [no_comparison("k")], "public.enums": []}
