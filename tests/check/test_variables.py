r"""psql's variables and \if, and placeholders of migration tools, compared with what psql does with the same script."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpcatalog.check import inputs
from gpcatalog.check.report import CheckReport
from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.script import Source
from gpcatalog.errors import CatalogError
from tests.check.test_formats import app, call, git
from tests.conftest import fresh_database
from tests.migration.made import fetch
from tests.program import PSQL

SCRIPTS = {
    "names and literals": (
        "CREATE TABLE :\"t\" (a int, b text DEFAULT :'word');\nCREATE TABLE x_:n (a int, b text DEFAULT ':n', c int[] DEFAULT '{1}');\n"
        "SELECT (ARRAY[1,2,3])[1:2], 1::int;\n",
        {"t": "Odd Name", "word": "it's", "n": "7"},
    ),
    "a clause": (
        "CREATE TABLE t (a int) :how;\nCREATE TABLE u (a int) :none;\n",
        {"how": "WITH (fillfactor=50)", "none": ""},
    ),
    "several statements": (
        ":all CREATE TABLE c (a text);\n",
        {"all": "CREATE TABLE a (a int); CREATE TABLE b (a int);"},
    ),
    "values in values": ("CREATE TABLE :a;\n", {"a": "t_:b (:c)", "b": "1", "c": "a text"}),
    "set": (
        "\\set n 3\n\\set cols 'a int' ', ' 'b text'\n\\set both :n :n\nCREATE TABLE t_:n (:cols);\nCREATE TABLE u_:both (a int);\n",
        {},
    ),
    "set what was given": ("\\set n 3\nCREATE TABLE t_:n (a text);\n", {"n": "4"}),
    "unset": (
        "\\unset n\n\\if :{?n}\nCREATE TABLE a (a text);\n\\else\nCREATE TABLE b (a int);\n\\endif\n",
        {"n": "4"},
    ),
    "branches": (
        "\\if :yes\nCREATE TABLE a (a int);\n\\if :no\nCREATE TABLE b (a text);\n\\elif tru\nCREATE TABLE c (a text);\n\\else\n"
        "CREATE TABLE d (a text);\n\\endif\n\\else\nCREATE TABLE e (a text);\n\\if :yes\nCREATE TABLE f (a text);\n\\endif\n\\endif\n"
        "CREATE TABLE g (a int);\n",
        {"yes": "on", "no": "0"},
    ),
    "quit": (
        "CREATE TABLE a (a int);\n\\if no\n\\q\n\\endif\nCREATE TABLE b (a int);\n\\q\nCREATE TABLE c (a text);\n",
        {},
    ),
    "commands that do not run the buffer": (
        "CREATE TABLE q (a int);\n\\copy q from stdin\n1\n2\n\\.\nCREATE TABLE z (a text);\nCREATE TABLE a (a int) \\gdesc\n"
        "CREATE TABLE b (a int) \\p\\r\nCREATE TABLE c (a int) \\p\n;\n\\pset format csv \\timing\nCREATE TABLE d (a text);\n",
        {},
    ),
    "within a statement": (
        "CREATE TABLE t (a int\n\\if :more\n, b text\n\\else\n, b int, c int\n\\endif\n);\nCREATE TABLE u (a int);\n",
        {"more": "false"},
    ),
    "semicolons in a branch that does not run": (
        "\\if no\nCREATE TABLE a (a int); CREATE TABLE b (a int);\n\\set x 1\n\\endif\n"
        "\\if :{?x}\nCREATE TABLE c (a int);\n\\endif\nCREATE TABLE d (a text);\n",
        {},
    ),
    "two commands on a line": (
        "\\set a 1 \\\\ CREATE TABLE t_:a (a int);\n\\if 1 \\\\ CREATE TABLE u (a text); \\endif\n",
        {},
    ),
}


def checked(text: str, values: dict[str, str], server: str = "postgres15") -> CheckReport:
    return run([Source(text, "f.sql", values=values)], Settings(server=server), values=values)


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_psql(name: str, pg_dsn: str, tmp_path: Path) -> None:
    text, values = SCRIPTS[name]
    dsn = fresh_database(pg_dsn, "ddl_variables")
    (tmp_path / "f.sql").write_text(text)
    count = "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute)"
    ((classes, attributes),) = fetch(dsn, count)
    given = [word for pair in values.items() for word in ("-v", "=".join(pair))]
    done = subprocess.run(
        [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", *given, "-d", dsn, "-f", tmp_path / "f.sql"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ((classes_after, attributes_after),) = fetch(dsn, count)
    report = checked(text, values)
    assert [
        f.finding.title
        for f in report.findings
        if f.finding.rule in ("syntax-error", "value-unknown", "cost-unknown")
    ] == []
    assert report.total.complete
    rows = report.total.rows_coordinator
    assert (rows["pg_class"], rows["pg_attribute"]) == (
        classes_after - classes,
        attributes_after - attributes,
    )


def test_a_value_that_is_missing() -> None:
    """If a clause or bound has no value, the statement is unknown, not an error, and the finding names the missing value."""
    text = (
        "CREATE TABLE t (a int) :DISTRIBUTED_BY;\nCREATE TABLE u (a int) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (1) END (:days)"
        " EVERY (1));\nINSERT INTO t VALUES (:x);\nALTER TABLE t ADD COLUMN b text;\n"
    )
    report = checked(text, {}, "greenplum6")
    found = [
        (f.finding.rule, f.line, f.finding.remedy)
        for f in report.findings
        if f.finding.rule in ("value-unknown", "cost-unknown")
    ]
    assert found == [
        ("cost-unknown", 1, "check with --set DISTRIBUTED_BY=VALUE"),
        ("value-unknown", 2, "check with --set days=VALUE"),
        (
            "cost-unknown",
            4,
            "give --baseline, or check this file together with the files that create the table",
        ),
    ]
    assert [s.cost.complete for s in report.statements] == [False, False, True, False]
    assert report.errors == 0
    values = {"DISTRIBUTED_BY": "DISTRIBUTED BY (a)", "days": "4"}
    report = checked(text, values, "greenplum6")
    assert report.total.complete
    assert report.total.leaves == 4


def test_a_condition_that_is_not_known() -> None:
    r"""If the condition of \if is not known, both branches are read: the first is counted, and the total is incomplete."""
    text = "\\if :gp\nCREATE TABLE t (a int);\n\\else\nCREATE TABLE t (a text);\nCREATE TABLE (a int);\n\\endif\nCREATE TABLE u (a int);\n"
    report = checked(text, {})
    assert [s.cost.complete for s in report.statements] == [False, False, False, True]
    assert [s.cost.relations for s in report.statements] == [1, 0, 0, 1]
    assert [f.line for f in report.findings if f.finding.rule == "syntax-error"] == [5]


def test_variables_go_into_included_files(here: Path) -> None:
    (here / "one.sql").write_text(
        "CREATE TABLE :s.t_:n (a int) DISTRIBUTED BY (a);\n\\set n 9\n\\i two.sql\nCREATE TABLE u_:n (a int) DISTRIBUTED BY (a);"
    )
    (here / "two.sql").write_text("CREATE TABLE v_:n (a int) DISTRIBUTED BY (a);\n\\set n 10\n")
    code, out = call(
        "one.sql", "--server", "greenplum6", "--set", "s=x", "--set", "n=1", "--format", "json"
    )
    assert code == 0, out
    tables = [s["table"] for s in json.loads(out)["statements"]]
    assert tables == ["x.t_1", "v_9", "u_10"]
    with pytest.raises(CatalogError, match="--set n: expected NAME=VALUE"):
        call("one.sql", "--set", "n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "flyway.conf",
            "# a comment\nflyway.url=jdbc:x\nflyway.placeholders.how = DISTRIBUTED BY (a)\nflyway.placeholders.SCHEMA=s\n",
        ),
        ("flyway.toml", '[flyway.placeholders]\nhow = "DISTRIBUTED BY (a)"\nschema = "s"\n'),
        ("liquibase.properties", "url: x\nparameter.how=DISTRIBUTED BY (a)\nparameter.schema=s\n"),
    ],
)
def test_property_files(name: str, text: str, here: Path) -> None:
    (here / "sql").mkdir()
    (here / "sql" / "V1__a.sql").write_text(
        "CREATE TABLE ${schema}.t_${schema} (a int) ${how};\nCREATE TABL ${schema}.u (a int);"
    )
    code, out = call("sql", "--server", "greenplum6")
    assert "V1__a.sql:1:1: info cost-unknown: cost not fully known: value of how" in out
    assert "check with --set how=VALUE" in out
    for folder in (here, here / "sql"):
        (folder / name).write_text(text)
        code, out = call("sql", "--server", "greenplum6", "--format", "json")
        assert code == 1
        report = json.loads(out)
        assert report["statements"][0]["table"] == "s.t_s"
        assert report["total"]["complete"] is False  # because of the second statement
        (error,) = [f for f in report["findings"] if f["finding"]["rule"] == "syntax-error"]
        assert (error["line"], error["column"]) == (2, 8)
        (folder / name).unlink()
    (here / "flyway.toml").write_text("[flyway")
    with pytest.raises(CatalogError, match=r"flyway\.toml: "):
        call("sql")


def test_liquibase() -> None:
    text = (
        "--liquibase formatted sql\n--property name:s value:sales\n--changeset a:1 dbms:oracle\nCREATE TABLE x (a NUMBER);\n"
        "--changeset a:2 dbms:postgresql endDelimiter:/\nCREATE TABLE ${s}.t (a int)\n/\nCREATE TABLE u (a int)\n/\n--rollback DROP TABLE u;\n"
        "--changeset a:3 dbms:!postgresql\nCREATE TABLE y (a NUMBER);\n--changeset a:4 dbms:!oracle,!h2\nCREATE TABLE v (a int);\n"
    )
    source = inputs._filled(text, "c.sql", None, {})
    report = run([source], Settings(server="postgres15"))
    assert [s.table for s in report.statements] == ["sales.t", "u", "v"]
    assert report.errors == 0
    assert [s.line for s in report.statements] == [6, 8, 14]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_encodings(encoding: str, here: Path) -> None:
    (here / "f.sql").write_bytes(
        "CREATE TABLE straße (größe int) DISTRIBUTED BY (größe);\nSELEC 1;\n".encode(encoding)
    )
    code, out = call("f.sql", "--server", "greenplum6")
    assert code == 1
    assert "f.sql:2:1: critical syntax-error" in out
    assert out.count("critical") == 1


def test_schemas() -> None:
    """search_path determines the schema of a table; DROP SCHEMA … CASCADE drops the objects in it."""
    text = (
        "DROP SCHEMA IF EXISTS s CASCADE;\nCREATE SCHEMA s;\nSET search_path TO s, public;\nCREATE TABLE t (a int);\nCREATE VIEW v AS SELECT a FROM t;\n"
        "CREATE SEQUENCE q;\nSET search_path = public;\nCREATE TABLE t (a int, b text);\nALTER TABLE t ADD COLUMN c text;\nALTER TABLE s.t ADD COLUMN d int;\n"
        "DROP SCHEMA s CASCADE;\nDROP TABLE t;\n"
    )
    report = checked(text, {})
    assert report.total.complete
    assert report.total.rows_coordinator.get("pg_class", 0) == 0
    assert not checked("DROP SCHEMA s CASCADE;", {}).total.complete


def test_undo_scripts(here: Path) -> None:
    """Undo scripts of Flyway in a folder are read, but not counted; they are counted if they are named."""
    (here / "sql").mkdir()
    (here / "sql" / "V1__a.sql").write_text("CREATE TABLE t (a int) DISTRIBUTED BY (a);")
    (here / "sql" / "U1__a.sql").write_text("DROP TABLE t; DROP TABLE (;")
    code, out = call("sql", "--server", "greenplum6")
    assert code == 1
    assert "the change on gp6: 1 leaf" in out
    assert "U1__a.sql:1:26: critical syntax-error" in out
    code, out = call("sql/V1__a.sql", "sql/U1__a.sql", "--server", "greenplum6")
    assert "1 lea" not in out


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_changed_files_without_their_history(here: Path) -> None:
    """An ALTER of a table that an earlier file creates is unknown without the folder, and counted with it."""

    (here / "sql").mkdir()
    (here / "sql" / "1.sql").write_text(
        "CREATE TABLE t (a int) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (1) END (3) EVERY (1));\n"
    )
    git(here, "init", "-q")
    git(here, "add", "-A")
    git(here, "commit", "-qm", "one")
    (here / "sql" / "2.sql").write_text("ALTER TABLE t ADD PARTITION x START (3) END (4);\n")
    git(here, "add", "-A")
    git(here, "commit", "-qm", "two")
    alone = CliRunner().invoke(
        app, ["check", "--diff", "HEAD~1", "--server", "greenplum6", "--fail-on", "never"]
    )
    assert "add their folder: gpcatalog check FOLDER --diff HEAD~1" in alone.output
    assert "without unknown effects of 1 statement" in alone.output
    code, out = call("sql", "--diff", "HEAD~1", "--server", "greenplum6", "--fail-on", "never")
    assert code == 0
    assert "the change on gp6: 1 leaf" in out


def test_a_name_without_its_value_costs_the_same() -> None:
    """A schema or a part of a name without a value does not change the cost; a type, a clause or a bound does."""
    named = "CREATE TABLE ${schema}.t_${env} (a int);\nALTER TABLE ${schema}.t_${env} OWNER TO ${owner};\nCREATE INDEX ON ${schema}.t_${env} (a);\n"
    assert checked(named, {}).total.complete
    assert checked(named.replace("${schema}.t_${env}", ":schema.t"), {}).total.complete
    for text in (
        "CREATE TABLE t (a ${type});",
        "CREATE TABLE t (a :type);",
        "CREATE TABLE t (a int) ${tail};",
        "CREATE TABLE ${t} (a int);",
    ):
        report = checked(text, {})
        assert not report.total.complete, text
        assert report.errors == 0


# cases from a review: (text, values, tables that are counted, whether the count is complete)
REVIEWED = {
    "a lone quote": ("\\set '\n\\set \"\n\\set `\nCREATE TABLE t (a int);\n", {}, 1, True),
    "variables that name each other": ("\\set a ':b :b'\n\\set b ':a :a'\nCREATE TABLE t:a (b int);\nCREATE TABLE u (a int);\n", {}, None, False),
    "a value set in a branch that may run": (
        "\\set n 3\n\\if :big\n\\set n 300\n\\endif\nCREATE TABLE t (a int) :n;\nCREATE TABLE u (a int);\n", {}, 2, False),
    "a branch after one that may run and one that does not": (
        "\\if :u\n\\elif false\n\\else\nCREATE TABLE t (a int);\n\\endif\n", {}, 0, False),
    "a rename in a branch that may run": (
        "CREATE TABLE t (a int);\nCREATE TABLE u (a int, b text);\n\\if :x\nALTER TABLE t RENAME TO v;\nALTER TABLE u RENAME TO t;\n\\endif\n"
        "DROP TABLE t;\n", {}, None, False),
    "a variable that is set, its value unknown": (
        "\\set x `date`\n\\if :{?x}\nCREATE TABLE t (a int);\n\\endif\nSELECT 1 AS y \\gset\n\\if :{?y}\nCREATE TABLE u (a int);\n\\endif\n",
        {}, 2, True),
    "a variable of the environment": ("\\getenv n N\n\\if :{?n}\n\\else\nCREATE TABLE t (a int);\n\\endif\n", {}, None, False),
    "names that differ by a value": ("CREATE TABLE IF NOT EXISTS t_:a (i int);\nCREATE TABLE IF NOT EXISTS t_:b (i int);\n", {}, 2, True),
    "a condition in SQL of a skipped branch": (
        "\\if :{?a}\nSELECT NOT :{?x} AS nox \\gset\n\\else\nCREATE TABLE t (a int);\n\\endif\n", {}, 1, True),
    "tenants": (
        "SET search_path=a; DROP TABLE IF EXISTS t; CREATE TABLE t(i int); SET search_path=b; DROP TABLE IF EXISTS t; CREATE TABLE t(i int);",
        {}, 2, True),
    "a schema that was renamed": (
        "ALTER SCHEMA live RENAME TO old; CREATE SCHEMA live; CREATE TABLE live.t (i int); DROP SCHEMA IF EXISTS old CASCADE;", {}, 1, False),
    "a partition in another schema": (
        "CREATE SCHEMA s; CREATE TABLE s.p (i int) PARTITION BY RANGE (i); CREATE TABLE p1 PARTITION OF s.p FOR VALUES FROM (1) TO (2);"
        " DROP SCHEMA s CASCADE;", {}, 0, True),
    "views of the same name elsewhere": (
        "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (i int); CREATE TABLE b.t (i int); CREATE VIEW b.v AS SELECT i FROM b.t;"
        " DROP SCHEMA a CASCADE;", {}, 2, True),
    "a schema that may exist": ("CREATE SCHEMA IF NOT EXISTS s; DROP SCHEMA s CASCADE;", {}, 0, False),
    "a view by its schema": ("CREATE VIEW v AS SELECT 1 AS a; DROP VIEW IF EXISTS public.v;", {}, 0, True),
    "a view of a renamed table": (
        "CREATE TABLE t (i int); CREATE VIEW v AS SELECT i FROM t; ALTER TABLE t RENAME TO o; DROP TABLE o CASCADE;", {}, 0, True),
    "a sequence and a view that move": (
        "CREATE SCHEMA s; CREATE SEQUENCE q; CREATE VIEW v AS SELECT 1 AS a; ALTER SEQUENCE q SET SCHEMA s; ALTER VIEW v SET SCHEMA s;"
        " DROP SCHEMA s CASCADE;", {}, 0, True),
    "a storage setting without a value": ("SET default_table_access_method = :am;\nCREATE TABLE t (a int);\n", {}, None, False),
}  # fmt: skip


@pytest.mark.parametrize("name", REVIEWED)
def test_reviewed(name: str) -> None:
    text, values, classes, complete = REVIEWED[name]
    report = checked(text, values, "greenplum7" if "storage" in name else "postgres15")
    assert [
        f.finding.title
        for f in report.findings
        if f.finding.rule in ("syntax-error", "internal-error")
    ] == []
    assert report.total.complete is complete, [s.unknown for s in report.statements]
    if classes is not None:
        assert report.total.rows_coordinator.get("pg_class", 0) == classes


def test_a_file_included_twice(here: Path) -> None:
    r"""A file included twice runs twice, as in psql; an open \if of the file ends with the file."""
    (here / "main.sql").write_text(
        "\\set n 1\n\\i one.sql\n\\set n 2\n\\i one.sql\nCREATE TABLE u (a int) DISTRIBUTED BY (a);\n"
    )
    (here / "one.sql").write_text("CREATE TABLE t_:n (a int) DISTRIBUTED BY (a);\n\\if 0\n")
    out = call("main.sql", "--server", "greenplum6", "--format", "json")[1]
    assert [s["table"] for s in json.loads(out)["statements"]] == ["t_1", "t_2", "u"]


def test_quit_ends_one_file(here: Path) -> None:
    (here / "main.sql").write_text(
        "\\i one.sql\nCREATE TABLE b (a int);\n\\quit\nCREATE TABLE c (a int);\n"
    )
    (here / "one.sql").write_text("CREATE TABLE a (a int);\n\\q\nCREATE TABLE c (a int);\n")
    out = call("main.sql", "--server", "postgresql18", "--format", "json")[1]
    assert [s["table"] for s in json.loads(out)["statements"]] == ["a", "b"]


def test_ignore_comments_keep_their_statement(here: Path) -> None:
    (here / "vars.sql").write_text("\\set prod off\n")
    (here / "f.sql").write_text(
        "\\i vars.sql\n\\if :prod\nCREATE TABLE a (i int);\n\\endif\n-- gpcatalog: ignore exclusive-without-lock-timeout planned\n"
        "DROP TABLE old1;\nDROP TABLE old2; -- gpcatalog: ignore cost-unknown on its line\n"
    )
    out = call("f.sql", "--server", "greenplum6", "--format", "json")[1]
    found = [(f["finding"]["rule"], f["line"]) for f in json.loads(out)["findings"]]
    assert ("exclusive-without-lock-timeout", 7) in found
    assert ("exclusive-without-lock-timeout", 6) not in found
    assert ("cost-unknown", 6) in found
    assert ("cost-unknown", 7) not in found
