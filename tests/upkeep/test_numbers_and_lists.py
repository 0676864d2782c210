"""Upkeep of tables whose keys are plain numbers or lists of months, on live servers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import SERVERS, night
from tests.upkeep.year import server_of

pytestmark = pytest.mark.usefixtures("one_day")

AO = " WITH (appendonly=true, orientation=column, compresstype=zlib)"
RULES = """
[default]
automatic_maintenance = true
premake = 4
premake_batch = 0
"""


def bounds(dsn: str, table: str) -> list[str]:
    """Bounds of the partitions of a table, by name."""
    if server_of(dsn) == "gp6":
        sql = (
            "SELECT pg_get_expr(r.parlistvalues, 0), pg_get_expr(r.parrangestart, 0), r.parname FROM"
            " pg_partition_rule r JOIN pg_partition p ON p.oid = r.paroid WHERE NOT p.paristemplate"
            f" AND p.parlevel = 0 AND p.parrelid = '{table}'::regclass ORDER BY 3, 1, 2"
        )
        return [row[0] or row[1] for row in made.fetch(dsn, sql)]
    return [
        row[0]
        for row in made.fetch(
            dsn,
            "SELECT pg_get_expr(c.relpartbound, 0) FROM pg_class c JOIN pg_inherits i ON"
            f" i.inhrelid = c.oid WHERE i.inhparent = '{table}'::regclass ORDER BY c.relname",
        )
    ]


def ids(dsn: str, name: str, partitions: int, kind: str = "bigint") -> None:
    """Create a table with this number of partitions of 1000 numbers each."""
    if server_of(dsn).startswith("gp"):
        made.execute(
            dsn,
            f"CREATE TABLE {name} (id {kind} NOT NULL, v int){AO} DISTRIBUTED BY (id) PARTITION BY RANGE (id)"
            f" ({', '.join(f'PARTITION p{n * 1000} START ({n * 1000}) END ({(n + 1) * 1000}){AO}' for n in range(partitions))})",
        )
        return
    made.execute(
        dsn,
        f"CREATE TABLE {name} (id {kind} NOT NULL, v int) PARTITION BY RANGE (id)",
        *(
            f"CREATE TABLE {name}_p{n * 1000} PARTITION OF {name} FOR VALUES FROM ({n * 1000}) TO ({(n + 1) * 1000})"
            for n in range(partitions)
        ),
    )


def run(dsn: str, rules: str = RULES, *, allow_drop: bool = False) -> str:
    """Run the script of tonight and return its text."""
    year, text = night(dsn, rules, allow_drop=allow_drop)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    return text


@pytest.mark.parametrize("kind", ["bigint", "numeric"])
@pytest.mark.parametrize("fixture", SERVERS)
def test_numbers(fixture: str, kind: str, request: pytest.FixtureRequest) -> None:
    """The requested number of partitions exists after the newest one with rows."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_numbers")
    ids(dsn, "t", 10, kind)
    made.execute(dsn, "INSERT INTO t SELECT n, 1 FROM generate_series(0, 6500) n")
    assert len(bounds(dsn, "t")) == 10
    run(dsn)
    assert len(bounds(dsn, "t")) == 11  # the seventh partition has the newest rows
    made.execute(dsn, "INSERT INTO t SELECT n, 1 FROM generate_series(6501, 8000) n")
    assert "create 2 partitions from 11000 to 13000" in run(dsn)
    assert run(dsn).startswith("-- Nothing to do tonight.")
    names = made.fetch(
        dsn,
        "SELECT partitionname FROM pg_partitions WHERE tablename = 't' ORDER BY partitionrank"
        if server_of(dsn) == "gp6"
        else "SELECT relname FROM pg_class WHERE relname LIKE 't%_p%0' ORDER BY length(relname), relname",
    )
    assert names[-1][0].endswith("p12000")
    before = made.fetch(dsn, "SELECT count(*), sum(id) FROM t WHERE id >= 3000")
    run(dsn, RULES + 'retention = "detach"\nkeep_partitions = 5\nkeep = "40d"\n')
    assert made.fetch(dsn, "SELECT min(id), count(*) FROM t") == [(3000, 5001)]
    assert made.fetch(dsn, "SELECT count(*), sum(id) FROM t WHERE id >= 3000") == before
    assert len(bounds(dsn, "t")) == 10


