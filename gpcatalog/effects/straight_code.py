"""Bodies of functions and DO blocks whose statements run one after the other: their effect is the
sum of the statements' effects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.script import Source, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constant_values import converted, kind_of
from gpcatalog.effects.constants import Clock, Constants, same_every_day
from gpcatalog.effects.keys import fold
from gpcatalog.effects.plpgsql import Block, ExecutedStatement, NotStraight, Variables, pieces
from gpcatalog.effects.presence import Presence, without_rows
from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@dataclass(frozen=True)
class Routine:
    """A function of a script.

    signature: its qualified name and the types of its arguments as text
    plain: it runs once per call, with the settings of the session
    arguments: name, kind of values and default of each; None if not all are IN
    """

    signature: str
    language: str
    body: str
    plain: bool
    arguments: tuple[tuple[str, str, exp.Expression | None], ...] | None = None

    def given(
        self, call: exp.Expression, own: Collection[str], clock: Clock | None = None
    ) -> Variables | None:
        """The known arguments of a call as variables; None if one is NULL, because the function may
        not run then.
        """
        values = list(call.expressions)
        named = {fold(one.this): one.expression for one in values if _kind(one) == "NamedArgument"}
        unnamed = [one for one in values if _kind(one) != "NamedArgument"]
        plain = (
            len(values) <= len(self.arguments or ())
            and named.keys() <= {name for name, _, _ in (self.arguments or ())[len(unnamed) :]}
            and not any(_kind(one) == "VariadicArgument" for one in values)
        )
        found: Variables = {}
        for n, (name, kind, default) in enumerate(self.arguments or ()):
            node = unnamed[n] if n < len(unnamed) else named.get(name, default)
            try:
                value = None if node is None else Constants({}, own, clock=clock).value(node)
                known = converted(value, kind)
            except Unknown:
                continue
            if known is not None and name and plain:
                found[name] = kind, known
        nulls = any(isinstance(node, exp.Null) for one in values for node in one.walk())
        return None if nulls else found


def _kind(node: exp.Expression) -> str:
    return type(node).__name__


def arguments_of(
    tree: exp.Expression,
) -> tuple[tuple[str, str, exp.Expression | None], ...] | None:
    """Names, kinds and defaults of the arguments in CREATE FUNCTION; None if one is not IN."""
    found = []
    for one in tree.args.get("args") or ():
        argument = one.this if isinstance(one.this, exp.Expression) else one
        kind = argument.args.get("kind")
        if str(argument.args.get("mode") or "IN").upper() != "IN" or kind is None:
            return None
        name = argument.args.get("arg")
        found.append(
            (
                fold(name) if isinstance(name, exp.Expression) else "",
                kind_of(kind.sql("greenplum")),
                one.args.get("default"),
            )
        )
    return tuple(found)


def signature_of(tree: exp.Expression) -> str:
    """Return the name of a function as it is written and the types of its arguments, in CREATE or
    DROP FUNCTION.
    """
    arguments = [
        a.this if isinstance(a.this, exp.Expression) else a for a in tree.args.get("args") or ()
    ]
    types = [
        a.args["kind"].sql("greenplum")
        for a in arguments
        if isinstance(a.args.get("kind"), exp.Expression)
        and str(a.args.get("mode") or "").upper() != "OUT"
    ]
    return f"{tree.this.sql('greenplum').lower()}({', '.join(types)})"


def statements_of(
    body: str,
    language: str,
    edition: Edition,
    harmless: Callable[[str], bool],
    own: Collection[str],
    given: Callable[[Clock], Variables | None],
    presence: Presence,
) -> list[exp.Expression] | None:
    """Trees of the statements that a body runs, in order; None if they are unknown.

    harmless: returns whether a text that is not a statement of this grammar certainly runs no DDL
    own: functions of the script; given: returns the arguments at a time
    """
    found = pieces(body) if language in ("sql", "plpgsql") else None
    if found is None:
        return None
    ran = [ExecutedStatement(" ".join(words), " ".join(words)) for words in found]
    if language == "plpgsql":
        try:
            ran = _run(edition, own, given, presence, found)
        except (NotStraight, RecursionError):
            return None
    trees: list[exp.Expression] = []
    try:
        for (number, maybe), line in groupby(ran, key=lambda one: (one.undone, one.maybe)):
            block = list(line)
            block_trees = _trees(block, edition, harmless)
            if block_trees is None or (maybe and not all(map(without_rows, block_trees))):
                return None
            if not (number and presence.fails(block_trees, block[0].caught, trees)):
                trees += block_trees
    except Unknown:
        return None
    return trees


def _run(
    edition: Edition,
    own: Collection[str],
    given: Callable[[Clock], Variables | None],
    presence: Presence,
    body: list[list[str]],
) -> list[ExecutedStatement]:
    """The statements that a block runs today. Raises NotStraight if those of other days differ in
    more than numbers, such as the dates in names and bounds.
    """

    def at(clock: Clock) -> list[ExecutedStatement]:
        variables = given(clock)
        if variables is None:
            raise NotStraight
        return Block(edition, own, variables, presence, clock).run(body)

    try:
        return same_every_day(at, lambda ran: [_without_numbers(one) for one in ran])
    except Unknown:
        raise NotStraight from None


def _without_numbers(one: ExecutedStatement) -> ExecutedStatement:
    return replace(one, text=re.sub(r"\d+", "0", one.text))


def _trees(
    ran: list[ExecutedStatement], edition: Edition, harmless: Callable[[str], bool]
) -> list[exp.Expression] | None:
    """Trees of statements; None if one cannot be parsed and may run DDL."""
    trees: list[exp.Expression] = []
    for one in ran:
        try:
            if one.executed:
                trees += _executed(one.text, edition)
            else:
                trees.append(read_statement(scan(one.text, 0, WORDS)[0], (edition,))[0])
        except (CatalogError, SyntaxFault, LexError, ValueError, RecursionError):
            if one.executed or not harmless(one.source):
                return None
    return trees


def _executed(text: str, edition: Edition) -> list[exp.Expression]:
    """Trees of the statements that EXECUTE runs. Raises ValueError if one is not understood."""
    found = [s.tree for s in statements(Source(text), (edition,))]
    trees = [tree for tree in found if tree is not None]
    if len(trees) < len(found) or any(
        type(tree).__name__ in ("BeginWork", "EndWork", "Savepoint") or tree.args.get("into")
        for tree in trees
    ):
        raise ValueError(text)
    return trees


def dropped_functions(tree: exp.Expression) -> list[exp.Expression]:
    """The functions in DROP FUNCTION; Greenplum 6 drops one at a time."""
    one = tree.args.get("function")
    return [one] if one is not None else list(tree.args.get("functions") or ())


def forget_routines(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    """Remove the code and results of functions that a statement drops or renames."""
    if kind in ("DropFunction", "DropRoutine"):
        for one in dropped_functions(tree):
            name = fold(
                one.this if isinstance(one.this, exp.Identifier) else one.this.args.get("this")
            )
            if state.results.get(name) is not None:
                del state.results[name]
            known = state.code.get(name)
            anyone = str(one.args.get("form")) == "/1"  # written without arguments
            if known is not None and (anyone or known.signature == signature_of(one)):
                del state.code[name]
    elif kind in ("AlterFunction", "AlterRoutine"):
        state.results = dict.fromkeys(state.results)
        state.code = dict.fromkeys(state.code)
