"""Functions and constants that have a grammar of their own: CASE, CAST, EXTRACT, XML and JSON functions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.names import INTERVAL_FIELDS
from gpcatalog.ddl.terms import Terms
from gpcatalog.ddl.vocabulary import NILADIC, STRINGS

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


Terms.special.update(
    {
        **dict.fromkeys(("null", "true", "false"), Calls._constant),
        **dict.fromkeys(NILADIC, Calls._niladic),
        **dict.fromkeys(("coalesce", "greatest", "least", "nullif", "grouping", "group_id", "median"), Calls._plain),
        **dict.fromkeys(("xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize"), Calls._xml),
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
    }
)
