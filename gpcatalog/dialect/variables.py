r"""Variables of psql and placeholders of migration tools: their values in the text of statements, and the branches of \if.

A variable without a value is left as it is, and what depends on it is unknown; a statement that cannot be parsed with it is parsed
without it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from gpcatalog.dialect.lexer import END, IDENT, PSQLVAR, QIDENT, Tokens

_IN_TEXT = re.compile(
    r""":(?:\{\?(?P<test>\w+)\}|(?P<plain>\w+)|'(?P<literal>\w+)'|"(?P<identifier>\w+)")"""
)
_COMMAND = re.compile(r"\\(\w+)\s*(.*)", re.DOTALL)
# pieces of the words of a psql command: spaces, '…', `…`, "…", a variable, anything else
_PIECE = re.compile(
    r"""(?P<space>\s+)|'(?P<quoted>(?:[^'\\]|''|\\.)*)'|(?P<shell>`[^`]*`)|(?P<double>"[^"]*")|"""
    r"""(?P<variable>:(?:\{\?\w+\}|\w+|'\w+'|"\w+"))|(?P<plain>.)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"''|\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f"}
# set by psql: section Variables of its manual, PostgreSQL 18
_OF_PSQL = frozenset(
    """AUTOCOMMIT COMP_KEYWORD_CASE DBNAME ECHO ECHO_HIDDEN ENCODING ERROR FETCH_COUNT HIDE_TABLEAM HIDE_TOAST_COMPRESSION HISTCONTROL
    HISTSIZE HOST IGNOREEOF LAST_ERROR_MESSAGE LAST_ERROR_SQLSTATE ON_ERROR_ROLLBACK ON_ERROR_STOP PORT PROMPT1 PROMPT2 PROMPT3 QUIET
    ROW_COUNT SERVER_VERSION_NAME SERVER_VERSION_NUM SHELL_ERROR SHELL_EXIT_CODE SHOW_ALL_RESULTS SHOW_CONTEXT SINGLELINE SINGLESTEP
    SQLSTATE USER VERBOSITY VERSION VERSION_NAME VERSION_NUM""".split()
)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
# values that psql reads as off: false, no, off and their prefixes
_OFF = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
_LARGEST = (
    1 << 20
)  # characters of one expanded value: no clause is longer; variables in variables grow fast


def name_of(variable: str) -> str:
    """The name of a variable, without colon, quotes and braces.

    >>> name_of(":a"), name_of(":'a'"), name_of(':"a"')
    ('a', 'a', 'a')
    """
    return variable[1:].strip("'\"{?}")


class Branch(Enum):
    r"""Whether the statements in a branch of \if run."""

    RUNS = "runs"
    SKIPPED = "skipped"
    FIRST = "first of which any may run"
    OTHER = "another of which any may run"


@dataclass
class _If:
    branch: Branch
    decided: bool  # an earlier branch has run, or this one runs
    reason: str = ""
    maybe: bool = False  # an earlier branch may have run
    overall: Branch = Branch.RUNS  # together with all enclosing \\if


@dataclass
class Expansion:
    """A statement with the values of its variables, and the position of each of its tokens in the file.

    starts: offsets in the expanded text, one per token; origins: start and end of that token in the
        file
    """

    text: str
    starts: list[int]
    origins: list[tuple[int, int]]

    def origin(self, offset: int, *, end: bool = False) -> int:
        """Offset in the file of an offset in the expanded text."""
        at = max(0, bisect_right(self.starts, offset - end) - 1)
        begin, finish = self.origins[at]
        return finish if end else min(begin + offset - self.starts[at], max(begin, finish - 1))


@dataclass
class Variables:
    r"""Variables of one session of psql, with the open branches of \if.

    values: by name, from --set and \set; None: it is set, but its value is unknown
    unsure: names of variables for which it is unknown whether they are set
    """

    values: dict[str, str | None] = field(default_factory=dict)
    open: list[_If] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)

    def fresh(self) -> Variables:
        """A new session with the current values of this one."""
        return Variables(dict(self.values), unsure=set(self.unsure))

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside of a transaction block is a transaction of its own
        (AUTOCOMMIT).
        """
        return (self.values.get("AUTOCOMMIT") or "on").lower() not in _OFF

    # --- commands ---

    def command(self, text: str, sent: Tokens | None = None) -> bool:
        r"""Apply \set, \unset, \gset, \prompt, \getenv, \if, \elif, \else and \endif; return
        whether the command was one of the last four.
        """
        found = _COMMAND.match(text.strip())
        if found is None:
            return False
        name, rest = found[1], found[2]
        if name in ("if", "elif", "else", "endif"):
            self._branch(name, rest.strip())
            return True
        if self.skipping:
            return False
        first = rest.split(None, 1)
        if name == "set" and first:
            self._set(first[0], self._words(first[1]) if len(first) > 1 else "")
        elif name == "unset" and first:
            self.values.pop(first[0], None)
            self.unsure.discard(first[0])
            if first[0] == "AUTOCOMMIT":  # \\unset of a boolean variable sets it to off
                self.values[first[0]] = "off"
        elif name == "prompt" and first:
            self._set(rest.split()[-1], None)
        elif name == "getenv" and first:
            self.values.pop(first[0], None)
            self.unsure.add(first[0])
        elif name == "gset" and sent is not None:
            self._from_query(first[0] if first else "", sent)
        return False

    def _set(self, name: str, value: str | None) -> None:
        # if it is unknown whether the branch runs, the value is the old or the new one
        if self.branch in (Branch.FIRST, Branch.OTHER):
            if name not in self.values:
                self.unsure.add(name)
            value = None
        else:
            self.unsure.discard(name)
        self.values[name] = value

    def _from_query(self, prefix: str, sent: Tokens) -> None:
        r"""\gset: the columns of a query become variables; if the query has a star or a quoted
        name, any variable may have changed.
        """
        if "*" in sent.kinds or QIDENT in sent.kinds:
            self.values = dict.fromkeys(self.values)
        for kind, word in zip(sent.kinds, sent.values, strict=True):
            if kind != END and word and (word[0].isalpha() or word[0] == "_"):
                self.values[prefix + word.lower()] = None

    def _words(self, text: str) -> str | None:
        r"""The words of a psql command, joined as \set joins them; None if a value is unknown
        (backticks, a variable without a value).
        """
        found = []
        for piece in _PIECE.finditer(text):
            kind = piece.lastgroup
            if kind == "space":
                continue
            if kind == "shell":
                return None
            if kind == "quoted":
                found.append(_ESCAPE.sub(_unescaped, piece["quoted"]))
            elif kind == "variable":
                value, unknown = self.substitute(piece[0])
                if unknown:
                    return None
                found.append(value)
            else:
                found.append(piece[0])
        return "".join(found)

    def _branch(self, name: str, condition: str) -> None:
        if name == "if":
            if self.skipping:
                self._enter(_If(Branch.SKIPPED, decided=True))
            else:
                self._enter(self._decide(condition))
        elif not self.open:
            return
        elif name == "endif":
            self.open.pop()
        else:
            last = self.open.pop()
            if self.skipping or last.decided:
                self._enter(_If(Branch.SKIPPED, decided=True))
            elif last.maybe:
                value = True if name == "else" else self._truth(condition)
                decided = value is True  # if no earlier branch ran, this one runs
                self._enter(
                    _If(
                        Branch.SKIPPED if value is False else Branch.OTHER,
                        decided,
                        last.reason,
                        maybe=True,
                    )
                )
            elif name == "else":
                self._enter(_If(Branch.RUNS, decided=True))
            else:
                self._enter(self._decide(condition))

    def _decide(self, condition: str) -> _If:
        value = self._truth(condition)
        if value is None:
            return _If(
                Branch.FIRST, decided=False, reason=f"whether \\if {condition} is true", maybe=True
            )
        return _If(Branch.RUNS if value else Branch.SKIPPED, decided=value)

    def _truth(self, condition: str) -> bool | None:
        text, unknown = self.substitute(condition)
        if unknown:
            return None
        word = text.strip().strip("'\"").lower()
        if any(t.startswith(word) for t in _TRUE) and word not in ("", "o"):
            return True
        return False if any(t.startswith(word) for t in _FALSE) and word not in ("", "o") else None

    def enter_file(self) -> list[_If]:
        r"""Begin a file, which has its own \if commands. Returns the enclosing ones, for
        `leave_file`.
        """
        enclosing, self.open = self.open, []
        if enclosing and enclosing[-1].overall is not Branch.RUNS:
            branch = enclosing[-1].overall
            self.open = [
                _If(
                    branch,
                    decided=True,
                    reason=next((one.reason for one in enclosing if one.reason), ""),
                    overall=branch,
                )
            ]
        return enclosing

    def leave_file(self, enclosing: list[_If]) -> None:
        r"""End a file: \if commands that it left open end here."""
        self.open = enclosing

    def _enter(self, one: _If) -> None:
        kinds = (self.branch, one.branch)
        one.overall = next(
            (b for b in (Branch.SKIPPED, Branch.OTHER, Branch.FIRST) if b in kinds), Branch.RUNS
        )
        self.open.append(one)

    @property
    def branch(self) -> Branch:
        r"""Whether the statements here run, according to all open \if commands."""
        return self.open[-1].overall if self.open else Branch.RUNS

    @property
    def skipping(self) -> bool:
        """Whether the statements here are skipped."""
        return self.branch is Branch.SKIPPED

    @property
    def reasons(self) -> list[str]:
        r"""The conditions of open \if commands whose values are unknown."""
        return (
            [one.reason for one in self.open if one.reason]
            if self.branch in (Branch.FIRST, Branch.OTHER)
            else []
        )

    # --- text ---

    def substitute(self, text: str, active: frozenset[str] = frozenset()) -> tuple[str, set[str]]:
        """Text with the values of its variables, and the names of those without a value.

        active: variables whose values are being expanded; like psql, they are not expanded again

        >>> Variables({"a": "x'y"}).substitute(":a :'a' :b :{?b}")
        ("x'y 'x''y' :b FALSE", {'b'})
        """
        unknown: set[str] = set()

        def value(found: re.Match[str]) -> str:
            name = found["test"] or found["plain"] or found["literal"] or found["identifier"]
            if found["test"]:
                if name in self.unsure:
                    unknown.add(name)
                    return found[0]
                return "TRUE" if name in self.values or name in _OF_PSQL else "FALSE"
            raw = self.values.get(name)
            if raw is None or name in active:
                unknown.add(name)
                return found[0]
            if found["literal"]:
                return "'" + raw.replace("'", "''") + "'"
            if found["identifier"]:
                return '"' + raw.replace('"', '""') + '"'
            if ":" not in raw:
                return raw
            inner, more = self.substitute(raw, active | {name})
            unknown.update(more)
            if len(inner) > _LARGEST:
                unknown.add(name)
                return found[0]
            return inner

        # not after a colon: a cast has two
        return re.sub(r"(?<!:)" + _IN_TEXT.pattern, value, text), unknown

    def expand(self, tokens: Tokens) -> tuple[Expansion | None, set[str]]:
        """The statement with the values of its variables (None if none has a value), and the names
        of the variables without a value.
        """
        used = {
            name_of(v) for k, v in zip(tokens.kinds, tokens.values, strict=True) if k == PSQLVAR
        }
        if not used:
            return None, used
        if not any(
            v.startswith(":{") or self.values.get(name_of(v)) is not None
            for v in tokens.values
            if v.startswith(":")
        ):
            return None, used
        return _joined(
            tokens,
            lambda n: self.substitute(tokens.values[n])[0] if tokens.kinds[n] == PSQLVAR else None,
        ), {
            name
            for v, k in zip(tokens.values, tokens.kinds, strict=True)
            if k == PSQLVAR
            for name in self.substitute(v)[1]
        }


