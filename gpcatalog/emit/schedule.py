"""Timers for audits of a fleet: systemd units and crontab lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpcatalog.emit.on_calendar import is_on_calendar
from gpcatalog.errors import CatalogError

# times of the known schedules: OnCalendar of systemd, and the five fields of cron
KNOWN = {
    "hourly": ("*-*-* *:07:00", "7 * * * *"),
    "daily": ("*-*-* 03:15:00", "15 3 * * *"),
    "weekly": ("Sun *-*-* 03:15:00", "15 3 * * 0"),
}
SITE = ("*-*-* *:37:00", "37 * * * *")  # a run without changes costs half a second
PRUNE = ("Sun *-*-* 05:45:00", "45 5 * * 0")
_CALENDAR = re.compile(r"[A-Za-z0-9*,:/~. +_-]+")
OWN_JOBS = ("site", "prune")  # names of jobs that are not audits
GRACE = 120  # seconds after the time limit of a run before systemd stops it


@dataclass(frozen=True, kw_only=True)
class Job:
    """The audit of the clusters with one schedule."""

    schedule: str
    clusters: tuple[str, ...]

    @property
    def name(self) -> str:
        """The schedule as part of file names: only letters, digits and hyphens."""
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.schedule).strip("-").lower()
        return plain or "audit"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The commands of the jobs and their paths.

    program:  command line that starts gpcatalog
    config:   the fleet file; home: folder of the snapshots
    user:     account of the jobs
    metrics:  folder for metrics of a textfile collector, or None; site: folder of the site, or None
    notify:   --notify-command, or empty
    variables: current environment variables of libpq, such as PGSERVICEFILE
    timeout:  time limit of a run in seconds, or None
    sockets:  whether the connection to a cluster uses a local Unix-domain socket
    """

    program: tuple[str, ...]
    config: Path
    home: Path
    user: str
    metrics: Path | None
    site: Path | None
    notify: str
    variables: dict[str, str]
    timeout: float | None
    sockets: bool

    def audit(self, job: Job) -> list[str]:
        """The command of one audit job."""
        words = [*self.program, "--log-format", "json", "audit", "--config", str(self.config)]
        for cluster in job.clusters:
            words += ["--cluster", cluster]
        words += ["-o", str(self.home / f"latest-{job.name}.txt")]
        if self.metrics is not None:
            words += ["--metrics", str(self.metrics / f"gpcatalog-{job.name}.prom")]
        if self.notify:
            words += ["--notify-command", self.notify]
        return words

    def prune(self) -> list[str]:
        """The command that deletes old snapshots."""
        return [*self.program, "--log-format", "json", "snapshot", "prune"]

    def pages(self, folder: Path) -> list[str]:
        """The command that writes the site."""
        words = ["--log-format", "json", "site", "--config", str(self.config), "-o", str(folder)]
        return [*self.program, *words]

    def environment(self) -> dict[str, str]:
        """Environment variables of the jobs."""
        return {"GPCATALOG_HOME": str(self.home), **self.variables}


def jobs(schedules: dict[str, str]) -> list[Job]:
    """One job for each schedule of the clusters. Raises CatalogError (2) for an invalid
    schedule.
    """
    by: dict[str, list[str]] = {}
    for cluster, schedule in schedules.items():
        if schedule not in KNOWN and not (
            _CALENDAR.fullmatch(schedule) and is_on_calendar(schedule)
        ):
            raise CatalogError(
                f"cluster {cluster}: {schedule!r} is not a schedule",
                hint=(
                    'use "hourly", "daily", "weekly", or an OnCalendar expression of systemd such'
                    ' as "Mon..Fri *-*-* 02:30:00"'
                ),
            )
        by.setdefault(schedule, []).append(cluster)
    found = [Job(schedule=s, clusters=tuple(names)) for s, names in by.items()]
    same = [*(j.name for j in found), *OWN_JOBS]
    if len(set(same)) < len(same):
        twice = next(n for n in same if same.count(n) > 1)
        raise CatalogError(
            f"several schedules would have the name {twice}",
            hint="write equal schedules in the same way",
        )
    return found


def _quoted(word: str) -> str:
    """A word for a unit file: in quotes if necessary, with % and $ doubled.

    >>> print(_quoted("a"), _quoted('50% "x" $y'))
    a "50%% \\"x\\" $$y"
    """
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if re.fullmatch(r"[\w@%+=:,./-]+", plain) else f'"{plain}"'


