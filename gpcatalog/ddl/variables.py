r"""Variables of psql and placeholders of migration tools: their values in the text of statements, and the branches of \if.

A variable without a value is left as it is, and what depends on it is unknown; a statement that cannot be parsed with it is parsed
without it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gpcatalog.ddl.lexer import END, PSQLVAR, Tokens

_IN_TEXT = re.compile(r""":(?:\{\?(?P<test>\w+)\}|(?P<plain>\w+)|'(?P<literal>\w+)'|"(?P<identifier>\w+)")""")
_COMMAND = re.compile(r"\\(\w+)\s*(.*)", re.DOTALL)
_WORD = re.compile(r"""'((?:[^'\\]|''|\\.)*)'|"([^"]*)"|(`[^`]*`)|([^\s'"`]+)""")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_DEEPEST = 20  # variables that hold variables; psql stops at a variable that names itself


def name_of(variable: str) -> str:
    """The name in a variable as it is written.

    >>> name_of(":a"), name_of(":'a'"), name_of(':"a"')
    ('a', 'a', 'a')
    """
    return variable[1:].strip("'\"")


class Branch(Enum):
    r"""Whether the statements in a branch of \if run."""

    RUNS = "runs"
    SKIPPED = "skipped"
    FIRST = "first of which any may run"
    OTHER = "another of which any may run"


@dataclass
class _If:
    branch: Branch
    taken: bool  # a branch has run, or may have
    reason: str = ""
    whole: Branch = Branch.RUNS  # with all that are around it


