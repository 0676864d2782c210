"""The complete grammar of each edition; it parses one statement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect import keywords, statements
from gpcatalog.dialect.lexer import END, LexError, Tokens, separated
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.synopsis import Choice, CompiledGrammar, Ref, Sequence, Synopses, Word
from gpcatalog.dialect.tables import Tables
from gpcatalog.dialect.version import Edition
from gpcatalog.dialect.vocabulary import Vocabulary

NODES: dict[str, type[exp.Expression]] = {
    name: value
    for name, value in vars(gx).items()
    if isinstance(value, type) and issubclass(value, exp.Expression)
}
_PARTS = Synopses(statements.PARTS, NODES, gx.Node)
_STATEMENTS = Synopses(statements.STATEMENTS, NODES, gx.Node)
# all definitions in one namespace: synopses of statements and parts refer to each other
_PARTS.definitions.update(_STATEMENTS.definitions)
_PARTS.words.update(_STATEMENTS.words)
SYNOPSES = _PARTS

for (
    _name,
    _node,
) in NODES.items():  # so that classes of synopses can be imported, too
    setattr(gx, _name, _node)

_MORE_WORDS = frozenset(
    """nfc nfd nfkc nfkd locked ties others ordinality plans scalar indent relopt am columns finalize stored overlaps
    comments compression statistics generated identity noinherit rank""".split()
)
WORDS = frozenset(keywords.EVERY | SYNOPSES.words | _MORE_WORDS)
_PRIMITIVES = {
    name: value
    for cls in reversed(Tables.__mro__)
    for name, value in vars(cls).items()
    if callable(value) and not name.startswith("_")
}
# these exist as primitives, which return a list, and as synopses, which create a node
for _shadowed in ("definition", "alias", "select_rest"):
    _PRIMITIVES.pop(_shadowed, None)

# Statements with hand-written readers; all others are read by their synopsis.
_BY_HAND = {
    "select": Tables.statement_body,
    "with": Tables.statement_body,
    "values": Tables.statement_body,
    "table": Tables.statement_body,
    "(": Tables.select,
    "insert": Tables.statement_body,
    "update": Tables.statement_body,
    "delete": Tables.statement_body,
    "merge": Tables.statement_body,
}
_CREATES = frozenset(
    """table temp temporary local global unlogged view recursive materialized index unique external writable readable
    foreign or""".split()
)


_DEEP = "a statement with fewer nested levels"


class SyntaxFault(Exception):
    """A statement that no tried edition can parse: the position of the error, and what was expected
    there. If it is only nested too deeply for this program, `deep` is true.
    """

    def __init__(
        self, offset: int, found: str, expected: tuple[str, ...], message: str = ""
    ) -> None:
        self.offset = offset
        self.found = found
        self.expected = expected
        self.deep = _DEEP in expected
        self.message = message or (
            "syntax error at end of input" if not found else f'syntax error at or near "{found}"'
        )
        super().__init__(self.message)


def _leads(body: Choice, depth: int, holds: Callable[[str], bool]) -> set[tuple[str, ...]]:
    """The first words that a body can begin with in an edition; after a shorter tuple, anything can
    follow.
    """
    out: set[tuple[str, ...]] = set()
    for branch in body.branches:
        if not branch.guard or holds(branch.guard):
            out |= _branch_leads(branch, depth, holds)
    return out


def _branch_leads(
    branch: Sequence, depth: int, holds: Callable[[str], bool]
) -> set[tuple[str, ...]]:
    heads: set[tuple[str, ...]] = {()}
    closed: set[tuple[str, ...]] = set()
    for item in branch.items:
        following: set[tuple[str, ...]] = set()
        for head in heads:
            if len(head) >= depth:
                closed.add(head)
            elif isinstance(item, Word):
                following.add((*head, item.text.lower()))
            elif isinstance(item, Ref):
                closed.add((*head, "*"))
            else:
                if item.optional:
                    following.add(head)
                following |= {
                    (*head, *lead)[:depth] for lead in _leads(item, depth - len(head), holds)
                }
        heads = {h for h in following if "*" not in h}
        closed |= {h for h in following if "*" in h}
        if not heads:
            break
    return closed | heads


class Grammar:
    """The vocabulary, rules and statement index of one edition."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition
        self.vocabulary = Vocabulary(edition, WORDS)
        self.rules = CompiledGrammar(SYNOPSES, _PRIMITIVES, edition.holds)
        self.by_first: dict[str, list[str]] = {}
        self.by_pair: dict[tuple[str, str], list[str]] = {}
        for name in _STATEMENTS.definitions:
            definition = SYNOPSES.definitions[name]
            leads = _leads(definition.body, 2, edition.holds)
            if name in (
                "extension_update",
                "extension_member",
                "extension_option",
                "fdw_option",
                "force_word",
            ):
                continue
            if name in ("function_ref_one", "grant_option", "do_part", "cursor_option"):
                continue
            for lead in sorted(
                leads
            ):  # the order of a set varies between runs, but messages must be the same
                if len(lead) == 2 and lead[1] != "*":
                    names = self.by_pair.setdefault((lead[0], lead[1]), [])
                elif lead and lead[0] != "*":
                    names = self.by_first.setdefault(lead[0], [])
                else:
                    continue
                if name not in names:
                    names.append(name)

    def known(self, first: str, second: str) -> bool:
        """Whether a statement of this edition can begin with these words."""
        return (
            first in _BY_HAND
            or (first in self.by_first and first != "create")
            or (first, second) in self.by_pair
            or (first == "create" and second in _CREATES)
        )

    def reader(self, tokens: Tokens) -> Tables:
        """A reader of this edition for the tokens."""
        return Tables(tokens, self.edition, self.vocabulary, self.rules)

    def read(self, tokens: Tokens) -> tuple[exp.Expression | None, Tables]:
        """The tree of one statement and its reader; if it fails, None and a reader with the
        position of the error.
        """
        if tokens.glued and self.edition.base >= 15:
            try:
                tokens = separated(tokens, self.edition.base)
            except LexError as error:
                p = self.reader(tokens)
                p.i = p.furthest = max(0, bisect_right(tokens.starts, error.offset) - 1)
                p.note("a number")
                return None, p
        p = self.reader(tokens)
        kinds = p.kinds
        first = kinds[0]
        second = kinds[1] if len(kinds) > 1 else END
        by_hand: Any = _BY_HAND.get(first)
        if first == "create" and second in _CREATES:
            found = self._attempt(p, Tables.create)
            if found is not None:
                return found, p
        if by_hand is not None:
            found = self._attempt(p, by_hand)
            return found, p
        for name in (*self.by_pair.get((first, second), ()), *self.by_first.get(first, ())):
            found = self._attempt(p, self.rules.rule(name))
            if found is not None:
                return found, p
        if p.furthest == 0 and not p.expected:
            if first in self.by_first or any(pair[0] == first for pair in self.by_pair):
                p.i = 1
                for pair in self.by_pair:
                    if pair[0] == first:
                        p.note(pair[1])
            else:
                p.note("a statement")
        return None, p

    def _attempt(self, p: Tables, rule: Any) -> exp.Expression | None:
        p.i = 0
        try:
            node: exp.Expression = rule(p)
        except Mismatch:
            return None
        except RecursionError:
            p.note(_DEEP)
            return None
        if p.kinds[p.i] != END:
            p.note("end of statement")
            return None
        refused = _refusal(node)
        if refused:
            p.i = p.furthest = len(p.tokens) - 1
            p.expected = {refused: None}
            return None
        meta = node.meta
        meta["start"], meta["end"] = p.starts[0], p.ends[p.i - 1]
        meta["greenplum"] = True  # the generator may use the node shapes of this dialect
        return node