def _line(words: Sequence[str]) -> str:
    return " ".join(map(_quoted, words))


def _service(
    setup: Setup,
    description: str,
    words: Sequence[str],
    timeout: str,
    shared: Path | None = None,
) -> str:
    """A service that runs once, with only the privileges that it needs.

    shared: folder for files that other accounts read, other than the folder of the snapshots
    """
    writable = [setup.home, *([shared] if shared is not None else [])]
    environment = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in setup.environment().items()
    )
    # a private /tmp would hide the socket of the server
    temporary = "PrivateTmp=no\nReadWritePaths=/tmp\n" if setup.sockets else "PrivateTmp=yes\n"
    return f"""\
[Unit]
Description={description}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
User={setup.user}
{environment}ExecStart={_line(words)}
TimeoutStartSec={timeout}
Nice=10
UMask={"0027" if shared is None else "0022"}

NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=read-only
{"".join(f"ReadWritePaths={_quoted(str(p))}" + chr(10) for p in writable)}{temporary}\
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProcSubset=pid
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
"""


def _timer(description: str, calendar: str) -> str:
    return f"""\
[Unit]
Description={description}

[Timer]
OnCalendar={calendar}
RandomizedDelaySec=5min
Persistent=yes

[Install]
WantedBy=timers.target
"""


def systemd(setup: Setup, planned: Sequence[Job]) -> dict[str, str]:
    """Unit files by name: a service and a timer for each job, and for deleting old snapshots."""
    limit = "infinity" if setup.timeout is None else f"{setup.timeout + GRACE:g}"
    found = {}
    for job in planned:
        what = f"gpcatalog: audit {job.schedule}"
        words = setup.audit(job)
        found[f"gpcatalog-{job.name}.service"] = _service(setup, what, words, limit, setup.metrics)
        calendar = KNOWN[job.schedule][0] if job.schedule in KNOWN else job.schedule
        found[f"gpcatalog-{job.name}.timer"] = _timer(what, calendar)
    if setup.site is not None:
        what = "gpcatalog: write the site"
        words = setup.pages(setup.site)
        found["gpcatalog-site.service"] = _service(setup, what, words, limit, setup.site)
        found["gpcatalog-site.timer"] = _timer(what, SITE[0])
    what = "gpcatalog: delete old snapshots"
    found["gpcatalog-prune.service"] = _service(setup, what, setup.prune(), "1h")
    found["gpcatalog-prune.timer"] = _timer(what, PRUNE[0])
    return found


def systemd_text(setup: Setup, units: dict[str, str], folder: str) -> str:
    """All units as one text, and the commands that start the timers."""
    timers = " ".join(name for name in units if name.endswith(".timer"))
    parts = [f"# {folder}/{name}\n{text}" for name, text in units.items()]
    folders = " ".join(shlex.quote(str(p)) for p in (setup.home, setup.site) if p is not None)
    parts.append(
        f"# afterwards, as root:\n#   install -d -o {shlex.quote(setup.user)} {folders}\n"
        f"#   systemctl daemon-reload && systemctl enable --now {timers}\n"
    )
    return "\n".join(parts)


def cron(setup: Setup, planned: Sequence[Job]) -> str:
    """Lines for `crontab -e` of the account. Raises CatalogError (2) for an OnCalendar
    expression.
    """

    def command(words: Sequence[str]) -> str:
        return shlex.join(words).replace("%", r"\%")

    def log(name: str) -> str:
        return shlex.quote(str(setup.home / f"log-{name}.jsonl")).replace("%", r"\%")

    lines = [f"{name}={value}" for name, value in setup.environment().items()]
    for job in planned:
        if job.schedule not in KNOWN:
            raise CatalogError(
                f"cron cannot run {job.schedule!r}",
                hint='use "hourly", "daily" or "weekly", or --systemd',
            )
        lines.append(f"{KNOWN[job.schedule][1]} {command(setup.audit(job))} 2>>{log(job.name)}")
    if setup.site is not None:
        line = f"{SITE[1]} {command(setup.pages(setup.site))}"
        lines.append(f"{line} >/dev/null 2>>{log('site')}")
    lines.append(f"{PRUNE[1]} {command(setup.prune())} >/dev/null")
    return "\n".join(lines) + "\n"