def test_numbers_have_no_retention_by_time(pg_dsn: str) -> None:
    """`keep` is a time, and does not apply to numbers."""
    dsn = fresh_database(pg_dsn, "upkeep_kept_numbers")
    ids(dsn, "t", 60)
    made.execute(dsn, "INSERT INTO t SELECT n, 1 FROM generate_series(0, 59999, 10) n")
    run(dsn, RULES + 'retention = "detach"\nkeep = "40d"\n')
    assert len(bounds(dsn, "t")) == 64


MONTHS = {
    "text": ("varchar(7)", "%Y-%m"),
    "number": ("int", "%Y%m"),
    "day": ("date", "%Y-%m-01"),
}


def month(today: date, n: int) -> date:
    number = today.year * 12 + today.month - 1 + n
    return date(number // 12, number % 12 + 1, 1)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("fixture", SERVERS)
def test_months(fixture: str, levels: int, request: pytest.FixtureRequest) -> None:
    """Lists of one month each: lists of coming months are created like the newest, old ones are removed."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_months")
    today = datetime.now(UTC).date()
    gp = server_of(dsn).startswith("gp")
    for name, (kind, form) in MONTHS.items():
        listed = [(month(today, n), f"'{month(today, n):{form}}'") for n in range(-5, 1)]
        if kind == "int":
            listed = [(day, value.strip("'")) for day, value in listed]
        columns = f"k {kind} NOT NULL, region text NOT NULL, v int"
        if gp:
            below = (
                f" SUBPARTITION BY LIST (region) SUBPARTITION TEMPLATE (SUBPARTITION eu VALUES ('eu'){AO},"
                f" SUBPARTITION us VALUES ('us'){AO})"
                if levels == 2
                else ""
            )
            parts = ", ".join(f"PARTITION m{d:%Y_%m} VALUES ({v}){AO}" for d, v in listed)
            made.execute(
                dsn,
                f"CREATE TABLE m_{name} ({columns}){AO} DISTRIBUTED BY (v) PARTITION BY LIST (k){below} ({parts})",
            )
        else:
            made.execute(dsn, f"CREATE TABLE m_{name} ({columns}) PARTITION BY LIST (k)")
            for d, v in listed:
                leaf = f"m_{name}_m{d:%Y_%m}"
                by = " PARTITION BY LIST (region)" if levels == 2 else ""
                made.execute(
                    dsn, f"CREATE TABLE {leaf} PARTITION OF m_{name} FOR VALUES IN ({v}){by}"
                )
                for region in ("eu", "us") if levels == 2 else ():
                    made.execute(
                        dsn,
                        f"CREATE TABLE {leaf}_{region} PARTITION OF {leaf} FOR VALUES IN ('{region}')",
                    )
        for _, v in listed:
            made.execute(dsn, f"INSERT INTO m_{name} VALUES ({v}, 'eu', 1), ({v}, 'us', 2)")
    how = "drop" if gp and levels == 2 else "detach"
    rules = RULES.replace("premake = 4", 'premake = "70d"')
    run(dsn, rules)
    ahead = (today + timedelta(70) - timedelta(1)).replace(day=1)
    coming = (ahead.year - today.year) * 12 + ahead.month - today.month
    for name, (kind, form) in MONTHS.items():
        found = bounds(dsn, f"m_{name}")
        assert len(found) == 6 + coming, name
        assert f"{ahead:{form}}" in found[-1]
        value = f"{ahead:{form}}" if kind == "int" else f"'{ahead:{form}}'"
        made.execute(dsn, f"INSERT INTO m_{name} VALUES ({value}, 'us', 3)")
    assert run(dsn, rules).startswith("-- Nothing to do tonight.")
    text = run(dsn, rules + f'retention = "{how}"\nkeep = "75d"\n', allow_drop=how == "drop")
    old = sum(month(today, n + 1) <= today - timedelta(75) for n in range(-5, 1))
    for name in MONTHS:
        removed = 0 if how == "drop" else old  # a drop waits seven days after its announcement
        assert len(bounds(dsn, f"m_{name}")) == 6 + coming - removed, name
    assert old > 0
    assert ("LOST" in text) == (how == "drop")


def test_lists_that_are_no_dates_are_left_alone(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_no_dates")
    made.execute(
        dsn,
        "CREATE TABLE t (k text) PARTITION BY LIST (k)",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('2026-01')",
        "CREATE TABLE t_b PARTITION OF t FOR VALUES IN ('other')",
    )
    assert "its lists are no dates" in night(dsn, RULES)[1]