@dataclass
class Expanded:
    """Tokens of a statement with the values of its variables, and where each of its tokens is in the file.

    starts: offsets in the expanded text of the pieces that came from one token; origins: begin and end of that token in the file
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

    values: by name, from --set and \set
    """

    values: dict[str, str] = field(default_factory=dict)
    open: list[_If] = field(default_factory=list)

    def fresh(self) -> Variables:
        """A new session with the values that this one has now."""
        return Variables(dict(self.values))

    # --- commands ---

    def command(self, text: str, sent: Tokens | None = None) -> bool:
        r"""Follow \set, \unset, \gset, \prompt, \getenv, \if, \elif, \else and \endif; returns whether the command was one of \if's."""
        found = _COMMAND.match(text.strip())
        if found is None:
            return False
        name, rest = found[1], found[2]
        if name in ("if", "elif", "else", "endif"):
            self._branch(name, rest.strip())
            return True
        if self.skipping:
            return False
        if name == "set" and rest.strip():
            words = [self._word(w) for w in _WORD.finditer(rest)]
            first, value = words[0] or "", [w for w in words[1:] if w is not None]
            if len(value) == len(words) - 1 and self.branch is not Branch.OTHER:
                self.values[first] = "".join(value)
            elif len(value) != len(words) - 1:
                self.values.pop(first, None)
        elif name == "unset":
            self.values.pop(rest.strip(), None)
        elif name in ("prompt", "getenv") and rest.strip():  # from the user, from the environment: not known here
            self.values.pop(rest.split()[-1] if name == "prompt" else rest.split()[0], None)
        elif name == "gset" and sent is not None:
            prefix = rest.strip()
            for word in sent.values:
                self.values.pop(prefix + word.lower(), None)
        return False

    def _word(self, found: re.Match[str]) -> str | None:
        """A word of a psql command; None if its value is not known (backticks, a variable without a value)."""
        if found[1] is not None:
            return re.sub(r"''|\\(.)", lambda m: m[1] or "'", found[1])
        if found[2] is not None:
            return found[2]
        if found[3] is not None:
            return None
        text, unknown = self.substitute(found[4])
        return None if unknown else text

    def _branch(self, name: str, condition: str) -> None:
        if name == "if":
            if self.skipping:
                self._enter(_If(Branch.SKIPPED, taken=True))
            else:
                self._enter(self._decide(condition, taken=False))
        elif not self.open:
            return
        elif name == "endif":
            self.open.pop()
        else:
            last = self.open.pop()
            outer = self.skipping
            if outer or (last.taken and last.branch not in (Branch.FIRST, Branch.OTHER)):
                self._enter(_If(Branch.SKIPPED, taken=True))
            elif last.taken:  # an earlier branch may have run
                value = True if name == "else" else self._truth(condition)
                self._enter(_If(Branch.SKIPPED if value is False else Branch.OTHER, taken=True, reason=last.reason))
            elif name == "else":
                self._enter(_If(Branch.RUNS, taken=True))
            else:
                self._enter(self._decide(condition, taken=False))

    def _decide(self, condition: str, *, taken: bool) -> _If:
        value = self._truth(condition)
        if value is None:
            return _If(Branch.FIRST, taken=True, reason=f"whether \\if {condition} is true")
        return _If(Branch.RUNS if value else Branch.SKIPPED, taken=taken or value)

    def _truth(self, condition: str) -> bool | None:
        text, unknown = self.substitute(condition)
        if unknown:
            return None
        word = text.strip().strip("'\"").lower()
        if any(t.startswith(word) for t in _TRUE) and word not in ("", "o"):
            return True
        return False if any(t.startswith(word) for t in _FALSE) and word not in ("", "o") else None

    def _enter(self, one: _If) -> None:
        kinds = (self.branch, one.branch)
        one.whole = next((b for b in (Branch.SKIPPED, Branch.OTHER, Branch.FIRST) if b in kinds), Branch.RUNS)
        self.open.append(one)

    @property
    def branch(self) -> Branch:
        r"""How the statements here run, with all open \if together."""
        return self.open[-1].whole if self.open else Branch.RUNS

    @property
    def skipping(self) -> bool:
        """Whether statements here do not run."""
        return self.branch is Branch.SKIPPED

    @property
    def reasons(self) -> list[str]:
        r"""The conditions of \if that are not known here."""
        return [one.reason for one in self.open if one.reason] if self.branch in (Branch.FIRST, Branch.OTHER) else []

    # --- text ---

    def substitute(self, text: str, depth: int = 0) -> tuple[str, set[str]]:
        """Text with the values of its variables, and the names of those without a value.

        >>> Variables({"a": "x'y"}).substitute(":a :'a' :b :{?b}")
        ("x'y 'x''y' :b FALSE", {'b'})
        """
        unknown: set[str] = set()

        def value(found: re.Match[str]) -> str:
            if found["test"]:
                return "TRUE" if found["test"] in self.values else "FALSE"
            name = found["plain"] or found["literal"] or found["identifier"]
            if name not in self.values or depth > _DEEPEST:
                unknown.add(name)
                return found[0]
            raw = self.values[name]
            if found["literal"]:
                return "'" + raw.replace("'", "''") + "'"
            if found["identifier"]:
                return '"' + raw.replace('"', '""') + '"'
            inner, more = self.substitute(raw, depth + 1) if ":" in raw else (raw, set())
            unknown.update(more)
            return inner

        # a cast has two colons
        return re.sub(r"(?<!:)" + _IN_TEXT.pattern, value, text), unknown

    def expand(self, tokens: Tokens) -> tuple[Expanded | None, set[str]]:
        """The statement with the values of its variables, None if none has a value; and the names of those without one."""
        used = {name_of(v) for k, v in zip(tokens.kinds, tokens.values, strict=True) if k == PSQLVAR}
        if not used:
            return None, used
        if not used & self.values.keys():
            return None, used
        return _joined(tokens, lambda n: self.substitute(tokens.values[n])[0] if tokens.kinds[n] == PSQLVAR else None), {
            name for v, k in zip(tokens.values, tokens.kinds, strict=True) if k == PSQLVAR for name in self.substitute(v)[1]
        }


def without(tokens: Tokens, unknown: set[str]) -> Expanded:
    """The statement without the variables of these names."""
    return _joined(tokens, lambda n: "" if tokens.kinds[n] == PSQLVAR and name_of(tokens.values[n]) in unknown else None)


def _joined(tokens: Tokens, replaced: object) -> Expanded:
    assert callable(replaced)
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[tuple[int, int]] = []
    length = 0
    for n, (kind, start, end) in enumerate(zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)):
        if kind == END:
            break
        gap = " " if n and start > tokens.ends[n - 1] else ""
        new = replaced(n)
        piece = tokens.text[start:end] if new is None else new
        starts.append(length + len(gap))
        origins.append((start, end))
        pieces += [gap, piece]
        length += len(gap) + len(piece)
    return Expanded("".join(pieces), starts, origins)


# --- placeholders of migration tools ---

PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")


def fill(text: str, values: Mapping[str, str]) -> tuple[str, list[tuple[int, int, int, int]], list[tuple[int, int, str]]]:
    """Put values in the place of ${name}, as Flyway and Liquibase do; one without a value becomes a word of the same length.

    Returns the text, what moved (begin and end in the new text, begin and end in the old), and the places in the new text of the
    placeholders without a value, with their names.

    >>> fill("create table ${schema}.t_${x} (a int)", {"x": "1"})[0]
    'create table __schema_.t_1 (a int)'
    """
    known = {name.lower(): value for name, value in values.items()}
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
