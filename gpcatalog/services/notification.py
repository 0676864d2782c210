"""Run a program when the state of audits has changed, and store the state."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gpcatalog.audit.changes import Notification, Problem, compare, with_unknown
from gpcatalog.errors import CatalogError, Exit

LIMIT = 60.0  # time limit of the program in seconds


class _State(msgspec.Struct, frozen=True):
    """The problems of the last notification that the program accepted."""

    problems: tuple[Problem, ...]


def words_of(command: str) -> list[str]:
    """Split the command into the program and its arguments. No shell is used.

    Raises CatalogError (2) if the command cannot be split or there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as e:
        raise CatalogError(f"--notify-command: {e}") from None
    if not words or shutil.which(words[0]) is None:
        raise CatalogError(
            f"--notify-command: there is no program {words[0] if words else ''!r}",
            hint="give the path of a program; it is run without a shell",
        )
    return words


def state_file(words: Sequence[str], subject: str) -> Path:
    """The file with the state of one subject, such as a fleet file or a database, for one program."""
    from gpcatalog.store import series

    digest = hashlib.sha256("\0".join([subject, *words]).encode()).hexdigest()[:16]
    return series.home() / "notified" / f"{digest}.json"


def _read(file: Path) -> dict[str, Problem] | None:
    """The stored problems by key; None if there are none or the file is damaged."""
    try:
        state = msgspec.json.decode(file.read_bytes(), type=_State)
    except (OSError, msgspec.DecodeError):  # includes validation errors
        return None
    return {p.key: p for p in state.problems}


def _write(file: Path, problems: Sequence[Problem]) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(_State(tuple(problems))))
        os.replace(draft, file)
    except OSError as e:
        draft.unlink(missing_ok=True)
        raise CatalogError(
            f"cannot write {file}: {e.strerror or e}",
            hint="the change will be notified again by the next run",
            complete=True,
        ) from None


def _run(words: Sequence[str], found: Notification) -> None:
    """Run the program with the change as JSON on standard input. Raises CatalogError (3)."""
    hint = "the change will be notified again by the next run"
    try:
        done = subprocess.run(
            list(words),
            input=msgspec.json.encode(found) + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CatalogError(
            f"the notification command did not end within {LIMIT:g} s",
            hint=hint,
            exit_code=Exit.UNREACHABLE,
            complete=True,
        ) from None
    except OSError as e:
        raise CatalogError(
            f"the notification command cannot be run: {e.strerror or e}",
            hint=hint,
            exit_code=Exit.UNREACHABLE,
            complete=True,
        ) from None
    if done.returncode:
        output = done.stdout.decode("utf-8", "replace").strip().splitlines()
        raise CatalogError(
            f"the notification command failed with {done.returncode}"
            + (f": {output[-1][:300]}" if output else ""),
            hint=hint,
            exit_code=Exit.UNREACHABLE,
            complete=True,
        )


def notify(
    words: Sequence[str], subject: str, now: Sequence[Problem], unread_places: Sequence[str]
) -> Notification:
    """Run the program if the problems changed since it last succeeded, and return the change.

    unread_places: places that could not be audited; their earlier problems remain.
    Raises CatalogError (3) if the program fails: the state is then not stored.
    """
    file = state_file(words, subject)
    before = _read(file)
    current = with_unknown(now, before or {}, unread_places)
    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    found = compare(current, before, time)
    if found.changed:
        _run(words, found)
    if found.changed or before is None:
        _write(file, current)
    return found
