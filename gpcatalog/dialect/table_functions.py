"""XMLTABLE and JSON_TABLE: functions in FROM that have columns of their own."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.functions import Calls
from gpcatalog.dialect.vocabulary import STRINGS


class TableFunctions(Calls):
    """Functions in FROM with a syntax of their own."""

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
