"""systemd units and crontab lines are checked by the rules of systemd and cron, and run as written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gpcatalog.lab.postgres import PrivateServer
from tests.conftest import program
from tests.growth import made
from tests.test_cli import one_message, run

FLEET = """
timeout = "2h"
[cluster.a]
conninfo = "host=mdw"
schedule = "hourly"
[cluster.b]
conninfo = "host=mdw2"
[cluster.c]
conninfo = "host=mdw3"
"""


@pytest.fixture
def analyze() -> str:
    return program("systemd-analyze", "systemd")


def units(tmp_path: Path, fleet: str, *words: str) -> dict[str, str]:
    """The systemd units of a fleet, by file name; also written to the folder `units`."""
    (tmp_path / "f.toml").write_text(fleet)
    (tmp_path / "metrics 100%").mkdir(exist_ok=True)
    (tmp_path / "home").mkdir(exist_ok=True)
    result = run(
        *("schedule", "--systemd", "--config", str(tmp_path / "f.toml"), "--user", "daemon"),
        *("--metrics", str(tmp_path / "metrics 100%"), "--folder", str(tmp_path / "units"), *words),
    )
    assert result.returncode == 0, result.stderr
    return {p.name: p.read_text() for p in (tmp_path / "units").iterdir()}


def test_one_job_for_each_schedule(tmp_path: Path) -> None:
    found = units(tmp_path, FLEET)
    assert sorted(found) == [
        f"gpcatalog-{job}.{kind}"
        for job in ("daily", "hourly", "prune")
        for kind in ("service", "timer")
    ]
    assert "--cluster b --cluster c" in found["gpcatalog-daily.service"]
    assert "--cluster a -o" in found["gpcatalog-hourly.service"]
    assert "TimeoutStartSec=7320" in found["gpcatalog-daily.service"]
    assert "OnCalendar=*-*-* *:07:00" in found["gpcatalog-hourly.timer"]
    assert "PrivateTmp=yes" in found["gpcatalog-daily.service"]
    # the metrics collector runs as another account, which must be able to read the metrics
    assert "UMask=0022" in found["gpcatalog-daily.service"]
    local = units(tmp_path, '[cluster.a]\nconninfo = "dbname=x"\n')
    assert "PrivateTmp=no" in local["gpcatalog-daily.service"]
    assert "TimeoutStartSec=infinity" in local["gpcatalog-daily.service"]


def test_systemd_accepts_them(tmp_path: Path, analyze: str) -> None:
    (tmp_path / "site 100%").mkdir()
    words = ("--site", str(tmp_path / "site 100%"))
    units(tmp_path, FLEET, "--notify-command", "cat -n 'a b' '$HOME'", *words)
    assert (tmp_path / "units/gpcatalog-site.service").is_file()
    files = sorted((tmp_path / "units").iterdir())
    done = subprocess.run([analyze, "verify", *files], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for file in files:
        if file.suffix == ".service":
            done = subprocess.run(
                [analyze, "security", "--offline=true", "--no-pager", file],
                capture_output=True,
                text=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )
            score = re.search(r"Overall exposure level for .*: ([\d.]+)", done.stdout)
            assert score, done.stdout + done.stderr
            assert float(score[1]) < 2.5


def test_calendars_are_systemds(tmp_path: Path, analyze: str) -> None:
    found = units(tmp_path, FLEET.replace('"hourly"', '"Mon..Fri *-*-* 22:00"'))
    assert "gpcatalog-mon-fri-22-00.timer" in found
    for text in found.values():
        for calendar in re.findall(r"^OnCalendar=(.*)", text, re.M):
            done = subprocess.run([analyze, "calendar", calendar], capture_output=True)
            assert done.returncode == 0, calendar


def systemd_words(line: str) -> list[str]:
    """The words of a line of a unit file, as systemd.syntax(7) and systemd.service(5) describe them."""
    words = shlex.split(line)
    return [w.replace("%%", "%").replace("$$", "$") for w in words]


@pytest.mark.parametrize("kind", ["systemd", "cron"])
def test_what_they_run_works(own_server: PrivateServer, tmp_path: Path, kind: str) -> None:
    """The command lines, run as written, create the report, metrics, notification and snapshots."""
    notice = tmp_path / "notice of 100%.json"
    fleet = (
        f'[cluster.one]\nconninfo = "{own_server.conninfo("postgres")}"\ndatabases = ["postgres"]\n'
    )
    home, config = tmp_path / "home", tmp_path / "f.toml"
    notify = f"tee '{notice}'"
    if kind == "systemd":
        text = units(tmp_path, fleet, "--notify-command", notify)["gpcatalog-daily.service"]
        command = systemd_words(re.findall(r"^ExecStart=(.*)", text, re.M)[0])
        pairs = [systemd_words(e)[0] for e in re.findall(r"^Environment=(.*)", text, re.M)]
    else:
        config.write_text(fleet)
        metrics = tmp_path / "metrics 100%"
        metrics.mkdir()
        result = run(
            *("schedule", "--cron", "--config", str(config), "--metrics", str(metrics)),
            *("--notify-command", notify),
        )
        assert result.returncode == 0, result.stderr
        lines = result.stdout.splitlines()
        pairs = [line for line in lines if re.match(r"\w+=", line)]
        (line,) = [one for one in lines if " audit " in one]
        assert not re.search(r"(?<!\\)%", line)  # cron ends the command at %
        command = ["sh", "-c", line.replace(r"\%", "%").split(" ", 5)[5]]
    environment = dict(pair.split("=", 1) for pair in pairs)
    assert environment["GPCATALOG_HOME"] == str(home)
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (home / "latest-daily.txt").read_text().startswith("1 cluster: ")
    assert "gpcatalog_cluster_up" in (tmp_path / "metrics 100%/gpcatalog-daily.prom").read_text()
    assert '"gpcatalog.notification/1"' in notice.read_text()
    assert list(home.rglob("*.gpcatalog"))
    log = done.stderr if kind == "systemd" else (home / "log-daily.jsonl").read_text()
    assert '"event": "cluster"' in log


@pytest.mark.parametrize("kind", ["systemd", "cron"])
def test_the_site_is_written(tmp_path: Path, kind: str) -> None:
    """The command of the job, run as written, finds the snapshots and writes only to permitted folders."""
    made.series(tmp_path / "home" / "mdw-5432" / "sales", 2)
    fleet = '[cluster.one]\nconninfo = "host=mdw port=5432"\n'
    folder = tmp_path / "site of 100%"
    if kind == "systemd":
        text = units(tmp_path, fleet, "--site", str(folder))["gpcatalog-site.service"]
        command = systemd_words(re.findall(r"^ExecStart=(.*)", text, re.M)[0])
        writable = [systemd_words(w)[0] for w in re.findall(r"^ReadWritePaths=(.*)", text, re.M)]
        assert writable == [str(tmp_path / "home"), str(folder)]
        assert "UMask=0022" in text
    else:
        (tmp_path / "f.toml").write_text(fleet)
        result = run(
            *("schedule", "--cron", "--config", str(tmp_path / "f.toml"), "--site", str(folder))
        )
        (line,) = [one for one in result.stdout.splitlines() if " site " in one]
        assert not re.search(r"(?<!\\)%", line)
        command = ["sh", "-c", line.replace(r"\%", "%").split(" ", 5)[5]]
    variables = {"PATH": os.environ["PATH"], "GPCATALOG_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ">one/sales</a>" in (folder / "index.html").read_text()


@pytest.mark.parametrize(
    ("schedule", "words", "pattern"),
    [
        ("hourly", (), "give --systemd or --cron"),
        ("hourly", ("--cron", "--systemd"), "give --systemd or --cron"),
        ("Mon 22:00", ("--cron",), "cron cannot run 'Mon 22:00'"),
        ("a\\nExecStart=/bin/sh", ("--systemd",), "is not a schedule"),
        ("bogus day", ("--systemd",), "cluster a: 'bogus day' is not a schedule"),
        ("25:00", ("--systemd",), "cluster a: '25:00' is not a schedule"),
        ("Mon 22:00", ("--cron", "--folder", "x"), "--folder is for --systemd"),
        ("hourly", ("--cron", "--notify-command", "no-such"), "there is no program"),
    ],
)
def test_wrong_calls(schedule: str, words: tuple[str, ...], pattern: str, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(f'[cluster.a]\nconninfo = "host=x"\nschedule = "{schedule}"\n')
    one_message(run("schedule", "--config", str(file), *words), 2, pattern)
