"""Output of commands: results on standard output, progress and messages on standard error, and
files, of which regular ones are written completely or not at all.
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
from gpcatalog.model.output_file import STANDARD_OUTPUT, OutputFile, locate
from gpcatalog.model.plain_text import is_unicode
from gpcatalog.model.secrets import masked

if TYPE_CHECKING:
    from gpcatalog.commands.options import ColorChoice
    from gpcatalog.emit.terminal import Console


advice: list[
    str
] = []  # printed on standard error after the command has succeeded: a failure is one message
kept: list[str] = []  # files that this run wrote completely: an interruption does not remove them


_log_json = False


def progress(line: str) -> None:
    """Show one line of progress, which the next one replaces; only on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K… {printable(line)}", end="", file=sys.stderr, flush=True)


def progress_done() -> None:
    """Remove the progress line."""
    if sys.stderr.isatty():
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def log_as_json(chosen: bool) -> None:
    """Write messages on standard error as JSON, one object per line."""
    global _log_json
    _log_json = chosen


def log(line: str, *, level: str = "info", **fields: object) -> None:
    """Print a message on standard error, separate from the result.

    level: "info", "warning" or "error"; fields: data of the message for programs. Both are printed
           in a JSON log only.
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
    masked_record = {k: masked(v) if isinstance(v, str) else v for k, v in record.items()}
    # masking the JSON again could mask its quotation marks as part of a password
    stream = getattr(sys.stderr, "unmasked", sys.stderr)
    print(json.dumps(masked_record), file=stream, flush=True)


def fail(message: str, hint: str = "", *, exit_code: int) -> None:
    """Print the message of a failure with its hint."""
    progress_done()
    if _log_json:
        log(message, level="error", exit_code=exit_code, **({"hint": hint} if hint else {}))
        return
    log(f"gpcatalog: {message}")
    if hint:
        log(f"  hint: {hint}")


def out(text: str) -> None:
    """Print a result for a program, in UTF-8 for any encoding of the terminal."""
    with destination("") as stream:
        stream.write(text)
        stream.flush()


def as_json(result: Any) -> None:
    """Print a result as JSON of its versioned schema."""
    from gpcatalog.emit.as_json import encode

    out(encode(result))


def console(color: ColorChoice) -> Console:
    """Return the console of standard output, with the chosen use of color."""
    from gpcatalog.emit import terminal

    return terminal.console(terminal.Color(color.value))


@contextlib.contextmanager
def writing(path: Path, *, follow: bool = True) -> Iterator[TextIO]:
    """Open a stream to an output file.

    A regular file is written completely or not at all, with the permissions of the umask; through
    a symbolic link, its target is replaced. Devices, pipes and open files such as /dev/stdout are
    written directly and never replaced.
    follow: whether symbolic links are followed; otherwise a link is replaced

    Raises CatalogError, also for folders and sockets.
    """
    file = OutputFile(path) if not follow and path.is_symlink() else locate(path)
    with _directly(path, file) if file.special else _replacing(path, file.path) as stream:
        yield stream


@contextlib.contextmanager
def _replacing(named: Path, path: Path) -> Iterator[TextIO]:
    """Open a stream to a draft that replaces a regular file at the end. named: as in the call."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            yield stream
        os.replace(draft, path)
        kept.append(str(named))
    except OSError as e:
        raise CatalogError(
            f"cannot write {named}: {e.strerror or e}", hint="an existing file was not changed"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _directly(named: Path, file: OutputFile) -> Iterator[TextIO]:
    """Open a stream to a device, a pipe or an open file of this process."""
    opened = False
    try:
        if file.descriptor is not None:
            sys.stdout.flush()  # what was printed before comes first
        descriptor = file.open()
        opened = True
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            yield stream
    except BrokenPipeError:
        raise  # the reader closed the pipe, as with standard output
    except OSError as e:
        raise CatalogError(
            f"cannot write {named}: {e.strerror or e}",
            hint="a part may have been written" if opened else "nothing was written",
        ) from None


def save(path: Path, text: str, *, follow: bool = True) -> None:
    """Write an output file as `writing` does. Raises CatalogError."""
    with writing(path, follow=follow) as stream:
        stream.write(text)


class Finished(typer.Exit):
    """Raised at the end of a command whose output is complete, with its own exit code."""


def destination(path: str, *, person: bool = False) -> contextlib.AbstractContextManager[TextIO]:
    """Return a stream to the given file, or to standard output without one or for -; in UTF-8.

    person: the output is for a person: standard output has the encoding of the terminal
    """
    if path not in ("", STANDARD_OUTPUT):
        return writing(Path(path))
    if person or is_unicode(sys.stdout):
        return contextlib.nullcontext(sys.stdout)
    return _as_utf8()


@contextlib.contextmanager
def _as_utf8() -> Iterator[TextIO]:
    """Standard output in UTF-8 for programs, for any encoding of the terminal."""
    sys.stdout.flush()
    stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", write_through=True)
    try:
        yield stream
    finally:
        stream.detach()
