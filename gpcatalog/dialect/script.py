"""Splits a SQL file into statements with their positions; it handles psql commands, COPY data,
dollar quotes and comments.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path

from sqlglot import exp

from gpcatalog.dialect.grammar import WORDS, SyntaxFault, grammar
from gpcatalog.dialect.lexer import IDENT, PSQLVAR, LexError, Tokens, scan
from gpcatalog.dialect.strings import Strings
from gpcatalog.dialect.variables import (
    Branch,
    Expansion,
    Variables,
    fill,
    in_name,
    name_of,
    without,
)
from gpcatalog.dialect.version import Edition

_COPY_END = re.compile(r"^\\\.[ \t]*\r?$", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
# psql commands that send the query buffer to the server, so they end a statement as a semicolon
# does
_SENDING = re.compile(r"\\(?:g|gx|gset|gexec|crosstabview|watch)\b")
# those after which the query buffer is empty, although nothing ran
_CLEARING = re.compile(r"\\(?:r|reset|gdesc)\b")
# the rest of the line is not one argument, so another command may follow
_BEFORE_ANOTHER = re.compile(
    r"""\\(?:bind|bind_named|parse|close_prepared|p|print|r|reset|timing|pset|a|t|x|H|f)\b"""
    r"""(?:'(?:[^'\\\r\n]|\\.|'')*'|"[^"\r\n]*"|[^'"\\\r\n])*(?=\\[a-zA-Z])"""
)
_COPY = re.compile(r"\\copy\b.*\bfrom\s+stdin\b", re.IGNORECASE)


_CONDITION = re.compile(r"\\(?:if|elif|else|endif)\b")


class Outcome(StrEnum):
    """The result of reading a statement."""

    TYPED = "typed"
    NOT_UNDERSTOOD = "not understood"
    ERROR = "syntax error"
    NOT_READ = "not read"
    NO_VALUE = "variable without a value"
    COMMAND = "psql command"


@dataclass(frozen=True)
class Place:
    """A position in a file, counted from 1; columns count characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Source:
    """The text of a file and its lines.

    text: with the values of placeholders; offsets refer to it, lines and columns to the file
    """

    def __init__(
        self,
        text: str,
        file: str = "<stdin>",
        *,
        path: Path | None = None,
        skipped: str = "",
        values: Mapping[str, str] | None = None,
    ) -> None:
        text = text.removeprefix("\ufeff")
        self.file = file
        self.path = path  # None if it is not a file
        self.skipped = skipped  # why the file is not read
        self.undo = False  # an undo script of Flyway: read, but not part of the change
        self._original = text
        self._moved: list[tuple[int, int, int, int]] = []
        self.missing: list[
            tuple[int, int, str]
        ] = []  # placeholders without a value: start, end, name
        if "${" in text:
            text, self._moved, self.missing = fill(text, values or {})
        self.text = text
        self._starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", self._original))]

    def place(self, offset: int) -> Place:
        """Line and column of an offset.

        >>> str(Source("a\\nbc").place(3)), str(Source("${a}\\n${b} c", values={"a": "x", "b": "long value"}).place(13))
        ('<stdin>:2:2', '<stdin>:2:6')
        """
        at = bisect_right(self._moved, (offset, len(self.text) + 1)) - 1
        if at >= 0:
            begin, end, first, last = self._moved[at]
            offset = first if offset < end or begin == end == offset else last + offset - end
        line = bisect_right(self._starts, offset)
        return Place(self.file, line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Text of a line without its end."""
        end = self._starts[number] if number < len(self._starts) else len(self._original)
        return self._original[self._starts[number - 1] : end].rstrip("\r\n")

    def places_in(self, start: int, end: int) -> list[tuple[int, int, str]]:
        """Start, end and name of the placeholders without a value between two offsets."""
        first = bisect_left(self.missing, (start, start, ""))
        return self.missing[first : bisect_left(self.missing, (end, end, ""))]

    def missing_in(self, start: int, end: int) -> list[str]:
        """Names of the placeholders without a value between two offsets."""
        return [name for _, _, name in self.places_in(start, end)]


@dataclass(kw_only=True)
class Piece:
    """One statement of a file, before it is parsed."""

    source: Source
    start: int
    end: int
    tokens: Tokens | None
    error: SyntaxFault | None = None
    command: str = ""  # psql command that sends the statement; without tokens, another psql command
    expanded: Expansion | None = (
        None  # the text with the values of its variables; the tokens are those of this text
    )
    missing: tuple[str, ...] = ()  # variables and placeholders without a value
    decisive: tuple[str, ...] = ()  # those that are not only part of a name
    reasons: tuple[str, ...] = ()  # why it is unknown whether it runs
    other: bool = False  # in a branch of \\if that may run instead of an earlier branch
    escapes: bool = False  # a backslash in '…' begins an escape
    begins: bool = False  # psql begins a transaction before it if none is open


