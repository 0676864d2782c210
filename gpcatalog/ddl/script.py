"""A file of SQL cut into statements with their places: psql commands, COPY data, dollar quotes and comments are understood."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sqlglot import exp

from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.grammar import WORDS, SyntaxFault, grammar
from gpcatalog.ddl.lexer import LexError, Tokens, scan

_COPY_END = re.compile(r"^\\\.[ \t]*\r?$", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
# psql commands that send the buffer to the server, so they end a statement as a semicolon does
_SENDING = re.compile(r"\\(?:g|gx|gset|gexec|gdesc|crosstabview|watch|p)\b")


class Outcome(StrEnum):
    """What became of a statement."""

    TYPED = "typed"
    NOT_UNDERSTOOD = "not understood"
    ERROR = "syntax error"
    NOT_READ = "not read"
    COMMAND = "psql command"


@dataclass(frozen=True)
class Place:
    """A place in a file, counted from 1; columns count characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Source:
    """A file's text with its lines found once."""

    def __init__(self, text: str, file: str = "<stdin>", *, path: Path | None = None, skipped: str = "") -> None:
        self.text = text
        self.file = file
        self.path = path  # None where it is no file
        self.skipped = skipped  # why the file is not read
        self._starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", text))]

    def place(self, offset: int) -> Place:
        """Line and column of an offset.

        >>> str(Source("a\\nbc").place(3))
        '<stdin>:2:2'
        """
        line = bisect_right(self._starts, offset)
        return Place(self.file, line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Text of a line without its end."""
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end].rstrip("\r\n")

    def offset(self, line: int) -> int:
        """Where a line begins."""
        return self._starts[line - 1]


@dataclass
class Piece:
    """One statement as cut from a file, not read yet."""

    source: Source
    start: int
    end: int
    tokens: Tokens | None
    error: SyntaxFault | None = None
    command: str = ""  # of psql: what sends the statement, or, without tokens, a command of its own


@dataclass
class Statement:
    """One statement as read.

    tree:    its typed tree, or None
    edition: the grammar that read it
    fault:   where and why it is no SQL, or why it was not understood
    """

    source: Source
    start: int
    end: int
    outcome: Outcome
    tree: exp.Expression | None = None
    edition: Edition | None = None
    fault: SyntaxFault | None = None
    words: tuple[str, ...] = field(default=())
    command: str = ""  # of psql: what sends it where no semicolon does, or the command itself

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.source.place(self.start)

    @property
    def text(self) -> str:
        """As written."""
        return self.source.text[self.start : self.end]


def _copy_data(text: str, at: int) -> int:
    """Offset after the data block of COPY … FROM STDIN; the block ends at a line with a backslash and a full stop."""
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
    """Tokens of a statement that a psql command interrupted."""
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
    """Where to go on after text that is no token: behind the next semicolon that ends a line, or behind everything."""
    found = re.compile(r";[ \t]*(?:\r?\n|\Z)").search(text, offset)
    return found.end() if found else len(text)


def split(source: Source, *, commands: bool = False) -> Iterator[Piece]:
    """The statements of a script, without COPY data; with psql's own commands between them where these are asked for."""
    text, at = source.text, 0
    if text.startswith("\ufeff"):
        at = 1
    pending: Tokens | None = None
    while at < len(text):
        begin = at
        try:
            tokens, at = scan(text, at, WORDS, script=True)
        except LexError as error:
            at = max(_recover(text, error.offset), begin + 1)
            start = pending.starts[0] if pending is not None and len(pending) > 1 else _skip_space(text, begin)
            yield Piece(source, start, at, None, SyntaxFault(error.offset, "", (), error.message))
            pending = None
            continue
        interrupted = tokens.backslash
        sent = ""
        tokens = _join(pending, tokens)
        pending = None
        if interrupted >= 0:
            line = _LINE.match(text, interrupted)
            assert line is not None
            command = text[interrupted : line.end()]
            if command.startswith(("\\\\", "\\;")):
                at = interrupted + 2
                if command[1] == "\\":
                    pending = tokens
                    continue
            else:
                # a second command, or SQL, may follow \\ on the same line
                more = command.find("\\\\", 1)
                at = interrupted + more + 2 if more > 0 else line.end()
                if not _SENDING.match(command):
                    if commands and len(tokens) <= 1:
                        yield Piece(source, interrupted, interrupted + len(command.rstrip()), None, command=command.strip())
                    pending = tokens
                    continue
                sent = command.split()[0]
        if len(tokens) > 1:
            yield Piece(source, tokens.starts[0], tokens.ends[-2], tokens, command=sent)
            if _reads_stdin(tokens):
                at = _copy_data(text, at)
    if pending is not None and len(pending) > 1:
        yield Piece(source, pending.starts[0], pending.ends[-2], pending)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return min(at, max(len(text) - 1, 0))


def read(piece: Piece, wanted: tuple[Edition, ...]) -> Statement:
    """A statement read by the first of the editions that takes it.

    What a whole grammar does not take is an error. In the others a statement that begins as none there does is not understood.
    """
    from gpcatalog.ddl.dialect import read_statement

    if piece.tokens is None and piece.error is None:
        return Statement(piece.source, piece.start, piece.end, Outcome.COMMAND, command=piece.command)
    if piece.tokens is None:
        return Statement(piece.source, piece.start, piece.end, Outcome.ERROR, fault=piece.error)
    words = tuple(piece.tokens.kinds[:2])
    try:
        tree, by = read_statement(piece.tokens, wanted)
    except SyntaxFault as found:
        first, second = (*words, "", "")[:2]
        sure = any(each.whole or grammar(each).known(first, second) for each in wanted)
        outcome = Outcome.ERROR if sure else Outcome.NOT_UNDERSTOOD
        return Statement(piece.source, piece.start, piece.end, outcome, fault=found, words=words)
    return Statement(piece.source, piece.start, piece.end, Outcome.TYPED, tree, by, words=words, command=piece.command)


def statements(source: Source, wanted: tuple[Edition, ...], *, commands: bool = False) -> Iterator[Statement]:
    """Every statement of a script, read; with psql's own commands between them where these are asked for."""
    for piece in split(source, commands=commands):
        yield read(piece, wanted)
