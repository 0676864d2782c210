"""Which files to check: globs, folders, standard input; Flyway and Liquibase SQL as they lie; what a git range changed."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from gpcatalog.ddl.script import Source, split
from gpcatalog.errors import CatalogError

# Flyway's ${name} stands for text that is not here; Liquibase writes ${name} too
_PLACEHOLDER = re.compile(r"\$\{[A-Za-z0-9_.:-]+\}")
_NATURAL = re.compile(r"(\d+)")
MOST_BYTES = 256 << 20


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """V2 before V10."""
    return [(0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in _NATURAL.split(str(path)) if piece]


def _order(path: Path) -> tuple[int, list[tuple[int, int, str]]]:
    """Flyway's order: versioned migrations by version, then repeatable ones; undo scripts last."""
    name = path.name
    rank = 2 if re.match(r"R__", name) else 3 if re.match(r"U\d", name) else 1 if re.match(r"[VB]\d", name) else 0
    return rank, _natural(path)


def neutral(text: str) -> str:
    """Placeholders of migration tools made into words of the same length, so that places in the file stay right.

    >>> neutral("create table ${schema}.t (a int)")
    'create table __schema_.t (a int)'
    """

    def word(found: re.Match[str]) -> str:
        return "__" + re.sub(r"[^A-Za-z0-9_]", "_", found[0][2:-1]) + "_"

    return _PLACEHOLDER.sub(word, text)


# dbt's own words: a string, an array or data of COPY may hold {{ as well
_OF_DBT = re.compile(
    r"\{\{-?\s*(?:ref|source|var|config|this|env_var|target|[a-z_]+\.[a-z_]+)\b|\{%-?\s*(?:macro|set|if|for|snapshot|test|materialization)\b"
)


def _statement_of_dbt(text: str) -> bool:
    """A raw dbt model still holds Jinja where SQL stands: only what dbt compiled can be read."""
    places = {m.start() for m in _OF_DBT.finditer(text)}
    return bool(places) and any(p.error is not None and p.error.offset in places for p in split(Source(text)))


def shown(path: Path) -> str:
    """A path as reports give it: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read(path: Path) -> Source:
    """A file as a source. Raises CatalogError when it cannot be read as text."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CatalogError(f"{path} is larger than {MOST_BYTES >> 20} MB", hint="split it, or leave it out with exclude")
        raw = path.read_bytes()
    except OSError as e:
        raise CatalogError(f"cannot read {path}: {e.strerror}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # places and ASCII keywords stay right
    if "{" in text and _statement_of_dbt(text):
        raise CatalogError(
            f"{path} is a dbt model with Jinja in it", hint="run `dbt run` or `dbt compile`: the DDL that dbt sends is in target/run"
        )
    return Source(neutral(text), shown(path))


def gather(names: Iterable[str], exclude: tuple[str, ...] = ()) -> list[Source]:
    """Sources of the files named: paths, folders (their *.sql), globs, and - for standard input.

    Raises CatalogError when a name matches nothing.
    """
    out: list[Source] = []
    seen: set[Path] = set()
    for name in names:
        if name == "-":
            out.append(Source(neutral(sys.stdin.read()), "<stdin>"))
            continue
        path = Path(name)
        if path.is_dir():
            found = sorted((p for p in path.rglob("*.sql") if p.is_file()), key=_order)
            if not found:
                raise CatalogError(f"no .sql file in {path}")
        elif path.is_file():
            found = [path]
        elif any(c in name for c in "*?["):
            found = sorted((p for p in Path().glob(name) if p.is_file()), key=_order) if not path.is_absolute() else _absolute(path)
            if not found:
                raise CatalogError(f"nothing matches {name}")
        else:
            raise CatalogError(f"no such file: {name}")
        for each in found:
            if each in seen or any(fnmatch.fnmatch(str(each), pattern) for pattern in exclude):
                continue
            seen.add(each)
            out.append(read(each))
    return out


def _absolute(path: Path) -> list[Path]:
    root = Path(path.anchor)
    return sorted((p for p in root.glob(str(path.relative_to(root))) if p.is_file()), key=_order)


_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


def _git(*words: str) -> bytes:
    """What git says. Raises CatalogError with its first line."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise CatalogError("git is not installed", hint="without --diff no git is needed") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CatalogError(f"git diff: {said[0] if said else 'failed'}", hint="is the history fetched? (fetch-depth: 0)")
    return done.stdout


def _ranges(diff: bytes) -> list[tuple[int, int]]:
    """Line ranges that one file's diff without context speaks of. Its lines begin with +, - or a backslash, whatever they say."""
    out = []
    for line in diff.split(b"\n"):
        hunk = _HUNK.match(line)
        if hunk is not None:
            first, number = int(hunk[1]), int(hunk[2] if hunk[2] is not None else 1)
            # lines only taken away touch what stands around the cut
            out.append((first, first + max(number, 1) - 1))
    return out


def changed(reference: str) -> dict[str, list[tuple[int, int]]]:
    """Line ranges of *.sql files that differ from a git revision (or a range a..b), by path from here.

    Raises CatalogError when git cannot tell.
    """
    if reference.startswith("-"):
        raise CatalogError(f"{reference} is no git revision")
    asked = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--unified=0", "--relative", "--diff-filter=d")
    # names as they are, by the same order; in the diff itself they are quoted, and lines of a file may look like them
    names = [os.fsdecode(name) for name in _git(*asked, "--name-only", "-z", reference, "--", "*.sql").split(b"\0") if name]
    pieces = (b"\n" + _git(*asked, reference, "--", "*.sql")).split(b"\ndiff --git ")[1:]
    if len(pieces) != len(names):
        raise CatalogError(f"git diff {reference} changed while it was read", hint="run it again")
    return {name: _ranges(piece) for name, piece in zip(names, pieces, strict=True)}
