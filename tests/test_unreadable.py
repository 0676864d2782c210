"""A folder or a file that may not be read is one error with the path, and never an empty list or an internal error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.test_cli import FIXTURE, one_message

Run = Callable[..., subprocess.CompletedProcess[str]]
# root can read everything, except without these two capabilities
_LIMITED = ("setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of a series of snapshots, and of a SQL file, that may not be read."""
    locked = tmp_path / "locked"
    place = locked / "mdw-5432" / "sales"
    place.mkdir(parents=True)
    shutil.copy(FIXTURE, place / "20261121T120000Z.gpcatalog")
    (locked / "a.sql").write_text("SELECT 1;\n")
    locked.chmod(0)
    yield locked
    locked.chmod(0o700)


@pytest.fixture
def limited(tmp_path: Path) -> Run:
    """Run gpcatalog without the privilege to read everything."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not installed")
        if subprocess.run([*_LIMITED, "true"], check=False).returncode:
            pytest.skip("capabilities cannot be dropped here")
        prefix = _LIMITED

    def run(*words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", "gpcatalog", *words],
            capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
            env={**os.environ, "GPCATALOG_HOME": str(home or tmp_path / "home"), "PYTHONPATH": str(FIXTURE.parent.parent)},
        )  # fmt: skip

    return run


STORED = (
    ("snapshot", "list"),
    ("snapshot", "list", "--format", "json"),
    ("snapshot", "prune"),
    ("snapshot", "export", "20261121T120000Z", "csv"),
    ("growth",),
    ("growth", "host=mdw dbname=sales"),
    ("audit", "--snapshot", "20261121T120000Z"),
    ("report", "--snapshot", str(FIXTURE), "--html", "page.html"),
    ("site", "-o", "site"),
)
HOME, SERVER, SERIES = "locked", "mdw-5432", "sales"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *((words, HOME) for words in STORED),
        *((words, name) for words in (STORED[0], STORED[5]) for name in (SERVER, SERIES)),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_stored_snapshots(
    words: tuple[str, ...], name: str, folder: Path, limited: Run
) -> None:
    """name: the folder that may not be read: that of all snapshots, of a server, or of a database."""
    folder.chmod(0o700)
    place = next(p for p in (folder, *folder.rglob("*")) if p.name == name)
    place.chmod(0)
    try:
        result = limited(*words, home=folder)
    finally:
        place.chmod(0o700)
    one_message(result, 2, rf"cannot (read the folder|access) .*{name}.*: Permission denied")


@pytest.mark.parametrize(
    "words",
    [
        ("growth", "--folder", "locked"),
        ("growth", "--folder", "locked/mdw-5432/sales"),
        ("audit", "--snapshot", "locked/x.gpcatalog"),
        ("plan", "--snapshot", "locked/x.gpcatalog"),
        ("latency", "--snapshot", "locked/x.gpcatalog"),
        ("snapshot", "export", "locked/x.gpcatalog", "csv"),
        ("check", "locked"),
        ("check", "locked/a.sql"),
        ("check", "."),
        ("check", "--rules", "-o", "locked/rules"),
        ("site", "-o", "locked/site"),
        ("migrate", "locked/plan.json", "-o", "sql"),
        ("rules", "-o", "locked/rules"),
        ("man", "--folder", "locked/man"),
        ("audit", "--all", "--config", "locked/gpcatalog.toml"),
        ("plan", "--snapshot", str(FIXTURE), "--policy", "locked/policy.toml"),
    ],
    ids=" ".join,
)
def test_other_paths(words: tuple[str, ...], folder: Path, limited: Run) -> None:
    one_message(limited(*words), 2, "locked.*([Pp]ermission denied|is not readable)")


def test_a_missing_folder_is_an_empty_one(tmp_path: Path, limited: Run) -> None:
    result = limited("snapshot", "list", home=tmp_path / "none")
    assert (result.returncode, result.stdout) == (0, f"0 snapshots in {tmp_path / 'none'}\n")


def test_other_files_among_the_series(tmp_path: Path, limited: Run) -> None:
    home = tmp_path / "home"
    (home / "mdw-5432" / "sales").mkdir(parents=True)
    shutil.copy(FIXTURE, home / "mdw-5432" / "sales" / "20261121T120000Z.gpcatalog")
    (home / "latest-daily.txt").write_text("x")
    (home / "mdw-5432" / "notes").write_text("x")
    (home / "broken").symlink_to("nowhere")
    result = limited("snapshot", "list", home=home)
    assert result.returncode == 0, result.stderr
    assert "1 snapshot of 1 database" in result.stdout
