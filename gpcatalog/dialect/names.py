"""Readers of names, constants and types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import (
    DOLLAR,
    END,
    ESCONST,
    FCONST,
    ICONST,
    IDENT,
    PSQLVAR,
    QIDENT,
    SCONST,
    USCONST,
    Tokens,
)
from gpcatalog.dialect.reader import Reader
from gpcatalog.dialect.version import Edition
from gpcatalog.dialect.vocabulary import ALL_OPS, STRINGS, Vocabulary

DType = exp.DType
SIMPLE_TYPES: dict[str, DType] = {
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
INTERVAL_FIELDS = ("year", "month", "day", "hour", "minute", "second")
TYPE_WORDS = frozenset(
    """int integer smallint bigint real float decimal dec numeric boolean bit character char varchar national nchar
    timestamp time interval double""".split()
)


class Names(Reader):
    """Primitives of the grammar: each reads at the current token and returns a node, or raises
    Mismatch.
    """

    __slots__ = ("edition", "vocabulary")

    if TYPE_CHECKING:  # modifiers of a type are expressions: operators.py

        def expr_list(self) -> list[exp.Expression]:
            """Expressions with commas between."""

    def __init__(self, tokens: Tokens, edition: Edition, vocabulary: Vocabulary) -> None:
        super().__init__(tokens)
        self.edition = edition
        self.vocabulary = vocabulary

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
        return self._word(self.vocabulary.column, "a name")

    def label(self) -> exp.Identifier:
        """ColLabel."""
        return self._word(self.vocabulary.label, "a name")

    def function_word(self) -> exp.Identifier:
        """type_function_name."""
        return self._word(self.vocabulary.function, "a name")

    def role(self) -> exp.Identifier:
        """RoleSpec."""
        if self.edition.base >= 10 and (
            self.kinds[self.i] in ("current_user", "session_user")
            or (self.kinds[self.i] == "current_role" and self.edition.base >= 14)
        ):
            self.i += 1
            return exp.Identifier(this=self.values[self.i - 1], quoted=False)
        return self._word(self.vocabulary.unreserved, "a role name")

    def word_or_string(self) -> exp.Expression:
        """NonReservedWord_or_Sconst."""
        if self.kinds[self.i] in STRINGS:
            return self.string()
        return self._word(self.vocabulary.unreserved, "a name or a string")

    def partition_name(self) -> exp.Identifier:
        """Name of a partition: a bare label word."""
        return self._word(self.vocabulary.partition, "a partition name")

    def ident(self) -> exp.Identifier:
        """A word that is not a keyword."""
        if (
            self.kinds[self.i] not in (IDENT, QIDENT, PSQLVAR)
            and self.kinds[self.i] in self.edition.classes
        ):
            raise self.miss("a name")
        return self._word(self.vocabulary.label, "a name")

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
        if (
            self.kinds[self.i + 1 : self.i + 2] == ["."]
            and self.kinds[self.i] in self.vocabulary.column
        ):
            return self.any_name()
        return self.function_word()

    def operator(self) -> gx.Operator:
        """any_operator: [schema.]op."""
        schemas = []
        while self.kinds[self.i] in self.vocabulary.column and self.peek(1) == ".":
            schemas.append(self.name())
            self.i += 1
        if self.kinds[self.i] not in ALL_OPS and not (
            self.vocabulary.old and self.kinds[self.i] == "=>"
        ):
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
        if self.kinds[self.i] not in ALL_OPS and not (
            self.vocabulary.old and self.kinds[self.i] == "=>"
        ):
            raise self.miss("an operator")
        self.i += 1
        return gx.Operator(this=self.values[self.i - 1])

    # --- constants ---

    def string(self) -> exp.Expression:
        """Sconst: a string constant in any form."""
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
                node = exp.DataType(
                    this=DType.ARRAY, expressions=[node], nested=True, values=values
                )
        return gx.SetOf(this=node) if setof else node

    def func_type(self) -> exp.Expression:
        """func_type: a type, or name.name%TYPE."""
        start = self.i
        setof = self.kinds[start] == "setof"
        i = start + setof
        if self.kinds[i] in self.vocabulary.function and self.kinds[i + 1] == ".":
            while self.kinds[i + 1] == "." and self.kinds[i + 2] in self.vocabulary.label:
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
        """opt_interval, as upper-case words; "" if there are none."""
        first = self.kinds[self.i]
        if first not in INTERVAL_FIELDS:
            return ""
        self.i += 1
        text = first.upper()
        if first == "second":
            return text + self._second()
        if self.kinds[self.i] == "to" and self.peek(1) in INTERVAL_FIELDS:
            last = self.peek(1)
            allowed = {
                "year": ("month",),
                "day": ("hour", "minute", "second"),
                "hour": ("minute", "second"),
                "minute": ("second",),
            }
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
        free = kind in self.vocabulary.function
        if (kind in TYPE_WORDS or (kind == "json" and not free)) and not (
            following == "." and free
        ):
            if kind in ("int", "integer", "smallint", "bigint", "real", "boolean"):
                self.i += 1
                return exp.DataType(this=SIMPLE_TYPES[kind])
            if kind == "float":
                self.i += 1
                length = self._length()
                return (
                    exp.DataType(this=DType.FLOAT, expressions=length)
                    if length
                    else exp.DataType(this=DType.DOUBLE)
                )
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
                return exp.DataType(
                    this=DType.USERDEFINED, kind=word, expressions=self._modifiers()
                )
            elif kind in ("timestamp", "time"):
                self.i += 1
                length = self._length()
                zoned = self._zone()
                types = (
                    (DType.TIMESTAMPTZ if zoned else DType.TIMESTAMP)
                    if kind == "timestamp"
                    else None
                )
                return exp.DataType(
                    this=types or (DType.TIMETZ if zoned else DType.TIME), expressions=length
                )
            elif kind == "interval":
                self.i += 1
                return self._interval_type()
            elif kind == "json":  # a keyword of PostgreSQL 17
                self.i += 1
                return exp.DataType(this=DType.JSON)
            else:
                return self._character()
        return self._generic_type()

    def _interval_type(self) -> exp.DataType:
        if self.kinds[self.i] == "(":
            length = self._length()
            fields = self.interval_fields() if self.vocabulary.old else ""
            if fields:
                word = exp.Identifier(
                    this=f"interval({length[0].name if length else ''}) {fields}", quoted=False
                )
                return exp.DataType(this=DType.USERDEFINED, kind=word)
            return exp.DataType(this=DType.INTERVAL, expressions=length)
        fields = self.interval_fields()
        if fields:
            return exp.DataType(
                this=DType.USERDEFINED, kind=exp.Identifier(this=f"interval {fields}", quoted=False)
            )
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
        if self.vocabulary.old and self.kinds[self.i] == "character" and self.peek(1) == "set":
            self.i += 2
            self.name()
        return exp.DataType(this=DType.VARCHAR if varying else DType.CHAR, expressions=length)

    def _generic_type(self) -> exp.Expression:
        first = self.function_word()
        if self.kinds[self.i] != ".":
            known = None if first.args["quoted"] else SIMPLE_TYPES.get(first.this.lower())
            modifiers = self._modifiers()
            if known is not None and not modifiers:
                return exp.DataType(this=known)
            return exp.DataType(this=DType.USERDEFINED, kind=first, expressions=modifiers)
        node: exp.Expression = first
        while self.accept("."):
            node = exp.Dot(this=node, expression=self.label())
        return exp.DataType(this=DType.USERDEFINED, kind=node, expressions=self._modifiers())
