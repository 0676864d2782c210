"""Names, types, expressions and queries read into trees: the part of the grammar that precedence rules, not synopses, describe."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.lexer import (
    BCONST,
    DOLLAR,
    END,
    ESCONST,
    FCONST,
    ICONST,
    IDENT,
    NCONST,
    OP,
    PARAM,
    PSQLVAR,
    QIDENT,
    SCONST,
    USCONST,
    XCONST,
    Tokens,
)
from gpcatalog.ddl.reader import Mismatch, Reader

DType = exp.DType
STRINGS = frozenset((SCONST, ESCONST, USCONST, DOLLAR))
_MATH = frozenset(("+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>"))
_ALL_OPS = _MATH | {OP}
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
# level, and whether the operator refuses a neighbour of its own level
_LEVELS_NEW: dict[str, tuple[int, str]] = {
    "or": (1, "l"),
    "and": (2, "l"),
    "is": (4, "n"),
    "isnull": (4, "n"),
    "notnull": (4, "n"),
    **dict.fromkeys(("<", ">", "=", "<=", ">=", "<>"), (5, "n")),
    **dict.fromkeys(("between", "in", "like", "ilike", "similar", "not"), (6, "n")),
    OP: (8, "l"),
    "operator": (8, "l"),
    "+": (9, "l"),
    "-": (9, "l"),
    "*": (10, "l"),
    "/": (10, "l"),
    "%": (10, "l"),
    "^": (11, "l"),
    "at": (12, "l"),
    "collate": (13, "l"),
    "::": (16, "l"),
}
_LEVELS_OLD: dict[str, tuple[int, str]] = {
    "or": (1, "l"),
    "and": (2, "l"),
    "=": (4, "r"),
    "<": (5, "n"),
    ">": (5, "n"),
    "like": (6, "n"),
    "ilike": (6, "n"),
    "similar": (6, "n"),
    "not": (6, "n"),
    "between": (8, "n"),
    "in": (9, "n"),
    **dict.fromkeys((OP, "operator", "<=", ">=", "<>", "=>"), (11, "l")),
    "notnull": (12, "n"),
    "isnull": (13, "n"),
    "is": (14, "n"),
    "+": (15, "l"),
    "-": (15, "l"),
    "*": (16, "l"),
    "/": (16, "l"),
    "%": (16, "l"),
    "^": (17, "l"),
    "at": (18, "l"),
    "collate": (19, "l"),
    "::": (22, "l"),
}
_B_EXPR = frozenset((*_MATH, OP, "operator", "is", "::"))
_SIMPLE_TYPES: dict[str, DType] = {
    "int": DType.INT,
    "integer": DType.INT,
    "int4": DType.INT,
    "smallint": DType.SMALLINT,
    "int2": DType.SMALLINT,
    "bigint": DType.BIGINT,
    "int8": DType.BIGINT,
    "real": DType.FLOAT,
    "float4": DType.FLOAT,
    "float8": DType.DOUBLE,
    "boolean": DType.BOOLEAN,
    "bool": DType.BOOLEAN,
    "text": DType.TEXT,
    "date": DType.DATE,
    "timestamptz": DType.TIMESTAMPTZ,
    "timetz": DType.TIMETZ,
    "uuid": DType.UUID,
    "json": DType.JSON,
    "jsonb": DType.JSONB,
    "xml": DType.XML,
    "money": DType.MONEY,
    "inet": DType.INET,
    "bytea": DType.VARBINARY,
    "serial": DType.SERIAL,
    "serial4": DType.SERIAL,
    "bigserial": DType.BIGSERIAL,
    "serial8": DType.BIGSERIAL,
    "smallserial": DType.SMALLSERIAL,
    "serial2": DType.SMALLSERIAL,
}
_INTERVAL_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_TYPE_WORDS = frozenset(
    """int integer smallint bigint real float decimal dec numeric boolean bit character char varchar national nchar
    timestamp time interval double""".split()
)
_NILADIC = frozenset(
    """current_date current_time current_timestamp localtime localtimestamp current_role current_user session_user user
    current_catalog current_schema system_user""".split()
)
_WITH_PRECISION = frozenset(("current_time", "current_timestamp", "localtime", "localtimestamp"))
_RESERVED_STARTS = frozenset(
    """not null true false case cast array default unique current_date current_time current_timestamp localtime
    localtimestamp current_role current_user session_user user current_catalog decode table""".split()
)
_QUERY_STARTS = frozenset(("select", "values", "with", "table"))


class Vocabulary:
    """Which words may stand where, in one edition."""

    def __init__(self, edition: Edition, words: frozenset[str]) -> None:
        classes = edition.classes
        refused = {w for w, c in classes.items() if c.islower()}

        def but(letters: str) -> frozenset[str]:
            return frozenset(w for w in words if classes.get(w, "U").upper() not in letters) | {IDENT, QIDENT, PSQLVAR}

        self.words = words
        self.column = but("TR")
        self.function = but("CR")
        self.unreserved = but("R")
        self.label = but("")
        self.reserved = frozenset(w for w, c in classes.items() if c in "Rr")
        self.bare_label = frozenset(self.label - refused)
        self.partition = frozenset(self.bare_label - edition.no_partition_name)
        self.levels = _LEVELS_NEW if edition.base >= 10 else _LEVELS_OLD
        self.unary_minus = 14 if edition.base >= 10 else 20
        self.old = edition.base < 10
        self.starts = (
            self.column
            | self.function
            | _RESERVED_STARTS
            | {SCONST, ESCONST, USCONST, NCONST, DOLLAR, BCONST, XCONST, ICONST, FCONST, PARAM, OP, "(", "+", "-"}
        )


class Core(Reader):
    """Primitives of the grammar; each reads at the cursor and hands back a node, or raises Mismatch."""

    __slots__ = ("edition", "say")

    def __init__(self, tokens: Tokens, edition: Edition, vocabulary: Vocabulary) -> None:
        super().__init__(tokens)
        self.edition = edition
        self.say = vocabulary

    # --- names ---

    def _word(self, allowed: frozenset[str], what: str) -> exp.Identifier:
        i = self.i
        kind = self.kinds[i]
        if kind not in allowed:
            raise self.miss(what)
        self.i = i + 1
        return exp.Identifier(this=self.values[i], quoted=kind == QIDENT)

    def name(self) -> exp.Identifier:
        """ColId."""
        return self._word(self.say.column, "a name")

    def label(self) -> exp.Identifier:
        """ColLabel."""
        return self._word(self.say.label, "a name")

    def function_word(self) -> exp.Identifier:
        """type_function_name."""
        return self._word(self.say.function, "a name")

    def role(self) -> exp.Identifier:
        """RoleSpec."""
        if self.edition.base >= 10 and (
            self.kinds[self.i] in ("current_user", "session_user") or (self.kinds[self.i] == "current_role" and self.edition.base >= 14)
        ):
            self.i += 1
            return exp.Identifier(this=self.values[self.i - 1], quoted=False)
        return self._word(self.say.unreserved, "a role name")

    def word_or_string(self) -> exp.Expression:
        """NonReservedWord_or_Sconst."""
        if self.kinds[self.i] in STRINGS:
            return self.string()
        return self._word(self.say.unreserved, "a name or a string")

    def partition_name(self) -> exp.Identifier:
        """Name of a partition: a bare label word."""
        return self._word(self.say.partition, "a partition name")

    def ident(self) -> exp.Identifier:
        """A word that is no keyword."""
        if self.kinds[self.i] not in (IDENT, QIDENT, PSQLVAR) and self.kinds[self.i] in self.edition.classes:
            raise self.miss("a name")
        return self._word(self.say.label, "a name")

    def table_name(self) -> exp.Table:
        """qualified_name: up to three parts."""
        start = self.i
        parts = [self.name()]
        while self.kinds[self.i] == ".":
            self.i += 1
            parts.append(self.label())
            if len(parts) > 3:
                self.i = start
                raise self.miss("a name of at most three parts")
        args: dict[str, Any] = {"this": parts[-1]}
        if len(parts) > 1:
            args["db"] = parts[-2]
        if len(parts) > 2:
            args["catalog"] = parts[-3]
        table = exp.Table(**args)
        meta = table.meta
        meta["start"], meta["end"] = self.starts[start], self.ends[self.i - 1]
        return table

    def any_name(self) -> exp.Expression:
        """any_name: dotted, any number of parts."""
        start = self.i
        first = self.name()
        if self.kinds[self.i] != ".":
            table = exp.Table(this=first)
            table.meta["start"], table.meta["end"] = self.starts[start], self.ends[start]
            return table
        parts = [first]
        while self.kinds[self.i] == ".":
            self.i += 1
            parts.append(self.label())
        if len(parts) <= 3:
            table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
            table.meta["start"], table.meta["end"] = self.starts[start], self.ends[self.i - 1]
            return table
        node: exp.Expression = parts[0]
        for part in parts[1:]:
            node = exp.Dot(this=node, expression=part)
        return node

    def relation(self) -> exp.Expression:
        """relation_expr: name, name *, ONLY name, ONLY (name)."""
        if self.kinds[self.i] == "only":
            self.i += 1
            parens = self.kinds[self.i] == "("
            self.i += parens
            table = self.table_name()
            if parens:
                self.expect(")")
            return gx.RelationName(this=table, only=True, parens=parens)
        table = self.table_name()
        if self.kinds[self.i] == "*":
            self.i += 1
            return gx.RelationName(this=table, star=True)
        return table

    def function_name(self) -> exp.Expression:
        """func_name: a function word, or a dotted name."""
        if self.kinds[self.i + 1 : self.i + 2] == ["."] and self.kinds[self.i] in self.say.column:
            return self.any_name()
        return self.function_word()

    def operator(self) -> gx.Operator:
        """any_operator: [schema.]op."""
        schemas = []
        while self.kinds[self.i] in self.say.column and self.peek(1) == ".":
            schemas.append(self.name())
            self.i += 1
        if self.kinds[self.i] not in _ALL_OPS and not (self.say.old and self.kinds[self.i] == "=>"):
            raise self.miss("an operator")
        self.i += 1
        return gx.Operator(this=self.values[self.i - 1], schema=schemas or None)

    def wrapped_operator(self) -> gx.Operator:
        """OPERATOR(any_operator)."""
        self.expect("operator", "(")
        found = self.operator()
        self.expect(")")
        found.set("wrapped", True)
        return found

    def any_op(self) -> gx.Operator:
        """qual_all_Op: an operator, bare or wrapped."""
        if self.kinds[self.i] == "operator":
            return self.wrapped_operator()
        if self.kinds[self.i] not in _ALL_OPS and not (self.say.old and self.kinds[self.i] == "=>"):
            raise self.miss("an operator")
        self.i += 1
        return gx.Operator(this=self.values[self.i - 1])

    # --- constants ---

    def string(self) -> exp.Expression:
        """Sconst, in any of its spellings."""
        kind = self.kinds[self.i]
        value = self.values[self.i]
        if kind in (SCONST, USCONST):
            node: exp.Expression = exp.Literal(this=value, is_string=True)
        elif kind == ESCONST:
            node = gx.EscapeString(this=value)
        elif kind == DOLLAR:
            tag = value[1 : value.index("$", 1)]
            node = exp.Heredoc(this=value[len(tag) + 2 : -len(tag) - 2], tag=tag or None)
        elif kind == PSQLVAR:
            node = gx.PsqlVariable(this=value)
        else:
            raise self.miss("a string constant")
        self.i += 1
        return node

    def integer(self) -> exp.Expression:
        """Iconst."""
        if self.kinds[self.i] == PSQLVAR:
            return self.string()
        if self.kinds[self.i] != ICONST:
            raise self.miss("an integer")
        self.i += 1
        return exp.Literal(this=self.values[self.i - 1], is_string=False)

    def _number(self, kinds: tuple[str, ...], what: str) -> exp.Expression:
        if self.kinds[self.i] == PSQLVAR:
            return self.string()
        sign = ""
        if self.kinds[self.i] in ("+", "-") and self.peek(1) in kinds:
            sign = self.kinds[self.i]
            self.i += 1
        if self.kinds[self.i] not in kinds:
            raise self.miss(what)
        self.i += 1
        number = exp.Literal(this=self.values[self.i - 1], is_string=False)
        return exp.Neg(this=number) if sign == "-" else number

    def signed_integer(self) -> exp.Expression:
        """SignedIconst."""
        return self._number((ICONST,), "an integer")

    def number(self) -> exp.Expression:
        """NumericOnly."""
        return self._number((ICONST, FCONST), "a number")

    def truth_or_word(self) -> exp.Expression:
        """opt_boolean_or_string."""
        if self.kinds[self.i] in ("true", "false", "on"):
            self.i += 1
            return exp.Identifier(this=self.values[self.i - 1], quoted=False)
        return self.word_or_string()

    def setting(self) -> exp.Expression:
        """var_value: a word, a string or a number."""
        if self.kinds[self.i] in (ICONST, FCONST, "+", "-"):
            return self.number()
        return self.truth_or_word()

    # --- types ---

    def typename(self) -> exp.Expression:
        """Typename."""
        setof = self.kinds[self.i] == "setof"
        self.i += setof
        node = self.simple_type()
        if self.kinds[self.i] == "array":
            self.i += 1
            values = None
            if self.kinds[self.i] == "[":
                self.i += 1
                values = [self.integer()]
                self.expect("]")
            node = exp.DataType(this=DType.ARRAY, expressions=[node], nested=True, values=values)
        else:
            while self.kinds[self.i] == "[":
                if self.peek(1) not in ("]", ICONST):
                    break
                self.i += 1
                values = None if self.kinds[self.i] == "]" else [self.integer()]
                self.expect("]")
                node = exp.DataType(this=DType.ARRAY, expressions=[node], nested=True, values=values)
        return gx.SetOf(this=node) if setof else node

    def func_type(self) -> exp.Expression:
        """func_type: a type, or name.name%TYPE."""
        start = self.i
        setof = self.kinds[start] == "setof"
        i = start + setof
        if self.kinds[i] in self.say.function and self.kinds[i + 1] == ".":
            while self.kinds[i + 1] == "." and self.kinds[i + 2] in self.say.label:
                i += 2
            if self.kinds[i + 1] == "%" and self.kinds[i + 2] == "type":
                self.i = start + setof
                parts = [self.function_word()]
                while self.accept("."):
                    parts.append(self.label())
                self.i += 2
                node: exp.Expression = parts[0]
                for part in parts[1:]:
                    node = exp.Dot(this=node, expression=part)
                return gx.ColumnType(this=node, setof=setof)
        return self.typename()

    def _modifiers(self) -> list[exp.Expression] | None:
        if self.kinds[self.i] != "(":
            return None
        self.i += 1
        found = [exp.DataTypeParam(this=e) for e in self.expr_list()]
        self.expect(")")
        return found  # type: ignore[return-value]

    def _length(self) -> list[exp.Expression] | None:
        if self.kinds[self.i] != "(":
            return None
        self.i += 1
        found: list[exp.Expression] = [exp.DataTypeParam(this=self.integer())]
        self.expect(")")
        return found

    def _zone(self) -> bool:
        if self.kinds[self.i] in ("with", "without") and self.peek(1) == "time":
            zoned = self.kinds[self.i] == "with"
            self.i += 2
            self.expect("zone")
            return zoned
        return False

    def interval_fields(self) -> str:
        """opt_interval, as upper-case words; "" when there are none."""
        first = self.kinds[self.i]
        if first not in _INTERVAL_FIELDS:
            return ""
        self.i += 1
        text = first.upper()
        if first == "second":
            return text + self._second()
        if self.kinds[self.i] == "to" and self.peek(1) in _INTERVAL_FIELDS:
            last = self.peek(1)
            allowed = {"year": ("month",), "day": ("hour", "minute", "second"), "hour": ("minute", "second"), "minute": ("second",)}
            if last not in allowed.get(first, ()):
                self.i += 1
                raise self.miss("an interval field")
            self.i += 2
            text += " TO " + last.upper()
            if last == "second":
                text += self._second()
        return text

    def _second(self) -> str:
        if self.kinds[self.i] == "(":
            self.i += 1
            digits = self.integer()
            self.expect(")")
            return f"({digits.name})"
        return ""

    def simple_type(self) -> exp.Expression:
        """SimpleTypename."""
        start = self.i
        kind = self.kinds[start]
        following = self.kinds[start + 1] if kind != END else END
        if kind in _TYPE_WORDS and not (following == "." and kind in self.say.function):
            if kind in ("int", "integer", "smallint", "bigint", "real", "boolean"):
                self.i += 1
                return exp.DataType(this=_SIMPLE_TYPES[kind])
            if kind == "float":
                self.i += 1
                length = self._length()
                return exp.DataType(this=DType.FLOAT, expressions=length) if length else exp.DataType(this=DType.DOUBLE)
            if kind == "double":
                if following == "precision":
                    self.i += 2
                    return exp.DataType(this=DType.DOUBLE)
            elif kind in ("decimal", "dec", "numeric"):
                self.i += 1
                return exp.DataType(this=DType.DECIMAL, expressions=self._modifiers())
            elif kind == "bit":
                self.i += 1
                varying = self.accept("varying")
                word = exp.Identifier(this="bit varying" if varying else "bit", quoted=False)
                return exp.DataType(this=DType.USERDEFINED, kind=word, expressions=self._modifiers())
            elif kind in ("timestamp", "time"):
                self.i += 1
                length = self._length()
                zoned = self._zone()
                types = (DType.TIMESTAMPTZ if zoned else DType.TIMESTAMP) if kind == "timestamp" else None
                return exp.DataType(this=types or (DType.TIMETZ if zoned else DType.TIME), expressions=length)
            elif kind == "interval":
                self.i += 1
                return self._interval_type()
            else:
                return self._character()
        return self._generic_type()

    def _interval_type(self) -> exp.DataType:
        if self.kinds[self.i] == "(":
            length = self._length()
            fields = self.interval_fields() if self.say.old else ""
            if fields:
                word = exp.Identifier(this=f"interval({length[0].name if length else ''}) {fields}", quoted=False)
                return exp.DataType(this=DType.USERDEFINED, kind=word)
            return exp.DataType(this=DType.INTERVAL, expressions=length)
        fields = self.interval_fields()
        if fields:
            return exp.DataType(this=DType.USERDEFINED, kind=exp.Identifier(this=f"interval {fields}", quoted=False))
        return exp.DataType(this=DType.INTERVAL)

    def _character(self) -> exp.DataType:
        kind = self.kinds[self.i]
        self.i += 1
        varying = kind == "varchar"
        if kind == "national":
            if not self.accept_any("character", "char"):
                raise self.miss("character")
            varying = self.accept("varying")
        elif kind != "varchar":
            varying = self.accept("varying")
        length = self._length()
        if self.say.old and self.kinds[self.i] == "character" and self.peek(1) == "set":
            self.i += 2
            self.name()
        return exp.DataType(this=DType.VARCHAR if varying else DType.CHAR, expressions=length)

    def _generic_type(self) -> exp.Expression:
        first = self.function_word()
        if self.kinds[self.i] != ".":
            known = None if first.args["quoted"] else _SIMPLE_TYPES.get(first.this.lower())
            modifiers = self._modifiers()
            if known is not None and not modifiers:
                return exp.DataType(this=known)
            return exp.DataType(this=DType.USERDEFINED, kind=first, expressions=modifiers)
        node: exp.Expression = first
        while self.accept("."):
            node = exp.Dot(this=node, expression=self.label())
        return exp.DataType(this=DType.USERDEFINED, kind=node, expressions=self._modifiers())

    # --- expressions ---

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
            if kind == "is" and b and self.peek(1 + (self.peek(1) == "not")) not in ("distinct", "of", "document"):
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
                    # NOT binds looser than a postfix operator, so the server never reads it as the right side
                    if self.edition.base < 14 and (kinds[self.i] not in self.say.starts or kinds[self.i] == "not"):
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
                left = node(this=left, expression=right) if node else gx.OperatorCall(this=left, operator=operator, expression=right)
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
                left = gx.Predicate(this=left, words="AT TIME ZONE", expressions=[self.expr(level + 1, b)])
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
        return gx.SubqueryComparison(this=left, operator=operator, quantifier=quantifier, expression=inner)

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
            return gx.Predicate(this=left, words=words + " DISTINCT FROM", expressions=[right]), False
        if kind == "of" and self.edition.base < 14:
            self.i += 1
            self.expect("(")
            types = [self.typename()]
            while self.accept(","):
                types.append(self.typename())
            self.expect(")")
            return gx.Predicate(this=left, words=words + " OF", expressions=[gx.RowValue(expressions=types)]), True
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
                return gx.Predicate(this=left, words=f"{words} {form.upper()} NORMALIZED".replace("  ", " ")), True
        if self.edition.base >= 16 and kind == "json" and not b:
            self.i += 1
            more = self.accept_any("value", "array", "object", "scalar")
            unique = ""
            if self.kinds[self.i] in ("with", "without") and self.peek(1) == "unique":
                unique = f" {self.kinds[self.i].upper()} UNIQUE KEYS"
                self.i += 2
                self.accept("keys")
            return gx.Predicate(this=left, words=f"{words} JSON{' ' + more.upper() if more else ''}{unique}"), True
        for each in (*simple, "distinct"):
            self.note(each)
        raise Mismatch

    def _matching(self, left: exp.Expression, negation: str, level: int) -> tuple[exp.Expression, bool]:
        kind = self.kinds[self.i]
        self.i += 1
        if kind == "in":
            inner = self.query_in_parens()
            if inner is not None:
                node: exp.Expression = gx.Predicate(this=left, words=negation + "IN", expressions=[inner])
            else:
                self.expect("(")
                values = self.expr_list()
                self.expect(")")
                node = gx.Predicate(this=left, words=negation + "IN", expressions=[gx.RowValue(expressions=values)])
            return node, True
        if kind == "between":
            words = negation + "BETWEEN"
            which = self.accept_any("symmetric", "asymmetric")
            words += " " + which.upper() if which else ""
            low = self.b_expr()
            self.expect("and")
            high = self.b_expr() if self.say.old else self.expr(level + 1)
            return gx.Predicate(this=left, words=words, expressions=[low, high], joiner="AND"), self.say.old
        words = negation + kind.upper()
        if kind == "similar":
            self.expect("to")
            words += " TO"
        pattern = self.expr(level + 1)
        found = [pattern]
        if self.accept("escape"):
            found.append(self.expr(level + 1))
        return gx.Predicate(this=left, words=words, expressions=found, joiner="ESCAPE" if len(found) > 1 else None), False

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
            return gx.OperatorCall(operator=operator, expression=self.expr(self.say.levels[OP][0] + 1, b))
        if kind == "default" and not b and (self.edition.base >= 10 or self.peek(1) in (",", ")", END, "where", "from", "returning")):
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
                node = exp.Dot(this=node, expression=exp.Star()) if self.accept("*") else exp.Dot(this=node, expression=self.label())
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
        special = _SPECIAL.get(kind)
        if special is not None:
            found = special(self)
            if found is not None:
                return found
        if kind in _TYPE_WORDS:
            typed = self._typed_literal()
            if typed is not None:
                return typed
        if kind in self.say.column or kind in self.say.function:
            return self._named()
        if kind in (ESCONST, DOLLAR, USCONST):
            return self.string()
        if kind in (BCONST, XCONST):
            self.i = i + 1
            return exp.BitString(this=self.values[i]) if kind == BCONST else exp.HexString(this=self.values[i])
        if kind == NCONST:
            self.i = i + 1
            return exp.National(this=self.values[i])
        if kind == PARAM:
            self.i = i + 1
            return self._indirect(exp.Parameter(this=exp.Literal.number(self.values[i][1:])))
        raise self.miss("an expression")

    def _typed_literal(self) -> exp.Expression | None:
        """A constant like timestamp '…' or interval '1' year; None when the word is a column or a function here."""
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
            known = _SIMPLE_TYPES.get(self.values[start].lower()) if kind != QIDENT else None
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
                return gx.TypedLiteral(this=self.string(), to=exp.DataType(this=DType.USERDEFINED, kind=node))
        names: list[exp.Expression] = [*parts, exp.Star()] if star else [*parts]
        if len(names) <= 4:
            column: exp.Expression = exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(names), strict=False)))
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
        special = _SPECIAL.get(kind)
        if special is not None and kind not in ("case", "exists", "array", "row", "grouping", "group_id", "null", "true", "false"):
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
        if self.kinds[self.i] == "over" and (self.peek(1) == "(" or self.peek(1) in self.say.column):
            self.i += 1
            args["over"] = self._window() if self.kinds[self.i] == "(" else self.name()
        return gx.WindowCall(this=node, **args) if args else node

    def _application(self, name: exp.Expression) -> exp.Expression:
        self.i += 1
        if self.accept(")"):
            return gx.FunctionCall(this=name)
        if self.kinds[self.i] == "*" and self.peek(1) == ")":
            self.i += 2
            if isinstance(name, exp.Identifier) and name.this.lower() == "count" and not name.args["quoted"]:
                return exp.Count(this=exp.Star())
            return gx.FunctionCall(this=name, star=True)
        quantifier = self.accept_any("all", "distinct")
        arguments = [self._argument(not quantifier)]
        while not isinstance(arguments[-1], gx.VariadicArgument) and self.accept(","):
            arguments.append(self._argument(not quantifier))
        names = [a.this.this.lower() for a in arguments if isinstance(a, gx.NamedArgument)]
        if names and (
            len(set(names)) < len(names) or not all(isinstance(a, gx.NamedArgument | gx.VariadicArgument) for a in arguments[-len(names) :])
        ):
            raise self.miss("each name once, after the positional arguments")
        order = self.order_by() if self.kinds[self.i] == "order" else None
        self.expect(")")
        if not quantifier and order is None and not names and isinstance(name, exp.Identifier) and not name.args["quoted"]:
            return exp.Anonymous(this=name.this, expressions=arguments)  # what every dialect of sqlglot can write
        return gx.FunctionCall(this=name, expressions=arguments, quantifier=quantifier.upper() or None, order=order)

    def _argument(self, variadic: bool) -> exp.Expression:
        if variadic and self.kinds[self.i] == "variadic":
            self.i += 1
            return gx.VariadicArgument(this=self._argument(False))
        if self.kinds[self.i] in self.say.function and self.peek(1) in (":=", "=>"):
            if self.peek(1) == "=>" and self.say.old:
                # GP6 reads => as a plain operator
                name = exp.Column(this=self.name())
                self.i += 1
                return gx.OperatorCall(this=name, operator=gx.Operator(this="=>"), expression=self.expr(12))
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

    # --- functions with a grammar of their own ---

    def _opens(self) -> bool:
        return self.peek(1) == "("

    def _case(self) -> exp.Expression:
        self.i += 1
        operand = None if self.kinds[self.i] == "when" else self.expr()
        branches = []
        while self.accept("when"):
            if self.kinds[self.i] == "is" and self.edition.greenplum:
                self.i += 1
                self.expect("not", "distinct", "from")
                condition: exp.Expression = gx.Predicate(words="IS NOT DISTINCT FROM", expressions=[self.expr()])
            else:
                condition = self.expr()
            self.expect("then")
            branches.append(exp.If(this=condition, true=self.expr()))
        if not branches:
            raise self.miss("when")
        default = self.expr() if self.accept("else") else None
        self.expect("end")
        return exp.Case(this=operand, ifs=branches, default=default)

    def _constant(self) -> exp.Expression:
        kind = self.kinds[self.i]
        self.i += 1
        return exp.Null() if kind == "null" else exp.Boolean(this=kind == "true")

    def _niladic(self) -> exp.Expression | None:
        kind = self.kinds[self.i]
        if kind == "current_schema" and self._opens():
            return None
        if kind == "system_user" and self.edition.base < 16:
            return None
        self.i += 1
        if kind in _WITH_PRECISION and self.kinds[self.i] == "(":
            self.i += 1
            digits = self.integer()
            self.expect(")")
            return gx.SpecialCall(this=kind.upper(), expressions=[digits])
        return gx.SpecialCall(this=kind.upper())

    def _cast(self) -> exp.Expression:
        word = self.kinds[self.i]
        if not self._opens():
            raise self.miss("(")
        self.i += 2
        value = self.expr()
        self.expect("as")
        to = self.typename()
        self.expect(")")
        if word == "treat":
            return gx.SpecialCall(this="TREAT", expressions=[value, gx.Words(this="AS"), to])
        return exp.Cast(this=value, to=to)

    def _exists(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 1
        inner = self.query_in_parens()
        if inner is None:
            self.i -= 1
            raise self.miss("a query in parentheses")
        return gx.Predicate(words="EXISTS", expressions=[inner])

    def _array(self) -> exp.Expression:
        self.i += 1
        if self.kinds[self.i] == "[":
            return self._array_body(False)
        inner = self.query_in_parens()
        if inner is None:
            raise self.miss("[")
        return gx.ArrayValue(query=inner)

    def _array_body(self, nested: bool) -> exp.Expression:
        self.expect("[")
        values: list[exp.Expression] = []
        if self.kinds[self.i] != "]":
            if self.kinds[self.i] == "[":
                values.append(self._array_body(True))
                while self.accept(","):
                    values.append(self._array_body(True))
            else:
                values = self.expr_list()
        self.expect("]")
        return gx.ArrayValue(expressions=values, nested=nested or None)

    def _row(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        values = [] if self.kinds[self.i] == ")" else self.expr_list()
        self.expect(")")
        return gx.RowValue(expressions=values, explicit=True)

    def _plain(self) -> exp.Expression | None:
        """COALESCE and its like: a keyword called like a function."""
        if not self._opens():
            return None
        word = self.kinds[self.i]
        self.i += 1
        name = exp.Identifier(this=word, quoted=False)
        if word == "group_id":
            self.expect("(", ")")
            return gx.FunctionCall(this=name)
        self.expect("(")
        values = self.expr_list()
        if (word == "nullif" and len(values) != 2) or (word == "median" and len(values) != 1):
            raise self.miss(")" if len(values) > 1 else ",")
        self.expect(")")
        return gx.FunctionCall(this=name, expressions=values)

    def _decode(self) -> exp.Expression | None:
        if not self.edition.greenplum or not self._opens():
            return None
        self.i += 2
        values = self.expr_list()
        if len(values) < 2:
            raise self.miss(",")
        self.expect(")")
        return gx.FunctionCall(this=exp.Identifier(this="decode", quoted=False), expressions=values)

    def _collation_for(self) -> exp.Expression | None:
        if self.peek(1) != "for":
            return None
        self.i += 2
        self.expect("(")
        value = self.expr()
        self.expect(")")
        return gx.SpecialCall(this="COLLATION FOR", expressions=[value])

    def _parts(self, *parts: exp.Expression | str | None) -> list[exp.Expression]:
        return [gx.Words(this=part) if isinstance(part, str) else part for part in parts if part is not None]

    def _extract(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        if self.accept(")"):
            return gx.SpecialCall(this="EXTRACT", expressions=[])
        if self.kinds[self.i] in STRINGS:
            what = self.string()
        elif self.kinds[self.i] in _INTERVAL_FIELDS:
            what = self.label()
        else:
            what = self.ident()
        self.expect("from")
        value = self.expr()
        self.expect(")")
        return gx.SpecialCall(this="EXTRACT", expressions=self._parts(what, "FROM", value))

    def _overlay(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        value = self.expr()
        parts = self._parts(value, "PLACING")
        if self.kinds[self.i] == "," and self.edition.base >= 14:
            arguments = [value]
            while self.accept(","):
                arguments.append(self.expr())
            self.expect(")")
            return gx.FunctionCall(this=exp.Identifier(this="overlay", quoted=False), expressions=arguments)
        self.expect("placing")
        parts.append(self.expr())
        self.expect("from")
        parts += self._parts("FROM", self.expr())
        if self.accept("for"):
            parts += self._parts("FOR", self.expr())
        self.expect(")")
        return gx.SpecialCall(this="OVERLAY", expressions=parts)

    def _position(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        if self.accept(")"):
            return gx.SpecialCall(this="POSITION", expressions=[])
        what = self.b_expr()
        self.expect("in")
        value = self.b_expr()
        self.expect(")")
        return gx.SpecialCall(this="POSITION", expressions=self._parts(what, "IN", value))

    def _substring(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        if self.accept(")"):
            return gx.SpecialCall(this="SUBSTRING", expressions=[])
        value = self.expr()
        parts = [value]
        if self.kinds[self.i] in ("from", "for", "similar"):
            for _ in range(2):
                word = self.accept_any("from", "for")
                if word and (len(parts) == 1 or parts[1].this != word.upper()):
                    parts += self._parts(word.upper(), self.expr())
            self.expect(")")
            return gx.SpecialCall(this="SUBSTRING", expressions=parts)
        while self.accept(","):
            parts.append(self.expr())
        self.expect(")")
        return gx.FunctionCall(this=exp.Identifier(this="substring", quoted=False), expressions=parts)

    def _trim(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        side = self.accept_any("both", "leading", "trailing")
        parts = self._parts(side.upper() or None)
        if self.kinds[self.i] != "from":
            values = self.expr_list()
            if self.kinds[self.i] == "from" and len(values) == 1:
                parts.append(values[0])
            else:
                self.expect(")")
                parts += self._commas(values)
                return gx.SpecialCall(this="TRIM", expressions=parts)
        self.expect("from")
        parts += self._parts("FROM") + self._commas(self.expr_list())
        self.expect(")")
        return gx.SpecialCall(this="TRIM", expressions=parts)

    def _commas(self, values: list[exp.Expression]) -> list[exp.Expression]:
        out: list[exp.Expression] = []
        for value in values:
            if out:
                out.append(gx.Words(this=","))
            out.append(value)
        return out

    def _xml(self) -> exp.Expression | None:
        if not self._opens():
            return None
        word = self.kinds[self.i]
        self.i += 2
        parts: list[exp.Expression] = []
        if word == "xmlconcat":
            parts = self._commas(self.expr_list())
        elif word == "xmlelement":
            self.expect("name")
            parts = self._parts("NAME", self.label())
            if self.accept(","):
                if self.kinds[self.i] == "xmlattributes" and self._opens():
                    self.i += 2
                    parts += self._parts(",", "XMLATTRIBUTES (", *self._xml_attributes(), ")")
                    self.expect(")")
                    if self.accept(","):
                        parts += self._parts(",", *self._commas(self.expr_list()))
                else:
                    parts += self._parts(",", *self._commas(self.expr_list()))
        elif word == "xmlexists":
            parts = [self.expr()]
            if self.accept(","):
                parts += self._parts(",", self.expr())
            else:
                parts += self._passing()
        elif word == "xmlforest":
            parts = self._xml_attributes()
        elif word == "xmlparse":
            kind = self.accept_any("document", "content")
            if not kind:
                raise self.miss("document")
            parts = self._parts(kind.upper(), self.expr())
            space = self.accept_any("preserve", "strip")
            if space:
                self.expect("whitespace")
                parts += self._parts(f"{space.upper()} WHITESPACE")
        elif word == "xmlpi":
            self.expect("name")
            parts = self._parts("NAME", self.label())
            if self.accept(","):
                parts += self._parts(",", self.expr())
        elif word == "xmlroot":
            parts = [self.expr()]
            self.expect(",", "version")
            parts += self._parts(", VERSION")
            if self.kinds[self.i] == "no" and self.peek(1) == "value":
                self.i += 2
                parts += self._parts("NO VALUE")
            else:
                parts.append(self.expr())
            if self.accept(","):
                self.expect("standalone")
                if self.accept("yes"):
                    parts += self._parts(", STANDALONE YES")
                else:
                    self.expect("no")
                    parts += self._parts(", STANDALONE NO VALUE" if self.accept("value") else ", STANDALONE NO")
        else:
            kind = self.accept_any("document", "content")
            if not kind:
                raise self.miss("document")
            value = self.expr()
            self.expect("as")
            parts = self._parts(kind.upper(), value, "AS", self.simple_type())
            if self.edition.base >= 16:
                if self.kinds[self.i] == "no" and self.peek(1) == "indent":
                    self.i += 2
                    parts += self._parts("NO INDENT")
                elif self.accept("indent"):
                    parts += self._parts("INDENT")
        self.expect(")")
        return gx.SpecialCall(this=word.upper(), expressions=parts)

    def _passing(self) -> list[exp.Expression]:
        self.expect("passing")
        parts = self._parts("PASSING", self._by_ref())
        parts.append(self.c_expr())
        return parts + self._parts(self._by_ref())

    def _by_ref(self) -> str | None:
        if self.kinds[self.i] == "by" and (self.peek(1) == "ref" or (self.peek(1) == "value" and not self.say.old)):
            self.i += 2
            return "BY " + self.kinds[self.i - 1].upper()
        return None

    def _xml_attributes(self) -> list[exp.Expression]:
        parts: list[exp.Expression] = []
        while True:
            parts.append(self.expr())
            if self.accept("as"):
                parts += self._parts("AS", self.label())
            if not self.accept(","):
                break
            parts += self._parts(",")
        return parts

    def _scattered(self) -> exp.Expression | None:
        if not self.edition.greenplum or not self._opens():
            return None
        self.i += 2
        query = self.select()
        args: dict[str, Any] = {}
        if self.accept("scatter"):
            if self.accept("randomly"):
                args["randomly"] = True
            else:
                self.expect("by")
                args["expressions"] = self.expr_list()
        self.expect(")")
        return gx.ScatteredQuery(this=query, **args)

    def _normalize(self) -> exp.Expression | None:
        if self.edition.base < 13 or not self._opens():
            return None
        self.i += 2
        parts = [self.expr()]
        if self.accept(","):
            form = self.accept_any("nfc", "nfd", "nfkc", "nfkd")
            if not form:
                raise self.miss("nfc")
            parts += self._parts(",", form.upper())
        self.expect(")")
        return gx.SpecialCall(this="NORMALIZE", expressions=parts)

    # --- queries ---

    def order_by(self) -> exp.Order:
        """ORDER BY …"""
        self.expect("order", "by")
        keys = [self.sort_key()]
        while self.accept(","):
            keys.append(self.sort_key())
        return exp.Order(expressions=keys)

    def sort_key(self) -> exp.Expression:
        """sortby."""
        value = self.expr()
        args: dict[str, Any] = {}
        if self.accept("using"):
            args["using"] = self.any_op()
        else:
            direction = self.accept_any("asc", "desc")
            if direction:
                args["order"] = direction.upper()
        if self.kinds[self.i] == "nulls" and self.peek(1) in ("first", "last"):
            args["nulls"] = self.peek(1).upper()
            self.i += 2
        return gx.SortKey(this=value, **args)

    def _window(self) -> exp.Expression:
        self.expect("(")
        args: dict[str, Any] = {}
        if self.kinds[self.i] in self.say.column and self.kinds[self.i] not in ("range", "rows", "groups", "partition"):
            args["base"] = self.name()
        if self.kinds[self.i] == "partition" and self.peek(1) == "by":
            self.i += 2
            if self.say.old:
                keys = [self.sort_key()]
                while self.accept(","):
                    keys.append(self.sort_key())
                args["partition"] = keys
            else:
                args["partition"] = self.expr_list()
        if self.kinds[self.i] == "order":
            args["order"] = self.order_by()
        unit = self.accept_any("range", "rows") or ("groups" if self.edition.base >= 11 and self.accept("groups") else "")
        if unit:
            parts = self._parts(unit.upper())
            if self.accept("between"):
                parts += self._parts("BETWEEN") + self._bound()
                self.expect("and")
                parts += self._parts("AND") + self._bound()
            else:
                parts += self._bound()
            if self.accept("exclude"):
                if self.accept("current"):
                    self.expect("row")
                    parts += self._parts("EXCLUDE CURRENT ROW")
                elif self.accept("group"):
                    parts += self._parts("EXCLUDE GROUP")
                elif self.accept("ties"):
                    parts += self._parts("EXCLUDE TIES")
                else:
                    self.expect("no", "others")
                    parts += self._parts("EXCLUDE NO OTHERS")
            args["frame"] = gx.WindowFrame(expressions=parts)
        self.expect(")")
        return gx.WindowDefinition(**args)

    def _bound(self) -> list[exp.Expression]:
        if self.kinds[self.i] == "unbounded" and self.peek(1) in ("preceding", "following"):
            self.i += 2
            return self._parts("UNBOUNDED " + self.kinds[self.i - 1].upper())
        if self.kinds[self.i] == "current" and self.peek(1) == "row":
            self.i += 2
            return self._parts("CURRENT ROW")
        value = self.expr()
        side = self.accept_any("preceding", "following")
        if not side:
            raise self.miss("preceding")
        return self._parts(value, side.upper())

    def with_clause(self) -> exp.With | None:
        """WITH [RECURSIVE] …, or None."""
        if self.kinds[self.i] != "with":
            self.note("with")
            return None
        self.i += 1
        recursive = self.accept("recursive")
        tables = [self._cte()]
        while self.accept(","):
            tables.append(self._cte())
        return exp.With(expressions=tables, recursive=recursive or None)

    def _cte(self) -> exp.Expression:
        name = self.name()
        columns = self._name_list() if self.kinds[self.i] == "(" else None
        self.expect("as")
        materialized = None
        if self.edition.base >= 12:
            if self.accept("materialized"):
                materialized = True
            elif self.kinds[self.i] == "not" and self.peek(1) == "materialized":
                self.i += 2
                materialized = False
        self.expect("(")
        body = self.statement_body()
        self.expect(")")
        return exp.CTE(this=body, alias=exp.TableAlias(this=name, columns=columns), materialized=materialized)

    def _name_list(self) -> list[exp.Identifier]:
        self.expect("(")
        found = [self.name()]
        while self.accept(","):
            found.append(self.name())
        self.expect(")")
        return found

    def statement_body(self) -> exp.Expression:
        """PreparableStmt: a query, INSERT, UPDATE or DELETE, with its WITH."""
        i = self.i
        if self.kinds[i] == "with":
            with_ = self.with_clause()
            kind = self.kinds[self.i]
            node = self.change() if kind in ("insert", "update", "delete", "merge") else self._select_rest()
            node.set("with_", with_)
            return node
        if self.kinds[i] in ("insert", "update", "delete", "merge"):
            return self.change()
        return self.select()

    def select(self) -> exp.Expression:
        """SelectStmt."""
        with_ = self.with_clause()
        node = self._select_rest()
        if with_ is not None:
            node.set("with_", with_)
        return node

    def _select_rest(self) -> exp.Expression:
        node = self._set_operation(0)
        order = self.order_by() if self.kinds[self.i] == "order" else None
        limits: list[exp.Expression] = []
        locks: list[exp.Expression] = []
        seen: set[str] = set()
        while True:
            kind = self.kinds[self.i]
            if kind in ("limit", "offset", "fetch"):
                group = "offset" if kind == "offset" else "limit"
                if group in seen or ("locks" in seen and "limits" in seen):
                    break
                limits.append(self._limit(kind))
                seen.add(group)
                seen.add("limits")
            elif kind == "for" and self.peek(1) in ("update", "share", "no", "key", "read") and not locks:
                while self.kinds[self.i] == "for":
                    locks.append(self._lock())
                seen.add("locks")
            else:
                if kind != ")":
                    for each in ("limit", "offset", "for"):
                        self.note(each)
                break
        if order is not None or limits or locks:
            if node.args.get("order") is not None or node.args.get("limit") is not None:
                node = exp.Subquery(this=node)
            if order is not None:
                node.set("order", order)
            if limits:
                node.set("limit", limits)
            if locks:
                node.set("locks", locks)
        return node

    def _limit(self, kind: str) -> exp.Expression:
        self.i += 1
        if kind == "limit":
            if self.accept("all"):
                return gx.LimitClause(kind="LIMIT ALL")
            value = self.expr()
            if self.kinds[self.i] == ",":
                raise self.miss("an operator")
            return gx.LimitClause(kind="LIMIT", this=value)
        if kind == "offset":
            value = self.expr()
            rows = self.accept_any("row", "rows")
            return gx.LimitClause(kind="OFFSET", this=value, rows=rows.upper() or None)
        first = self.accept_any("first", "next")
        if not first:
            raise self.miss("first")
        value_ = None
        if self.kinds[self.i] not in ("row", "rows"):
            value_ = self.number() if self.kinds[self.i] in ("+", "-") else self.c_expr()
        if not self.accept_any("row", "rows"):
            raise self.miss("rows")
        if self.edition.base >= 13 and self.kinds[self.i] == "with" and self.peek(1) == "ties":
            self.i += 2
            return gx.LimitClause(kind="FETCH", this=value_, rows="WITH TIES")
        self.expect("only")
        return gx.LimitClause(kind="FETCH", this=value_, rows="ONLY")

    def _lock(self) -> exp.Expression:
        self.i += 1
        if self.accept("read"):
            self.expect("only")
            return gx.LockClause(strength="READ ONLY")
        if self.accept("no"):
            self.expect("key", "update")
            strength = "NO KEY UPDATE"
        elif self.accept("key"):
            self.expect("share")
            strength = "KEY SHARE"
        else:
            word = self.accept_any("update", "share")
            if not word:
                raise self.miss("update")
            strength = word.upper()
        tables = None
        if self.accept("of"):
            tables = [self.table_name()]
            while self.accept(","):
                tables.append(self.table_name())
        wait = None
        if self.accept("nowait"):
            wait = "NOWAIT"
        elif self.edition.base >= 10 and self.kinds[self.i] == "skip" and self.peek(1) == "locked":
            self.i += 2
            wait = "SKIP LOCKED"
        return gx.LockClause(strength=strength, expressions=tables, wait=wait)

    def _set_operation(self, least: int) -> exp.Expression:
        left = self._simple_select()
        while True:
            kind = self.kinds[self.i]
            level = {"union": 1, "except": 1, "intersect": 2}.get(kind, 0)
            if not level or level <= least:
                return left
            self.i += 1
            every = self.accept("all")
            if not every:
                said = self.kinds[self.i] == "distinct" and not self.say.old
                self.i += said
            right = self._set_operation(level)
            node = {"union": exp.Union, "except": exp.Except, "intersect": exp.Intersect}[kind]
            left = node(this=left, expression=right, distinct=not every)

    def _simple_select(self) -> exp.Expression:
        kind = self.kinds[self.i]
        if kind == "select":
            return self._select()
        if kind == "values":
            self.i += 1
            rows = []
            while True:
                self.expect("(")
                rows.append(exp.Tuple(expressions=self.expr_list()))
                self.expect(")")
                if self.kinds[self.i] != "," or self.peek(1) != "(":
                    break
                self.i += 1
            return exp.Values(expressions=rows)
        if kind == "table":
            self.i += 1
            return gx.TableQuery(this=self.relation())
        if kind == "(":
            inner = self.query_in_parens()
            if inner is not None:
                return inner
        for each in ("select", "values", "with", "table", "("):
            self.note(each)
        raise Mismatch

    _TARGETS_END = frozenset(
        (
            END, ")", ";", "from", "into", "where", "group", "having", "window", "union", "except", "intersect", "order",
            "limit", "offset", "fetch", "for", "on", "returning", "with", "distributed", "scatter",
        )
    )  # fmt: skip

    def _select(self) -> exp.Expression:
        self.i += 1
        args: dict[str, Any] = {}
        if self.kinds[self.i] == "distinct":
            self.i += 1
            on = None
            if self.accept("on"):
                self.expect("(")
                on = exp.Tuple(expressions=self.expr_list())
                self.expect(")")
            args["distinct"] = exp.Distinct(on=on)
            args["expressions"] = self.targets()
        else:
            if self.kinds[self.i] == "all":
                self.i += 1
            args["expressions"] = [] if self.kinds[self.i] in self._TARGETS_END else self.targets()
        if self.kinds[self.i] == "into":
            self.i += 1
            args["into"] = self._into()
        if self.kinds[self.i] == "from":
            self.i += 1
            args["from_"], args["joins"] = self._from_list()
        if self.kinds[self.i] == "where":
            self.i += 1
            args["where"] = exp.Where(this=self.expr())
        if self.kinds[self.i] == "group" and self.peek(1) == "by":
            self.i += 2
            distinct = None
            if self.edition.base >= 14:
                distinct = self.accept_any("all", "distinct").upper() or None
            items = [self._group_item()]
            while self.accept(","):
                items.append(self._group_item())
            args["group"] = exp.Group(expressions=items, all=distinct)
        if self.kinds[self.i] == "having":
            self.i += 1
            args["having"] = exp.Having(this=self.expr())
        if self.kinds[self.i] == "window":
            self.i += 1
            windows = []
            while True:
                name = self.name()
                self.expect("as")
                window = self._window()
                window.set("this", name)
                windows.append(window)
                if not self.accept(","):
                    break
            args["windows"] = windows
        return exp.Select(**{k: v for k, v in args.items() if v or k == "expressions"})

    def _into(self) -> exp.Expression:
        kind = None
        scope = self.accept_any("local", "global")
        temp = self.accept_any("temporary", "temp")
        if scope and not temp:
            raise self.miss("temporary")
        if temp:
            kind = "TEMPORARY"
        elif self.kinds[self.i] == "unlogged" and self.peek(1) in ("table", *self.say.column):
            self.i += 1
            kind = "UNLOGGED"
        self.accept("table")
        return gx.IntoTarget(this=self.table_name(), kind=kind)

    def targets(self) -> list[exp.Expression]:
        """target_list."""
        found = [self.target()]
        while self.kinds[self.i] == ",":
            self.i += 1
            found.append(self.target())
        return found

    def target(self) -> exp.Expression:
        """target_el."""
        if self.kinds[self.i] == "*":
            self.i += 1
            return exp.Star()
        value = self.expr()
        if self.kinds[self.i] == "as":
            self.i += 1
            return exp.Alias(this=value, alias=self.label())
        if self.kinds[self.i] in self.say.bare_label:
            return exp.Alias(this=value, alias=self.label())
        return value

    def _group_item(self) -> exp.Expression:
        kind = self.kinds[self.i]
        if kind == "(" and self.peek(1) == ")":
            self.i += 2
            return gx.GroupingItem(this="")
        if kind in ("rollup", "cube") and self._opens():
            self.i += 2
            values = self.expr_list()
            self.expect(")")
            return gx.GroupingItem(this=kind.upper(), expressions=values)
        if kind == "grouping" and self.peek(1) == "sets":
            self.i += 2
            self.expect("(")
            items = [self._group_item()]
            while self.accept(","):
                items.append(self._group_item())
            self.expect(")")
            return gx.GroupingItem(this="GROUPING SETS", expressions=items)
        return self.expr()

    def from_list(self) -> tuple[exp.From, list[exp.Expression]]:
        """from_list, for UPDATE and DELETE."""
        return self._from_list()

    def _from_list(self) -> tuple[exp.From, list[exp.Expression]]:
        first, joins = self._table_ref()
        while self.accept(","):
            item, more = self._table_ref()
            joins.append(exp.Join(this=item))
            joins += more
        return exp.From(this=first), joins

    def _table_ref(self) -> tuple[exp.Expression, list[exp.Expression]]:
        """A table and the joins that hang on it."""
        left = self._table_primary()
        joins: list[exp.Expression] = []
        while True:
            join = self._join()
            if join is None:
                return left, joins
            joins.append(join)

    def _join(self) -> exp.Expression | None:
        kind = self.kinds[self.i]
        start = self.i
        args: dict[str, Any] = {}
        if kind == "cross":
            self.i += 1
            self.expect("join")
            return exp.Join(this=self._table_primary(), kind="CROSS")
        if kind == "natural":
            self.i += 1
            args["method"] = "NATURAL"
            kind = self.kinds[self.i]
        if kind in ("left", "right", "full"):
            self.i += 1
            args["side"] = kind.upper()
            self.accept("outer")
        elif kind == "inner":
            self.i += 1
            args["kind"] = "INNER"
        elif kind != "join":
            self.i = start
            self.note("join")
            return None
        self.expect("join")
        right = self._table_primary()
        if "method" in args:
            return exp.Join(this=right, **args)
        nested: list[exp.Expression] = []
        while self.kinds[self.i] not in ("on", "using"):
            inner = self._join()
            if inner is None:
                raise self.miss("on")
            nested.append(inner)
        if nested:
            right = gx.JoinedTable(this=right, joins=nested)
        if self.accept("on"):
            args["on"] = self.expr()
        else:
            self.expect("using")
            args["using"] = self._name_list()
            if self.edition.base >= 14 and self.accept("as"):
                right = gx.JoinedTable(this=right, joins=[], alias=exp.TableAlias(this=self.name()))
        return exp.Join(this=right, **args)

    def alias(self) -> exp.TableAlias | None:
        """alias_clause, or None."""
        if self.kinds[self.i] == "as" and self.peek(1) in self.say.column:
            self.i += 1
        elif self.kinds[self.i] not in self.say.column or self.kinds[self.i] == PSQLVAR:
            return None
        name = self.name()
        columns = None
        if self.kinds[self.i] == "(" and self.peek(2) in (",", ")"):
            columns = self._name_list()
        return exp.TableAlias(this=name, columns=columns)

    def _definitions(self) -> list[exp.Expression]:
        self.expect("(")
        found = [self.typed_name()]
        while self.accept(","):
            found.append(self.typed_name())
        self.expect(")")
        return found

    def typed_name(self) -> exp.Expression:
        """TableFuncElement: name type [COLLATE c]."""
        name = self.name()
        kind = self.typename()
        collate = self.any_name() if self.accept("collate") else None
        return gx.TypedName(this=name, kind=kind, collate=collate)

    def _table_primary(self) -> exp.Expression:
        kind = self.kinds[self.i]
        lateral = kind == "lateral"
        if lateral:
            self.i += 1
            kind = self.kinds[self.i]
        if kind == "(":
            query = self.query_in_parens()
            if query is not None:
                alias = self.alias()
                if alias is not None:
                    query.set("alias", alias)
                elif self.edition.base < 16:
                    raise self.miss("an alias")
                return gx.FromItem(this=query, lateral=True) if lateral else query
            if lateral:
                raise self.miss("a query in parentheses")
            self.i += 1
            inner, joins = self._table_ref()
            if not joins and not (isinstance(inner, gx.JoinedTable) and inner.args.get("parens") and not inner.args.get("alias")):
                raise self.miss("join")
            self.expect(")")
            return gx.JoinedTable(this=inner, joins=joins, parens=True, alias=self.alias())
        if kind == "rows" and self.peek(1) == "from" and self.peek(2) == "(":
            self.i += 3
            items = [self._rows_item()]
            while self.accept(","):
                items.append(self._rows_item())
            self.expect(")")
            return self._function_tail(gx.RowsFrom(expressions=items), lateral)
        if kind == "xmltable" and self._opens() and self.edition.base >= 10:
            return self._function_tail(self._xmltable(), lateral)
        if lateral or self._calls():
            return self._function_tail(self.windowless(), lateral)
        relation = self.relation()
        alias = self.alias()
        if self.kinds[self.i] == "tablesample" and self.edition.base >= 10:
            self.i += 1
            method = self.function_name()
            self.expect("(")
            values = self.expr_list()
            self.expect(")")
            seed = None
            if self.accept("repeatable"):
                self.expect("(")
                seed = self.expr()
                self.expect(")")
            sample = gx.TableSampling(this=method, expressions=values, seed=seed)
            return gx.FromItem(this=relation, alias=alias, sample=sample)
        if alias is not None:
            if isinstance(relation, exp.Table):
                relation.set("alias", alias)
            else:
                return gx.FromItem(this=relation, alias=alias)
        return relation

    def _calls(self) -> bool:
        """The item ahead is a function call, not a table."""
        i = self.i
        kind = self.kinds[i]
        if kind in _NILADIC and kind in self.edition.classes and self.kinds[i + 1] != ".":
            return True
        if kind in ("cast", "collation") and kind in _SPECIAL and self.kinds[i + 1] in ("(", "for"):
            return True
        while self.kinds[i + 1] == "." and self.kinds[i + 2] in self.say.label:
            i += 2
        return self.kinds[i + 1] == "(" and kind != "only"

    def _rows_item(self) -> exp.Expression:
        call = self.windowless()
        definitions = None
        if self.accept("as"):
            definitions = self._definitions()
        return gx.RowsFromItem(this=call, definitions=definitions)

    def _function_tail(self, node: exp.Expression, lateral: bool) -> exp.Expression:
        args: dict[str, Any] = {"lateral": lateral or None}
        if self.kinds[self.i] == "with" and self.peek(1) == "ordinality":
            self.i += 2
            args["ordinality"] = True
        if self.kinds[self.i] == "as" and self.peek(1) == "(":
            self.i += 1
            args["definitions"] = self._definitions()
        else:
            alias = self.alias()
            if alias is not None:
                args["alias"] = alias
                if self.kinds[self.i] == "(" and not alias.args.get("columns"):
                    args["definitions"] = self._definitions()
        return gx.FromItem(this=node, **args)

    def _xmltable(self) -> exp.Expression:
        self.i += 2
        parts: list[exp.Expression] = []
        if self.kinds[self.i] == "xmlnamespaces" and self._opens():
            self.i += 2
            parts += self._parts("XMLNAMESPACES (")
            while True:
                if self.accept("default"):
                    parts += self._parts("DEFAULT", self.b_expr())
                else:
                    parts.append(self.b_expr())
                    self.expect("as")
                    parts += self._parts("AS", self.label())
                if not self.accept(","):
                    break
                parts += self._parts(",")
            self.expect(")", ",")
            parts += self._parts(")", ",")
        parts.append(self.c_expr())
        parts += self._passing()
        self.expect("columns")
        parts += self._parts("COLUMNS")
        while True:
            parts.append(self.name())
            if self.kinds[self.i] == "for" and self.peek(1) == "ordinality":
                self.i += 2
                parts += self._parts("FOR ORDINALITY")
            else:
                parts.append(self.typename())
                while self.kinds[self.i] not in (",", ")"):
                    if self.accept("default"):
                        parts += self._parts("DEFAULT", self.b_expr())
                    elif self.accept("null"):
                        parts += self._parts("NULL")
                    elif self.kinds[self.i] == "not" and self.peek(1) == "null":
                        self.i += 2
                        parts += self._parts("NOT NULL")
                    else:
                        parts += [self.ident(), self.b_expr()]
            if not self.accept(","):
                break
            parts += self._parts(",")
        self.expect(")")
        return gx.SpecialCall(this="XMLTABLE", expressions=parts)

    # --- changes of rows ---

    def change(self) -> exp.Expression:
        """INSERT, UPDATE or DELETE, without its WITH."""
        kind = self.kinds[self.i]
        if kind == "insert":
            return self._insert()
        if kind == "update":
            return self._update()
        if kind == "delete":
            return self._delete()
        if kind == "merge" and self.edition.base >= 15:
            return self._merge()
        for each in ("insert", "update", "delete", "select"):
            self.note(each)
        raise Mismatch

    def _returning(self) -> exp.Returning | None:
        if not self.accept("returning"):
            return None
        return exp.Returning(expressions=self.targets())

    def _insert(self) -> exp.Expression:
        self.i += 1
        self.expect("into")
        table: exp.Expression = self.table_name()
        if self.edition.base >= 10 and self.accept("as"):
            table.set("alias", exp.TableAlias(this=self.name()))
        args: dict[str, Any] = {}
        if self.kinds[self.i] == "(":
            start = self.i
            query = self.query_in_parens()
            self.i = start
            if query is None:
                self.i += 1
                columns = [self._target_column()]
                while self.accept(","):
                    columns.append(self._target_column())
                self.expect(")")
                table = exp.Schema(this=table, expressions=columns)
        if self.edition.base >= 10 and self.accept("overriding"):
            who = self.accept_any("user", "system")
            if not who:
                raise self.miss("user")
            self.expect("value")
            args["overriding"] = who.upper()
        if self.kinds[self.i] == "default" and self.peek(1) == "values" and not isinstance(table, exp.Schema):
            self.i += 2
            args["default"] = True
        else:
            args["expression"] = self.select()
        if self.edition.base >= 10 and self.kinds[self.i] == "on" and self.peek(1) == "conflict":
            args["conflict"] = self._conflict()
        args["returning"] = self._returning()
        return exp.Insert(this=table, **args)

    def _target_column(self) -> exp.Expression:
        return self._indirect(exp.Column(this=self.name()))

    def _conflict(self) -> exp.Expression:
        self.i += 2
        parts: list[exp.Expression] = self._parts("ON CONFLICT")
        if self.kinds[self.i] == "(":
            self.i += 1
            parts += self._parts("(") + self._commas(self.index_elements()) + self._parts(")")
            self.expect(")")
            if self.accept("where"):
                parts += self._parts("WHERE", self.expr())
        elif self.kinds[self.i] == "on":
            self.i += 1
            self.expect("constraint")
            parts += self._parts("ON CONSTRAINT", self.name())
        self.expect("do")
        if self.accept("nothing"):
            parts += self._parts("DO NOTHING")
        else:
            self.expect("update", "set")
            parts += self._parts("DO UPDATE SET") + self._commas(self._assignments())
            if self.accept("where"):
                parts += self._parts("WHERE", self.expr())
        return gx.WindowFrame(expressions=parts)

    def index_elements(self) -> list[exp.Expression]:
        """index_params."""
        found = [self.index_element()]
        while self.accept(","):
            found.append(self.index_element())
        return found

    def index_element(self) -> exp.Expression:
        """index_elem."""
        kind = self.kinds[self.i]
        if kind == "(":
            self.i += 1
            value: exp.Expression = exp.Paren(this=self.expr())
            self.expect(")")
        elif kind in self.say.column and self.peek(1) not in ("(", "."):
            value = exp.Column(this=self.name())
        else:
            value = self.windowless()
        args: dict[str, Any] = {}
        if self.accept("collate"):
            args["collate"] = self.any_name()
        if self.kinds[self.i] == "using" and self.say.old:
            self.i += 1
            args["opclass"] = self.any_name()
        elif self.kinds[self.i] in self.say.column and not (self.kinds[self.i] == "nulls" and self.peek(1) in ("first", "last")):
            args["opclass"] = self.any_name()
            if self.edition.base >= 13 and self.kinds[self.i] == "(":
                args["options"] = self.reloptions()
        args["order"] = self.accept_any("asc", "desc").upper() or None
        if self.kinds[self.i] == "nulls" and self.peek(1) in ("first", "last"):
            args["nulls"] = self.peek(1).upper()
            self.i += 2
        return gx.IndexElement(this=value, **args)

    def _assignments(self) -> list[exp.Expression]:
        found = [self._assignment()]
        while self.accept(","):
            found.append(self._assignment())
        return found

    def _assignment(self) -> exp.Expression:
        if self.accept("("):
            columns = [self._target_column()]
            while self.accept(","):
                columns.append(self._target_column())
            self.expect(")", "=")
            if self.say.old and self.kinds[self.i] != "(":
                raise self.miss("(")
            if self.say.old:
                self.i += 1
                values = self.expr_list()
                self.expect(")")
                return gx.SetColumns(columns=columns, this=gx.RowValue(expressions=values), wrapped=True)
            return gx.SetColumns(columns=columns, this=self.expr(), wrapped=True)
        column = self._target_column()
        self.expect("=")
        return gx.SetColumns(columns=[column], this=self.expr())

    def _aliased(self) -> exp.Expression:
        relation = self.relation()
        alias = None
        if self.accept("as") or (self.kinds[self.i] in self.say.column and self.kinds[self.i] != "set"):
            alias = exp.TableAlias(this=self.name())
        if alias is None:
            return relation
        if isinstance(relation, exp.Table):
            relation.set("alias", alias)
            return relation
        return gx.FromItem(this=relation, alias=alias)

    def _where(self) -> exp.Where | None:
        if not self.accept("where"):
            return None
        if self.kinds[self.i] == "current" and self.peek(1) == "of":
            self.i += 2
            return exp.Where(this=gx.CurrentOf(this=self.name()))
        return exp.Where(this=self.expr())

    def _update(self) -> exp.Expression:
        self.i += 1
        args: dict[str, Any] = {"this": self._aliased()}
        self.expect("set")
        args["expressions"] = self._assignments()
        if self.accept("from"):
            args["from_"], joins = self._from_list()
            if joins:
                args["joins"] = joins
        args["where"] = self._where()
        args["returning"] = self._returning()
        return exp.Update(**args)

    def _delete(self) -> exp.Expression:
        self.i += 1
        self.expect("from")
        args: dict[str, Any] = {"this": self._aliased()}
        if self.accept("using"):
            args["using"], joins = self._from_list()
            if joins:
                args["joins"] = joins
        args["where"] = self._where()
        args["returning"] = self._returning()
        return exp.Delete(**args)

    def _merge(self) -> exp.Expression:
        self.i += 1
        self.expect("into")
        parts = self._parts("MERGE INTO", self._aliased(), "USING")
        self.expect("using")
        source, joins = self._table_ref()
        parts += [source, *joins]
        self.expect("on")
        parts += self._parts("ON", self.expr())
        while self.accept("when"):
            parts += self._parts("WHEN")
            if self.accept("not"):
                parts += self._parts("NOT")
            self.expect("matched")
            parts += self._parts("MATCHED")
            if self.accept("by"):
                side = self.accept_any("source", "target")
                parts += self._parts("BY " + side.upper())
            if self.accept("and"):
                parts += self._parts("AND", self.expr())
            self.expect("then")
            parts += self._parts("THEN")
            if self.accept("do"):
                self.expect("nothing")
                parts += self._parts("DO NOTHING")
            elif self.accept("delete"):
                parts += self._parts("DELETE")
            elif self.accept("update"):
                self.expect("set")
                parts += self._parts("UPDATE SET") + self._commas(self._assignments())
            else:
                self.expect("insert")
                parts += self._parts("INSERT")
                if self.accept("("):
                    parts += self._parts("(") + self._commas(self.targets()) + self._parts(")")
                    self.expect(")")
                if self.accept("default"):
                    self.expect("values")
                    parts += self._parts("DEFAULT VALUES")
                else:
                    self.expect("values", "(")
                    parts += self._parts("VALUES (") + self._commas(self.expr_list()) + self._parts(")")
                    self.expect(")")
        if self.accept("returning"):
            parts += self._parts("RETURNING") + self._commas(self.targets())
        return gx.MergeRows(expressions=parts)

    def reloptions(self) -> list[exp.Expression]:
        """(name [= value], …)."""
        raise NotImplementedError


_SPECIAL = {
    **dict.fromkeys(("null", "true", "false"), Core._constant),
    **dict.fromkeys(_NILADIC, Core._niladic),
    **dict.fromkeys(("coalesce", "greatest", "least", "nullif", "grouping", "group_id", "median"), Core._plain),
    **dict.fromkeys(("xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize"), Core._xml),
    "case": Core._case,
    "cast": Core._cast,
    "treat": Core._cast,
    "exists": Core._exists,
    "array": Core._array,
    "row": Core._row,
    "decode": Core._decode,
    "collation": Core._collation_for,
    "extract": Core._extract,
    "overlay": Core._overlay,
    "position": Core._position,
    "substring": Core._substring,
    "trim": Core._trim,
    "table": Core._scattered,
    "normalize": Core._normalize,
}
