"""XMLTABLE, JSON_TABLE and GRAPH_TABLE: functions in FROM that define columns."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.functions import Calls
from gpcatalog.dialect.lexer import OP
from gpcatalog.dialect.vocabulary import STRINGS


class TableFunctions(Calls):
    """Functions in FROM with their own syntax."""

    __slots__ = ()

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
                    elif self.kinds[self.i] == "path":  # a keyword of PostgreSQL 17
                        parts += [self.label(), self.b_expr()]
                    else:
                        parts += [self.ident(), self.b_expr()]
            if not self.accept(","):
                break
            parts += self._parts(",")
        self.expect(")")
        return gx.SpecialCall(this="XMLTABLE", expressions=parts)

    def _json_table(self) -> exp.Expression:
        """JSON_TABLE(value, path [AS name] [PASSING …] COLUMNS (…) [behavior ON ERROR])"""
        self.i += 2
        parts = self._json_value()
        self.expect(",")
        parts += self._parts(",", self.expr())
        if self.accept("as"):
            parts += self._parts("AS", self.name())
        parts += self.json_passing() + self._json_columns() + self.json_behavior()
        self.expect(")")
        return gx.SpecialCall(this="JSON_TABLE", expressions=parts)

    def _json_columns(self) -> list[exp.Expression]:
        self.expect("columns", "(")
        parts = self._parts("COLUMNS (")
        while True:
            if self.kinds[self.i] == "nested" and self.peek(1) in ("path", *STRINGS):
                self.i += 1
                self.accept("path")
                parts += self._parts("NESTED PATH", self.string())
                if self.accept("as"):
                    parts += self._parts("AS", self.name())
                parts += self._json_columns()
            else:
                parts.append(self.name())
                if self.kinds[self.i] == "for" and self.peek(1) == "ordinality":
                    self.i += 2
                    parts += self._parts("FOR ORDINALITY")
                else:
                    parts.append(self.typename())
                    exists = self.accept("exists")
                    parts += self._parts("EXISTS" if exists else None)
                    if not exists:
                        parts += self._json_format()
                    if self.accept("path"):
                        parts += self._parts("PATH", self.string())
                    if not exists:
                        parts += self.json_wrapper()
                    parts += self.json_behavior()
            if not self.accept(","):
                break
            parts += self._parts(",")
        self.expect(")")
        return parts + self._parts(")")

    def _graph_table(self) -> exp.Expression:
        """GRAPH_TABLE (graph MATCH pattern, … [WHERE …] COLUMNS (expression [AS name], …))."""
        self.i += 2
        parts = self._parts("GRAPH_TABLE (", self.table_name())
        self.expect("match")
        parts += self._parts("MATCH", *self._path())
        while self.accept(","):
            parts += self._parts(",", *self._path())
        if self.accept("where"):
            parts += self._parts("WHERE", self.expr())
        self.expect("columns", "(")
        parts += self._parts("COLUMNS (") + self._labeled_list() + self._parts(")", ")")
        self.expect(")", ")")
        return gx.WindowFrame(expressions=parts)

    def _path(self) -> list[exp.Expression]:
        """A path pattern: vertices and edges one after the other."""
        parts = self._path_element()
        while self.kinds[self.i] in ("(", "<", "-") or self._is_arrow():
            parts += self._path_element()
        return parts

    def _is_arrow(self) -> bool:
        return self.kinds[self.i] == OP and self.values[self.i] == "->"

    def _path_element(self) -> list[exp.Expression]:
        """A vertex (…), an edge <-[…]-, -[…]->, -[…]-, <-, -> or -, or a path in parentheses."""
        if self._is_arrow():
            self.i += 1
            parts = self._parts("->")
        elif self.accept("("):
            if self.kinds[self.i] in ("(", "<", "-") or self._is_arrow():
                inner = self._path()
                if self.accept("where"):
                    inner += self._parts("WHERE", self.expr())
            else:
                inner = self._element_filler()
            self.expect(")")
            parts = self._parts("(", *inner, ")")
        else:
            leftward = self.accept("<")
            self.expect("-")
            parts = self._parts("<" if leftward else None, "-")
            if self.accept("["):
                parts += self._parts("[", *self._element_filler(), "]")
                self.expect("]")
                if not leftward and self._is_arrow():
                    self.i += 1
                    parts += self._parts("->")
                else:
                    self.expect("-")
                    parts += self._parts("-", ">" if not leftward and self.accept(">") else None)
            elif not leftward and self.accept(">"):
                parts += self._parts(">")
        return parts + self._quantifier()

    def _element_filler(self) -> list[exp.Expression]:
        """A variable, IS with labels, and WHERE; each is optional."""
        parts: list[exp.Expression] = []
        if self.kinds[self.i] in self.vocabulary.column:
            parts.append(self.name())
        if self.accept("is"):
            parts += self._parts("IS", self.name())
            while self.kinds[self.i] == OP and self.values[self.i] == "|":
                self.i += 1
                parts += self._parts("|", self.name())
        if self.accept("where"):
            parts += self._parts("WHERE", self.expr())
        return parts

    def _quantifier(self) -> list[exp.Expression]:
        """{n}, {,n} or {n,m}; no parts without a quantifier."""
        if not self.accept("{"):
            return []
        parts = self._parts("{")
        if self.kinds[self.i] != ",":
            parts.append(self.integer())
        if self.accept(","):
            parts += self._parts(",", self.integer())
        self.expect("}")
        return [*parts, *self._parts("}")]
