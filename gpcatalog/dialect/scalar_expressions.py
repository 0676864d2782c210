"""Operands of operators: constants, columns, calls and all other parts of c_expr."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import (
    BCONST,
    DOLLAR,
    ESCONST,
    FCONST,
    ICONST,
    NCONST,
    PARAM,
    PSQLVAR,
    QIDENT,
    SCONST,
    USCONST,
    XCONST,
)
from gpcatalog.dialect.names import SIMPLE_TYPES, TYPE_WORDS, DType
from gpcatalog.dialect.operators import Operators
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.vocabulary import STRINGS

_QUERY_STARTS = frozenset(("select", "values", "with", "table"))


class Terms(Operators):
    """c_expr of the server's grammar."""

    __slots__ = ()

    # keyword → reader of a function with its own syntax; filled by functions.py
    special: ClassVar[dict[str, Callable[[Any], exp.Expression | None]]] = {}

    if TYPE_CHECKING:  # an expression can contain a query: queries.py

        def select(self) -> exp.Expression: ...
        def order_by(self) -> exp.Order: ...
        def window(self) -> exp.Expression: ...

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
            if self.vocabulary.old and lower is None:
                raise self.miss("an expression")
            self.i += 1
            if self.kinds[self.i] != "]":
                upper = self.expr()
            elif self.vocabulary.old:
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
        if kind in TYPE_WORDS or (kind == "json" and kind not in self.vocabulary.function):
            typed = self._typed_literal()
            if typed is not None:
                return typed
        if kind in self.vocabulary.column or kind in self.vocabulary.function:
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
        """A constant like timestamp '…' or interval '1' year; None if the word is a column or a
        function here.
        """
        start, furthest, expected = self.i, self.furthest, self.expected.copy()
        try:
            if self.kinds[start] == "interval":
                self.i += 1
                length = self._length() if self.kinds[self.i] == "(" else None
                to = exp.DataType(this=DType.INTERVAL, expressions=length)
                if self.kinds[self.i] in STRINGS:
                    text = self.string()
                    fields = self.interval_fields() if length is None or self.vocabulary.old else ""
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
        self.i, self.furthest, self.expected = start, furthest, expected
        return None

    def _named(self) -> exp.Expression:
        """A column, a function call or a typed constant."""
        start = self.i
        kind = self.kinds[start]
        following = self.kinds[start + 1]
        if following == "(" and kind in self.vocabulary.function:
            return self._call(self.function_word())
        if following in STRINGS and kind in self.vocabulary.function and kind != PSQLVAR:
            to = exp.DataType(this=DType.USERDEFINED, kind=self.function_word())
            known = SIMPLE_TYPES.get(self.values[start].lower()) if kind != QIDENT else None
            return gx.TypedLiteral(this=self.string(), to=exp.DataType(this=known) if known else to)
        if kind not in self.vocabulary.column:
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
        """func_expr_windowless: a call without OVER, or a function with its own syntax."""
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
        treated = self.kinds[self.i] in ("ignore", "respect") and self.peek(1) == "nulls"
        if treated and self.edition.base >= 19:
            args["nulls"] = f"{self.kinds[self.i].upper()} NULLS"
            self.i += 2
        if self.kinds[self.i] == "over" and (
            self.peek(1) == "(" or self.peek(1) in self.vocabulary.column
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
            )  # every dialect of sqlglot can write this
        return gx.FunctionCall(
            this=name, expressions=arguments, quantifier=quantifier.upper() or None, order=order
        )

    def _argument(self, variadic: bool) -> exp.Expression:
        if variadic and self.kinds[self.i] == "variadic":
            self.i += 1
            return gx.VariadicArgument(this=self._argument(False))
        if self.kinds[self.i] in self.vocabulary.function and self.peek(1) in (":=", "=>"):
            if self.peek(1) == "=>" and self.vocabulary.old:
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
        """select_with_parens, or None if the parentheses contain something else."""
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
