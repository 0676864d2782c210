"""Where a command's words go: results to standard output, progress and messages to standard error,
files whole or not at all.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from gpcatalog.errors import CatalogError
from gpcatalog.model.names import printable
from gpcatalog.model.plain_text import is_unicode
from gpcatalog.model.secrets import masked

if TYPE_CHECKING:
    from gpcatalog.commands.options import ColorChoice
    from gpcatalog.emit.terminal import Console


advice: list[
    str
] = []  # lines for standard error once the command has succeeded: a failure is one message
kept: list[str] = []  # files that this run wrote whole: what an interruption does not take back


_log_json = False


def progress(line: str) -> None:
    """One line that the next replaces; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K… {printable(line)}", end="", file=sys.stderr, flush=True)


def progress_done() -> None:
    """Take the progress line away."""
    if sys.stderr.isatty():
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def log_as_json(chosen: bool) -> None:
    """Write messages on standard error as JSON, one object a line."""
    global _log_json
    _log_json = chosen


def say(line: str, *, level: str = "info", **fields: object) -> None:
    """A message beside the result.

    level: "info", "warning" or "error"; fields: what a program wants to know of the message. Both
    are in a log of JSON only.
    """
    if not _log_json:
        print(line, file=sys.stderr, flush=True)
        return
    record = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "message": line.removeprefix("gpcatalog: ").strip(),
        **fields,
    }
    whole = {k: masked(v) if isinstance(v, str) else v for k, v in record.items()}
    # masking the JSON again could take its quotation marks for a part of a password
    stream = getattr(sys.stderr, "unmasked", sys.stderr)
    print(json.dumps(whole), file=stream, flush=True)


def fail(message: str, hint: str = "", *, exit_code: int) -> None:
    """The message of a failure with its hint."""
    progress_done()
    if _log_json:
        say(message, level="error", exit_code=exit_code, **({"hint": hint} if hint else {}))
        return
    say(f"gpcatalog: {message}")
    if hint:
        say(f"  hint: {hint}")


def out(text: str) -> None:
    """A result for a program, in UTF-8 whatever the terminal has."""
    with destination("") as stream:
        stream.write(text)
        stream.flush()


def as_json(result: Any) -> None:
    """A result as JSON of its versioned schema."""
    from gpcatalog.emit.as_json import encode

    out(encode(result))


def console(color: ColorChoice) -> Console:
    """The console of standard output, coloured as asked."""
    from gpcatalog.emit import terminal

    return terminal.console(terminal.Color(color.value))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A stream into a file that appears whole or not at all, readable as the umask says.

    Raises CatalogError.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            yield stream
        os.replace(draft, path)
        kept.append(str(path))
    except OSError as e:
        raise CatalogError(
            f"cannot write {path}: {e.strerror or e}", hint="an existing file was not changed"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises CatalogError."""
    with writing(path) as stream:
        stream.write(text)


class Finished(typer.Exit):
    """The end of a command whose output is complete, with an exit code of its own."""


def destination(path: str, *, person: bool = False) -> contextlib.AbstractContextManager[TextIO]:
    """A stream to the file named, or standard output where none is; in UTF-8.

    person: a person reads it: on standard output it is encoded as the terminal wants it
    """
    if path:
        return writing(Path(path))
    if person or is_unicode(sys.stdout):
        return contextlib.nullcontext(sys.stdout)
    return _as_utf8()


@contextlib.contextmanager
def _as_utf8() -> Iterator[TextIO]:
    """Standard output, whatever its encoding is, for what programs read."""
    sys.stdout.flush()
    stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", write_through=True)
    try:
        yield stream
    finally:
        stream.detach()
