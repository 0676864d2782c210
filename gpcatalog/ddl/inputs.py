"""Which files to check: globs, folders, standard input; Flyway and Liquibase SQL; files changed in a git range."""

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
_INCLUDE = re.compile(r"\\(i|ir|include|include_relative)\s+(?:'([^']*)'|([^\s\\]+))")
_NATURAL = re.compile(r"(\d+)")
SUFFIXES = (".sql", ".ddl", ".psql", ".pgsql")
_LIQUIBASE = "a changelog of Liquibase, of which `liquibase update-sql` prints the SQL"
_OTHERS = {
    ".xml": {"<databaseChangeLog": _LIQUIBASE},
    ".yaml": {"databaseChangeLog:": _LIQUIBASE},
    ".yml": {"databaseChangeLog:": _LIQUIBASE},
    ".json": {'"databaseChangeLog"': _LIQUIBASE},
    ".py": {
        "from alembic import": "a migration of Alembic, of which `alembic upgrade --sql` prints the SQL",
        "migrations.Migration": "a migration of Django, of which `manage.py sqlmigrate` prints the SQL",
    },
}
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


def included(command: str, by: Source) -> Source | None:
    """The file that a psql command reads, relative as psql has it; None for another command. One that cannot be read says why."""
    found = _INCLUDE.match(command)
    if found is None:
        return None
    name = (found[2] if found[2] is not None else found[3]).strip()
    relative = found[1] in ("ir", "include_relative") and by.path is not None
    path = (by.path.parent if relative and by.path is not None else Path()) / name
    if re.search(r":(?:\w+|'\w+'|\"\w+\")", name):
        return Source("", shown(path), path=path, skipped=f"{command.split()[0]} {name}: the value of the variable is not known here")
    try:
        return read(path)
    except CatalogError as e:
        return Source("", shown(path), path=path, skipped=e.message)


def read(path: Path) -> Source:
    """A file as a source; of a dbt model it says why it is not read. Raises CatalogError when it cannot be read as text."""
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
        said = "a dbt model with Jinja in it; `dbt run` or `dbt compile` writes the DDL that dbt sends to target/run"
        return Source("", shown(path), path=path, skipped=said)
    return Source(neutral(text), shown(path), path=path)


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
            found = sorted((p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()), key=_order)
            out += [s for s in map(_of_another_tool, sorted(path.rglob("*"))) if s is not None and not _excluded(s.path, exclude)]
            if not found and not out:
                raise CatalogError(f"no SQL file in {path}", hint="files that end in " + ", ".join(SUFFIXES))
        elif path.is_file():
            found = [path]
        elif any(c in name for c in "*?["):
            found = sorted((p for p in Path().glob(name) if p.is_file()), key=_order) if not path.is_absolute() else _absolute(path)
            if not found:
                raise CatalogError(f"nothing matches {name}")
        else:
            raise CatalogError(f"no such file: {name}")
        for each in found:
            if each in seen or _excluded(each, exclude):
                continue
            seen.add(each)
            out.append(read(each))
    return out


def _excluded(path: Path | None, exclude: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(str(path), pattern) for pattern in exclude)


def _of_another_tool(path: Path) -> Source | None:
    """Return a source for a migration file of another tool that is not SQL; it is reported as not read."""
    marks = _OTHERS.get(path.suffix.lower())
    if marks is None or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for mark, what in marks.items():
        if mark in text:
            return Source("", shown(path), path=path, skipped=f"{what}: check the SQL that it sends")
    return None


def _absolute(path: Path) -> list[Path]:
    root = Path(path.anchor)
    return sorted((p for p in root.glob(str(path.relative_to(root))) if p.is_file()), key=_order)


_PATHS = tuple(f":(icase)*{suffix}" for suffix in SUFFIXES)
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
    """Line ranges of files of SQL that differ from a git revision (or a range a..b), by path from here.

    Raises CatalogError when git cannot tell.
    """
    if reference.startswith("-"):
        raise CatalogError(f"{reference} is no git revision")
    asked = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--unified=0", "--relative", "--diff-filter=d")
    # names as they are, by the same order; in the diff itself they are quoted, and lines of a file may look like them
    names = [os.fsdecode(name) for name in _git(*asked, "--name-only", "-z", reference, "--", *_PATHS).split(b"\0") if name]
    pieces = (b"\n" + _git(*asked, reference, "--", *_PATHS)).split(b"\ndiff --git ")[1:]
    if len(pieces) != len(names):
        raise CatalogError(f"git diff {reference} changed while it was read", hint="run it again")
    return {name: _ranges(piece) for name, piece in zip(names, pieces, strict=True)}
