"""Names, comments and bounds with dangerous characters on live servers.

No output contains them unescaped, and none of them changes the structure of an output.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families as textfile
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from gpcatalog.commands.check import CheckFormat
from gpcatalog.model.names import cut
from tests import program
from tests.report.test_report import Page

EVIL = [
    'quo"te', "it's; DROP TABLE x; --", "new\nline\r\n\ttab", "esc\x1b[31mred\x1b]8;;http://x\x07", "c1\x9b31m\x9d0;t\x9c", "del\x7f\x08",
    "<script>alert(1)</script>", "</style><img src=x onerror=1>", "\u202eltr\u2066\u200f\ufeff", "日" * 21, "back\\slash$$ $x$ $gpcatalog$",
    "`touch pwned` $(touch pwned)", "*/ x /* --", "%s%d{0}{x}", "::error::pwned", "]]>&amp;", "\\! touch pwned", "=cmd|' /c'!A1",
    ":'var' :v :\"v\"", "line\u2028sep\u2029", "\n\\! touch pwned\n", "\n::error::pwned",
]  # fmt: skip
DATABASE = "e'v\"i<l>\x1b[31m\n\u202e"
FIRST, DAYS = date(2020, 1, 30), 4  # days of two months
WRONG = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def raw(text: str) -> list[str]:
    """Control characters, bidi marks and separators that a text contains unescaped; its own line ends do not count."""
    return sorted({hex(ord(c)) for c in text if unicodedata.category(c) in WRONG and c != "\n"})


@dataclass
class Evil:
    kind: str
    dsn: str
    home: Path
    statements: list[str]

    def run(self, *words: str, cwd: Path | None = None) -> str:
        env = {**os.environ, "GPCATALOG_HOME": str(self.home), "COLUMNS": "80"}
        result = program.run(*words, timeout=280, cwd=cwd, env=env)
        assert result.returncode in (0, 1), (words, result.returncode, result.stderr[-1500:])
        assert not raw(result.stderr), (words, result.stderr)
        return result.stdout


def statements(greenplum: bool) -> list[str]:
    """DDL of one partitioned table per hostile name, which is the name or value of its schema, role, partitions, comments and bounds."""
    out: list[SQL | object] = []
    for n, name in enumerate(EVIL):
        schema, table, role = (
            Identifier(cut(name)),
            Identifier(cut(name)),
            Identifier(cut(f"{n}{name}")),
        )
        out += [
            SQL("CREATE SCHEMA {}").format(schema),
            SQL("CREATE TABLE {}.{} (id int, {} int, d date) {} PARTITION BY RANGE (d) {}").format(
                schema,
                table,
                Identifier(cut(name)),
                SQL(
                    "WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
                    if greenplum
                    else ""
                ),
                SQL(
                    f"(START (date '{FIRST}') END (date '{FIRST + timedelta(DAYS)}') EVERY (interval '1 day'))"
                    if greenplum
                    else ""
                ),
            ),
            SQL("COMMENT ON TABLE {}.{} IS {}").format(schema, table, Literal(name)),
            SQL("CREATE ROLE {}").format(role),
            SQL("ALTER TABLE {}.{} OWNER TO {}").format(schema, table, role),
        ]
        lists = Identifier(cut(f"l{name}"))
        if greenplum:
            out.append(
                SQL("CREATE TABLE {}.{} (id int, k text) DISTRIBUTED BY (id) PARTITION BY LIST (k) (PARTITION {} VALUES ({}), DEFAULT PARTITION {})").format(
                    schema, lists, Identifier(cut(f"p{n}{name}", 20)), Literal(name), Identifier(f"o{n}")
                )
            )  # fmt: skip
            continue
        out += [
            SQL("CREATE TABLE {}.{} PARTITION OF {}.{} FOR VALUES FROM ({}) TO ({})").format(
                schema,
                Identifier(cut(f"{day}{name}")),
                schema,
                table,
                Literal(f"{FIRST + timedelta(day)}"),
                Literal(f"{FIRST + timedelta(day + 1)}"),
            )
            for day in range(DAYS)
        ]
        out.append(
            SQL("CREATE TABLE {}.{} (id int, k text) PARTITION BY LIST (k)").format(schema, lists)
        )
        out.append(
            SQL("CREATE TABLE {}.{} PARTITION OF {}.{} FOR VALUES IN ({})").format(
                schema, Identifier(cut(f"p{n}{name}")), schema, lists, Literal(name)
            )
        )
    return [statement.as_string(None) for statement in out]  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def evil(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Evil:
    base = request.getfixturevalue(request.param)
    kind = request.param.removesuffix("_dsn")
    ddl = statements(kind.startswith("gp"))
    with psycopg.connect(base, autocommit=True, client_encoding="UTF8") as conn:
        conn.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(DATABASE)))
        for n, name in enumerate(EVIL):
            conn.execute(SQL("DROP ROLE IF EXISTS {}").format(Identifier(cut(f"{n}{name}"))))
        conn.execute(
            SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(
                Identifier(DATABASE)
            )
        )
    dsn = make_conninfo(base, dbname=DATABASE)
    with psycopg.connect(dsn, client_encoding="UTF8") as conn:
        for statement in ddl:
            conn.execute(statement.encode())
        for name in EVIL:
            table = SQL("{}.{}").format(Identifier(cut(name)), Identifier(cut(name)))
            conn.execute(
                SQL(
                    "INSERT INTO {} SELECT n, n, {}::date + n FROM generate_series(0, {}) n"
                ).format(table, Literal(f"{FIRST}"), Literal(DAYS - 1))
            )
    home = tmp_path_factory.mktemp("evil")
    found = Evil(kind, dsn, home / "store", ddl)
    found.run("snapshot", "take", dsn)
    return found


def newest(evil: Evil) -> str:
    return str(sorted(evil.home.rglob("*.gpcatalog"))[-1])


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--snapshot", "SNAPSHOT"],
        ["audit", "--snapshot", "SNAPSHOT", "--color", "always"],
        ["audit", "--snapshot", "SNAPSHOT", "--format", "json"],
        ["growth", "DSN"],
        ["growth", "DSN", "--format", "json"],
        ["latency", "DSN", "--no-store"],
        ["doctor", "DSN"],
        ["doctor", "DSN", "--format", "json"],
        ["estimate", "DSN", "--table", "TABLE"],
        ["estimate", "DSN", "--table", "TABLE", "--format", "json"],
        ["latency", "--snapshot", "SNAPSHOT", "--format", "json"],
        ["plan", "--snapshot", "SNAPSHOT"],
        ["plan", "--snapshot", "SNAPSHOT", "--format", "json"],
        ["snapshot", "list"],
        ["snapshot", "list", "--format", "json"],
    ],
    ids=" ".join,
)
def test_nothing_raw_is_printed(evil: Evil, words: list[str]) -> None:
    quoted = '"' + cut(EVIL[3]).replace('"', '""') + '"'
    there = {"SNAPSHOT": newest(evil), "DSN": evil.dsn, "TABLE": f"{quoted}.{quoted}"}
    output = evil.run(*(there.get(word, word) for word in words))
    assert output
    colours = re.sub(r"\x1b\[[0-9;]*m", "", output) if "always" in words else output
    assert not raw(colours)
    assert "]8;;" not in colours or "\\x1b]8;;" in colours or "\\u001b]8;;" in colours
    if "json" in words:
        json.loads(output)


@pytest.mark.parametrize(
    "evil", ["pg_dsn"], indirect=True
)  # the other servers explain names in the same way
@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_explain_finds_it_and_stays_clean(evil: Evil, name: str) -> None:
    assert not raw(
        evil.run("plan", "--snapshot", newest(evil), "--explain", f"{cut(name)}.{cut(name)}")
    )


def test_the_page(evil: Evil, tmp_path: Path) -> None:
    evil.run("report", "--snapshot", newest(evil), "--html", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert not raw(text)
    page = Page(text)
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "link", "object"} & set(page.tags)
    assert not page.outside
    assert not page.handlers
    assert "<script>alert(1)</script>" in "".join(page.words)


def test_the_metrics(evil: Evil) -> None:
    output = evil.run("metrics", "--snapshot", newest(evil), "--top", "100")
    assert not raw(output)
    families = list(textfile(output))
    assert len(families) > 5


def test_the_exported_tables(evil: Evil, tmp_path: Path) -> None:
    """CSV contains names unchanged, because other tools read it."""
    import csv

    evil.run("snapshot", "export", newest(evil), str(tmp_path / "csv"))
    with (tmp_path / "csv" / "relation.csv").open(newline="", encoding="utf-8") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    assert {cut(name) for name in EVIL} <= names


def test_the_scripts(evil: Evil, tmp_path: Path) -> None:
    """With psql, the scripts of migrate and audit do what they are written for and nothing else."""
    plan, folder = tmp_path / "plan.json", tmp_path / "sql"
    evil.run("plan", "--snapshot", newest(evil), "--format", "json", "-o", str(plan))
    assert not raw(plan.read_text())
    evil.run(
        "audit", "--snapshot", newest(evil), "--maintenance", str(tmp_path / "maintenance.sql")
    )
    planned = json.loads(plan.read_text())
    assert any(table["steps"] for table in planned["tables"])
    evil.run("migrate", str(plan), "-o", str(folder), evil.dsn)
    files = sorted(folder.rglob("*.sql"))
    assert len(files) > 3
    for file in (*files, tmp_path / "maintenance.sql"):
        assert not raw(file.name)
        for line in file.read_text().split("\n"):
            if line.lstrip().startswith("--"):
                assert not raw(line), (file.name, line)
    evil.run(
        "migrate",
        str(plan),
        "-o",
        str(tmp_path / "plain"),
        evil.dsn,
        "--runner",
        "plain",
    )
    assert not raw((tmp_path / "plain" / "index.txt").read_text())
    before = leaves(evil)
    run = [
        folder / "0000_prepare.sql",
        *sorted(
            p
            for p in folder.glob("*.sql")
            if re.match(r"\d{4}_", p.name) and "prepare" not in p.name
        ),
    ]
    psql(evil, tmp_path, *run, folder / "verify.sql")
    after = leaves(evil)
    assert after < before
    psql(evil, tmp_path, *sorted((folder / "rollback").glob("*.sql")))
    assert leaves(evil) > after
    psql(
        evil,
        tmp_path,
        *run,
        folder / "verify.sql",
        folder / "cleanup.sql",
        tmp_path / "maintenance.sql",
    )
    assert leaves(evil) == after
    assert not list(tmp_path.rglob("pwned*"))


def psql(evil: Evil, cwd: Path, *files: Path) -> None:
    """Run files with psql, as their users are instructed to."""
    assert files
    for file in files:
        done = subprocess.run(
            [program.PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", evil.dsn, "-f", str(file)],
            capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, "PGCLIENTENCODING": "UTF8"},
        )  # fmt: skip
        assert done.returncode == 0, (file.name, done.stderr[-1500:])


def leaves(evil: Evil) -> int:
    catalog = "pg_partition_rule" if evil.kind == "gp6" else "pg_class WHERE relispartition"
    with psycopg.connect(evil.dsn) as conn:
        row = conn.execute(f"SELECT count(*) FROM pg_catalog.{catalog}".encode()).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.parametrize("format", [one.value for one in CheckFormat])
def test_check(evil: Evil, tmp_path: Path, format: str) -> None:
    (tmp_path / "it's <evil>\x1b[31m\n::error::pwned.sql").write_text(
        ";\n".join(evil.statements) + ";\n"
    )
    server = {"gp6": "greenplum6", "gp7": "greenplum7", "pg": "postgres15", "pgnew": "postgres18"}[
        evil.kind
    ]
    output = evil.run(
        "check",
        ".",
        "--server",
        server,
        "--format",
        format,
        "--max-leaves",
        "3",
        "--fail-on",
        "critical",
        cwd=tmp_path,
    )
    assert output.strip()
    assert not raw(output)
    if format in ("json", "sarif", "gitlab"):
        json.loads(output)
    if format == "junit":
        ET.fromstring(output)
    if format == "github":
        for line in output.splitlines():
            assert re.match(r"::(error|warning|notice) |[^:]", line), line
    assert not list(tmp_path.rglob("pwned*"))
