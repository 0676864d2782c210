"""Output files: regular files are replaced, links are kept, devices and pipes are written through and never replaced."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpcatalog.commands import streams
from tests.test_cli import FIXTURE, one_message, run

# every command with an output file, and a first line of what it writes; OUT is the file
WRITERS = {
    ("rules", "-o", "OUT"): "Rules of gpcatalog audit",
    ("check", "--rules", "-o", "OUT"): "",
    ("metrics", "--alerts", "-o", "OUT"): "# Written by",
    ("metrics", "--snapshot", "FIXTURE", "--to", "OUT"): "# ",
    ("report", "--snapshot", "FIXTURE", "--html", "OUT"): "<!doctype html>",
    ("audit", "--snapshot", "FIXTURE", "--metrics", "OUT"): "# ",
    ("audit", "--snapshot", "FIXTURE", "--maintenance", "OUT"): "-- ",
    ("plan", "--snapshot", "FIXTURE", "-o", "OUT"): "",
    ("check", "FOLDER/a.sql", "--server", "greenplum6", "--fail-on", "never", "-o", "OUT"): "",
}
ALL_WRITERS = pytest.mark.parametrize("words", WRITERS, ids=" ".join)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.sql").write_text("CREATE TABLE t (a int) DISTRIBUTED BY (a);\n")
    return tmp_path


def write(words: tuple[str, ...], out: str | Path, folder: Path) -> str:
    """Run a command with this output; returns its standard output."""
    names = {"OUT": str(out), "FIXTURE": str(FIXTURE)}
    result = run(*(names.get(w, w).replace("FOLDER", str(folder)) for w in words))
    assert result.returncode == 0, result.stderr
    return result.stdout


def device(path: Path, minor: int) -> Path:
    """A new character device: 3 is that of /dev/null, 7 that of /dev/full."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("r+b").close()
    except PermissionError:
        pytest.skip("devices can be created here only by root")
    return path