def without(tokens: Tokens, unknown: set[str]) -> Expansion:
    """The statement without the variables of these names; as part of a name, a variable is replaced
    by a word.
    """

    def replaced(n: int) -> str | None:
        if tokens.kinds[n] != PSQLVAR or name_of(tokens.values[n]) not in unknown:
            return None
        return f"__{name_of(tokens.values[n])}_" if in_name(tokens, n) else ""

    return _joined(tokens, replaced)


def in_name(tokens: Tokens, n: int) -> bool:
    """Whether a variable is a schema or a part of a name: next to a dot, or directly next to an
    identifier.
    """
    if "." in (tokens.kinds[n + 1], tokens.kinds[n - 1] if n else ""):
        return True
    before = bool(n) and tokens.ends[n - 1] == tokens.starts[n] and tokens.kinds[n - 1] == IDENT
    return before or (tokens.starts[n + 1] == tokens.ends[n] and tokens.kinds[n + 1] == IDENT)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 8))
    if found[2]:
        return chr(int(found[2], 16))
    return _ESCAPED.get(found[3], found[3]) if found[3] else "'"


def _joined(tokens: Tokens, replaced: Callable[[int], str | None]) -> Expansion:
    """The text of a statement with replaced tokens; replaced: the new text of a token by its
    number, None to keep it.
    """
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[tuple[int, int]] = []
    length = 0
    for n, (kind, start, end) in enumerate(
        zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)
    ):
        if kind == END:
            break
        gap = " " if n and start > tokens.ends[n - 1] else ""
        new = replaced(n)
        piece = tokens.text[start:end] if new is None else new
        starts.append(length + len(gap))
        origins.append((start, end))
        pieces += [gap, piece]
        length += len(gap) + len(piece)
    return Expansion("".join(pieces), starts, origins)


