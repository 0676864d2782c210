"""Contents of scripts and reasons of refusals, where running the script would not show that a part is missing."""

from __future__ import annotations

from pathlib import Path

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made
from tests.migration.test_whole import PLAIN

DAYS = 6
TABLE = (
    "CREATE TABLE t (d date NOT NULL, v text) PARTITION BY RANGE (d)",
    *(
        f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-{n + 1:02}') TO ('2020-01-{n + 2:02}')"
        for n in range(DAYS)
    ),
    "INSERT INTO t SELECT date '2020-01-01' + n % 6, n FROM generate_series(0, 99) n",
    "ANALYZE t",
)


def test_leaves_that_change_are_copied_again_one_by_one(pg_dsn: str, tmp_path: Path) -> None:
    """Without this, the final comparison would copy all leaves again while readers wait."""
    dsn = fresh_database(pg_dsn, "written")
    made.execute(dsn, *TABLE)
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=Mode.ONLINE)
    )
    assert (files.steps, files.refused) == (1, [])
    (name,) = files.forward()
    lines = (files.folder / name).read_text().splitlines()
    again = [line for line in lines if ".differs(" in line and "INSERT INTO" in line]
    assert len(again) == DAYS
    for n in range(DAYS):
        (line,) = [one for one in again if f"FROM ONLY public.t_{n};" in one]
        assert f"'2020-01-{n + 1:02}'" in line.partition(" INSERT INTO ")[0]  # only of this leaf


def test_what_uses_the_type_of_a_table_is_named(pg_dsn: str, tmp_path: Path) -> None:
    """An unpartitioned table is a new table: objects that use the row type of the old one cannot be moved."""
    dsn = fresh_database(pg_dsn, "written_type")
    made.execute(dsn, *TABLE)
    plan = made.plan_of(dsn, PLAIN)
    assert [s.__struct_config__.tag for s in plan.tables[0].steps] == ["unpartition"]
    reasons = []
    for n in range(3):
        body = "LANGUAGE sql AS 'SELECT 1'"
        made.execute(dsn, f"CREATE FUNCTION uses_{n}(t) RETURNS int {body}")
        refused = made.written(dsn, tmp_path / str(n), plan)
        assert refused.steps == 0
        reasons.append(refused.refused[0].reason)
    assert all(
        "it cannot be moved to another table: function public.uses_" in text for text in reasons
    )
    assert [text.rpartition(")")[2] for text in reasons] == ["", " and 1 more", " and 2 more"]
