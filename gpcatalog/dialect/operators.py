"""Operators by their precedence: a_expr and b_expr of the server's grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import END, OP
from gpcatalog.dialect.names import Names
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.vocabulary import MATH

_NODES: dict[str, type[exp.Expression]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "^": exp.Pow,
    "<": exp.LT,
    ">": exp.GT,
    "=": exp.EQ,
    "<=": exp.LTE,
    ">=": exp.GTE,
    "<>": exp.NEQ,
    "and": exp.And,
    "or": exp.Or,
}
_B_EXPR = frozenset((*MATH, OP, "operator", "is", "::"))
_UNBARRED = 99  # above all levels: no operator is excluded
_MULTIWORD = frozenset(("similar", "not", "at"))  # their level depends on the words after them
_OPERATORS = (OP, "operator", "=>")  # infix operators without a node class of their own
_SUFFIXES = ("::", "isnull", "notnull", "collate")


class Operators(Names):
    """a_expr and b_expr."""

    __slots__ = ()

    if TYPE_CHECKING:  # operands: scalar_expressions.py

        def _primary(self) -> exp.Expression: ...
        def query_in_parens(self) -> exp.Expression | None: ...

    def expr_list(self) -> list[exp.Expression]:
        """a_expr, …"""
        found = [self.expr()]
        while self.kinds[self.i] == ",":
            self.i += 1
            found.append(self.expr())
        return found

    def b_expr(self) -> exp.Expression:
        """b_expr: an expression without AND, IN, LIKE and NOT outside of parentheses."""
        return self.expr(0, True)

    def expr(self, least: int = 0, b: bool = False) -> exp.Expression:
        """a_expr (or b_expr) with operators of this level or a higher one.

        It calls itself directly, so that expressions can be nested deeply.
        """
        levels = self.vocabulary.levels
        left = self._prefix(b)
        barred = (
            _UNBARRED  # after a non-associative operator, no other of the same level may follow
        )
        kinds = self.kinds
        while True:
            kind = kinds[self.i]
            found = levels.get(kind)
            if found is None or (found[0] < least and kind != "not"):
                self.note("an operator")
                return left
            if b and kind not in _B_EXPR:
                return left
            level = self._level_of_words(kind, least) if kind in _MULTIWORD else found[0]
            if level is None:
                return left
            if level == barred and not (kind == "not" and self.vocabulary.old):
                raise self.miss("an operator of another level")  # a < b < c: non-associative
            if kind in _NODES or kind in _OPERATORS:
                if kind not in ("and", "or") and self._quantified(kind):
                    left, barred = self._subquery_comparison(left), _UNBARRED
                    continue
                before = self.i
                operator = self._infix(kind)
                if operator is not None and self._no_right_side():
                    left, barred = gx.OperatorCall(this=left, operator=operator), _UNBARRED
                    continue
                try:
                    right = self.expr(level if found[1] == "r" else level + 1, b)
                except Mismatch:
                    if operator is None or self.edition.base >= 14 or b:
                        raise
                    # no right side: it is a postfix operator
                    self.i = before + (1 if kind == OP else 0)
                    if kind != OP:
                        raise
                    left = gx.OperatorCall(this=left, operator=operator)
                    continue
                left = _operation(kind, left, operator, right)
                barred = level if found[1] == "n" else _UNBARRED
            elif kind == "is":
                left, closed = self._is(left, level, b)
                barred = _UNBARRED if closed else level
            elif kind in _SUFFIXES or (kind == "at" and self.peek(1) == "local"):
                left, barred = self._suffixed(left, kind), _UNBARRED
            elif kind == "at":
                self.i += 3
                zone = self.expr(level + 1, b)
                left = gx.Predicate(this=left, words="AT TIME ZONE", expressions=[zone])
                barred = _UNBARRED
            elif self._quantified(kind):
                left, barred = self._subquery_comparison(left), _UNBARRED
            else:
                negated = kind == "not"
                self.i += negated
                left, closed = self._matching(left, "NOT " if negated else "", level)
                barred = _UNBARRED if closed else level

    def _level_of_words(self, kind: str, least: int) -> int | None:
        """Level of an operator that depends on the words after its first one; None if it is no
        operator, or NOT … below the level `least`.
        """
        after = self.peek(1)
        if kind == "similar":
            return (
                self.vocabulary.levels[kind][0] if after == "to" else None
            )  # SUBSTRING(… SIMILAR …)
        if kind == "at":
            local = after == "local" and self.edition.base >= 17
            zone = after == "time" and self.peek(2) == "zone"
            return self.vocabulary.levels[kind][0] if local or zone else None
        if after not in ("between", "in", "like", "ilike", "similar"):
            return None
        level = self.vocabulary.levels[after][0]
        # the 9.4 grammar uses the level of the word NOT, as in NOT x
        return level if (3 if self.vocabulary.old else level) >= least else None

    def _infix(self, kind: str) -> gx.Operator | None:
        """Read an infix operator; None for one with a node class of its own."""
        if kind in _NODES:
            self.i += 1
            return None
        return self.wrapped_operator() if kind == "operator" else self.any_op()

    def _no_right_side(self) -> bool:
        """Whether the next token shows that the operator before it is a postfix operator (servers
        before PostgreSQL 14).
        """
        # NOT has a lower precedence than a postfix operator, so the server never reads it as the
        # right side
        after = self.kinds[self.i]
        return self.edition.base < 14 and (after not in self.vocabulary.starts or after == "not")

    def _suffixed(self, left: exp.Expression, kind: str) -> exp.Expression:
        """left with one of _SUFFIXES or AT LOCAL."""
        self.i += 1
        if kind == "::":
            return exp.Cast(this=left, to=self.typename())
        if kind == "collate":
            return gx.Predicate(this=left, words="COLLATE", expressions=[self.any_name()])
        if kind == "at":
            self.i += 1
            return gx.Predicate(this=left, words="AT LOCAL")
        return gx.Predicate(this=left, words=kind.upper())

    def _quantified(self, kind: str) -> bool:
        at = 1
        if kind == "operator":
            at = 1
            while self.peek(at) not in (")", END):
                at += 1
            at += 1
        elif kind == "not":
            if self.peek(1) not in ("like", "ilike"):
                return False
            at = 2
        elif kind in ("between", "in", "similar"):
            return False
        return self.peek(at) in ("any", "some", "all") and self.peek(at + 1) == "("

    def _subquery_comparison(self, left: exp.Expression) -> exp.Expression:
        kind = self.kinds[self.i]
        operator: exp.Expression | str
        if kind in ("like", "ilike", "not"):
            words = [kind]
            self.i += 1
            if kind == "not":
                words.append(self.kinds[self.i])
                self.i += 1
            operator = " ".join(words).upper()
        else:
            operator = self.any_op()
        quantifier = self.kinds[self.i].upper()
        self.i += 1
        inner = self.query_in_parens()
        if inner is None:
            self.expect("(")
            inner = exp.Paren(this=self.expr())
            self.expect(")")
        return gx.SubqueryComparison(
            this=left, operator=operator, quantifier=quantifier, expression=inner
        )

    def _is(self, left: exp.Expression, level: int, b: bool) -> tuple[exp.Expression, bool]:
        """left IS …, and whether another operator of the same level may follow."""
        if b and self.peek(1 + (self.peek(1) == "not")) not in ("distinct", "of", "document"):
            raise self.miss("distinct")
        self.i += 1
        words = "IS"
        if self.accept("not"):
            words += " NOT"
        kind = self.kinds[self.i]
        if kind == "distinct":
            self.i += 1
            self.expect("from")
            right = self.expr(level + 1, b)
            return (
                gx.Predicate(this=left, words=words + " DISTINCT FROM", expressions=[right]),
                False,
            )
        if kind == "of" and self.edition.base < 14:
            self.i += 1
            self.expect("(")
            types = [self.typename()]
            while self.accept(","):
                types.append(self.typename())
            self.expect(")")
            return (
                gx.Predicate(
                    this=left, words=words + " OF", expressions=[gx.RowValue(expressions=types)]
                ),
                True,
            )
        simple = ["document"] if b else ["null", "true", "false", "unknown", "document"]
        if kind in simple:
            self.i += 1
            if kind == "null" and words == "IS":
                return exp.Is(this=left, expression=exp.Null()), True
            return gx.Predicate(this=left, words=f"{words} {kind.upper()}"), True
        if self.edition.base >= 13 and not b:
            form = self.accept_any("nfc", "nfd", "nfkc", "nfkd")
            if form or kind == "normalized":
                self.expect("normalized")
                return (
                    gx.Predicate(
                        this=left, words=f"{words} {form.upper()} NORMALIZED".replace("  ", " ")
                    ),
                    True,
                )
        if self.edition.base >= 16 and kind == "json" and not b:
            return self._is_json(left, words), True
        for each in (*simple, "distinct"):
            self.note(each)
        raise Mismatch

    def _is_json(self, left: exp.Expression, words: str) -> exp.Expression:
        """left IS [NOT] JSON …, from the word JSON on; words: the words before it."""
        self.i += 1
        more = self.accept_any("value", "array", "object", "scalar")
        unique = ""
        if self.kinds[self.i] in ("with", "without") and self.peek(1) == "unique":
            unique = f" {self.kinds[self.i].upper()} UNIQUE KEYS"
            self.i += 2
            self.accept("keys")
        words = f"{words} JSON{' ' + more.upper() if more else ''}{unique}"
        return gx.Predicate(this=left, words=words)

    def _matching(
        self, left: exp.Expression, negation: str, level: int
    ) -> tuple[exp.Expression, bool]:
        kind = self.kinds[self.i]
        self.i += 1
        if kind == "in":
            inner = self.query_in_parens()
            if inner is not None:
                node: exp.Expression = gx.Predicate(
                    this=left, words=negation + "IN", expressions=[inner]
                )
            else:
                self.expect("(")
                values = self.expr_list()
                self.expect(")")
                node = gx.Predicate(
                    this=left, words=negation + "IN", expressions=[gx.RowValue(expressions=values)]
                )
            return node, True
        if kind == "between":
            words = negation + "BETWEEN"
            which = self.accept_any("symmetric", "asymmetric")
            words += " " + which.upper() if which else ""
            low = self.b_expr()
            self.expect("and")
            high = self.b_expr() if self.vocabulary.old else self.expr(level + 1)
            return (
                gx.Predicate(this=left, words=words, expressions=[low, high], joiner="AND"),
                self.vocabulary.old,
            )
        words = negation + kind.upper()
        if kind == "similar":
            self.expect("to")
            words += " TO"
        pattern = self.expr(level + 1)
        found = [pattern]
        if self.accept("escape"):
            found.append(self.expr(level + 1))
        return (
            gx.Predicate(
                this=left,
                words=words,
                expressions=found,
                joiner="ESCAPE" if len(found) > 1 else None,
            ),
            False,
        )

    def _prefix(self, b: bool) -> exp.Expression:
        kind = self.kinds[self.i]
        if kind == "not" and not b:
            self.i += 1
            return exp.Not(this=self.expr(3))
        if kind == "-":
            self.i += 1
            return exp.Neg(this=self.expr(self.vocabulary.unary_minus, b))
        if kind == "+":
            self.i += 1
            operand = self.expr(self.vocabulary.unary_minus, b)
            return gx.OperatorCall(operator=gx.Operator(this="+"), expression=operand)
        if kind in (OP, "operator") or (self.vocabulary.old and kind in ("<=", ">=", "<>")):
            if kind == "operator" and self.peek(1) != "(":
                return self._primary()
            if self.edition.base >= 19 and self.values[self.i] in ("->", "|"):
                raise self.miss("an expression")  # no prefix operators there
            operator = self.wrapped_operator() if kind == "operator" else self.any_op()
            return gx.OperatorCall(
                operator=operator, expression=self.expr(self.vocabulary.levels[OP][0] + 1, b)
            )
        if (
            kind == "default"
            and not b
            and (
                self.edition.base >= 10
                or self.peek(1) in (",", ")", END, "where", "from", "returning")
            )
        ):
            self.i += 1
            return gx.DefaultValue()
        if kind == "unique" and not b:
            self.i += 1
            inner = self.query_in_parens()
            if inner is None:
                raise self.miss("a query in parentheses")
            return gx.Predicate(words="UNIQUE", expressions=[inner])
        node = self._primary()
        if self.kinds[self.i] == "overlaps" and isinstance(node, gx.RowValue) and not b:
            self.i += 1
            right = self._primary()
            if not isinstance(right, gx.RowValue):
                raise self.miss("a row")
            return gx.Predicate(this=node, words="OVERLAPS", expressions=[right])
        return node


def _operation(
    kind: str, left: exp.Expression, operator: gx.Operator | None, right: exp.Expression
) -> exp.Expression:
    """The node of an infix operation; operator: of a kind without a node class of its own."""
    node = _NODES.get(kind)
    if node is not None:
        return node(this=left, expression=right)
    return gx.OperatorCall(this=left, operator=operator, expression=right)