def _refusal(node: exp.Expression) -> str:
    """Why the server's grammar rejects a statement that matches its synopsis; "" if it does not."""
    name = type(node).__name__
    args = node.args
    if name == "CreateTrigger":
        events = [args["event"], *(e.this for e in args.get("events") or ())]
        kinds = [
            next(str(v).split()[0] for k, v in e.args.items() if k.startswith("form"))
            for e in events
        ]
        return "each trigger event once" if len(set(kinds)) < len(kinds) else ""
    if name == "CreateFunction" and args.get("columns"):
        modes = [a.this.args.get(k) for a in args.get("args") or () for k in ("mode", "mode_after")]
        return (
            "no OUT argument together with RETURNS TABLE"
            if any(m and "OUT" in m for m in modes)
            else ""
        )
    if (
        name == "Copy"
        and args.get("where") is not None
        and not any(v == "FROM" for v in args.values())
    ):
        return "no WHERE with COPY TO"
    if name == "DeclareCursor" and args["query"].find(gx.IntoTarget):
        return "no INTO in this query"
    return ""


@cache
def grammar(edition: Edition) -> Grammar:
    """The grammar of an edition; it is built once."""
    return Grammar(edition)


def fault(p: Tables) -> SyntaxFault:
    """The syntax error at the position where a reader stopped."""
    i = p.furthest
    found = "" if p.kinds[i] == END else p.text[p.starts[i] : p.ends[i]]
    return SyntaxFault(p.starts[i], found, tuple(p.expected))
