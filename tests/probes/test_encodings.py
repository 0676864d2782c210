"""Names that are not UTF-8: any bytes in databases without an encoding (SQL_ASCII).

Greenplum does not allow these databases; there, the names are in ISO-8859-1.
"""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from gpcatalog.probes import library
from tests.test_cli import run

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]
CLASSIC = b'CREATE TABLE "caf\xe9" (a int, "b\xff" text) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (1) END (9) EVERY (2))'


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    """A database with tables whose names are encoded in ISO-8859-1 and in UTF-8."""
    dsn = str(request.getfixturevalue(request.param))
    encoding = "LATIN1" if request.param.startswith("gp") else "SQL_ASCII"
    here = dsn.rsplit("dbname=", 1)[0] + "dbname=bytes"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS bytes")
        conn.execute(f"CREATE DATABASE bytes ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")  # fmt: skip
    with psycopg.connect(here, autocommit=True, client_encoding=encoding) as conn:
        if request.param.startswith("gp"):
            conn.execute(CLASSIC)
        else:
            conn.execute(b'CREATE TABLE "caf\xe9" (a int, "b\xff" text) PARTITION BY RANGE (a)')
            for n in range(1, 9, 2):
                bounds = b"FOR VALUES FROM (%d) TO (%d)" % (n, n + 2)
                conn.execute(b'CREATE TABLE "caf\xe9_%d" PARTITION OF "caf\xe9" %s' % (n, bounds))
        conn.execute(b'CREATE VIEW "\xc4\xd6" AS SELECT a AS "\xdc" FROM "caf\xe9"')
        conn.execute(b'CREATE INDEX "i\xe9" ON "caf\xe9" (a)')
        conn.execute(
            "CREATE TABLE größe (a int)".encode("latin-1" if encoding == "LATIN1" else "utf-8")
        )
    return here


def test_any_bytes(database: str, tmp_path: Path) -> None:
    name = "café" if "gpadmin" in database else "caf\ufffde9"
    file = str(tmp_path / "s.gpcatalog")
    result = run("audit", database, "--save", file, "--no-store", "--format", "json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert {c["probe"]: c["reason"] for c in report["coverage"] if c["status"] not in ("read", "not applicable")} == {}  # fmt: skip
    assert report["census"]["partitioned_tables"] == 1
    assert report["census"]["leaves"] == 4
    assert {t["name"] for t in report["tables"]} >= {name, "größe"}
    text = run("audit", "--snapshot", file)
    assert name in text.stdout
    page = tmp_path / "page.html"
    assert run("report", "--snapshot", file, "--html", str(page)).returncode == 0
    assert name in page.read_text()
    plan = run("plan", "--snapshot", file, "--format", "json")
    assert plan.returncode == 0, plan.stderr
    (table,) = json.loads(plan.stdout)["tables"]
    assert ("bytes that are not UTF-8" in (table.get("alone") or "")) == (name != "café")
    change = tmp_path / "change.sql"
    change.write_text("ALTER TABLE größe ADD COLUMN b int;\nDROP TABLE größe;\n")
    checked = run(
        "check", str(change), "--baseline", file, "--format", "json", "--fail-on", "never"
    )
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["total"]["leaves"] == -1


def test_what_is_sent_is_plain_ascii() -> None:
    """A database of any encoding must be able to read every statement, including comments."""
    for file in sorted(library.folder().rglob("*")):
        if file.is_file():
            assert file.read_bytes().isascii(), file
