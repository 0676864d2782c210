"""A cold leaf of Greenplum is replaced by an external table, only after its location is filled in, and only if all rows are there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.gpfdist import gpfdist
from tests.migration import made, zoo

COLD = made.EAGER.replace("0d", "4000d") + "externalise_after = 30\n"


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_external(
    fixture: str, default: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_outside")
    made.roles(dsn, "mig_reader", "mig_writer")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text) WITH (appendonly=true) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        f" (START (date '2020-01-01') END (date '2020-01-03') EVERY (interval '1 day'){', DEFAULT PARTITION other' if default else ''})",
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 2, 'x' || i FROM generate_series(1, 100) i",
        "GRANT SELECT, INSERT ON t TO mig_reader",
        "GRANT DELETE ON t TO mig_writer",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, fixture.removesuffix("_dsn"))
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, COLD))
    assert (files.steps, files.refused) == (2, [])
    lost = "DELETE of mig_writer on 1 of 1 partitions: not granted on the external table"
    lines = () if fixture == "gp6_dsn" else (lost,)
    assert [o.lost for o in files.work[0].forward] == [lines] * 2
    files.run("0000_prepare.sql")
    name = files.forward()[0]
    done = files.run(name, check=False)
    assert done.returncode == 3
    assert "fill in gpcatalog_journal.read_from" in done.stderr
    text = (files.folder / name).read_text()
    # a place that a segment of this host can read
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        parts = text.split("SET gpcatalog_journal.read_from = 'FILL IN'")
        assert len(parts) == 3
        for n, (day, keep) in enumerate((("2020-01-01", 49), ("2020-01-02", 50))):
            with (
                made.psycopg.connect(dsn) as conn,
                conn.cursor().copy(
                    f"COPY (SELECT * FROM t WHERE d = '{day}' LIMIT {keep}) TO STDOUT"
                ) as out,
            ):
                data = b"".join(bytes(piece) for piece in out)
            file = Path(place) / f"{n}.txt"
            file.write_bytes(data)
            file.chmod(0o644)
        host = made.fetch(
            dsn, "SELECT address FROM gp_segment_configuration WHERE content = 0 AND role = 'p'"
        )[0][0]

        def filled() -> str:
            found = parts[0]
            for n in range(2):
                found += (
                    f"SET gpcatalog_journal.read_from = 'file://{host}{place}/{n}.txt'"
                    + parts[n + 1]
                )
            return found.replace(
                "SET gpcatalog_journal.write_to = 'FILL IN'", "SET gpcatalog_journal.write_to = ''"
            )

        # the external file lacks a row: the step stops and changes nothing
        done = files.run(name, check=False, text=filled())
        assert done.returncode == 3
        assert "the copy differs: 50 rows" in done.stderr
        assert made.fetch(dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 'gpc\\_%'") == [
            (0,)
        ]
        with (
            made.psycopg.connect(dsn) as conn,
            conn.cursor().copy("COPY (SELECT * FROM t WHERE d = '2020-01-01') TO STDOUT") as out,
        ):
            (Path(place) / "0.txt").write_bytes(b"".join(bytes(piece) for piece in out))
        files.run(name, text=filled())
        assert made.rows_of(dsn, "t") == rows
        kind = "relstorage = 'x'" if fixture == "gp6_dsn" else "relkind = 'f'"
        outside = f"SELECT count(*) FROM pg_class WHERE {kind} AND relname LIKE 't\\_1\\_prt\\_%'"
        assert made.fetch(dsn, outside) == [(2,)]
        acls = made.fetch(dsn, outside.replace("count(*)", "relacl::text"))
        for (acl,) in acls:
            assert "mig_reader=" in acl
            assert ("mig_writer=" in acl) == (fixture == "gp6_dsn")
        # a role with privileges cannot be dropped: the dependencies of all of them are recorded
        depending = (
            "SELECT DISTINCT pg_get_userbyid(refobjid)::text FROM pg_shdepend WHERE classid = 1259 AND deptype = 'a'"
            " AND objid IN (SELECT oid FROM pg_class WHERE "
        )
        found = {r for (r,) in made.fetch(dsn, depending + outside.partition("WHERE ")[2] + ")")}
        assert found == {"mig_reader"} | ({"mig_writer"} if fixture == "gp6_dsn" else set())
        assert made.fetch(dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 'gpc\\_%'") == [
            (0,)
        ]
        files.run(name, text=filled())
        files.run(f"rollback/{name}")
        assert made.rows_of(dsn, "t") == rows
        assert made.fetch(dsn, outside) == [(0,)]
        assert zoo.changed(picture, zoo.picture(dsn, fixture.removesuffix("_dsn"))) == []
        assert made.fetch(
            dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 'gp_\\_%\\_x%'"
        ) == [(0,)]
    files.run("cleanup.sql")


def test_indexes_are_in_the_way(gp6_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(gp6_dsn, "mig_outside")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        " (START (date '2020-01-01') END (date '2020-01-03') EVERY (interval '1 day'))",
        "CREATE INDEX t_i ON t (id)",
        "INSERT INTO t VALUES (1, '2020-01-01')",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, COLD))
    assert files.steps == 0
    assert "indexes, which an external table cannot have" in files.refused[0].reason


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_written_out_by_the_script(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The script writes the files itself, through gpfdist, and reads them again."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_gpfdist")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        " (START (date '2020-01-01') END (date '2020-01-03') EVERY (interval '1 day'), DEFAULT PARTITION other)",
        r"INSERT INTO t SELECT i, date '2020-01-01' + i % 2, CASE i % 3 WHEN 0 THEN E'a\tb\\n\n' WHEN 1 THEN 'ü' END FROM generate_series(1, 1000) i",
        "ANALYZE t",
    )
    rows = made.rows_of(dsn, "t")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, COLD))
    files.run("0000_prepare.sql")
    name = files.forward()[0]
    text = (files.folder / name).read_text()
    with (
        tempfile.TemporaryDirectory() as place,
        gpfdist(fixture, place) as port,
    ):
        for n in range(2):
            for what in ("read_from", "write_to"):
                setting = f"SET gpcatalog_journal.{what} = 'FILL IN'"
                text = text.replace(
                    setting,
                    f"SET gpcatalog_journal.{what} = 'gpfdist://127.0.0.1:{port}/{n}.txt'",
                    1,
                )
        files.run(name, text=text)
        assert sorted(p.name for p in Path(place).iterdir()) == ["0.txt", "1.txt"]
        assert made.rows_of(dsn, "t") == rows
        files.run(f"rollback/{name}")
        assert made.rows_of(dsn, "t") == rows
    assert made.rows_of(dsn, "t") == rows
    files.run("cleanup.sql")
