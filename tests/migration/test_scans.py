"""No table is read while readers are blocked: the server must be able to attach a partition without a scan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made
from tests.migration.made import EAGER

SERVERS = ("gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn")
POLICY = {
    "merge": EAGER.replace("month", "year"),
    "flatten": EAGER + "flatten = true\n",
    "unpartition": EAGER + 'unpartition_below = "1GB"\n',
}
DAYS = 28


_VALUES = {"n": "n", "a": "date '2022-01-01' + n", "b": "date '2022-01-02' + n"}


def _loop(*statements: str, days: int = DAYS) -> str:
    """A block that runs these statements for each day n; {a} and {b} are the bounds of the day, {n} is its number."""
    runs = []
    for s in statements:
        text = s.replace("'", "''")
        values = [_VALUES[found] for found in re.findall(r"\{([nab])\}", s)]
        text = re.sub(r"\{([nab])\}", lambda m: "%s" if m[1] == "n" else "%L", text)
        runs.append(f"EXECUTE format('{text}', {', '.join(values)});")
    return f"DO $$ BEGIN FOR n IN 0..{days - 1} LOOP {' '.join(runs)} END LOOP; END $$"


def _range(kind: str, first: str, step: str, *, default: bool = False) -> list[str]:
    statements = [
        f"CREATE TABLE t (id int, k {kind}) PARTITION BY RANGE (k)",
        f"""DO $$ BEGIN FOR n IN 0..{DAYS - 1} LOOP
            EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%L) TO (%L)', n, {first} + n * {step}, {first} + (n + 1) * {step});
            END LOOP; END $$""",
    ]
    if default:
        statements.append("CREATE TABLE t_other PARTITION OF t DEFAULT")
        statements.append("INSERT INTO t VALUES (0, NULL)")
    return [
        *statements,
        f"INSERT INTO t SELECT i, {first} + (i % {DAYS}) * {step} FROM generate_series(1, 280) i",
    ]


SHAPES = {
    "date": _range("date", "date '2022-01-01'", "1"),
    "timestamptz": _range("timestamptz", "timestamptz '2022-01-01 00:00+00'", "interval '1 day'"),
    "bigint": _range("bigint", "100::bigint", "10"),
    "default": _range("date", "date '2022-01-01'", "1", default=True),
    "below": [
        "CREATE TABLE t (id int, r text, k date) PARTITION BY LIST (r)",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a', 'it''s') PARTITION BY RANGE (k)",
        _loop("CREATE TABLE t_a_{n} PARTITION OF t_a FOR VALUES FROM ({a}) TO ({b})"),
        f"INSERT INTO t SELECT i, 'a', date '2022-01-01' + i % {DAYS} FROM generate_series(1, 280) i",
    ],
    "default below": [
        "CREATE TABLE t (id int, r text, k date) PARTITION BY LIST (r)",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a', 'b') PARTITION BY RANGE (k)",
        _loop("CREATE TABLE t_a_{n} PARTITION OF t_a FOR VALUES FROM ({a}) TO ({b})"),
        "CREATE TABLE t_a_other PARTITION OF t_a DEFAULT PARTITION BY LIST (r)",
        "CREATE TABLE t_a_other_1 PARTITION OF t_a_other FOR VALUES IN ('a')",
        "CREATE TABLE t_a_other_2 PARTITION OF t_a_other DEFAULT",
        f"INSERT INTO t SELECT i, 'a', date '2022-01-01' + i % {DAYS} FROM generate_series(1, 280) i",
        "INSERT INTO t VALUES (0, 'b', NULL), (0, 'a', '2030-01-01')",
    ],
    "above": [
        "CREATE TABLE t (id int, r text, k date) PARTITION BY RANGE (k)",
        _loop(
            "CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ({a}) TO ({b}) PARTITION BY LIST (r)",
            "CREATE TABLE t_{n}_a PARTITION OF t_{n} FOR VALUES IN ('a')",
            "CREATE TABLE t_{n}_b PARTITION OF t_{n} FOR VALUES IN ('b', NULL)",
        ),
        f"INSERT INTO t SELECT i, substr('ab', 1 + i % 2, 1), date '2022-01-01' + i % {DAYS} FROM generate_series(1, 280) i",
    ],
    "columns": [
        "CREATE TABLE t (id int, k date, s int) PARTITION BY RANGE (k, s)",
        _loop(
            "CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ({a}, 5) TO ({b}, 5)",
        ),
        f"INSERT INTO t SELECT i, date '2022-01-01' + i % {DAYS}, 7 FROM generate_series(1, 280) i",
    ],
    "hash below": [
        "CREATE TABLE t (id int, k date) PARTITION BY RANGE (k)",
        _loop(
            "CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ({a}) TO ({b}) PARTITION BY HASH (id)",
            "CREATE TABLE t_{n}_a PARTITION OF t_{n} FOR VALUES WITH (modulus 2, remainder 0)",
            "CREATE TABLE t_{n}_b PARTITION OF t_{n} FOR VALUES WITH (modulus 2, remainder 1)",
        ),
        f"INSERT INTO t SELECT i, date '2022-01-01' + i % {DAYS} FROM generate_series(1, 280) i",
    ],
}

# a level with one leaf for each parent, below the first level and below the second
FLAT = {
    "top": [
        "CREATE TABLE t (id int, k date, r text) PARTITION BY RANGE (k)",
        """DO $$ BEGIN FOR n IN 0..4 LOOP
            EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%L) TO (%L) PARTITION BY LIST (r)', n, date '2022-01-01' + n,
                           date '2022-01-02' + n);
            EXECUTE format('CREATE TABLE t_%s_a PARTITION OF t_%s %s', n, n, CASE WHEN n % 2 = 0 THEN 'DEFAULT' ELSE 'FOR VALUES IN (''a'')' END);
            END LOOP; END $$""",
        "INSERT INTO t SELECT i, date '2022-01-01' + i % 5, 'a' FROM generate_series(1, 200) i",
    ],
    "deep": [
        "CREATE TABLE t (id int, c text, k date, r text) PARTITION BY LIST (c)",
        "CREATE TABLE t_x PARTITION OF t FOR VALUES IN ('x') PARTITION BY RANGE (k)",
        "CREATE TABLE t_y PARTITION OF t DEFAULT PARTITION BY RANGE (k)",
        """DO $$ DECLARE v text; BEGIN FOREACH v IN ARRAY ARRAY['x', 'y'] LOOP FOR n IN 0..4 LOOP
            EXECUTE format('CREATE TABLE t_%s_%s PARTITION OF t_%s FOR VALUES FROM (%L) TO (%L) PARTITION BY RANGE (r)', v, n, v,
                           date '2022-01-01' + n, date '2022-01-02' + n);
            EXECUTE format('CREATE TABLE t_%s_%s_a PARTITION OF t_%s_%s FOR VALUES FROM (''a'') TO (''b'')', v, n, v, n);
            END LOOP; END LOOP; END $$""",
        "INSERT INTO t SELECT i, substr('xy', 1 + i % 2, 1), date '2022-01-01' + i % 5, 'a' FROM generate_series(1, 200) i",
    ],
}
CASES = [
    (shape, rules, mode)
    for shape in SHAPES
    for rules, mode in (("merge", Mode.LOCKED), ("merge", Mode.ONLINE))
]
CASES += [(shape, "unpartition", Mode.LOCKED) for shape in ("date", "default", "above")]
CASES += [(shape, "flatten", Mode.LOCKED) for shape in FLAT]


def scanned(text: str) -> list[str]:
    """Tables that were read between the lock and the end of a step, from the output of psql at debug1."""
    found, locked = [], False
    for line in text.splitlines():
        if "gpcatalog-test: locked" in line:
            locked = True
        elif "gpcatalog-test: done" in line:
            locked = False
        elif locked and ("verifying table" in line or "rewriting table" in line):
            found.append(line.split("DEBUG:")[-1].strip())
    return found


@pytest.mark.long
@pytest.mark.parametrize(("shape", "rules", "mode"), CASES)
@pytest.mark.parametrize("fixture", SERVERS)
def test_no_table_is_read_under_the_lock(
    fixture: str, shape: str, rules: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_scans")
    made.execute(dsn, *{**SHAPES, **FLAT}[shape])
    rows = made.rows_of(dsn, "t")
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn, POLICY[rules]), request=Request(mode=mode)
    )
    assert files.steps
    files.run("0000_prepare.sql")
    seen = []
    for name in (*files.forward(), *(f"rollback/{n}" for n in reversed(files.forward()))):
        text = (files.folder / name).read_text()
        text = re.sub(
            "SET client_min_messages = (warning|error);", "SET client_min_messages = debug1;", text
        )
        text = text.replace(
            "began := pg_catalog.clock_timestamp();",
            "began := pg_catalog.clock_timestamp(); RAISE WARNING 'gpcatalog-test: locked';",
        )
        text = text.replace(
            "    PERFORM gpcatalog_journal.note(",
            "    RAISE WARNING 'gpcatalog-test: done';\n    PERFORM gpcatalog_journal.note(",
        )
        messages = files.run(name, text=text).stderr
        assert "gpcatalog-test: locked" in messages
        seen += scanned(messages)
        assert made.rows_of(dsn, "t") == rows
    assert seen == []
