"""Statements of PL/pgSQL: the structure of a block, and the SQL that it runs, if neither depends on
a database. Loops over numbers and times are run, and the texts of EXECUTE are computed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.script import Source, split
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constant_queries import ConstantQueries
from gpcatalog.effects.constant_values import Value, converted, field_key, kind_of, literal_of
from gpcatalog.effects.constants import Clock, Constants
from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.effects.presence import Presence

_MOST = 50_000  # maximum statements and loop iterations of a block,
_LONGEST = 4_000_000  # and maximum characters of their texts

# statements of PL/pgSQL that branch, repeat, or run a text
_CONTROL = frozenset(
    """if elsif elseif else end loop while for foreach case when begin declare exception execute exit
    continue open fetch close move commit rollback savepoint set call""".split()
)
_MAYBE = frozenset("create alter comment grant revoke".split())
_LEVELS = frozenset("debug log info notice warning".split())  # levels of RAISE that raise no error
_QUERIES = frozenset(("select", "values", "with"))
_NAME = re.compile(r'\w+|"(?:[^"]|"")*"')


def pieces(body: str) -> list[list[str]] | None:
    """Texts of the tokens of each statement, without comments; None if the server's scanner would
    reject the body.
    """
    found = []
    for piece in split(Source(body)):
        if piece.tokens is None or piece.error is not None:
            return None
        t = piece.tokens
        texts = [t.text[s:e] for s, e in zip(t.starts, t.ends, strict=True) if s < e]
        if texts and texts[-1] == ";":
            texts.pop()
        if texts:
            found.append(texts)
    return found


def gives_rows(statement: Sequence[str]) -> bool:
    """Whether the function continues after a RETURN: RETURN NEXT and RETURN QUERY."""
    return len(statement) > 1 and statement[1].lower() in ("next", "query")


def assigned(statement: list[str]) -> list[str] | None:
    """The expression that is assigned to a variable; None for other statements."""
    for n, text in enumerate(statement):
        if text in (":=", "=") and n:
            return statement[n + 1 :]
        # a name, its fields and its elements
        if not (_NAME.fullmatch(text) if n % 2 == 0 else text in ".["):
            return None
    return None


def without_target(statement: list[str]) -> list[str]:
    """A query without INTO and the variables after it."""
    at = next((n for n, text in enumerate(statement) if text.lower() == "into"), None)
    if at is None:
        return statement
    end = at + 1 + (statement[at + 1 : at + 2] == ["strict"])
    while end < len(statement) and _NAME.fullmatch(statement[end]):
        end += 1
        if statement[end : end + 1] not in (["."], [","]):
            break
        end += 1
    return statement[:at] + statement[end:]


def sql(statement: list[str]) -> str | None:
    """The SQL of a statement of PL/pgSQL; "" if it has none; None if its effect depends on how it
    runs.

    >>> sql(["perform", "f", "(", ")"]), sql(["x", ":=", "3"]), sql(["if", "a", "then"])
    ('SELECT f ( )', 'SELECT 3', None)
    >>> sql(["raise", "notice", "'%'", ",", "f", "(", ")"]), sql(["raise", "notice", "'a'"])
    ('SELECT f ( )', '')
    >>> sql(["select", "a", "into", "strict", "r", ".", "x", ",", "y", "from", "t"])
    'select a from t'
    """
    if (value := assigned(statement)) is not None:
        return " ".join(["SELECT", *value])
    word, rest = statement[0].lower(), statement[1:]
    if word in _CONTROL or word == "<<":
        return None
    if word == "raise":
        if not rest or rest[0].lower() not in _LEVELS:
            return None
        # a format and its arguments; USING also has expressions
        given = rest[3:] if rest[2:3] == [","] else []
        if "(" in rest and (not given or "using" in map(str.lower, rest)):
            return None
        return " ".join(["SELECT", *given]) if given else ""
    if word in ("null", "get"):
        return ""
    if word == "perform":
        return " ".join(["SELECT", *rest])
    if word == "return":
        if rest[:1] and rest[0].lower() == "query":
            return None if "execute" in map(str.lower, rest) else " ".join(rest[1:])
        value = rest[1:] if gives_rows(statement) else rest
        return " ".join(["SELECT", *value]) if value else ""
    return " ".join(without_target(statement) if word in ("select", "with") else statement)


Variables = dict[str, tuple[str, Value]]  # kind and value by name


class NotStraight(Exception):
    """The statements that a block runs depend on a database, or cannot be followed."""


class _Return(Exception):
    """RETURN: the block has ended."""


class _Exit(Exception):
    """EXIT: the loop has ended."""


class _Continue(Exception):
    """CONTINUE: this iteration of the loop has ended."""


@dataclass(frozen=True)
class ExecutedStatement:
    """A statement that a block runs.

    text: its SQL; for EXECUTE, all that it runs
    source: its text in the block
    executed: it is run by EXECUTE
    undone: number of the block that rolls it back if a statement of that block fails; 0: none
    caught: conditions that this block catches
    maybe: it depends on an unknown condition whether it runs
    """

    text: str
    source: str
    executed: bool = False
    undone: int = 0
    caught: frozenset[str] = frozenset()
    maybe: bool = False


@dataclass
class _Node:
    """A statement, which may contain other statements.

    kind: "sql", "for", "foreach", "while", "loop", "if", "block"
    words: words of the statement, or of the head of a loop
    branches: of IF: conditions (empty: ELSE) and statements; of a loop: one branch without a
        condition; of a block: one without a condition, and the conditions of its handlers with
        their statements
    """

    kind: str
    words: list[str]
    branches: list[tuple[list[str], list[_Node]]] = field(default_factory=list)


def _split_at(words: list[str], word: str) -> tuple[list[str], list[str]]:
    """The words before and after a word outside of parentheses and CASE. Raises NotStraight."""
    depth = 0
    for n, text in enumerate(words):
        lower = text.lower()
        if depth == 0 and lower == word:
            return words[:n], words[n + 1 :]
        depth += (lower in ("(", "case")) - (lower in (")", "end"))
    raise NotStraight


def _read(queue: deque[list[str]]) -> list[_Node]:
    """Read statements up to the end of a loop, a branch or a block."""
    found: list[_Node] = []
    while queue:
        words = queue[0]
        word, rest = words[0].lower(), words[1:]
        if word in ("end", "elsif", "elseif", "else", "exception", "when"):
            return found
        queue.popleft()
        if word in ("for", "foreach", "while", "loop"):
            head, first = ([], rest) if word == "loop" else _split_at(rest, "loop")
            found.append(_Node(word, head, [([], _body(queue, first))]))
            if [w.lower() for w in queue.popleft()[:2]] != ["end", "loop"]:
                raise NotStraight
        elif word == "if":
            found.append(_Node("if", [], _branches(queue, rest)))
        elif word == "begin":
            found.append(_block(queue, rest))
        else:
            found.append(_Node("sql", words))
    return found


def _block(queue: deque[list[str]], first: list[str]) -> _Node:
    """The statements of a block after BEGIN, and its handlers."""
    branches: list[tuple[list[str], list[_Node]]] = [([], _body(queue, first))]
    words = queue.popleft()
    if words[0].lower() == "exception":
        words = words[1:]
        while words and words[0].lower() == "when":
            conditions, first = _split_at(words[1:], "then")
            branches.append((conditions, _body(queue, first)))
            words = queue.popleft()
    if [w.lower() for w in words] != ["end"]:
        raise NotStraight
    return _Node("block", [], branches)


def _body(queue: deque[list[str]], first: list[str]) -> list[_Node]:
    if first:
        queue.appendleft(first)
    found = _read(queue)
    if not queue:
        raise NotStraight
    return found


def _branches(queue: deque[list[str]], rest: list[str]) -> list[tuple[list[str], list[_Node]]]:
    """Conditions and statements of IF; rest: the words after IF."""
    found = []
    condition, first = _split_at(rest, "then")
    while True:
        found.append((condition, _body(queue, first)))
        words = queue.popleft()
        word = words[0].lower()
        if word == "end":
            if [w.lower() for w in words] != ["end", "if"]:
                raise NotStraight
            return found
        if word == "else":
            condition, first = [], words[1:]
        else:
            condition, first = _split_at(words[1:], "then")


def _any_order(nodes: list[_Node]) -> bool:
    """Whether statements of a loop set no variable and do not leave it, so that the order of its
    iterations has no influence.
    """
    for node in nodes:
        words = [word.lower() for word in node.words]
        if node.kind == "sql" and (
            assigned(node.words) is not None
            or words[0] in ("exit", "return", "get", "fetch")
            or "into" in words
        ):
            return False
        if not all(_any_order(branch) for _, branch in node.branches):
            return False
    return True


def _loop_variables(words: list[str]) -> tuple[list[str], list[str]]:
    """The variables of FOR and FOREACH, and the words after IN. Raises NotStraight."""
    at = next((n for n, word in enumerate(words) if word.lower() == "in"), 0)
    names = words[0:at:2]
    if not names or any(word != "," for word in words[1:at:2]) or at + 1 >= len(words):
        raise NotStraight
    if at % 2 == 0 or not all(map(_NAME.fullmatch, names)):
        raise NotStraight
    return [fold_word(name) for name in names], words[at + 1 :]


class Block:
    """Runs a block as far as it can be computed."""

    def __init__(
        self,
        edition: Edition,
        own: Collection[str],
        given: Variables,
        presence: Presence,
        clock: Clock | None = None,
    ) -> None:
        self._edition = edition
        self._presence = presence
        self._kinds = {name: kind for name, (kind, _) in given.items()}
        self._values = {name: value for name, (_, value) in given.items()}
        self._constants = Constants(self._values, own, self._finds, base=edition.base, clock=clock)
        self._records: set[str] = set()  # variables of type record
        self._ran: list[ExecutedStatement] = []
        self._steps = 0
        self._size = 0
        self._blocks = 0  # blocks that roll back their statements

    def run(self, body: list[list[str]]) -> list[ExecutedStatement]:
        """Return the statements that run, in their order. Raises NotStraight.

        body: words of its statements, as returned by `pieces`
        """
        queue = deque(body)
        if not queue or queue[-1][0].lower() != "end" or len(queue.pop()) > 2:
            raise NotStraight
        queue.append(["end"])
        first = True
        while queue and queue[0][0].lower() != "begin":
            words = queue.popleft()
            if first and words[0].lower() != "declare":
                raise NotStraight
            self._declare(words[1:] if first else words)
            first = False
        if not queue:
            raise NotStraight
        node = _block(queue, queue.popleft()[1:])
        if queue:
            raise NotStraight
        try:
            with suppress(_Return):
                self._all([node])
        except (_Exit, _Continue):  # outside of a loop
            raise NotStraight from None
        return self._ran

    def _declare(self, words: list[str]) -> None:
        signs = {":=", "=", "default"}
        at = next((n for n, text in enumerate(words) if text.lower() in signs), len(words))
        kind = [w for w in words[1:at] if w.lower() not in ("constant", "not", "null")]
        name, value = fold_word(words[0]), words[at + 1 :]
        self._forget(name)
        self._records.discard(name)
        self._kinds[name] = kind_of(" ".join(kind))
        if [word.lower() for word in kind] == ["record"]:
            self._records.add(name)
        if not value:
            return
        try:
            self._set(name, self._value(value))
        except Unknown:
            if "(" in value:
                raise NotStraight from None

    def _value(self, words: Sequence[str]) -> Value:
        """Compute an expression. Raises Unknown."""
        return self._constants.value(self._tree("SELECT " + " ".join(words)).expressions[0])

    def _tree(self, text: str) -> exp.Expression:
        """The tree of a query with one target and no clause except FROM. Raises Unknown."""
        tree = self._query(text)
        clauses = {k for k, v in tree.args.items() if v}
        if (
            not isinstance(tree, exp.Select)
            or not clauses <= {"expressions", "from_"}
            or len(tree.expressions) != 1
        ):
            raise Unknown("query")
        return tree

    def _query(self, text: str) -> exp.Expression:
        try:
            return read_statement(scan(text, 0, WORDS)[0], (self._edition,))[0]
        except (CatalogError, SyntaxFault, LexError, ValueError, RecursionError):
            raise Unknown("expression") from None

    def _forget(self, name: str) -> None:
        """Remove the value of a variable and of its fields."""
        self._values.pop(name, None)
        if name in self._records:
            start = field_key(name, "")
            for key in [key for key in self._values if key.startswith(start)]:
                del self._values[key]

    def _set_all(self, names: list[str], columns: Sequence[str], row: Sequence[Value]) -> None:
        """Set a record or scalar variables to a row. Raises Unknown."""
        if names[0] in self._records and len(names) == 1:
            self._forget(names[0])
            for column, value in zip(columns, row, strict=True):
                if columns.count(column) == 1:
                    self._values[field_key(names[0], column)] = value
            return
        if len(names) != len(row):
            raise Unknown("number of columns")
        for name, value in zip(names, row, strict=True):
            self._set(name, value)

    def _set(self, name: str, value: Value) -> None:
        """Set a variable to a value. If this raises Unknown, the variable has no value."""
        self._forget(name)
        kind = self._kinds.get(name, "")
        if not kind:
            raise Unknown(f"type of {name}")
        self._values[name] = converted(value, kind)

    def _all(self, nodes: list[_Node]) -> None:
        for node in nodes:
            self._steps += 1
            if self._steps > _MOST:
                raise NotStraight
            try:
                self._one(node)
            except Unknown:
                raise NotStraight from None

    def _one(self, node: _Node) -> None:
        if node.kind == "sql":
            self._sql(node.words)
        elif node.kind == "if":
            self._if(node)
        elif node.kind == "block":
            self._undoing(node)
        else:
            with suppress(_Exit):
                self._loop(node)

    def _if(self, node: _Node) -> None:
        for n, (condition, statements) in enumerate(node.branches):
            try:
                holds = not condition or self._holds(condition)
            except Unknown:
                for may_run, some in node.branches[n:]:
                    if may_run:  # the condition may call code
                        text = " ".join(["SELECT", *may_run])
                        self._ran.append(ExecutedStatement(text, text))
                    self._perhaps(some)
                return
            if holds:
                self._all(statements)
                return

    def _perhaps(self, nodes: list[_Node]) -> None:
        """Add statements that may run. Raises NotStraight if they can change what the block
        computes.
        """
        for node in nodes:
            text = sql(node.words) if node.kind == "sql" else None
            if text is None or (text and node.words[0].lower() not in _MAYBE):
                raise NotStraight
            if text:
                self._ran.append(ExecutedStatement(text, " ".join(node.words), maybe=True))

    def _undoing(self, node: _Node) -> None:
        """BEGIN … EXCEPTION … END: its statements are rolled back if one fails; its handlers run
        nothing.
        """
        first = len(self._ran)
        self._all(node.branches[0][1])
        caught = set()
        for conditions, statements in node.branches[1:]:
            for handler in statements:
                words = handler.words
                quiet = words[:1] and words[0].lower() == "raise" and "(" not in words
                if handler.kind != "sql" or (sql(words) != "" and not quiet):
                    raise NotStraight
            caught |= {word.lower() for word in conditions} - {"or"}
        if caught:
            self._blocks += 1
            for n, one in enumerate(self._ran[first:], first):
                if one.undone:
                    raise NotStraight
                self._ran[n] = replace(one, undone=self._blocks, caught=frozenset(caught))

    def _finds(self, query: exp.Expression) -> bool:
        """Whether a query of the catalogs finds a row. Raises Unknown."""
        before = [re.findall(r"\w+", one.text.lower()) for one in self._ran]
        return self._presence.finds(query, self._constants.value, before)

    def _holds(self, condition: list[str]) -> bool:
        value = self._value(condition)
        if not isinstance(value, bool):
            raise Unknown("condition")
        return value

    def _again(self, body: list[_Node]) -> None:
        """Run the statements of a loop once more."""
        self._steps += 1
        if self._steps > _MOST:
            raise NotStraight
        with suppress(_Continue):
            self._all(body)

    def _loop(self, node: _Node) -> None:
        """Run LOOP; WHILE; FOR over numbers, with a variable of its own, or over the rows of a
        query; FOREACH.
        """
        words, body = node.words, node.branches[0][1]
        if node.kind in ("loop", "while"):
            while not words or self._holds(words):
                self._again(body)
            return
        names, over = _loop_variables(words)
        name = names[0]
        first = [word.lower() for word in over[:2]]
        if node.kind == "foreach":
            for value in self._elements(over):
                self._set(name, value)
                self._again(body)
            return
        if set(first[:1] if first[0] != "(" else first[1:]) & _QUERIES:
            queries = ConstantQueries(self._constants, self._kinds)
            found = queries.rows(self._query(" ".join(over)))
            if not found.rows or not (found.ordered or _any_order(body)):
                raise Unknown("rows of a loop")
            for row in found.rows:
                self._set_all(names, found.columns, row)
                self._again(body)
            return
        if len(names) > 1:
            raise NotStraight
        kind, value = self._kinds.get(name, ""), self._values.get(name)
        self._kinds[name] = "int"
        try:
            for number in self._numbers(over):
                self._values[name] = number
                self._again(body)
        finally:
            self._kinds[name] = kind
            self._values.pop(name, None)
            if value is not None:
                self._values[name] = value

    def _elements(self, words: list[str]) -> Sequence[Value]:
        """The elements after ARRAY of FOREACH."""
        found = self._value(words[1:]) if words[0].lower() == "array" else None
        if not isinstance(found, tuple):
            raise Unknown("elements of an array")
        return found

    def _numbers(self, words: list[str]) -> range:
        reverse = words[0].lower() == "reverse"
        low, high = _split_at(words[reverse:], "..")
        by: list[str] = []
        if "by" in map(str.lower, high):
            high, by = _split_at(high, "by")
        first, last = self._value(low), self._value(high)
        step = self._value(by) if by else 1
        if not (type(first) is int and type(last) is int and type(step) is int and step > 0):
            raise Unknown("range of a loop")
        return range(first, last - 1, -step) if reverse else range(first, last + 1, step)

    def _sql(self, words: list[str]) -> None:
        word = words[0].lower()
        source = " ".join(words)
        if word == "execute":
            self._execute(words)
            return
        if word in ("exit", "continue"):
            if len(words) > 1 and words[1].lower() != "when":  # for a loop with a label
                raise NotStraight
            if len(words) == 1 or self._holds(words[2:]):
                raise _Exit if word == "exit" else _Continue
            return
        if (value := assigned(words)) is not None and self._assign(words, value):
            return
        text = sql(words)
        if text is None:
            raise NotStraight
        self._forget_targets(words, everywhere=word == "get")
        if word == "select":
            self._select_into(words)
        if text:
            text = self._with_values(text) if word == "perform" else text
            self._ran.append(ExecutedStatement(text, source))
        if word == "return" and not gives_rows(words):
            raise _Return

    def _with_values(self, text: str) -> str:
        """A query that calls one function, with the values of its arguments, if all are known."""
        try:
            tree = self._tree(text)
            call = tree.expressions[0]
            if not isinstance(call, exp.Anonymous | gx.FunctionCall) or tree.args.get("from_"):
                return text
            for one in list(call.expressions):
                node = one.expression if isinstance(one, gx.NamedArgument) else one
                node.replace(literal_of(self._constants.value(node)))
        except Unknown:
            return text
        return tree.sql("greenplum")

    def _select_into(self, words: list[str]) -> None:
        """Set the variable of SELECT value INTO variable, if the value can be computed."""
        lower = [word.lower() for word in words]
        if "into" not in lower or "from" in lower:
            return
        at = lower.index("into") + 1
        at += lower[at : at + 1] == ["strict"]
        rest = without_target(words)
        if len(words) - len(rest) != at + 1 - lower.index("into"):  # several targets, or a part
            return
        with suppress(Unknown):
            self._set(fold_word(words[at]), self._value(rest[1:]))

    def _assign(self, words: list[str], value: list[str]) -> bool:
        """Compute an assignment; return whether that is all it does."""
        name = fold_word(words[0])
        if len(words) - len(value) != 2:  # assignment to a part of a variable
            self._forget(name)
            return False
        try:
            self._set(name, self._value(value))
        except Unknown:
            return False
        return True

    def _execute(self, words: list[str]) -> None:
        ends = (n for n, text in enumerate(words) if text.lower() in ("into", "using"))
        end = next(ends, len(words))
        text = self._value(words[1:end])
        if not isinstance(text, str):
            raise NotStraight
        self._forget_targets(words[end:])
        self._size += len(text)
        if self._size > _LONGEST:
            raise NotStraight
        self._ran.append(ExecutedStatement(text, " ".join(words), executed=True))

    def _forget_targets(self, words: list[str], *, everywhere: bool = False) -> None:
        """Remove the values of variables that a statement may set: those after INTO."""
        behind = everywhere
        for text in words:
            behind = behind or text.lower() == "into"
            if behind:
                self._forget(fold_word(text))


def fold_word(word: str) -> str:
    """The name that a word denotes: folded, without quotes.

    >>> fold_word("Abc"), fold_word('"Abc"')
    ('abc', 'Abc')
    """
    if word.startswith('"'):
        return word[1:-1].replace('""', '"')
    return word.lower()