@dataclass(kw_only=True)
class Statement:
    """One statement after it was read.

    tree: its tree, or None
    edition: the grammar that parsed it
    fault: position and reason of the syntax error, or why it was not understood
    missing: variables and placeholders without a value; decisive: those that are not only part of a
        name
    reasons: why it is unknown whether it runs; other: it may run instead of an earlier statement
    begins: psql begins a transaction before it if none is open (AUTOCOMMIT off)
    """

    source: Source
    start: int
    end: int
    outcome: Outcome
    tree: exp.Expression | None = None
    edition: Edition | None = None
    fault: SyntaxFault | None = None
    words: tuple[str, ...] = field(default=())
    command: str = ""  # psql command that sends it (without a semicolon), or the command itself
    missing: tuple[str, ...] = ()
    decisive: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    other: bool = False
    begins: bool = False

    @property
    def place(self) -> Place:
        """The position where it begins."""
        return self.source.place(self.start)

    @property
    def text(self) -> str:
        """The text as written."""
        return self.source.text[self.start : self.end]


def _copy_data(text: str, at: int) -> int:
    """Offset after the data block of COPY … FROM STDIN; the block ends at a line with a backslash
    and a full stop.
    """
    line_end = _LINE.match(text, at)
    assert line_end is not None
    found = _COPY_END.search(text, line_end.end())
    if found is None:
        return len(text)
    after = _LINE.match(text, found.start())
    assert after is not None
    return after.end()


def _reads_stdin(tokens: Tokens) -> bool:
    kinds = tokens.kinds
    if not kinds or kinds[0] != "copy":
        return False
    return any(a == "from" and b == "stdin" for a, b in itertools.pairwise(kinds))


def _drop(tokens: Tokens) -> None:
    for column in (tokens.kinds, tokens.values, tokens.starts, tokens.ends):
        column.pop()


def _join(first: Tokens | None, more: Tokens) -> Tokens:
    """The tokens of a statement that a psql command interrupts."""
    if first is None:
        return more
    _drop(first)
    first.kinds += more.kinds
    first.values += more.values
    first.starts += more.starts
    first.ends += more.ends
    first.glued += [len(first.kinds) - len(more.kinds) + at for at in more.glued]
    first.semicolon = more.semicolon
    return first


def _recover(text: str, offset: int) -> int:
    """Offset to continue at after text that is not a token: after the next semicolon at the end of
    a line, or the end of the text.
    """
    found = re.compile(r";[ \t]*(?:\r?\n|\Z)").search(text, offset)
    return found.end() if found else len(text)


def _no_tokens(text: str, at: int) -> Tokens:
    """The tokens of an empty statement."""
    return Tokens(text=text, kinds=["END"], values=[""], starts=[at], ends=[at])


def _psql_command(text: str, start: int) -> tuple[str, int]:
    """The psql command that begins at `start`, and the offset after it."""
    if (one := _BEFORE_ANOTHER.match(text, start)) is not None:
        return one[0], one.end()
    line = _LINE.match(text, start)
    assert line is not None
    command = text[start : line.end()]
    # a second command, or SQL, may follow \\ on the same line
    more = command.find("\\\\", 1)
    return (command[:more], start + more + 2) if more > 0 else (command, line.end())


def _command_piece(source: Source, start: int, command: str, session: Variables) -> Piece:
    """A psql command that does not send a statement, with the values of its variables."""
    return Piece(
        source=source,
        start=start,
        end=start + len(command.rstrip()),
        tokens=None,
        command=session.substitute(command.strip())[0],
        other=session.branch is Branch.OTHER,
    )


def _unreadable(
    source: Source, pending: Tokens | None, begin: int, end: int, error: LexError
) -> Piece:
    """A statement with text that is not a token; pending: its tokens before a psql command."""
    begun = pending is not None and len(pending) > 1
    return Piece(
        source=source,
        start=pending.starts[0]
        if pending is not None and begun
        else _skip_space(source.text, begin),
        end=end,
        tokens=None,
        error=SyntaxFault(error.offset, "", (), error.message),
    )