@ALL_WRITERS
def test_a_pipe_is_written_through(words: tuple[str, ...], folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write(words, pipe, folder)
    reader.join(30)
    assert read
    assert read[0].startswith(WRITERS[words])
    assert len(read[0]) > 20
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert {f.name for f in folder.iterdir()} == {"a.sql", "pipe"}


@ALL_WRITERS
def test_a_device_stays_a_device(words: tuple[str, ...], folder: Path) -> None:
    null = device(folder / "null", 3)
    write(words, null, folder)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_full_device_is_reported(folder: Path) -> None:
    full = device(folder / "full", 7)
    one_message(run("rules", "-o", str(full)), 2, "cannot write .*full: No space left on device")
    assert stat.S_ISCHR(full.stat().st_mode)


@ALL_WRITERS
def test_a_link_keeps_its_target(words: tuple[str, ...], folder: Path) -> None:
    target = folder / "other" / "target"
    target.parent.mkdir()
    target.write_text("old")
    inode = target.stat().st_ino
    (folder / "link").symlink_to("second")
    (folder / "second").symlink_to(Path("other") / "target")
    write(words, folder / "link", folder)
    assert (folder / "link").is_symlink()
    assert (folder / "second").is_symlink()
    assert target.read_text() != "old"
    assert target.stat().st_ino != inode  # replaced as a whole: a reader never sees a part
    assert [f.name for f in target.parent.iterdir()] == ["target"]


def test_a_link_to_nothing_creates_its_target(folder: Path) -> None:
    (folder / "link").symlink_to("target")
    write(("rules", "-o", "OUT"), folder / "link", folder)
    assert (folder / "link").is_symlink()
    assert (folder / "target").read_text() == run("rules").stdout


def test_a_snapshot_is_saved_through_a_link(pg_dsn: str, folder: Path) -> None:
    (folder / "link").symlink_to("target")
    result = run("snapshot", "take", pg_dsn, "--save", str(folder / "link"))
    assert result.returncode == 0, result.stderr
    assert (folder / "link").is_symlink()
    assert run("audit", "--snapshot", str(folder / "target")).returncode == 0


@pytest.mark.parametrize("words", [("snapshot", "take"), ("audit",)], ids=" ".join)
def test_a_snapshot_needs_a_regular_file(words: tuple[str, ...], folder: Path) -> None:
    """It is reported before a server is contacted."""
    os.mkfifo(folder / "pipe")
    result = run(*words, "host=no-such-host.invalid", "--save", str(folder / "pipe"))
    one_message(result, 2, "cannot write .*pipe: it is a device or a pipe")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash; $G is gpcatalog."""
    return subprocess.run(
        ["bash", "-c", f"G='{sys.executable} -m gpcatalog'; {command}"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "$G rules -o /dev/stdout",
        "$G rules -o /dev/fd/1",
        "$G rules -o /proc/self/fd/1 | cat",
        "$G rules -o >(cat); wait $!",
        "$G rules -o -",
        "$G rules -o /dev/fd/7 7>&1 >&2",
    ],
)
def test_open_files_are_written_through(command: str) -> None:
    result = shell(command)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == run("rules").stdout


def test_appended_output_is_not_replaced(folder: Path) -> None:
    file = folder / "log"
    file.write_text("first\n")
    result = shell(f"$G --version >>{file}; $G rules -o /dev/stdout >>{file}")
    assert (result.returncode, result.stderr) == (0, "")
    assert file.read_text().startswith("first\ngpcatalog ")
    assert file.read_text().endswith(run("rules").stdout)


def test_a_reader_of_a_pipe_that_goes_away() -> None:
    result = shell("$G rules -o /dev/stdout | head -n 1; echo ${PIPESTATUS[0]}")
    assert result.stdout == "Rules of gpcatalog audit\n141\n"
    assert result.stderr == ""


@pytest.mark.parametrize("option", ["--maintenance", "--metrics", "-o"])
def test_what_cannot_be_an_output(option: str, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
    (folder / "loop").symlink_to("loop")
    for name, reason in (
        ("socket", "it is a socket"),
        ("loop", "Too many levels of symbolic links"),
        (".", "it is a folder"),
        ("none/x", "No such file or directory|there is no folder"),
    ):
        result = run("audit", "--snapshot", str(FIXTURE), option, str(folder / name))
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) <= 2
        one_message(result, 2, reason)
    assert {f.name for f in folder.iterdir()} == {"socket", "loop", "a.sql"}


def test_no_open_file_of_that_number() -> None:
    one_message(run("rules", "-o", "/dev/fd/77"), 2, "cannot write /dev/fd/77: Bad file descriptor")


@pytest.mark.parametrize(
    "words",
    [
        ("rules", "-o", "-"),
        ("metrics", "--alerts", "--to", "-"),
        ("report", "--snapshot", "FIXTURE", "--html", "-"),
        ("plan", "--snapshot", "FIXTURE", "-o", "-"),
        ("check", "FOLDER/a.sql", "--server", "greenplum6", "--fail-on", "never", "-o", "-"),
    ],
    ids=" ".join,
)
def test_a_hyphen_is_standard_output(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert len(write(words, "-", folder)) > 20
    assert [f.name for f in folder.iterdir()] == ["a.sql"]


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "--snapshot", "FIXTURE", "--maintenance", "-"),
        ("audit", "--snapshot", "FIXTURE", "--metrics", "-"),
        ("audit", "dbname=x", "--save", "-"),
        ("snapshot", "take", "dbname=x", "--save", "-"),
        ("snapshot", "export", "FIXTURE", "-"),
        ("site", "-o", "-"),
        ("man", "--folder", "-"),
        ("schedule", "--systemd", "--folder", "-"),
        ("migrate", "plan.json", "-o", "-"),
        ("plan", "--all", "-o", "-"),
    ],
    ids=" ".join,
)
def test_a_hyphen_where_standard_output_is_not_possible(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(str(FIXTURE) if w == "FIXTURE" else w for w in words))
    one_message(result, 2, "- is not possible: this output cannot be written to standard output")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_followed_is_replaced(tmp_path: Path) -> None:
    """The pages of a site: its folder may be shared, and a link in it may name a file of another account."""
    (tmp_path / "target").write_text("important")
    (tmp_path / "link").symlink_to("target")
    streams.save(tmp_path / "link", "page", follow=False)
    assert (tmp_path / "target").read_text() == "important"
    assert (tmp_path / "link").read_text() == "page"
    assert not (tmp_path / "link").is_symlink()
