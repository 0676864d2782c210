"""Which files to check: globs, folders, standard input; Flyway and Liquibase SQL; files changed in
a git range.
"""

from __future__ import annotations

import codecs
import fnmatch
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from gpcatalog.dialect.script import Source, split
from gpcatalog.errors import CatalogError
from gpcatalog.model.folders import require_readable

_INCLUDE = re.compile(r"\\(i|ir|include|include_relative)\s+(?:'([^']*)'|([^\s\\]+))")
_NATURAL = re.compile(r"(\d+)")
_UNDO = re.compile(r"U\d[\w.]*__")  # of Flyway: only `flyway undo` runs it
SUFFIXES = (".sql", ".ddl", ".psql", ".pgsql")
_LIQUIBASE = "a Liquibase changelog; check the output of `liquibase update-sql`"
_OTHERS = {
    ".xml": {"<databaseChangeLog": _LIQUIBASE},
    ".yaml": {"databaseChangeLog:": _LIQUIBASE},
    ".yml": {"databaseChangeLog:": _LIQUIBASE},
    ".json": {'"databaseChangeLog"': _LIQUIBASE},
    ".py": {
        "from alembic import": "an Alembic migration; check the output of `alembic upgrade --sql`",
        "migrations.Migration": "a Django migration; check the output of `manage.py sqlmigrate`",
    },
}
MOST_BYTES = 256 << 20


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sort key in natural order: V2 before V10."""
    return [
        (0, int(piece), "") if piece.isdigit() else (1, 0, piece)
        for piece in _NATURAL.split(str(path))
        if piece
    ]


def order_of(path: Path) -> tuple[int, list[tuple[int, int, str]]]:
    """Sort key in Flyway's order: versioned migrations by version, repeatable ones, undo
    scripts.
    """
    name = path.name
    rank = (
        2
        if re.match(r"R__", name)
        else 3
        if re.match(r"U\d", name)
        else 1
        if re.match(r"[VB]\d", name)
        else 0
    )
    return rank, _natural(path)


# words of dbt are required, because a string, an array or COPY data may also contain {{
_OF_DBT = re.compile(
    r"\{\{-?\s*(?:ref|source|var|config|this|env_var|target|[a-z_]+\.[a-z_]+)\b|\{%-?\s*(?:macro|set|if|for|snapshot|test|materialization)\b"
)


def _statement_of_dbt(text: str) -> bool:
    """Whether a text is a dbt model with Jinja outside of strings and comments; only the compiled
    model can be read.
    """
    places = {m.start() for m in _OF_DBT.finditer(text)}
    if not places:
        return False
    for piece in split(Source(text)):
        if piece.error is not None and piece.error.offset in places:
            return True
        if piece.tokens is not None and places.intersection(
            start
            for kind, start in zip(piece.tokens.kinds, piece.tokens.starts, strict=True)
            if kind == "{"
        ):
            return True
    return False


def shown(path: Path) -> str:
    """A path as reports show it: bytes that are not UTF-8 are escaped with a backslash."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def included(command: str, by: Source, values: Mapping[str, str] | None = None) -> Source | None:
    """The file that a psql command includes, relative as in psql; None for another command.

    If the file cannot be read, `skipped` of the source contains the reason.
    """
    found = _INCLUDE.match(command)
    if found is None:
        return None
    name = (found[2] if found[2] is not None else found[3]).strip()
    relative = found[1] in ("ir", "include_relative") and by.path is not None
    path = (by.path.parent if relative and by.path is not None else Path()) / name
    if re.search(r":(?:\w+|'\w+'|\"\w+\")", name):
        return Source(
            "",
            shown(path),
            path=path,
            skipped=f"{command.split()[0]} {name}: the value of the variable is not known",
        )
    try:
        return read(path, values)
    except CatalogError as e:
        return Source("", shown(path), path=path, skipped=e.message)


