"""A fleet of two servers, and of one that does not answer, in every command that has --all."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.fleet.lock import lock_file
from gpcatalog.lab.postgres import PrivateServer, free_port
from gpcatalog.planner import plan_file
from tests.conftest import newest
from tests.test_cli import one_message, run

pytestmark = pytest.mark.xdist_group("fleet")  # all tests share two servers

DATABASES = {"one": ("alpha", "beta", "beta_old"), "two": ("Größe/1",)}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, PrivateServer]]:
    """Two servers; database beta of the first has a partitioned table with empty leaves."""
    with (
        PrivateServer(binaries=newest(), settings={"autovacuum": "off"}) as one,
        PrivateServer(binaries=newest(), settings={"autovacuum": "off"}) as two,
    ):
        found = {"one": one, "two": two}
        for name, server in found.items():
            with psycopg.connect(server.conninfo("postgres"), autocommit=True) as conn:
                for database in DATABASES[name]:
                    conn.execute(f'CREATE DATABASE "{database}"'.encode())
        with psycopg.connect(one.conninfo("beta"), autocommit=True) as conn:
            conn.execute("CREATE TABLE t (d date, n int) PARTITION BY RANGE (d)")
            for day in range(60):
                conn.execute(
                    f"CREATE TABLE t_{day} PARTITION OF t FOR VALUES FROM (date '2020-01-01' + {day})"
                    f" TO (date '2020-01-01' + {day + 1})".encode()
                )
            conn.execute(
                "INSERT INTO t SELECT date '2020-01-01' + n, n FROM generate_series(0, 59) n"
            )
        yield found


def clusters(servers: dict[str, PrivateServer]) -> str:
    """The fleet file of the two servers."""
    one, two = (servers[n].conninfo("postgres") for n in ("one", "two"))
    return f"""