# --- placeholders of migration tools ---

PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")


def fill(
    text: str, values: Mapping[str, str]
) -> tuple[str, list[tuple[int, int, int, int]], list[tuple[int, int, str]]]:
    """Replace each ${name} by its value, as Flyway and Liquibase do; one without a value becomes a word of the same length.

    Returns the text, the replaced parts (start and end in the new text, start and end in the old text), and the placeholders without a
    value (start and end in the new text, name).

    >>> fill("create table ${schema}.t_${x} (a int)", {"x": "1"})[0]
    'create table __schema_.t_1 (a int)'
    """
    # a value that contains a placeholder, such as an environment variable, is unknown
    known = {
        name.lower(): value for name, value in values.items() if PLACEHOLDER.search(value) is None
    }
    pieces: list[str] = []
    moved: list[tuple[int, int, int, int]] = []
    missing: list[tuple[int, int, str]] = []
    at = length = 0
    for found in PLACEHOLDER.finditer(text):
        pieces.append(text[at : found.start()])
        length += found.start() - at
        value = known.get(found[1].lower())
        if value is None:
            value = "__" + re.sub(r"[^A-Za-z0-9_]", "_", found[1]) + "_"
            missing.append((length, length + len(value), found[1]))
        else:
            moved.append((length, length + len(value), found.start(), found.end()))
        pieces.append(value)
        length += len(value)
        at = found.end()
    pieces.append(text[at:])
    return "".join(pieces), moved, missing
