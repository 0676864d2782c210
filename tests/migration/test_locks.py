"""Every transaction of a migration holds at most as many locks as it requires, and not many fewer.

The locks are counted by the server at the end of each transaction, on each instance.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made, zoo

DAYS = made.EAGER.replace('grains = {month = "0d"}', 'grains = {day = "0d"}')
POLICIES = {
    "merge": made.EAGER,
    "drop": DAYS.replace('"keep"\nstorage', '"drop"\nstorage'),
    "convert": DAYS.replace('storage = "keep"', 'storage = "ao_row"'),
    "unpartition": made.EAGER + 'unpartition_below = "1GB"\n',
    "flatten": made.EAGER + "flatten = true\n",
}
# one lock may be held in several modes; locks on catalogs, and on schemas, are few
HELD = """
SELECT 'held ' || coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM (
    SELECT DISTINCT {content} AS content, coalesce(classid, 1259) AS class, coalesce(relation, objid) AS object FROM pg_locks
     WHERE {mine} AND (locktype = 'relation' AND relation >= 16384
                       OR locktype = 'object' AND classid <> 'pg_namespace'::regclass)) d GROUP BY content) i
\\g (tuples_only format=unaligned)
"""
# objects that are locked one by one, for each leaf: defaults, checks, bitmap indexes, statistics
COLUMNS = ", ".join(f"c{n} int DEFAULT {n} CHECK (c{n} > -1)" for n in range(15))
CLASSIC = (
    f"CREATE TABLE lk_all (id int, d date, {COLUMNS}) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
    " (START (date '2022-01-01') END (date '2022-01-07') EVERY (interval '3 days'))",
    f"CREATE TABLE lk_default (id int, d date, {COLUMNS}) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
    " (START (date '2022-01-01') END (date '2022-01-07') EVERY (interval '3 days'), DEFAULT PARTITION other)",
    "CREATE TABLE lk_bitmap (id int, d date, b int) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
    " (START (date '2022-01-01') END (date '2022-01-21') EVERY (interval '1 day'))",
    "CREATE INDEX lk_bitmap_b ON lk_bitmap USING bitmap (b)",
    "CREATE TABLE lk_empty (id int, d date, k text, CONSTRAINT one CHECK (id > -5), CONSTRAINT two CHECK (id > -6))"
    " DISTRIBUTED BY (id) PARTITION BY RANGE (d) SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'),"
    " SUBPARTITION b VALUES ('b')) (START (date '2022-01-01') END (date '2022-01-07') EVERY (interval '1 day'),"
    " START (date '2022-03-01') END (date '2022-03-10'))",
    "INSERT INTO lk_empty VALUES (1, '2022-03-05', 'a')",
    "INSERT INTO lk_all (id, d) SELECT g, date '2022-01-01' + g % 6 FROM generate_series(1, 50) g",
    "INSERT INTO lk_default (id, d) SELECT g, date '2022-01-01' + g % 9 FROM generate_series(1, 50) g",
    "INSERT INTO lk_bitmap (id, d) SELECT g, date '2022-01-01' + g % 20 FROM generate_series(1, 50) g",
)
DECLARATIVE = (
    "CREATE TABLE lk_statistics (id int, d date NOT NULL, a int, b int) PARTITION BY RANGE (d)",
    *(
        f"CREATE TABLE lk_statistics_{n} PARTITION OF lk_statistics FOR VALUES FROM ('2022-01-{n:02}') TO ('2022-01-{n + 1:02}')"
        for n in range(1, 11)
    ),
    *(
        f"CREATE STATISTICS lk_s{n}_{k[0]}{k[-1]} (dependencies) ON {k} FROM lk_statistics_{n}"
        for n in range(1, 11)
        for k in ("a, b", "id, a", "id, b")
    ),
    "INSERT INTO lk_statistics (id, d) SELECT g, date '2022-01-01' + g % 10 FROM generate_series(1, 50) g",
)
NEEDS = re.compile(r"expect_locks\((\d+)\)")


def counting(text: str, *, greenplum: bool) -> tuple[str, list[int]]:
    """A file that also prints the number of locks at the end of its transactions, and the number
    that each requires.

    A transaction without a requirement belongs to the step before it, and the statistics of the
    whole table to none.
    """
    held = HELD.format(
        content="gp_segment_id" if greenplum else "1",
        mine="mppsessionid = current_setting('gp_session_id')::int"
        if greenplum
        else "pid = pg_backend_pid()",
    )
    parts = text.split("\nCOMMIT;\n")
    needs: list[int | None] = []
    for part in parts[:-1]:
        found = NEEDS.findall(part)
        before = needs[-1] if needs else None
        whole = "statistics of the whole table" in part
        needs.append(None if whole else int(found[-1]) if found else before)
    more = "".join(
        part + (held if need is not None else "") + "\nCOMMIT;\n"
        for part, need in zip(parts, needs, strict=False)
    )
    return more + parts[-1], [n for n in needs if n is not None]


def counted(needs: list[int], output: str) -> list[tuple[int, int]]:
    """The required and the counted number of locks of every transaction. output: of psql"""
    numbers = [int(n) for n in re.findall("held ([0-9]+)", output)]
    return list(zip(needs, numbers, strict=True))


SERVERS = (
    ("gp6_dsn", "gp6", Mode.LOCKED),
    ("gp7_dsn", "gp7", Mode.LOCKED),
    ("pg_dsn", "pg15", Mode.ONLINE),
    ("pgnew_dsn", "pg18", Mode.LOCKED),
    ("pg19_dsn", "pg19", Mode.LOCKED),
)


@pytest.mark.parametrize(
    ("fixture", "generation", "mode", "policy"),
    [
        (*server, policy)
        for server in SERVERS
        for policy in POLICIES
        if policy != "convert" or server[1].startswith("gp")  # PostgreSQL has one storage
    ],
)
def test_as_many_as_required(
    fixture: str,
    generation: str,
    mode: Mode,
    policy: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GPCATALOG_TEST_RECORD", raising=False)
    greenplum = fixture.startswith("gp")
    dsn = fresh_database(request.getfixturevalue(fixture), f"mig_locks_{policy}")
    zoo.make(dsn, generation)
    made.execute(
        dsn, *(CLASSIC if greenplum else ()), *(DECLARATIVE if generation != "gp6" else ())
    )
    files = made.written(
        dsn,
        tmp_path / "sql",
        made.plan_of(dsn, POLICIES[policy]),
        request=Request(mode=mode, merge_seconds=600),
    )
    files.run("0000_prepare.sql")
    wrong = {}
    transactions = 0
    for name in files.forward():
        text, needs = counting((files.folder / name).read_text(), greenplum=greenplum)
        found = counted(needs, files.run(name, text=text).stdout)
        transactions += len(found)
        # online, only the last transaction of a step removes what it replaces
        most = max((held for _, held in found), default=0)
        if any(held > need or need > 2 * most + 25 for need, held in found):
            wrong[name] = found
    assert wrong == {}
    assert transactions or (policy == "flatten" and generation == "gp6")