labels = {{ site = "berlin" }}
[cluster.one]
conninfo = "{one}"
databases = ["alpha", "beta*"]
exclude = ["*_old"]
labels = {{ team = "dwh" }}
[cluster.two]
conninfo = "{two}"
databases = ["Gr*"]
"""


@pytest.fixture
def fleet(servers: dict[str, PrivateServer], tmp_path: Path) -> Path:
    file = tmp_path / "fleet.toml"
    file.write_text(clusters(servers))
    return file


@pytest.fixture
def broken(servers: dict[str, PrivateServer], tmp_path: Path) -> Path:
    """The same fleet file with a server and a database that do not exist."""
    file = tmp_path / "broken.toml"
    file.write_text(
        clusters(servers).replace('"Gr*"', '"Gr*", "gone"')
        + f'[cluster.down]\nconninfo = "host=127.0.0.1 port={free_port()} dbname=x"\n'
    )
    return file


def test_snapshots_go_to_their_series(fleet: Path) -> None:
    result = run("snapshot", "take", "--all", "--config", str(fleet))
    assert result.returncode == 0, result.stderr
    paths = [Path(line) for line in result.stdout.splitlines()]
    assert [p.parent.name for p in paths] == ["alpha", "beta", "Gr%c3%b6%c3%9fe%2f1"]
    assert all(p.stat().st_size for p in paths)
    lines = result.stderr.splitlines()
    assert sorted(re.sub(r"[\d.]+ s", "N s", line) for line in lines) == [
        "one: 2 databases read in N s",
        "two: 1 database read in N s",
    ]


def test_one_audit_of_all(fleet: Path) -> None:
    result = run("audit", "--all", "--config", str(fleet), "--format", "json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "gpcatalog.fleet/1"
    assert {
        c["name"]: [d["server"]["database"] for d in c["cluster"]["databases"]]
        for c in found["clusters"]
    } == {"one": ["alpha", "beta"], "two": ["Größe/1"]}
    assert [c["labels"] for c in found["clusters"]] == [
        {"site": "berlin", "team": "dwh"},
        {"site": "berlin"},
    ]
    assert all(c["error"] == "" and c["unread"] == [] for c in found["clusters"])
    assert found["clusters"][0]["cluster"]["leaves"] == 60
    titles = [f["title"] for f in found["findings"]]
    assert titles
    assert all(t.startswith(("one/alpha: ", "one/beta: ", "two/Größe/1: ")) for t in titles)


def test_one_that_fails_hides_no_other(broken: Path, tmp_path: Path) -> None:
    result = run("audit", "--all", "--config", str(broken))
    assert result.returncode == 3
    assert "Traceback" not in result.stderr
    first = result.stdout.splitlines()[0]
    assert first.startswith("2 of 3 clusters not read completely; ")
    assert first.endswith(" in what was read")
    nothing = run("audit", "--all", "--config", str(broken), "--cluster", "down").stdout
    assert nothing.splitlines()[0] == "no database of 1 cluster was read"
    text = " ".join(result.stdout.split())
    assert "not read: down: cannot connect" in text
    assert "not audited: two/gone: there is no such database" in text
    for name in ("one", "two"):
        assert re.search(rf"^{name} +[12] ", result.stdout, re.M)
    to = tmp_path / "latest.txt"
    to_file = run("audit", "--all", "--config", str(broken), "-o", str(to))
    assert (to_file.returncode, to_file.stdout) == (3, "")
    # a report without some clusters is still a report
    assert to.read_text().startswith("2 of 3 clusters not read completely; ")
    nagios = run("audit", "--all", "--config", str(broken), "--format", "nagios")
    assert nagios.returncode in (1, 2, 3)
    assert "not read completely: 2, two: gone: there is no such database" in nagios.stdout
    assert "'one beta " in nagios.stdout


def test_metrics_have_each_family_once(broken: Path, tmp_path: Path) -> None:
    to = tmp_path / "all.prom"
    result = run("metrics", "--all", "--config", str(broken), "--to", str(to))
    assert result.returncode == 3
    text = to.read_text()
    types = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(types) == len(set(types))
    assert 'gpcatalog_cluster_up{cluster="one",site="berlin",team="dwh"} 1' in text
    assert 'gpcatalog_cluster_up{cluster="down",site="berlin"} 0' in text
    assert 'gpcatalog_cluster_databases_unread{cluster="two",site="berlin"} 1' in text
    assert 'gpcatalog_cluster_databases_unread{cluster="down"' not in text
    assert re.search(
        r'^gpcatalog_leaves\{cluster="one",site="berlin",team="dwh",server="[^"]+",database="beta",'
        r'storage="heap"\} 60$',
        text,
        re.M,
    )
    samples = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) == len(set(samples))


def test_pages_and_plans_go_to_folders(fleet: Path, tmp_path: Path) -> None:
    (fleet.parent / "p.toml").write_text("[default]\nhot_days = 5\n")
    fleet.write_text(
        fleet.read_text().replace("labels = { team", 'policy = "p.toml"\nlabels = { team')
    )
    pages = tmp_path / "pages"
    result = run("report", "--all", "--config", str(fleet), "--html", str(pages))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [
        str(pages / "one/alpha.html"),
        str(pages / "one/beta.html"),
        str(pages / "two/Gr%c3%b6%c3%9fe%2f1.html"),
    ]
    assert "Größe/1" in (pages / "two/Gr%c3%b6%c3%9fe%2f1.html").read_text()
    plans = tmp_path / "plans"
    result = run(
        "plan", "--all", "--stored", "--config", str(fleet), "--format", "json", "-o", str(plans)
    )
    assert result.returncode == 0, result.stderr
    assert "one/alpha: database alpha has no partitioned tables" in result.stderr
    assert result.stdout.split() == [str(plans / "one/beta.json")]
    plan = plan_file.read((plans / "one/beta.json").read_bytes())
    assert [t.table for t in plan.tables] == ["t"]
    assert plan.tables[0].steps
    fleet.write_text(fleet.read_text().replace("p.toml", "gone.toml"))
    result = run("plan", "--all", "--stored", "--config", str(fleet), "-o", str(plans))
    assert result.returncode == 2
    assert result.stdout == ""
    assert "one/beta: cannot read the policy" in result.stderr


def test_stored_snapshots_need_no_server(fleet: Path) -> None:
    empty = run("audit", "--cluster", "one", "--stored", "--config", str(fleet))
    assert empty.returncode == 2
    assert "there is no stored snapshot of" in " ".join(empty.stdout.split())
    assert run("snapshot", "take", "--cluster", "one", "--config", str(fleet)).returncode == 0
    result = run(
        "audit", "--cluster", "one", "--stored", "--config", str(fleet), "--format", "json"
    )
    assert result.returncode == 0, result.stderr
    (one,) = json.loads(result.stdout)["clusters"]
    assert len(one["cluster"]["databases"]) == 2
    assert one["seconds"] is None  # nothing was read
    fleet.write_text(fleet.read_text().replace('"beta*"]', '"beta*", "gone"]'))
    lacks = run("audit", "--cluster", "one", "--stored", "--config", str(fleet))
    assert lacks.returncode == 2
    assert "not audited: one/gone: there is no stored snapshot" in lacks.stdout


def test_a_service_file_names_the_server(
    servers: dict[str, PrivateServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshots of a cluster from a service file are found again without a connection."""
    place = psycopg.conninfo.conninfo_to_dict(servers["one"].conninfo())
    lines = "\n".join(f"{k}={v}" for k, v in place.items() if k in ("host", "port", "user"))
    (tmp_path / "pg_service.conf").write_text(f"[one]\n{lines}\ndbname=alpha\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "pg_service.conf"))
    file = tmp_path / "f.toml"
    file.write_text('[cluster.one]\nconninfo = "service=one"\ndatabases = ["beta"]\n')
    snapshot = run("snapshot", "take", "--all", "--config", str(file))
    assert snapshot.returncode == 0, snapshot.stderr
    assert run("audit", "--all", "--stored", "--config", str(file)).returncode == 0
    grown = run("growth", "service=one dbname=beta", "--format", "json")
    assert grown.returncode == 0, grown.stderr


class Silence:
    """A server that accepts connections and never answers."""

    def __enter__(self) -> int:
        self.door = socket.create_server(("127.0.0.1", 0))
        return int(self.door.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self.door.close()


def test_the_time_limit_ends_what_is_not_finished(fleet: Path, tmp_path: Path) -> None:
    with Silence() as port:
        fleet.write_text(
            f'[cluster.silent]\nconninfo = "host=127.0.0.1 port={port} dbname=x"\n'
            + fleet.read_text().replace('labels = { site = "berlin" }', "")
        )
        result = run(
            "audit", "--all", "--config", str(fleet), "--timeout", "5s", "--format", "json"
        )
    assert result.returncode == 3
    found = {c["name"]: c for c in json.loads(result.stdout)["clusters"]}
    assert found["silent"]["error"] == "not finished within the time limit of 5 s"
    assert workers(fleet) == []


def workers(fleet: Path) -> list[str]:
    """Worker processes of this machine that were started with the snapshot folder of this test."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_text().split("\0")
            environment = (entry / "environ").read_text()
        except (OSError, UnicodeDecodeError):
            continue
        if "fleet-worker" in words and str(fleet.parent) in environment:
            found.append(" ".join(words))
    return found


def test_an_interruption_leaves_no_worker(fleet: Path) -> None:
    with Silence() as port:
        fleet.write_text(f'[cluster.silent]\nconninfo = "host=127.0.0.1 port={port} dbname=x"\n')
        process = subprocess.Popen(
            [sys.executable, "-m", "gpcatalog", "audit", "--all", "--config", str(fleet)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        until = time.monotonic() + 60
        while not workers(fleet):
            assert time.monotonic() < until
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert out == ""
    assert errors.startswith("gpcatalog: interrupted")
    assert workers(fleet) == []


def test_two_runs_of_one_schedule_are_separate(fleet: Path) -> None:
    lock = lock_file("snapshot take", fleet, ["one"])
    lock.parent.mkdir(parents=True)
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write("process 7 since 2026-01-01 00:00:00 UTC\n")
        stream.flush()
        words = ("snapshot", "take", "--config", str(fleet))
        one_message(run(*words, "--cluster", "one"), 4, "active already: process 7 since 2026")
        assert run(*words, "--cluster", "two").returncode == 0
    assert run(*words, "--cluster", "one").returncode == 0


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (("audit", "--all", "sales"), "CONNINFO is for one cluster"),
        (("audit", "--all", "--snapshot", "x"), "--snapshot is for one cluster"),
        (("audit", "--all", "--all-databases"), "--all-databases is for one cluster"),
        (("audit", "--all", "--quiet"), "--verbose and --quiet are for the text"),
        (("plan", "--all"), "with --all, -o is required"),
        (("report", "--all", "--html", "-"), "--html needs a folder"),
        (("metrics", "--all", "--alerts"), "--alerts prints rules"),
        (("snapshot", "take", "--stored"), "--stored contacts no server"),
        (("audit", "--stored", "--jobs", "2", "--config"), "--jobs is for reading servers"),
        (("audit", "--all", "--metrics", "no/where.prom"), "--metrics: there is no folder no"),
        (("audit", "--all"), "there is no fleet file"),
        (("audit", "--config", "no.toml"), "cannot read the fleet file no.toml"),
        (("audit", "--all", "--timeout", "soon", "--config"), "--timeout: 'soon'"),
        (("audit", "--all", "--cluster", "web", "--config"), "has no cluster 'web'"),
    ],
)
def test_wrong_calls(
    words: tuple[str, ...], pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    if words[-1] == "--config":
        file = tmp_path / "f.toml"
        file.write_text('[cluster.a]\nconninfo = "dbname=x"\n')
        words = (*words, str(file))
    one_message(run(*words), 2, re.escape(pattern))
