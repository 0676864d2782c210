"""INSERT, UPDATE, DELETE and MERGE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.queries import Queries
from gpcatalog.dialect.reader import Mismatch

# words that the server never reads as an alias without AS after FOR PORTION OF …
_AFTER_PORTION = frozenset(("set", "using"))


class Changes(Queries):
    """Statements that change rows."""

    __slots__ = ()

    if TYPE_CHECKING:  # storage options: tables.py

        def reloptions(self) -> list[exp.Expression]: ...

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
        if self.edition.base < 18 or not self.accept("with"):
            return exp.Returning(expressions=self.targets())
        self.expect("(")
        names = [self._returning_name()]
        while self.accept(","):
            names.append(self._returning_name())
        self.expect(")")
        return gx.NamedReturning(names=names, expressions=self.targets())

    def _returning_name(self) -> exp.Expression:
        kind = self.accept_any("old", "new")
        if not kind:
            raise Mismatch
        self.expect("as")
        return gx.ReturningName(this=self.name(), kind=kind.upper())

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
        if (
            self.kinds[self.i] == "default"
            and self.peek(1) == "values"
            and not isinstance(table, exp.Schema)
        ):
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
        elif self.edition.base >= 19 and self.accept("select"):
            parts += self._parts("DO SELECT")
            if self.accept("for"):
                parts += self._parts("FOR", self._strength())
            if self.accept("where"):
                parts += self._parts("WHERE", self.expr())
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

    def index_value(self) -> exp.Expression:
        """A column, a function call or an expression in parentheses."""
        kind = self.kinds[self.i]
        if kind == "(":
            self.i += 1
            value: exp.Expression = exp.Paren(this=self.expr())
            self.expect(")")
            return value
        if kind in self.vocabulary.column and self.peek(1) not in ("(", "."):
            return exp.Column(this=self.name())
        return self.windowless()

    def index_element(self) -> exp.Expression:
        """index_elem."""
        value = self.index_value()
        args: dict[str, Any] = {}
        if self.accept("collate"):
            args["collate"] = self.any_name()
        if self.kinds[self.i] == "using" and self.vocabulary.old:
            self.i += 1
            args["opclass"] = self.any_name()
        elif self.kinds[self.i] in self.vocabulary.column and not (
            self.kinds[self.i] == "nulls" and self.peek(1) in ("first", "last")
        ):
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
            if self.vocabulary.old and self.kinds[self.i] != "(":
                raise self.miss("(")
            if self.vocabulary.old:
                self.i += 1
                values = self.expr_list()
                self.expect(")")
                return gx.SetColumns(
                    columns=columns, this=gx.RowValue(expressions=values), wrapped=True
                )
            return gx.SetColumns(columns=columns, this=self.expr(), wrapped=True)
        column = self._target_column()
        self.expect("=")
        return gx.SetColumns(columns=[column], this=self.expr())

    def _portion(self) -> gx.WindowFrame | None:
        """FOR PORTION OF a period."""
        if (
            self.edition.base < 19
            or self.kinds[self.i] != "for"
            or self.peek(1) != "portion"
            or self.peek(2) != "of"
        ):
            return None
        self.i += 3
        parts = self._parts("FOR PORTION OF", self.name())
        if self.accept("("):
            parts += self._parts("(", self.expr(), ")")
            self.expect(")")
        else:
            self.expect("from")
            parts += self._parts("FROM", self.expr())
            self.expect("to")
            parts += self._parts("TO", self.expr())
        return gx.WindowFrame(expressions=parts)

    def _changed(self) -> exp.Expression:
        """The table of UPDATE or DELETE with its alias, or with a portion and an alias."""
        start = self.i
        relation = self.relation()
        portion = self._portion()
        if portion is None:
            self.i = start
            return self._aliased()
        alias = None
        if self.accept("as"):
            alias = exp.TableAlias(this=self.name())
        elif self.kinds[self.i] in self.vocabulary.bare_label - _AFTER_PORTION:
            alias = exp.TableAlias(this=self.label())
        return gx.FromItem(this=relation, portion=portion, alias=alias)

    def _aliased(self) -> exp.Expression:
        relation = self.relation()
        alias = None
        if self.accept("as") or (
            self.kinds[self.i] in self.vocabulary.column and self.kinds[self.i] != "set"
        ):
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
        args: dict[str, Any] = {"this": self._changed()}
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
        args: dict[str, Any] = {"this": self._changed()}
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
        if self.kinds[self.i] != "when":
            raise self.miss("when")
        while self.accept("when"):
            matched = not self.accept("not")
            self.expect("matched")
            parts += self._parts("WHEN MATCHED" if matched else "WHEN NOT MATCHED")
            by_source = False
            if not matched and self.edition.base >= 17 and self.accept("by"):
                side = self.accept_any("source", "target")
                if not side:
                    raise self.miss("source")
                by_source = side == "source"
                parts += self._parts("BY " + side.upper())
            if self.accept("and"):
                parts += self._parts("AND", self.expr())
            self.expect("then")
            parts += self._parts("THEN")
            if self.accept("do"):
                self.expect("nothing")
                parts += self._parts("DO NOTHING")
            elif (matched or by_source) and self.accept("delete"):
                parts += self._parts("DELETE")
            elif (matched or by_source) and self.accept("update"):
                self.expect("set")
                parts += self._parts("UPDATE SET") + self._commas(self._assignments())
            elif not matched and not by_source:
                parts += self._merged_insert()
            else:
                raise self.miss("update")
        returning = self._returning() if self.edition.base >= 17 else None
        if returning is not None:
            parts.append(returning)
        return gx.MergeRows(expressions=parts)

    def _merged_insert(self) -> list[exp.Expression]:
        self.expect("insert")
        parts = self._parts("INSERT")
        if self.accept("("):
            columns = [self._target_column()]
            while self.accept(","):
                columns.append(self._target_column())
            parts += self._parts("(") + self._commas(columns) + self._parts(")")
            self.expect(")")
        if self.accept("overriding"):
            who = self.accept_any("user", "system")
            if not who:
                raise self.miss("user")
            self.expect("value")
            parts += self._parts(f"OVERRIDING {who.upper()} VALUE")
        elif self.kinds[self.i] == "default" and self.kinds[self.i - 1] != ")":
            self.i += 1
            self.expect("values")
            return parts + self._parts("DEFAULT VALUES")
        self.expect("values", "(")
        parts += self._parts("VALUES (") + self._commas(self.expr_list()) + self._parts(")")
        self.expect(")")
        return parts