def decoded(raw: bytes) -> str:
    """Text of a file in UTF-8, UTF-16 or otherwise a one-byte encoding, in which keywords and
    positions stay correct.

    >>> decoded("a".encode("utf-16")), decoded("create".encode("utf-16-le")), decoded(b"caf\\xe9")
    ('a', 'create', 'caf\xe9')
    """
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return raw.decode("utf-16", "replace").removeprefix("\ufeff")
    pairs = raw[: 1 << 16]
    if len(pairs) > 1 and pairs.count(0) > len(pairs) // 4:  # only UTF-16 has bytes 0
        return raw.decode(
            "utf-16-le" if pairs[1::2].count(0) > pairs[::2].count(0) else "utf-16-be", "replace"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


_CHANGESET = re.compile(r"^[ \t]*--\s*changeset\s+\S+(?P<rest>.*)$", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTE = re.compile(r"(\w+)\s*:\s*(\"[^\"]*\"|\S+)")
CONTEXTS, LABELS = "liquibase.contexts", "liquibase.labels"  # keys in the values of placeholders
# their names in liquibase.properties, of old and new versions
_FILTERS = {
    **dict.fromkeys(
        ("contexts", "liquibase.command.contexts", "liquibase.command.contextFilter"), CONTEXTS
    ),
    **dict.fromkeys(
        ("labels", "labelFilter", "liquibase.command.labels", "liquibase.command.labelFilter"),
        LABELS,
    ),
}
_OURS = frozenset(("postgresql", "postgres", "greenplum", "all"))


def _for_postgresql(dbms: str) -> bool:
    """Whether a list of servers, such as `postgresql,h2` or `!oracle`, includes PostgreSQL."""
    servers = [s.strip().lower() for s in dbms.split(",")]
    servers_included = {s for s in servers if not s.startswith("!")}
    return (not servers_included or bool(_OURS & servers_included)) and not any(
        s[1:] in _OURS for s in servers if s.startswith("!")
    )


_LONGEST_EXPRESSION = 200  # words and signs; a limit, because parentheses nest
_EXPRESSION = re.compile(r"[(),!]|[^\s(),!]+")


def _applies(expression: str, names: Collection[str]) -> bool:
    """Whether an expression over contexts or labels is true for these names. It may contain and,
    or, a comma for or, not, ! and parentheses.

    >>> _applies("prod and !test", {"prod"}), _applies("a, b", {"b"}), _applies("not (a or b)", {"c"}), _applies("prod", {"test"})
    (True, True, True, False)
    """
    tokens = [t.lower() for t in _EXPRESSION.findall(expression)][:_LONGEST_EXPRESSION]

    def either() -> bool:
        found = both()
        while tokens and tokens[0] in (",", "or"):
            tokens.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while tokens and tokens[0] == "and":
            tokens.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        token = tokens.pop(0) if tokens else ""
        if token in ("!", "not"):
            return not one()
        if token == "(":
            found = either()
            if tokens and tokens[0] == ")":
                tokens.pop(0)
            return found
        return token in names

    return either()


def _runs(changeset: Mapping[str, str], values: Mapping[str, str]) -> bool:
    """Whether Liquibase would run a changeset with those attributes on PostgreSQL, with the
    contexts and the label filter in use.

    A changeset without context or labels always runs. Without contexts in use, its context is
    ignored; without a label filter, its labels are.
    """
    contexts = {c.strip().lower() for c in values.get(CONTEXTS, "").split(",") if c.strip()}
    expression = changeset.get("context") or changeset.get("contextfilter") or ""
    if contexts and expression and not _applies(expression, contexts):
        return False
    labels = {x.strip().lower() for x in changeset.get("labels", "").split(",") if x.strip()}
    if labels and values.get(LABELS, "").strip() and not _applies(values[LABELS], labels):
        return False
    return _for_postgresql(changeset.get("dbms", "all"))


def liquibase(text: str, values: Mapping[str, str] | None = None) -> str:
    """Formatted SQL of Liquibase as psql would read it, of the same length: delimiters are `;`,
    changesets that would not run are replaced by blanks.

    values: its entries CONTEXTS and LABELS are the contexts and the label filter in use

    >>> liquibase("--liquibase formatted sql\\n--changeset a:1 endDelimiter:/\\nselect 1\\n/\\n--changeset a:2 dbms:oracle\\nselect 2;")
    '--liquibase formatted sql\\n--changeset a:1 endDelimiter:/\\nselect 1\\n;\\n--changeset a:2 dbms:oracle\\n         '
    """
    if re.match(r"\ufeff?\s*--\s*liquibase\s+formatted\s+sql", text, re.IGNORECASE) is None:
        return text
    heads = list(_CHANGESET.finditer(text))
    pieces = [text[: heads[0].end()]] if heads else [text]
    for n, head in enumerate(heads):
        end = heads[n + 1].end() if n + 1 < len(heads) else len(text)
        stop = heads[n + 1].start() if n + 1 < len(heads) else len(text)
        body = text[head.end() : stop]
        given = {name.lower(): value.strip('"') for name, value in _ATTRIBUTE.findall(head["rest"])}
        if not _runs(given, values or {}):
            body = re.sub(r"[^\r\n]", " ", body)
        elif (
            delimiter := given.get("enddelimiter", ";")
            .replace("\\n", "")
            .replace("\\r", "")
            .strip()
        ) not in ("", ";"):
            last = re.compile(
                r"(?<!\*)" + re.escape(delimiter) + r"(?=[ \t]*\r?$)", re.MULTILINE | re.IGNORECASE
            )
            body = last.sub(";" + " " * (len(delimiter) - 1), body)
        pieces += [body, text[stop:end]]
    return "".join(pieces)


_PROPERTY = re.compile(r"^--\s*property\s+(.*)$", re.IGNORECASE | re.MULTILINE)


def _filled(text: str, file: str, path: Path | None, values: Mapping[str, str] | None) -> Source:
    """A source with the values of its placeholders; formatted SQL of Liquibase may define values
    itself.
    """
    own: dict[str, str] = {}
    if "${" in text:
        for line in _PROPERTY.finditer(text):
            given = {name.lower(): value.strip('"') for name, value in _ATTRIBUTE.findall(line[1])}
            if "name" in given and "value" in given and _for_postgresql(given.get("dbms", "all")):
                own.setdefault(given["name"], given["value"])
    return Source(liquibase(text, values), file, path=path, values={**own, **(values or {})})


def _text_of(file: Path) -> str:
    try:
        return decoded(file.read_bytes())
    except OSError as e:
        raise CatalogError(
            f"cannot read {file}: {e.strerror}",
            hint="make it readable, or run the check in another folder",
        ) from None


def properties(names: Iterable[str]) -> dict[str, str]:
    """Values of placeholders in the property files of Flyway and Liquibase, in the current folder
    and in the given folders.

    Flyway: flyway.placeholders.NAME in flyway.conf or conf/flyway.conf, [flyway.placeholders] in
        flyway.toml.
    Liquibase: parameter.NAME in liquibase.properties, and the contexts and the label filter in use.
    Raises CatalogError for a file that cannot be read.
    """
    folders = [Path(), *(p if p.is_dir() else p.parent for p in map(Path, names) if p.exists())]
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        for name, prefix in (
            ("flyway.conf", "flyway.placeholders."),
            ("conf/flyway.conf", "flyway.placeholders."),
            ("liquibase.properties", "parameter."),
        ):
            file = folder / name
            if not file.is_file():
                continue
            for line in _text_of(file).splitlines():
                key, sign, value = line.strip().partition("=")
                if sign and key.strip().startswith(prefix):
                    found[key.strip().removeprefix(prefix)] = value.strip()
                elif sign and name == "liquibase.properties" and key.strip() in _FILTERS:
                    found[_FILTERS[key.strip()]] = value.strip()
        if (file := folder / "flyway.toml").is_file():
            import tomllib  # compiling its patterns takes 17 ms, and most commands read no TOML

            try:
                data = tomllib.loads(_text_of(file))
            except tomllib.TOMLDecodeError as e:
                raise CatalogError(
                    f"{file}: {e}", hint="correct it, or run the check in another folder"
                ) from None
            given = data.get("flyway", {})
            given = given.get("placeholders", {}) if isinstance(given, dict) else {}
            found.update(
                {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
            )
    return found


def read(path: Path, values: Mapping[str, str] | None = None) -> Source:
    """A file as a source; if it is not read, `skipped` contains the reason.

    Raises CatalogError if it cannot be read as text.

    values: values of ${placeholders}
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CatalogError(
                f"{path} is larger than {MOST_BYTES >> 20} MB",
                hint="split it, or exclude it with the setting exclude",
            )
        raw = path.read_bytes()
    except OSError as e:
        raise CatalogError(f"cannot read {path}: {e.strerror}") from None
    text = decoded(raw)
    if "{" in text and _statement_of_dbt(text):
        reason = (
            "a template with Jinja, such as a dbt model; check the SQL that it produces"
            " (`dbt run` and `dbt compile` write it to target/run)"
        )
        return Source("", shown(path), path=path, skipped=reason)
    return _filled(text, shown(path), path, values)


def gather(
    names: Iterable[str],
    exclude: tuple[str, ...] = (),
    values: Mapping[str, str] | None = None,
    *,
    undo: bool = False,
) -> list[Source]:
    """Sources of the given names: files, folders (their SQL files), globs, and - for standard
    input.

    undo: undo scripts of Flyway are not part of the change, as in a folder
    Raises CatalogError if a name matches nothing.
    """
    out: list[Source] = []
    seen: set[Path] = set()
    for name in names:
        if name == "-":
            out.append(_filled(decoded(sys.stdin.buffer.read()), "<stdin>", None, values))
            continue
        path = Path(name)
        if path.is_dir():
            require_readable(path)
            found = sorted(
                (p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()),
                key=order_of,
            )
            out += [
                s
                for s in map(_of_another_tool, sorted(path.rglob("*")))
                if s is not None and not _excluded(s.path, exclude)
            ]
            if not found and not out:
                raise CatalogError(
                    f"there is no SQL file in {path}",
                    hint="SQL files end in " + ", ".join(SUFFIXES),
                )
        elif path.is_file():
            found = [path]
        elif any(c in name for c in "*?["):
            found = (
                sorted((p for p in Path().glob(name) if p.is_file()), key=order_of)
                if not path.is_absolute()
                else _absolute(path)
            )
            if not found:
                raise CatalogError(f"no file matches {name}")
        else:
            raise CatalogError(f"no such file: {name}")
        for each in found:
            if each in seen or _excluded(each, exclude):
                continue
            seen.add(each)
            source = read(each, values)
            source.undo = (path.is_dir() or undo) and _UNDO.match(each.name) is not None
            out.append(source)
    return out


def _excluded(path: Path | None, exclude: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(str(path), pattern) for pattern in exclude)


def _of_another_tool(path: Path) -> Source | None:
    """Return a source for a migration file of another tool that is not SQL; it is reported as not
    read.
    """
    marks = _OTHERS.get(path.suffix.lower())
    if marks is None or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for mark, what in marks.items():
        if mark in text:
            return Source("", shown(path), path=path, skipped=what)
    return None


def _absolute(path: Path) -> list[Path]:
    root = Path(path.anchor)
    return sorted((p for p in root.glob(str(path.relative_to(root))) if p.is_file()), key=order_of)


_PATHS = tuple(f":(icase)*{suffix}" for suffix in SUFFIXES)
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


def _git(*words: str) -> bytes:
    """The output of git. Raises CatalogError with the first line of its error message."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise CatalogError(
            "git is not installed", hint="install git, or run without --diff"
        ) from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        raise CatalogError(
            f"git diff: {errors[0] if errors else 'failed'}",
            hint="check that the history was fetched, for example with fetch-depth: 0",
        )
    return done.stdout


def _ranges(diff: bytes) -> list[tuple[int, int]]:
    """Changed line ranges in the diff of one file without context lines.

    In the diff, all lines of the file begin with +, - or a backslash.
    """
    out = []
    for line in diff.split(b"\n"):
        hunk = _HUNK.match(line)
        if hunk is not None:
            first, number = int(hunk[1]), int(hunk[2] if hunk[2] is not None else 1)
            # a hunk that only removes lines counts as a change of the line before it
            out.append((first, first + max(number, 1) - 1))
    return out


def changed(reference: str) -> dict[str, list[tuple[int, int]]]:
    """Line ranges of SQL files that differ from a git revision (or a range a..b), by path relative
    to the current folder.

    Raises CatalogError if git fails.
    """
    if reference.startswith("-"):
        raise CatalogError(f"{reference} is not a git revision")
    options = (
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--text",
        "--unified=0",
        "--relative",
        "--diff-filter=d",
    )
    # names unquoted and in the same order; in the diff they are quoted, and lines of a file may
    # look like them
    names = [
        os.fsdecode(name)
        for name in _git(*options, "--name-only", "-z", reference, "--", *_PATHS).split(b"\0")
        if name
    ]
    pieces = (b"\n" + _git(*options, reference, "--", *_PATHS)).split(b"\ndiff --git ")[1:]
    if len(pieces) != len(names):
        raise CatalogError(f"git diff {reference} changed while it was read", hint="run it again")
    return {name: _ranges(piece) for name, piece in zip(names, pieces, strict=True)}