def split(
    source: Source, *, commands: bool = False, variables: Variables | None = None
) -> Iterator[Piece]:
    """The statements of a script, without COPY data.

    commands: also return the psql commands between them
    variables: variables of the session, which \\set in the script changes; branches of \\if that do
        not run are left out
    """
    text, at = source.text, 0
    if text.startswith("\ufeff"):
        at = 1
    pending: Tokens | None = None
    session = variables if variables is not None else Variables()
    strings = Strings()
    while at < len(text):
        begin = at
        try:
            tokens, at = scan(text, at, WORDS, script=True, escapes=strings.escapes)
        except LexError as error:
            if session.skipping:  # statements here are not sent: continue at the end of the branch
                edge = _CONDITION.search(text, error.offset)
                at = max(edge.start() if edge is not None else len(text), begin + 1)
                continue
            at = max(_recover(text, error.offset), begin + 1)
            yield _unreadable(source, pending, begin, at, error)
            pending = None
            continue
        interrupted = tokens.backslash
        sent = ""
        if session.skipping:
            if interrupted < 0:
                continue
            tokens = pending if pending is not None else _no_tokens(text, interrupted)
        else:
            tokens = _join(pending, tokens)
        pending = None
        if interrupted >= 0:
            if text.startswith(("\\\\", "\\;"), interrupted):
                at = interrupted + 2
                if text[interrupted + 1] == "\\" or session.skipping:
                    pending = tokens
                    continue
            else:
                command, at = _psql_command(text, interrupted)
                sends = _SENDING.match(command) is not None and not session.skipping
                conditional = session.command(command, tokens)
                if _CLEARING.match(command) and not session.skipping:
                    continue
                if _COPY.match(command) and not session.skipping:
                    at = _copy_data(text, interrupted)
                if not sends:
                    if commands and len(tokens) <= 1 and not conditional and not session.skipping:
                        yield _command_piece(source, interrupted, command, session)
                    pending = tokens
                    continue
                sent = command.split()[0]
        if len(tokens) > 1:
            yield from _pieces(source, tokens, session, sent, escapes=strings.escapes)
            strings.follow(tokens)
            if _reads_stdin(tokens):
                at = _copy_data(text, at)
    if pending is not None and len(pending) > 1:
        yield from _pieces(source, pending, session, "", escapes=strings.escapes)


def _pieces(
    source: Source, tokens: Tokens, session: Variables, sent: str, *, escapes: bool
) -> Iterator[Piece]:
    """A statement with the values of its variables; the values can split it into several
    statements.
    """
    start, end = tokens.starts[0], tokens.ends[-2]
    expanded, missing = session.expand(tokens) if PSQLVAR in tokens.kinds else (None, set())
    lacking = (
        (*sorted(missing), *source.missing_in(start, end)) if missing or source.missing else ()
    )
    piece = partial(
        Piece,
        source=source,
        missing=lacking,
        reasons=tuple(session.reasons),
        other=session.branch is Branch.OTHER,
        escapes=escapes,
        begins=not session.autocommit and not _alone(tokens.kinds),
    )
    if expanded is None:
        decisive = _decisive(source, tokens, missing) if lacking else ()
        yield piece(start=start, end=end, tokens=tokens, command=sent, decisive=decisive)
        return
    at = 0
    while at < len(expanded.text):
        try:
            inner, at = scan(expanded.text, at, WORDS, script=True, escapes=escapes)
        except LexError as error:
            fault = SyntaxFault(expanded.origin(error.offset), "", (), error.message)
            yield piece(start=start, end=end, tokens=None, error=fault)
            return
        if len(inner) > 1:
            first, last = (
                expanded.origin(inner.starts[0]),
                expanded.origin(inner.ends[-2], end=True),
            )
            decisive = _decisive(source, inner, missing, expanded) if lacking else ()
            yield piece(
                start=first,
                end=last,
                tokens=inner,
                command=sent,
                expanded=expanded,
                decisive=decisive,
            )
        if inner.backslash >= 0:
            return


_ALONE = frozenset("abort begin start commit end rollback vacuum".split())
_ALONE_WITH = frozenset(
    (
        "prepare transaction",
        "alter system",
        "discard all",
        "create database",
        "drop database",
        "create tablespace",
        "drop tablespace",
        "reindex database",
        "reindex system",
    )
)


def _alone(kinds: Sequence[str]) -> bool:
    """Whether psql, with AUTOCOMMIT off, begins no transaction before a statement because it begins
    or ends one, or cannot run in one (function command_no_begin of psql).
    """
    words = kinds[:6]
    return (
        words[0] in _ALONE
        or " ".join(words[:2]) in _ALONE_WITH
        or ("index" in words and "concurrently" in words)
    )


