"""The command `check` and its output formats: exit codes, valid documents, text that is safe for terminals."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.commands.check import check
from gpcatalog.errors import CatalogError

app = typer.Typer()
app.command("check")(check)
app.command("other")(lambda: None)
BAD = "CREATE TABLE t (a int);\n-- \x1b[31m\nSELECT 'é\x1b[2J' FROM WHERE;\nCREATE TABLE u (a int) DISTRIBUTED BY (a);\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, with a test user; skips the test if git is not installed."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def call(*words: str, text: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["check", *words], input=text)
    if isinstance(result.exception, CatalogError):
        raise result.exception
    return result.exit_code, result.stdout


def test_a_time_zone_that_does_not_exist(here: Path) -> None:
    (here / "bad.sql").write_text(BAD)
    snapshot = str(Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog")
    for more in ((), ("--baseline", snapshot)):
        with pytest.raises(CatalogError, match="unknown time zone 'Nope'"):
            call("bad.sql", "--time-zone", "Nope", *more)


def test_text_has_line_caret_and_totals(here: Path) -> None:
    (here / "bad.sql").write_text(BAD)
    code, out = call("bad.sql")
    assert code == 1
    assert "bad.sql:1:14: warning distribution-missing:" in out
    assert "  1 | CREATE TABLE t (a int);\n    |              ^\n" in out
    assert "\x1b" not in out
    assert "\\x1b[2J" in out
    assert out.splitlines()[-1].startswith("2 findings")
    assert "(2 parsed, 0 unknown, 1 with errors)" in out


def test_exit_codes(here: Path) -> None:
    (here / "good.sql").write_text("CREATE TABLE u (a int) DISTRIBUTED BY (a);")
    (here / "bad.sql").write_text("CREATE TABLE u (a int);")
    assert call("good.sql")[0] == 0
    assert call("bad.sql")[0] == 1
    assert call("bad.sql", "--fail-on", "critical")[0] == 0
    assert call("bad.sql", "--fail-on", "never")[0] == 0
    assert call("-", text="SELEC 1")[0] == 1
    with pytest.raises(CatalogError, match="no such file"):
        call("missing.sql")
    with pytest.raises(CatalogError, match="no file to check"):
        call()
    with pytest.raises(CatalogError, match="unknown server"):
        call("good.sql", "--server", "oracle")


def test_json(here: Path) -> None:
    (here / "bad.sql").write_text(BAD)
    _, out = call("bad.sql", "--format", "json")
    report = json.loads(out)
    assert report["schema"] == "gpcatalog.check/1"
    assert report["findings"][0]["finding"]["severity"] == "warning"
    assert report["total"]["leaves"] == 2


def test_sarif(here: Path) -> None:
    (here / "bad name.sql").write_text(BAD)
    log = json.loads(call("bad name.sql", "--format", "sarif")[1])
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({r["id"] for r in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        location = result["locations"][0]["physicalLocation"]
        assert location["artifactLocation"]["uri"] == "bad%20name.sql"
        region = location["region"]
        assert (region["startLine"], region["startColumn"]) < (
            region["endLine"],
            region["endColumn"],
        )
    marks = [r["partialFingerprints"]["gpcatalogCheck/v1"] for r in run["results"]]
    assert len(set(marks)) == len(marks)


def test_github(here: Path) -> None:
    (here / "a,b.sql").write_text(BAD)
    out = call("a,b.sql", "--format", "github")[1]
    assert all(
        re.match(r"::(error|warning|notice) file=a%2Cb\.sql,line=\d+,endLine=\d+", line)
        for line in out.splitlines()
    )
    assert len(out.splitlines()) == 2


def test_gitlab(here: Path) -> None:
    (here / "bad.sql").write_text(BAD * 2)
    issues = json.loads(call("bad.sql", "--format", "gitlab")[1])
    # one of them: the second table exists already
    assert len({i["fingerprint"] for i in issues}) == len(issues) == 5
    assert {i["severity"] for i in issues} <= {"info", "minor", "major", "critical", "blocker"}


def test_junit(here: Path) -> None:
    (here / "bad.sql").write_text(BAD)
    (here / "good.sql").write_text("SELECT 1;")
    root = ET.fromstring(call("bad.sql", "good.sql", "--format", "junit")[1])
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")


def test_folders_globs_placeholders_and_order(here: Path) -> None:
    folder = here / "migrations"
    folder.mkdir()
    (folder / "V10__drop.sql").write_text("DROP TABLE ${schema}.t;")
    (folder / "V2__make.sql").write_text(
        "--liquibase formatted sql\n--changeset me:1\nCREATE TABLE ${schema}.t (a int) DISTRIBUTED BY (a);\n--rollback DROP TABLE t;\n"
    )
    code, out = call("migrations")
    assert code == 0
    # files are ordered by version: V10 may drop what V2 creates
    assert "2 files, 2 statements (2 parsed" in out
    assert call("migrations/V*.sql")[1] == out
    (here / "model.sql").write_text("SELECT * FROM {{ ref('x') }}")
    code, out = call("model.sql")
    assert code == 1
    assert "file-not-read: not read: a template with Jinja, such as a dbt model;" in out


@pytest.mark.parametrize(
    ("given", "tables"),
    [
        ((), {"everywhere", "prod", "not_test", "either", "version2"}),
        (("--set", "liquibase.contexts=prod"), {"everywhere", "prod", "not_test", "version2"}),
        (("--set", "liquibase.contexts=test"), {"everywhere", "version2"}),
        (
            ("--set", "liquibase.contexts=Demo, prod"),
            {"everywhere", "prod", "not_test", "either", "version2"},
        ),
        (("--set", "liquibase.labels=v1 or v3"), {"everywhere", "prod", "not_test", "either"}),
        (
            ("--set", f"liquibase.labels={'(' * 5000}v1"),
            {"everywhere", "prod", "not_test", "either"},
        ),
    ],
)
def test_contexts_and_labels_of_liquibase(
    here: Path, given: tuple[str, ...], tables: set[str]
) -> None:
    """As in Liquibase, all changesets run if no contexts and no label filter are set, and a changeset without a context always runs."""
    heads = {
        "everywhere": "",
        "prod": " context:prod",
        "not_test": ' contextFilter:"!test and not (qa or dev)"',
        "either": ' context:"demo,x"',
    }
    heads["version2"] = " labels:v2,v4"
    text = "".join(
        f"--changeset me:{n}{head}\nCREATE TABLE {n} (a int);\n" for n, head in heads.items()
    )
    (here / "all.sql").write_text("--liquibase formatted sql\n" + text)
    report = json.loads(call("all.sql", "--server", "postgres15", "--format", "json", *given)[1])
    assert {s["table"] for s in report["statements"]} == tables
    (here / "liquibase.properties").write_text("liquibase.command.contexts = test\n")
    report = json.loads(call("all.sql", "--server", "postgres15", "--format", "json")[1])
    assert {s["table"] for s in report["statements"]} == {"everywhere", "version2"}


def test_files_that_psql_reads_and_files_that_nobody_reads(here: Path) -> None:
    folder = here / "ddl"
    (folder / "sub").mkdir(parents=True)
    (folder / "main.sql").write_text(
        "\\ir sub/one.sql\n\\ir sub/none.sql\n\\ir main.sql\nCREATE TABLE m (a int) DISTRIBUTED BY (a);\n"
        "SELECT format('CREATE TABLE x%s (a int)', i) FROM generate_series(1, 3) i \\gexec\n"
    )
    (folder / "sub" / "one.sql").write_text("CREATE TABLE o (a int) DISTRIBUTED BY (a);\n")
    (folder / "Other.DDL").write_text(
        "CREATE TABLE d (a int DEFAULT 1, b int[] DEFAULT '{{1}}') DISTRIBUTED BY (a);\n"
    )
    (folder / "changes.yaml").write_text("databaseChangeLog:\n  - changeSet: {id: 1}\n")
    (folder / "package.json").write_text("{}")
    code, out = call("ddl", "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert report["total"]["leaves"] == 3  # each file is counted once
    assert report["total"]["complete"] is False
    titles = [
        f["finding"]["title"] for f in report["findings"] if f["finding"]["rule"] == "file-not-read"
    ]
    assert len(titles) == 3
    assert "includes itself" in " ".join(titles)
    assert "cannot read" in " ".join(titles)
    assert "a Liquibase changelog" in " ".join(titles)
    assert any("gexec" in reason for s in report["statements"] for reason in s["unknown"])


def test_diff(here: Path) -> None:
    git(here, "init", "-q")
    file = here / "x.sql"
    file.write_text("CREATE TABLE a (x int);\n")
    git(here, "add", ".")
    git(here, "commit", "-qm", "one")
    file.write_text("CREATE TABLE a (x int);\nCREATE TABLE b (x int);\n")
    code, out = call("x.sql", "--diff", "HEAD")
    assert code == 1
    assert "x.sql:2:14" in out
    assert "x.sql:1:" not in out
    assert call("--diff", "HEAD")[1] == out
    with pytest.raises(CatalogError, match="git diff"):
        call("x.sql", "--diff", "nowhere")


NAMES = [
    "таблица.sql",
    "sp ace.sql",
    'q"t.sql',
    "a\ttab.sql",
    "new\nline.sql",
    "[a]*.sql",
    "back\\slash.sql",
    "deep/er.sql",
    "no\udcff.sql",
]


@pytest.mark.parametrize(
    "setting", ["", "diff.mnemonicPrefix=true", "diff.noprefix=true", "core.quotePath=false"]
)
def test_diff_of_any_file_name(here: Path, setting: str) -> None:
    """--diff reads file names that git quotes, and lines of a file that look like the diff header of another file."""

    git(here, "init", "-q")
    if setting:
        git(here, "config", *setting.split("="))
    (here / "deep").mkdir()
    for name in [*NAMES, "other.sql"]:
        (here / name).write_text("CREATE TABLE a (x int);\n")
    git(here, "add", ".")
    git(here, "commit", "-qm", "one")
    for name in NAMES:
        heading = "/*\n++ b/other.sql\n++ other.sql\n@@ -1 +900 @@\n*/"
        (here / name).write_text(f"{heading}\nCREATE TABLE a (x int);\n\nCREATE TABLE b (x int);")
    code, out = call("--diff", "HEAD", "--format", "json")
    assert code == 1
    places = {(f["file"], f["line"]) for f in json.loads(out)["findings"]}
    assert {file for file, _ in places} == {name.replace("\udcff", "\\xff") for name in NAMES}
    assert {line for _, line in places} == {8}
    (here / "moved.sql").write_text((here / "other.sql").read_text() * 3)
    (here / "other.sql").unlink()
    git(here, "add", ".")
    assert call("moved.sql", "--diff", "HEAD")[0] == 1


def test_settings_file_and_output(here: Path) -> None:
    (here / "gpcatalog.toml").write_text("[check]\ndisable = ['distribution-missing']\n")
    (here / "bad.sql").write_text("CREATE TABLE t (a int);")
    assert call("bad.sql", "--output", "out.json", "--format", "json") == (0, "")
    assert json.loads((here / "out.json").read_text())["findings"] == []
    assert call("bad.sql", "--disable", "heap-fact")[0] == 0


def test_rules_are_listed() -> None:
    code, out = call("--rules")
    assert code == 0
    assert "budget-exceeded\n" in out
    assert out.count("\nWhat to do\n") > 20


def test_a_table_of_settings_that_does_not_exist(here: Path) -> None:
    (here / "gpcatalog.toml").write_text("[chek]\nsegments = 3\n")
    with pytest.raises(
        CatalogError, match=r"gpcatalog\.toml: \[chek\] is not a valid table in this file"
    ):
        call("-", text="SELECT 1;")


def test_what_the_change_adds_to_each_table(here: Path) -> None:
    (here / "gpcatalog.toml").write_text(
        "[check]\nserver = 'greenplum6'\n[check.table]\nleaves = 100\n[check.change]\nleaves = 100\n"
    )
    (here / "f.sql").write_text(
        "CREATE TABLE sales (a int, d date) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a) PARTITION BY RANGE (d)"
        " (START (date '2026-01-01') END (date '2026-02-01') EVERY (interval '1 day'));\n"
        "CREATE TABLE dim (a int) DISTRIBUTED BY (a);\nALTER TABLE old ADD PARTITION x START (1) END (2);\n"
    )
    out = call("f.sql")[1]
    lines = [line.split() for line in out.splitlines()]
    assert ["table", "leaves", "catalog", "rows", "files,", "filled", "locks"] in lines
    (sales,) = [line for line in lines if line[:1] == ["sales"]]
    assert sales[1:4] == ["+31", "of", "100"]
    (old,) = [line for line in lines if line[:1] == ["old"]]
    assert old[1] == "(incomplete)"
    assert old[-1] == "AccessExclusive"
    assert "budget of the change (incomplete): 32 of 100 leaves" in out
    report = json.loads(call("f.sql", "--format", "json")[1])
    assert [t["table"] for t in report["tables"]] == ["sales", "dim", "old"]
    assert sum(t["leaves"] for t in report["tables"]) == report["total"]["leaves"]
    assert report["budgets"] == {"change": {"leaves": 100}, "table": {"leaves": 100}}
