"""Queries: SELECT and VALUES with all their clauses, joins, windows and row locks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.lexer import (
    END,
    PSQLVAR,
)
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.table_functions import TableFunctions
from gpcatalog.dialect.vocabulary import NILADIC


class Queries(TableFunctions):
    """SelectStmt and the items of FROM."""

    __slots__ = ()

    if TYPE_CHECKING:  # WITH can contain INSERT, UPDATE and DELETE: dml.py

        def change(self) -> exp.Expression: ...

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

    def window(self) -> exp.Expression:
        """A window definition: (name PARTITION BY … ORDER BY … frame)."""
        self.expect("(")
        args: dict[str, Any] = {}
        if self.kinds[self.i] in self.vocabulary.column and self.kinds[self.i] not in (
            "range",
            "rows",
            "groups",
            "partition",
        ):
            args["base"] = self.name()
        if self.kinds[self.i] == "partition" and self.peek(1) == "by":
            self.i += 2
            if self.vocabulary.old:
                keys = [self.sort_key()]
                while self.accept(","):
                    keys.append(self.sort_key())
                args["partition"] = keys
            else:
                args["partition"] = self.expr_list()
        if self.kinds[self.i] == "order":
            args["order"] = self.order_by()
        unit = self.accept_any("range", "rows") or (
            "groups" if self.edition.base >= 11 and self.accept("groups") else ""
        )
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
        if self.edition.base >= 14 and self.kinds[self.i] in ("search", "cycle"):
            return gx.WatchedCTE(
                this=body,
                alias=exp.TableAlias(this=name, columns=columns),
                materialized=materialized,
                search=self._search() if self.kinds[self.i] == "search" else None,
                cycle=self._cycle() if self.kinds[self.i] == "cycle" else None,
            )
        return exp.CTE(
            this=body, alias=exp.TableAlias(this=name, columns=columns), materialized=materialized
        )

    def _search(self) -> exp.Expression:
        """SEARCH {DEPTH | BREADTH} FIRST BY column, … SET name"""
        self.i += 1
        way = self.accept_any("depth", "breadth")
        if not way:
            raise self.miss("depth")
        self.expect("first", "by")
        columns = [self.name()]
        while self.accept(","):
            columns.append(self.name())
        self.expect("set")
        return gx.WordRun(
            expressions=self._parts(
                f"SEARCH {way.upper()} FIRST BY", *self._commas([*columns]), "SET", self.name()
            )
        )

    def _cycle(self) -> exp.Expression:
        """CYCLE column, … SET name [TO value DEFAULT value] USING name"""
        self.i += 1
        columns = [self.name()]
        while self.accept(","):
            columns.append(self.name())
        self.expect("set")
        parts = self._parts("CYCLE", *self._commas([*columns]), "SET", self.name())
        if self.accept("to"):
            parts += self._parts("TO", self.c_expr())
            self.expect("default")
            parts += self._parts("DEFAULT", self.c_expr())
        self.expect("using")
        return gx.WordRun(expressions=parts + self._parts("USING", self.name()))

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
            node = (
                self.change()
                if kind in ("insert", "update", "delete", "merge")
                else self._select_rest()
            )
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
            elif (
                kind == "for"
                and self.peek(1) in ("update", "share", "no", "key", "read")
                and not locks
            ):
                while self.kinds[self.i] == "for":
                    locks.append(self._lock())
                seen.add("locks")
            else:
                if kind != ")":
                    for each in ("limit", "offset", "for"):
                        self.note(each)
                break
        if any(each.args.get("rows") == "WITH TIES" for each in limits):
            if order is None:
                raise self.miss("ORDER BY with WITH TIES")
            if any(each.args.get("wait") == "SKIP LOCKED" for each in locks):
                raise self.miss("no SKIP LOCKED with WITH TIES")
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

    def _strength(self) -> str:
        """The words of a row lock after FOR."""
        if self.accept("no"):
            self.expect("key", "update")
            return "NO KEY UPDATE"
        if self.accept("key"):
            self.expect("share")
            return "KEY SHARE"
        word = self.accept_any("update", "share")
        if not word:
            raise self.miss("update")
        return word.upper()

    def _lock(self) -> exp.Expression:
        self.i += 1
        if self.accept("read"):
            self.expect("only")
            return gx.LockClause(strength="READ ONLY")
        strength = self._strength()
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
                has_distinct = self.kinds[self.i] == "distinct" and not self.vocabulary.old
                self.i += has_distinct
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
            items = []
            if not (
                distinct == "ALL"
                and self.edition.base >= 19
                and self.kinds[self.i] not in self.vocabulary.starts
            ):
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
                window = self.window()
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
        elif self.kinds[self.i] == "unlogged" and self.peek(1) in (
            "table",
            *self.vocabulary.column,
        ):
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
        if self.kinds[self.i] in self.vocabulary.bare_label:
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
        """A table and the joins after it."""
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
                return gx.NamedJoin(this=right, alias=self.name(), **args)
        return exp.Join(this=right, **args)

    def alias(self) -> exp.TableAlias | None:
        """alias_clause, or None."""
        if self.kinds[self.i] == "as" and self.peek(1) in self.vocabulary.column:
            self.i += 1
        elif self.kinds[self.i] not in self.vocabulary.column or self.kinds[self.i] == PSQLVAR:
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
            if not joins and not (
                isinstance(inner, gx.JoinedTable)
                and inner.args.get("parens")
                and not inner.args.get("alias")
            ):
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
        special = self._special_function(kind, lateral)
        if special is not None:
            return special
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

    def _special_function(self, kind: str, lateral: bool) -> exp.Expression | None:
        """A function in FROM with its own syntax; None if there is none at the current token."""
        if not self._opens():
            return None
        if kind == "xmltable" and self.edition.base >= 10:
            return self._function_tail(self._xmltable(), lateral)
        if kind == "json_table" and kind in self.edition.classes:
            return self._function_tail(self._json_table(), lateral)
        if kind == "graph_table" and kind in self.edition.classes and not lateral:
            return gx.FromItem(this=self._graph_table(), alias=self.alias())
        return None

    def _calls(self) -> bool:
        """Whether the item at the current token is a function call, not a table."""
        i = self.i
        kind = self.kinds[i]
        if kind == "table":
            return False
        if kind in NILADIC and kind in self.edition.classes and self.kinds[i + 1] != ".":
            return True
        if (
            kind in ("cast", "collation")
            and kind in self.special
            and self.kinds[i + 1] in ("(", "for")
        ):
            return True
        while self.kinds[i + 1] == "." and self.kinds[i + 2] in self.vocabulary.label:
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
