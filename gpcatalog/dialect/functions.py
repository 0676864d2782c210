"""Functions and constants that have their own syntax: CASE, CAST, EXTRACT, XML and JSON
functions.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import END
from gpcatalog.dialect.names import INTERVAL_FIELDS
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.scalar_expressions import Terms
from gpcatalog.dialect.vocabulary import NILADIC, STRINGS

_WITH_PRECISION = frozenset(("current_time", "current_timestamp", "localtime", "localtimestamp"))


class Calls(Terms):
    """Calls that begin with a keyword."""

    __slots__ = ()

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
                condition: exp.Expression = gx.Predicate(
                    words="IS NOT DISTINCT FROM", expressions=[self.expr()]
                )
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
        """COALESCE and other keywords that are called like functions."""
        word = self.kinds[self.i]
        if not self._opens() or word not in self.edition.classes:
            return None
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
        return [
            gx.Words(this=part) if isinstance(part, str) else part
            for part in parts
            if part is not None
        ]

    def _extract(self) -> exp.Expression | None:
        if not self._opens():
            return None
        self.i += 2
        if self.accept(")"):
            return gx.SpecialCall(this="EXTRACT", expressions=[])
        if self.kinds[self.i] in STRINGS:
            what = self.string()
        elif self.kinds[self.i] in INTERVAL_FIELDS:
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
            return gx.FunctionCall(
                this=exp.Identifier(this="overlay", quoted=False), expressions=arguments
            )
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
        if self.edition.base >= 14 and self.accept("similar"):
            parts += self._parts("SIMILAR", self.expr())
            self.expect("escape")
            parts += self._parts("ESCAPE", self.expr())
            self.expect(")")
            return gx.SpecialCall(this="SUBSTRING", expressions=parts)
        if self.kinds[self.i] in ("from", "for"):
            for _ in range(2):
                word = self.accept_any("from", "for")
                if word and (len(parts) == 1 or parts[1].this != word.upper()):
                    parts += self._parts(word.upper(), self.expr())
            self.expect(")")
            return gx.SpecialCall(this="SUBSTRING", expressions=parts)
        while self.accept(","):
            parts.append(self.expr())
        self.expect(")")
        return gx.FunctionCall(
            this=exp.Identifier(this="substring", quoted=False), expressions=parts
        )

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
                    parts += self._parts(",", "XMLATTRIBUTES (", *self._labeled_list(), ")")
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
            parts = self._labeled_list()
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
            parts = [self.expr(), *self._xml_version()]
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

    def _xml_version(self) -> list[exp.Expression]:
        """, VERSION … [, STANDALONE …] of XMLROOT."""
        self.expect(",", "version")
        parts = self._parts(", VERSION")
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
                parts += self._parts(
                    ", STANDALONE NO VALUE" if self.accept("value") else ", STANDALONE NO"
                )
        return parts

    def _passing(self) -> list[exp.Expression]:
        self.expect("passing")
        parts = self._parts("PASSING", self._by_ref())
        parts.append(self.c_expr())
        return parts + self._parts(self._by_ref())

    def _by_ref(self) -> str | None:
        if self.kinds[self.i] == "by" and (
            self.peek(1) == "ref" or (self.peek(1) == "value" and not self.vocabulary.old)
        ):
            self.i += 2
            return "BY " + self.kinds[self.i - 1].upper()
        return None

    def _labeled_list(self) -> list[exp.Expression]:
        """Expressions, each with or without a name after AS."""
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

    # --- JSON, from PostgreSQL 16 on ---

    def _json_format(self) -> list[exp.Expression]:
        """[FORMAT JSON [ENCODING name]]"""
        if self.kinds[self.i] != "format" or self.peek(1) != "json":
            return []
        self.i += 2
        parts = self._parts("FORMAT JSON")
        if self.accept("encoding"):
            parts += self._parts("ENCODING", self.name())
        return parts

    def _json_value(self) -> list[exp.Expression]:
        return [self.expr(), *self._json_format()]

    def _json_pair(self) -> list[exp.Expression]:
        """key VALUE value, or key : value."""
        key = self.expr()
        if self.accept("value"):
            return self._parts(key, "VALUE") + self._json_value()
        self.expect(":")
        return self._parts(key, ":") + self._json_value()

    def _json_nulls(self) -> list[exp.Expression]:
        """[NULL ON NULL | ABSENT ON NULL]"""
        if self.kinds[self.i] in ("null", "absent") and self.peek(1) == "on":
            word = self.kinds[self.i]
            self.i += 2
            self.expect("null")
            return self._parts(f"{word.upper()} ON NULL")
        return []

    def _json_unique(self) -> list[exp.Expression]:
        """[WITH UNIQUE [KEYS] | WITHOUT UNIQUE [KEYS]]"""
        if self.kinds[self.i] in ("with", "without") and self.peek(1) == "unique":
            word = self.kinds[self.i]
            self.i += 2
            self.accept("keys")
            return self._parts(f"{word.upper()} UNIQUE KEYS")
        return []

    def _json_returning(self) -> list[exp.Expression]:
        """[RETURNING type [FORMAT …]]"""
        if not self.accept("returning"):
            return []
        return self._parts("RETURNING", self.typename()) + self._json_format()

    def _json_new(self) -> exp.Expression | None:
        """JSON_OBJECT, JSON_ARRAY and their aggregates."""
        word = self.kinds[self.i]
        if not self._opens() or word not in self.edition.classes:
            return None
        if word == "json_object" and self._plain_json_object():
            self.i += 1
            return self._application(exp.Identifier(this=word, quoted=False))
        self.i += 2
        parts: list[exp.Expression] = []
        if self.kinds[self.i] not in (")", "returning"):
            if word in ("json_object", "json_objectagg"):
                parts = self._json_pair()
                while word == "json_object" and self.accept(","):
                    parts += self._parts(",") + self._json_pair()
            elif word == "json_array" and self.kinds[self.i] in (
                "select",
                "with",
                "values",
                "table",
                "(",
            ):
                at = self.i
                try:
                    parts = [self.select(), *self._json_format()]
                    if self.kinds[self.i] not in (")", "returning"):
                        raise self.miss(")")
                except Mismatch:
                    self.i, parts = at, self._json_values()
            else:
                parts = self._json_value()
                while word == "json_array" and self.accept(","):
                    parts += self._parts(",") + self._json_value()
            if word == "json_arrayagg" and self.kinds[self.i] == "order":
                parts.append(self.order_by())
            parts += self._json_nulls()
            if word.startswith("json_object"):
                parts += self._json_unique()
        elif word.endswith("agg"):
            raise self.miss("an expression")
        parts += self._json_returning()
        self.expect(")")
        call = gx.SpecialCall(this=word.upper(), expressions=parts)
        return self._decorated(call) if word.endswith("agg") else call

    def _json_values(self) -> list[exp.Expression]:
        parts = self._json_value()
        while self.accept(","):
            parts += self._parts(",") + self._json_value()
        return parts

    def _plain_json_object(self) -> bool:
        """Whether this is JSON_OBJECT(a, b), the old function of that name, whose arguments are not
        pairs.
        """
        depth, i = 0, self.i + 1
        while self.kinds[i] != END:
            kind = self.kinds[i]
            if kind in ("(", "["):
                depth += 1
            elif kind in (")", "]"):
                depth -= 1
                if not depth:
                    return i > self.i + 2  # JSON_OBJECT() is the new function
            elif depth == 1 and kind in (":", "value", "returning"):
                return False
            elif depth == 1 and kind == ",":
                return True
            i += 1
        return False

    def _json_plain(self) -> exp.Expression | None:
        """JSON(…), JSON_SCALAR, JSON_SERIALIZE, MERGE_ACTION."""
        word = self.kinds[self.i]
        if not self._opens() or self.edition.classes.get(word, "U").upper() != "C":
            return None
        self.i += 2
        parts: list[exp.Expression] = []
        if word == "json":
            parts = self._json_value() + self._json_unique()
        elif word == "json_scalar":
            parts = [self.expr()]
        elif word == "json_serialize":
            parts = self._json_value() + self._json_returning()
        self.expect(")")
        return gx.SpecialCall(this=word.upper(), expressions=parts)

    def json_passing(self) -> list[exp.Expression]:
        """[PASSING value AS name, …]"""
        parts: list[exp.Expression] = []
        if self.accept("passing"):
            parts = self._parts("PASSING")
            while True:
                parts += self._json_value()
                self.expect("as")
                parts += self._parts("AS", self.label())
                if not self.accept(","):
                    break
                parts += self._parts(",")
        return parts

    def json_behavior(self) -> list[exp.Expression]:
        """[behavior ON EMPTY] [behavior ON ERROR]"""
        parts: list[exp.Expression] = []
        seen: set[str] = set()
        while True:
            at = self.i
            word = self.accept_any("error", "null", "true", "false", "unknown", "empty", "default")
            if not word:
                return parts
            behavior = self._parts(word.upper())
            if word == "default":
                behavior.append(self.expr())
            elif word == "empty":
                more = self.accept_any("array", "object")
                behavior += self._parts(more.upper() or None)
            if not self.accept("on"):
                self.i = at
                return parts
            when = self.accept_any("empty", "error")
            if not when or when in seen or (when == "empty" and "error" in seen):
                raise self.miss("error")
            seen.add(when)
            parts += behavior + self._parts(f"ON {when.upper()}")

    def json_wrapper(self) -> list[exp.Expression]:
        """[WITH … WRAPPER | WITHOUT … WRAPPER] [KEEP QUOTES | OMIT QUOTES [ON SCALAR STRING]]"""
        parts: list[exp.Expression] = []
        word = self.accept_any("with", "without")
        if word:
            how = self.accept_any("conditional", "unconditional") if word == "with" else ""
            array = self.accept("array")
            self.expect("wrapper")
            parts += self._parts(
                " ".join(w for w in (word, how, "array" if array else "", "wrapper") if w).upper()
            )
        quotes = self.accept_any("keep", "omit")
        if quotes:
            self.expect("quotes")
            parts += self._parts(f"{quotes.upper()} QUOTES")
            if self.accept("on"):
                self.expect("scalar", "string")
                parts += self._parts("ON SCALAR STRING")
        return parts

    def _json_query(self) -> exp.Expression | None:
        """JSON_EXISTS, JSON_QUERY and JSON_VALUE."""
        word = self.kinds[self.i]
        if not self._opens() or word not in self.edition.classes:
            return None
        self.i += 2
        parts = self._json_value()
        self.expect(",")
        parts += self._parts(",", self.expr()) + self.json_passing()
        if word != "json_exists":
            parts += self._json_returning()
        if word == "json_query":
            parts += self.json_wrapper()
        parts += self.json_behavior()
        self.expect(")")
        return gx.SpecialCall(this=word.upper(), expressions=parts)

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


Terms.special.update(
    {
        **dict.fromkeys(("null", "true", "false"), Calls._constant),
        **dict.fromkeys(NILADIC, Calls._niladic),
        **dict.fromkeys(
            ("coalesce", "greatest", "least", "nullif", "grouping", "group_id", "median"),
            Calls._plain,
        ),
        **dict.fromkeys(
            (
                "xmlconcat",
                "xmlelement",
                "xmlexists",
                "xmlforest",
                "xmlparse",
                "xmlpi",
                "xmlroot",
                "xmlserialize",
            ),
            Calls._xml,
        ),
        "case": Calls._case,
        "cast": Calls._cast,
        "treat": Calls._cast,
        "exists": Calls._exists,
        "array": Calls._array,
        "row": Calls._row,
        "decode": Calls._decode,
        "collation": Calls._collation_for,
        "extract": Calls._extract,
        "overlay": Calls._overlay,
        "position": Calls._position,
        "substring": Calls._substring,
        "trim": Calls._trim,
        "table": Calls._scattered,
        "normalize": Calls._normalize,
        **dict.fromkeys(
            ("json_object", "json_array", "json_objectagg", "json_arrayagg"), Calls._json_new
        ),
        **dict.fromkeys(
            ("json", "json_scalar", "json_serialize", "merge_action"), Calls._json_plain
        ),
        **dict.fromkeys(("json_exists", "json_query", "json_value"), Calls._json_query),
    }
)
