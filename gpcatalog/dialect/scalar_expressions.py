"""Expressions: operators by their precedence, and what they stand between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import (
    BCONST,
    DOLLAR,
    END,
    ESCONST,
    FCONST,
    ICONST,
    NCONST,
    OP,
    PARAM,
    PSQLVAR,
    QIDENT,
    SCONST,
    USCONST,
    XCONST,
)
from gpcatalog.dialect.names import SIMPLE_TYPES, TYPE_WORDS, DType, Names
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.vocabulary import MATH, STRINGS

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
_QUERY_STARTS = frozenset(("select", "values", "with", "table"))


class Terms(Names):
    """a_expr, b_expr and c_expr of the server's grammar."""

    __slots__ = ()

    # keyword → what reads a call with a grammar of its own; calls.py fills it
    special: ClassVar[dict[str, Callable[[Any], exp.Expression | None]]] = {}

    if TYPE_CHECKING:  # an expression may hold a query: queries.py

        def select(self) -> exp.Expression: ...
        def order_by(self) -> exp.Order: ...
        def window(self) -> exp.Expression: ...

    def expr_list(self) -> list[exp.Expression]:
        """a_expr, …"""
        found = [self.expr()]
        while self.kinds[self.i] == ",":
            self.i += 1
            found.append(self.expr())
        return found

    def b_expr(self) -> exp.Expression:
        """b_expr: an expression that AND, IN, LIKE and NOT cannot stretch."""
        return self.expr(0, True)

    def expr(self, least: int = 0, b: bool = False) -> exp.Expression:
        """a_expr (or b_expr) of operators at or above a level."""
        levels = self.say.levels
        left = self._prefix(b)
        barred = 99  # a non-associative operator just used bars its neighbours of the same level
        kinds = self.kinds
        while True:
            kind = kinds[self.i]
            found = levels.get(kind)
            if found is None or (found[0] < least and kind != "not"):
                self.note("an operator")
                return left
            if b and kind not in _B_EXPR:
                return left
            level, association = found
            if kind == "similar" and self.peek(1) != "to":
                return left  # SUBSTRING(… SIMILAR … ESCAPE …)
            if kind == "not":
                after = self.peek(1)
                if after not in ("between", "in", "like", "ilike", "similar"):
                    return left
                level, association = levels[after]
                # the 9.4 grammar weighs the word NOT itself, as in NOT x
                if (3 if self.say.old else level) < least:
                    return left
                if self.say.old:
                    barred = 99
            if level == barred:
                raise self.miss("an operator of another level")  # a < b < c: non-associative
            node = _NODES.get(kind)
            if (
                kind == "is"
                and b
                and self.peek(1 + (self.peek(1) == "not")) not in ("distinct", "of", "document")
            ):
                raise self.miss("distinct")
            if node is not None or kind in (OP, "operator", "=>"):
                before = self.i
                if kind not in ("and", "or") and self._quantified(kind):
                    left = self._subquery_comparison(left)
                    barred = 99
                    continue
                if node is not None:
                    self.i += 1
                    operator = None
                else:
                    operator = self.wrapped_operator() if kind == "operator" else self.any_op()
                    # NOT binds looser than a postfix operator, so the server never reads it as the
                    # right side
                    if self.edition.base < 14 and (
                        kinds[self.i] not in self.say.starts or kinds[self.i] == "not"
                    ):
                        left = gx.OperatorCall(this=left, operator=operator)
                        barred = 99
                        continue
                try:
                    right = self.expr(level if association == "r" else level + 1, b)
                except Mismatch:
                    if operator is not None and self.edition.base < 14 and not b:
                        # it was a postfix operator after all
                        self.i = before + (1 if kind == OP else 0)
                        if kind == OP:
                            left = gx.OperatorCall(this=left, operator=operator)
                            continue
                    raise
                left = (
                    node(this=left, expression=right)
                    if node
                    else gx.OperatorCall(this=left, operator=operator, expression=right)
                )
                barred = level if association == "n" else 99
                continue
            barred = 99
            if kind == "::":
                self.i += 1
                left = exp.Cast(this=left, to=self.typename())
            elif kind == "is":
                left, closed = self._is(left, level, b)
                barred = 99 if closed else level
            elif kind in ("isnull", "notnull"):
                self.i += 1
                left = gx.Predicate(this=left, words=kind.upper())
            elif kind == "collate":
                self.i += 1
                left = gx.Predicate(this=left, words="COLLATE", expressions=[self.any_name()])
            elif kind == "at":
                if self.peek(1) == "local" and self.edition.base >= 17:
                    self.i += 2
                    left = gx.Predicate(this=left, words="AT LOCAL")
                    continue
                if self.peek(1) != "time" or self.peek(2) != "zone":
                    return left
                self.i += 3
                left = gx.Predicate(
                    this=left, words="AT TIME ZONE", expressions=[self.expr(level + 1, b)]
                )
            else:
                if self._quantified(kind):
                    left = self._subquery_comparison(left)
                    continue
                negated = kind == "not"
                self.i += negated
                left, closed = self._matching(left, "NOT " if negated else "", level)
                barred = 99 if closed else level

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
            self.i += 1
            more = self.accept_any("value", "array", "object", "scalar")
            unique = ""
            if self.kinds[self.i] in ("with", "without") and self.peek(1) == "unique":
                unique = f" {self.kinds[self.i].upper()} UNIQUE KEYS"
                self.i += 2
                self.accept("keys")
            return (
                gx.Predicate(
                    this=left, words=f"{words} JSON{' ' + more.upper() if more else ''}{unique}"
                ),
                True,
            )
        for each in (*simple, "distinct"):
            self.note(each)
        raise Mismatch

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
            high = self.b_expr() if self.say.old else self.expr(level + 1)
            return (
                gx.Predicate(this=left, words=words, expressions=[low, high], joiner="AND"),
                self.say.old,
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
            return exp.Neg(this=self.expr(self.say.unary_minus, b))
        if kind == "+":
            self.i += 1
            operand = self.expr(self.say.unary_minus, b)
            return gx.OperatorCall(operator=gx.Operator(this="+"), expression=operand)
        if kind in (OP, "operator") or (self.say.old and kind in ("<=", ">=", "<>")):
            if kind == "operator" and self.peek(1) != "(":
                return self._primary()
            operator = self.wrapped_operator() if kind == "operator" else self.any_op()
            return gx.OperatorCall(
                operator=operator, expression=self.expr(self.say.levels[OP][0] + 1, b)
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

    def c_expr(self) -> exp.Expression:
        """c_expr."""
        return self._primary()

    def _indirect(self, node: exp.Expression) -> exp.Expression:
        while True:
            kind = self.kinds[self.i]
            if kind == ".":
                self.i += 1
                node = (
                    exp.Dot(this=node, expression=exp.Star())
                    if self.accept("*")
                    else exp.Dot(this=node, expression=self.label())
                )
            elif kind == "[":
                node = self._subscript(node)
            else:
                return node

    def _subscript(self, node: exp.Expression) -> exp.Expression:
        self.i += 1
        lower = upper = None
        if self.kinds[self.i] != ":":
            lower = self.expr()
        if self.kinds[self.i] == ":":
            if self.say.old and lower is None:
                raise self.miss("an expression")
            self.i += 1
            if self.kinds[self.i] != "]":
                upper = self.expr()
            elif self.say.old:
                raise self.miss("an expression")
            self.expect("]")
            return gx.Subscript(this=node, lower=lower, upper=upper, slice=True)
        self.expect("]")
        return gx.Subscript(this=node, lower=lower)

    def _primary(self) -> exp.Expression:
        i = self.i
        kind = self.kinds[i]
        if kind == SCONST:
            self.i = i + 1
            return exp.Literal(this=self.values[i], is_string=True)
        if kind in (ICONST, FCONST):
            self.i = i + 1
            return exp.Literal(this=self.values[i], is_string=False)
        if kind == "(":
            return self._parens()
        special = self.special.get(kind)
        if special is not None:
            found = special(self)
            if found is not None:
                return found
        if kind in TYPE_WORDS or (kind == "json" and kind not in self.say.function):
            typed = self._typed_literal()
            if typed is not None:
                return typed
        if kind in self.say.column or kind in self.say.function:
            return self._named()
        if kind in (ESCONST, DOLLAR, USCONST):
            return self.string()
        if kind in (BCONST, XCONST):
            self.i = i + 1
            return (
                exp.BitString(this=self.values[i])
                if kind == BCONST
                else exp.HexString(this=self.values[i])
            )
        if kind == NCONST:
            self.i = i + 1
            return exp.National(this=self.values[i])
        if kind == PARAM:
            self.i = i + 1
            return self._indirect(exp.Parameter(this=exp.Literal.number(self.values[i][1:])))
        raise self.miss("an expression")

    def _typed_literal(self) -> exp.Expression | None:
        """A constant like timestamp '…' or interval '1' year; None when the word is a column or a
        function here.
        """
        start, far, wanted = self.i, self.far, self.wanted.copy()
        try:
            if self.kinds[start] == "interval":
                self.i += 1
                length = self._length() if self.kinds[self.i] == "(" else None
                to = exp.DataType(this=DType.INTERVAL, expressions=length)
                if self.kinds[self.i] in STRINGS:
                    text = self.string()
                    fields = self.interval_fields() if length is None or self.say.old else ""
                    if length is not None and fields.endswith(")"):
                        raise self.miss("one precision")
                    return gx.TypedLiteral(this=text, to=to, fields=fields or None)
            else:
                if self.kinds[start] == "double" and self.peek(1) != "precision":
                    return None
                to = self.simple_type()  # type: ignore[assignment]
                if self.kinds[self.i] in STRINGS:
                    return gx.TypedLiteral(this=self.string(), to=to)
        except Mismatch:
            pass
        self.i, self.far, self.wanted = start, far, wanted
        return None

    def _named(self) -> exp.Expression:
        """A column, a function call or a typed constant."""
        start = self.i
        kind = self.kinds[start]
        following = self.kinds[start + 1]
        if following == "(" and kind in self.say.function:
            return self._call(self.function_word())
        if following in STRINGS and kind in self.say.function and kind != PSQLVAR:
            to = exp.DataType(this=DType.USERDEFINED, kind=self.function_word())
            known = SIMPLE_TYPES.get(self.values[start].lower()) if kind != QIDENT else None
            return gx.TypedLiteral(this=self.string(), to=exp.DataType(this=known) if known else to)
        if kind not in self.say.column:
            raise self.miss("an expression")
        parts = [self.name()]
        star = False
        while self.kinds[self.i] == ".":
            self.i += 1
            if self.kinds[self.i] == "*":
                self.i += 1
                star = True
                break
            parts.append(self.label())
        if not star and len(parts) > 1:
            if self.kinds[self.i] == "(":
                node: exp.Expression = parts[0]
                for part in parts[1:]:
                    node = exp.Dot(this=node, expression=part)
                return self._call(node)
            if self.kinds[self.i] in STRINGS:
                node = parts[0]
                for part in parts[1:]:
                    node = exp.Dot(this=node, expression=part)
                return gx.TypedLiteral(
                    this=self.string(), to=exp.DataType(this=DType.USERDEFINED, kind=node)
                )
        names: list[exp.Expression] = [*parts, exp.Star()] if star else [*parts]
        if len(names) <= 4:
            column: exp.Expression = exp.Column(
                **dict(zip(("this", "table", "db", "catalog"), reversed(names), strict=False))
            )
        else:
            column = names[0]
            for name in names[1:]:
                column = exp.Dot(this=column, expression=name)
        if star or self.kinds[self.i] != "[":
            return column
        return self._indirect(column)

    def call(self) -> exp.Expression:
        """func_application."""
        name = self.function_name()
        if isinstance(name, exp.Table):
            dotted: exp.Expression | None = None
            for part in name.parts:
                dotted = part if dotted is None else exp.Dot(this=dotted, expression=part)  # type: ignore[assignment]
            name = dotted  # type: ignore[assignment]
        if self.kinds[self.i] != "(":
            raise self.miss("(")
        return self._application(name)

    def windowless(self) -> exp.Expression:
        """func_expr_windowless: a call without OVER, or a function with its own grammar."""
        kind = self.kinds[self.i]
        special = self.special.get(kind)
        if special is not None and kind not in (
            "case",
            "exists",
            "array",
            "row",
            "grouping",
            "group_id",
            "null",
            "true",
            "false",
        ):
            found = special(self)
            if found is not None:
                return found
        return self.call()

    def _call(self, name: exp.Expression) -> exp.Expression:
        node = self._application(name)
        kind = self.kinds[self.i]
        if kind in STRINGS and not node.args.get("star") and not node.args.get("quantifier"):
            to = exp.DataType(
                this=DType.USERDEFINED,
                kind=name,
                expressions=[exp.DataTypeParam(this=a) for a in node.args.get("expressions") or ()],
            )
            return gx.TypedLiteral(this=self.string(), to=to)
        if kind == "[" and self.edition.base >= 99:
            return self._indirect(node)
        return self._decorated(node)

    def _decorated(self, node: exp.Expression) -> exp.Expression:
        args: dict[str, Any] = {}
        if self.kinds[self.i] == "within" and self.peek(1) == "group" and self.peek(2) == "(":
            if node.args.get("order") or node.args.get("quantifier"):
                raise self.miss("one ORDER BY")
            self.i += 3
            args["within"] = self.order_by()
            self.expect(")")
        if self.kinds[self.i] == "filter" and self.peek(1) == "(":
            self.i += 2
            self.expect("where")
            args["filter"] = exp.Where(this=self.expr())
            self.expect(")")
        if self.kinds[self.i] == "over" and (
            self.peek(1) == "(" or self.peek(1) in self.say.column
        ):
            self.i += 1
            args["over"] = self.window() if self.kinds[self.i] == "(" else self.name()
        return gx.WindowCall(this=node, **args) if args else node

    def _application(self, name: exp.Expression) -> exp.Expression:
        self.i += 1
        if self.accept(")"):
            return gx.FunctionCall(this=name)
        if self.kinds[self.i] == "*" and self.peek(1) == ")":
            self.i += 2
            if (
                isinstance(name, exp.Identifier)
                and name.this.lower() == "count"
                and not name.args["quoted"]
            ):
                return exp.Count(this=exp.Star())
            return gx.FunctionCall(this=name, star=True)
        quantifier = self.accept_any("all", "distinct")
        arguments = [self._argument(not quantifier)]
        while not isinstance(arguments[-1], gx.VariadicArgument) and self.accept(","):
            arguments.append(self._argument(not quantifier))
        names = [a.this.this.lower() for a in arguments if isinstance(a, gx.NamedArgument)]
        if names and (
            len(set(names)) < len(names)
            or not all(
                isinstance(a, gx.NamedArgument | gx.VariadicArgument)
                for a in arguments[-len(names) :]
            )
        ):
            raise self.miss("each name once, after the positional arguments")
        order = self.order_by() if self.kinds[self.i] == "order" else None
        self.expect(")")
        if (
            not quantifier
            and order is None
            and not names
            and isinstance(name, exp.Identifier)
            and not name.args["quoted"]
        ):
            return exp.Anonymous(
                this=name.this, expressions=arguments
            )  # what every dialect of sqlglot can write
        return gx.FunctionCall(
            this=name, expressions=arguments, quantifier=quantifier.upper() or None, order=order
        )

    def _argument(self, variadic: bool) -> exp.Expression:
        if variadic and self.kinds[self.i] == "variadic":
            self.i += 1
            return gx.VariadicArgument(this=self._argument(False))
        if self.kinds[self.i] in self.say.function and self.peek(1) in (":=", "=>"):
            if self.peek(1) == "=>" and self.say.old:
                # GP6 reads => as a plain operator
                name = exp.Column(this=self.name())
                self.i += 1
                return gx.OperatorCall(
                    this=name, operator=gx.Operator(this="=>"), expression=self.expr(12)
                )
            name_ = self.function_word()
            op = self.kinds[self.i]
            self.i += 1
            return gx.NamedArgument(this=name_, expression=self.expr(), op=op)
        return self.expr()

    def _parens(self) -> exp.Expression:
        start = self.i
        query = self.query_in_parens()
        if query is not None:
            return self._indirect(query)
        self.i = start
        self.expect("(")
        first = self.expr()
        if self.kinds[self.i] == ",":
            values = [first]
            while self.accept(","):
                values.append(self.expr())
            self.expect(")")
            return gx.RowValue(expressions=values)
        self.expect(")")
        return self._indirect(exp.Paren(this=first))

    def query_in_parens(self) -> exp.Expression | None:
        """select_with_parens, or None when the parenthesis holds something else."""
        start = self.i
        if self.kinds[start] != "(" or start in self.no_select:
            return None
        i = start + 1
        while self.kinds[i] == "(":
            i += 1
        if self.kinds[i] not in _QUERY_STARTS:
            return None
        try:
            self.i += 1
            inner = self.select()
            self.expect(")")
            return exp.Subquery(this=inner)
        except Mismatch:
            self.no_select.add(start)
            self.i = start
            return None