def _decisive(
    source: Source, tokens: Tokens, missing: set[str], text: Expansion | None = None
) -> tuple[str, ...]:
    """Names of the variables and placeholders without a value that are not only a schema or part of
    a name.
    """
    found = []
    for n, (kind, value, start, end) in enumerate(
        zip(tokens.kinds, tokens.values, tokens.starts, tokens.ends, strict=True)
    ):
        first, last = (
            (start, end) if text is None else (text.origin(start), text.origin(end, end=True))
        )
        names = (
            [name_of(value)]
            if kind == PSQLVAR and name_of(value) in missing
            else source.missing_in(first, last)
            if source.missing
            else []
        )
        if not names:
            continue
        part = kind == IDENT and end - start > sum(
            b - a for a, b, _ in source.places_in(first, last)
        )
        dotted = "." in (tokens.kinds[n + 1], tokens.kinds[n - 1] if n else "")
        if not (dotted or part or (kind == PSQLVAR and in_name(tokens, n))):
            found += names
    return tuple(dict.fromkeys(found))


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return min(at, max(len(text) - 1, 0))


def read(piece: Piece, editions: tuple[Edition, ...]) -> Statement:
    """A statement, parsed by the first of the editions that accepts it.

    A statement that a complete grammar (`Edition.complete`) rejects is an error. In other grammars,
    a statement whose first words begin no known statement is not understood.
    """
    from gpcatalog.dialect.greenplum import read_statement

    start, end = piece.start, piece.end
    if piece.tokens is None and piece.error is None:
        return Statement(
            source=piece.source,
            start=start,
            end=end,
            outcome=Outcome.COMMAND,
            command=piece.command,
            other=piece.other,
        )
    if piece.tokens is None:
        return Statement(
            source=piece.source,
            start=start,
            end=end,
            outcome=Outcome.ERROR,
            fault=piece.error,
            reasons=piece.reasons,
            other=piece.other,
        )
    words = tuple(piece.tokens.kinds[:2])
    found: SyntaxFault | None = None
    tree, by = None, None
    for tokens, text in _readings(piece):
        try:
            tree, by = read_statement(tokens, editions)
            _place(tree, text)
            break
        except SyntaxFault as fault:
            found = found or _moved(fault, text)
    if tree is None:
        first, second = (*words, "", "")[:2]
        sure = any(each.complete or grammar(each).known(first, second) for each in editions)
        deep = found is not None and found.deep
        outcome = Outcome.ERROR if sure and not deep else Outcome.NOT_UNDERSTOOD
        if piece.missing:
            outcome = Outcome.NO_VALUE
            found = SyntaxFault(start, "", (), "no value for " + ", ".join(piece.missing))
    else:
        found, outcome = None, Outcome.TYPED
    return Statement(
        source=piece.source,
        start=start,
        end=end,
        outcome=outcome,
        tree=tree,
        edition=by,
        fault=found,
        words=words,
        command=piece.command,
        missing=piece.missing,
        decisive=piece.decisive,
        reasons=piece.reasons,
        other=piece.other,
        begins=piece.begins,
    )


def _readings(piece: Piece) -> Iterator[tuple[Tokens, Expansion | None]]:
    """The statement as it is, and without the variables that have no value, because such a variable
    is often a clause.
    """
    assert piece.tokens is not None
    yield piece.tokens, piece.expanded
    if not piece.missing:
        return
    unknown = set(piece.missing)
    tokens = piece.tokens
    # placeholders have been replaced by words
    places = (
        {start for start, _, _ in piece.source.places_in(piece.start, piece.end)}
        if piece.expanded is None
        else set()
    )
    dropped = Tokens(
        text=tokens.text,
        kinds=[
            PSQLVAR if start in places else kind
            for kind, start in zip(tokens.kinds, tokens.starts, strict=True)
        ],
        values=[
            f":{piece.missing[0]}" if start in places else value
            for value, start in zip(tokens.values, tokens.starts, strict=True)
        ],
        starts=tokens.starts,
        ends=tokens.ends,
    )
    text = without(dropped, unknown)
    if piece.expanded is not None:
        text.origins = [
            (piece.expanded.origin(a), piece.expanded.origin(b, end=True)) for a, b in text.origins
        ]
    try:
        yield scan(text.text, 0, WORDS, script=True, escapes=piece.escapes)[0], text
    except LexError:
        return


def _moved(fault: SyntaxFault, text: Expansion | None) -> SyntaxFault:
    return (
        fault
        if text is None
        else SyntaxFault(text.origin(fault.offset), fault.found, fault.expected, fault.message)
    )


def _place(tree: exp.Expression, text: Expansion | None) -> None:
    """Set the positions of the nodes of an expanded statement to those in the file."""
    if text is None:
        return
    for node in tree.walk():
        meta = node._meta
        if meta and "start" in meta:
            meta["start"], meta["end"] = (
                text.origin(meta["start"]),
                text.origin(meta["end"], end=True),
            )


def statements(
    source: Source,
    editions: tuple[Edition, ...],
    *,
    commands: bool = False,
    variables: Variables | None = None,
) -> Iterator[Statement]:
    """All statements of a script, parsed; commands: also return the psql commands between them."""
    for piece in split(source, commands=commands, variables=variables):
        yield read(piece, editions)
