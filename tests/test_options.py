"""Options that many commands share, and the messages about wrong options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from gpcatalog.commands.common import merged
from gpcatalog.errors import CatalogError
from gpcatalog.lab.postgres import free_port
from tests.test_cli import FIXTURE, run

WRONG = {
    ("audti",): "unknown command: audti",
    ("audit", "--foo"): "unknown option: --foo",
    ("audit", "--format", "xml"): "--format must be one of 'text', 'json', 'nagios'",
    ("audit", "--statement-timeout", "x"): "--statement-timeout must be a number",
    ("estimate", "--leaves", "x"): "--leaves must be an integer",
    ("estimate", "--leaves", "it's"): "--leaves must be an integer",
    ("plan", "--policy"): "--policy needs a value",
    ("migrate",): "PLAN is required",
    ("growth", "a", "b"): "too many arguments: b",
    ("growth", "--days", "-1"): "--days must be 0.01 or more",
    ("audit", "--jobs", "0"): "--jobs must be from 1 to 64",
    ("audit", "--format", "it's"): "--format must be one of 'text', 'json', 'nagios'",
    ("growth", "--days", "nan"): "--days must be a finite number",
    ("audit", "--lock-timeout", "inf"): "--lock-timeout must be a finite number",
    (
        "audit",
        "x",
        "--statement-timeout",
        "1e99",
    ): "--statement-timeout must be at most 2147483.647 seconds",
    (
        "audit",
        "--snapshot",
        "x",
        "--lock-timeout",
        "99999999999",
    ): "--lock-timeout must be at most 2147483.647 seconds",
    (
        "doctor",
        "--lock-timeout",
        "2147483.648",
    ): "--lock-timeout must be at most 2147483.647 seconds",
    (
        "latency",
        "--snapshot",
        "x",
        "--statement-timeout",
        "3e6",
    ): "--statement-timeout must be at most 2147483.647 seconds",
    (
        "snapshot",
        "take",
        "--statement-timeout",
        "3e6",
    ): "--statement-timeout must be at most 2147483.647 seconds",
    (
        "migrate",
        "x",
        "--lock-wait",
        "2147483648",
        "-o",
        "y",
    ): "--lock-wait must be from 1 to 2147483647",
    ("metrics", "--alerts", "--dashboard"): "give only one of --alerts, --dashboard and --zabbix",
    ("metrics", "--zabbix", "--dashboard"): "give only one of --alerts, --dashboard and --zabbix",
    ("estimate", "--leaves", "-5"): "--leaves must be 0 or more",
    ("check", "-", "--segments", "1.5"): "--segments must be an integer",
    ("audit", "--demo=yes"): "--demo takes no value",
    ("audit", "--port", "abc"): "not a connection string: the port is not a number",
    ("audit", "x", "-d", "y"): "give CONNINFO or --dbname, not both",
    **{
        ("latency", option, value): f"{option} is for the tables of --allow-ddl and has no effect without it"
        for option, value in (("--rounds", "5"), ("--leaves", "7"), ("--storage", "heap"))
    },
    ("latency", "--snapshot", str(FIXTURE), "--rounds", "3"): "--rounds is for the tables of --allow-ddl and has no effect without it",
    **{
        ("estimate", "--table", "a.b", *words): f"{words[0]} cannot be combined with a connection or --table,"
        " which give the shape and the cluster"
        for words in (("--columns", "20"), ("--no-toast",), ("--server", "greenplum6"), ("--index", "1"), ("--mirrors",))
    },
    **{
        ("estimate", "--server", "postgres18", *words): f"{words[0]} is for a Greenplum cluster and has no effect with --server postgres18"
        for words in (("--segments", "3", "--mirrors"), ("--mirrors",), ("--hosts", "2"))
    },
    **{
        ("estimate", "--server", "greenplum6", *words): f"{words[0]} has no effect without --segments"
        for words in (("--mirrors",), ("--hosts", "2"))
    },
    **{
        ("estimate", "--server", "greenplum6", "--columns", "4", option, "5"): f"{option} 5: the table has 4 columns"
        for option in ("--not-null", "--defaults")
    },
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_typed_wrong_is_one_message(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert result.stdout == ""
    first, *hints = result.stderr.splitlines()
    assert first == f"gpcatalog: {WRONG[words]}"
    assert all(line.startswith("  hint: ") for line in hints)
    assert len(hints) <= 1


def test_defaults_are_not_on_the_command_line(pg_dsn: str) -> None:
    """Options that are refused with a connection have defaults, with which the command runs."""
    result = run("estimate", pg_dsn, "--table", "pg_catalog.pg_class")
    assert "--" not in result.stderr, result.stderr
    assert run("estimate", "--server", "postgres18").returncode == 0


def test_nobody_listens() -> None:
    """Only a connection that times out may wait for a lock on a shared catalog."""
    result = run("doctor", f"host=127.0.0.1 port={free_port()} dbname=x user=x")
    assert result.returncode == 3
    assert "refused" in result.stderr
    assert (
        "  hint: check the host and port, and that the server is running"
        in result.stderr.splitlines()
    )


def test_options_of_psql_replace_parameters() -> None:
    none = {"host": "", "port": "", "username": "", "dbname": ""}
    assert merged("sales", **none) == "sales"
    for given, expected in (
        ({"conninfo": "host=a port=1 dbname=b", "host": "c"}, {"host": "c", "port": "1", "dbname": "b"}),
        ({"conninfo": "", "dbname": "sales", "port": "7"}, {"port": "7", "dbname": "sales"}),
        ({"conninfo": "", "dbname": "postgresql://u:p@h/d", "username": "me"}, {"user": "me", "password": "p", "host": "h", "dbname": "d"}),
        ({"conninfo": "", "host": "it's \\ here"}, {"host": "it's \\ here"}),
    ):  # fmt: skip
        text = merged(**(none | given))
        assert conninfo_to_dict(text) == expected
    with pytest.raises(CatalogError, match="not both"):
        merged("a", **(none | {"dbname": "b"}))


def test_a_server_by_options_of_psql(pg_dsn: str) -> None:
    place = conninfo_to_dict(pg_dsn)
    words = ["-h", place["host"], "-p", place["port"], "-U", place["user"], "-d", place["dbname"]]
    result = run("audit", *words, "--no-store", "--format", "json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["server"]["database"] == place["dbname"]


def test_output_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "audit.txt"
    words = ("audit", "--snapshot", str(FIXTURE))
    result = run(*words, "--fail-on", "notice", "-o", str(file))
    assert (result.returncode, result.stdout) == (1, "")  # 1: findings; the report is complete
    assert file.read_text() == run(*words).stdout
    wrong = run("audit", "--snapshot", str(tmp_path / "none"), "-o", str(file))
    assert wrong.returncode == 2
    assert file.read_text() == run(*words).stdout  # unchanged
    nowhere = run(*words, "-o", str(tmp_path / "none" / "x"))
    assert nowhere.returncode == 2
    assert "cannot write" in nowhere.stderr


def test_names_of_this_machine_share_a_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpcatalog.store import series

    monkeypatch.setenv("GPCATALOG_HOME", str(tmp_path))
    assert len({series.folder(host, 5432, "d") for host in ("localhost", "127.0.0.1", "::1")}) == 1
    assert series.folder("mdw", 5432, "d") != series.folder("localhost", 5432, "d")
    older = tmp_path / "127.0.0.1-5432" / "d"
    older.mkdir(parents=True)
    assert series.folder("localhost", 5432, "d") == older
