"""The columns of tables that the query of a view reads: the server rejects to drop them, or to change
their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.certain import is_complete
from gpcatalog.effects.keys import Reading, fold
from gpcatalog.effects.ties import Name, names_are_written

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState


class _Item(NamedTuple):
    """An item in FROM.

    relation: (schema, name), None for a query, a function or a name in WITH
    columns: the names of its columns, None if they are unknown
    """

    relation: Name | None
    columns: frozenset[str] | None


_OTHER = _Item(None, None)


class _Level:
    """The items of one SELECT, by name or alias, and the query around it."""

    def __init__(self, outer: _Level | None) -> None:
        self.outer = outer
        self.items: dict[str, _Item] = {}
        self.unnamed = False  # an item has no name: a join in parentheses with an alias
        self.merged: set[str] = set()  # columns of USING

    def of_name(self, name: str) -> list[_Item]:
        """The items that have a column of this name."""
        return [item for item in self.items.values() if name in (item.columns or ())]

    @property
    def complete(self) -> bool:
        """Whether all columns of all items are known."""
        return not self.unnamed and all(i.columns is not None for i in self.items.values())

    @property
    def relations_complete(self) -> bool:
        """Whether the columns of all items are known that are relations."""
        return not self.unnamed and all(
            i.columns is not None for i in self.items.values() if i.relation is not None
        )


def reading_of(state: SchemaState, query: exp.Expression | None, *, named: bool) -> Reading:
    """What is certain about the query of a new view. named: names are given for all columns"""
    if query is None:
        return Reading()
    found = _Query(state)
    found.query(query, None, frozenset())
    return Reading(
        sure=query.find(exp.CTE) is None,
        relations=frozenset(found.relations),
        columns=frozenset(found.certain),
        possible=None if found.anything else frozenset(found.possible),
        named=named or names_are_written(query),
    )


def view_of_column(state: SchemaState, table: Table, column: str, *, certain: bool = True) -> str:
    """A view that certainly (or possibly) reads a column of a table or of a partition or child of
    it; "" if there is none.
    """
    family = (table, *state.partitions_of(table), *state.inheriting(table))
    relations = {(one.schema, one.name) for one in family}
    if table.parts:
        own = (table.schema, table.name)
        relations |= {key for key in state.ties.views if state.leaf_of.get(key) == own}
    for relation in sorted(relations & state.ties.views.keys()):
        for view, reading in state.ties.readers(state, relation):
            if (relation, column) in reading.columns:
                return view[1]
            if not certain and (reading.possible is None or column in reading.possible):
                return view[1]
    return ""


# nodes whose names are not those of columns, or are read with the node
_NAMING = (
    exp.Column | exp.Table | exp.Alias | exp.TableAlias | exp.Anonymous | gx.FunctionCall | exp.Dot
)


class _Query:
    """What a query reads.

    relations: relations that it certainly reads
    certain: (relation, column) that it certainly reads
    possible: names of columns of which it is unknown which relation has them
    anything: it may read any column of a relation
    """

    def __init__(self, state: SchemaState) -> None:
        self.state = state
        self.relations: set[Name] = set()
        self.certain: set[tuple[Name, str]] = set()
        self.possible: set[str] = set()
        self.anything = False

    def query(self, node: exp.Expression, outer: _Level | None, hidden: frozenset[str]) -> None:
        """Read a query. outer: the query around it; hidden: names in WITH"""
        with_ = node.args.get("with_")
        if with_ is not None:
            names = frozenset(fold(c.args["alias"].this) for c in with_.expressions)
            inside = hidden | names if with_.args.get("recursive") else hidden
            for cte in with_.expressions:
                self.query(cte.this, outer, inside)
                inside |= {fold(cte.args["alias"].this)}
            hidden |= names
        if isinstance(node, exp.Subquery):
            self.query(node.this, outer, hidden)
        elif isinstance(node, exp.Union | exp.Except | exp.Intersect):
            self.query(node.this, outer, hidden)
            self.query(node.expression, outer, hidden)
        elif isinstance(node, gx.TableQuery):
            self._all_of(self._relation(node.this, hidden))
        elif isinstance(node, exp.Select):
            self._select(node, outer, hidden)
        elif isinstance(node, exp.Values):
            self._expressions([node], _Level(outer), hidden)
        else:
            self.anything = True

    def _select(self, node: exp.Select, outer: _Level | None, hidden: frozenset[str]) -> None:
        level = _Level(outer)
        from_ = node.args.get("from_")
        conditions: list[exp.Expression] = []
        if from_ is not None:
            self._item(from_.this, level, hidden, conditions)
        self._joins(node.args.get("joins") or (), level, hidden, conditions)
        for target in node.expressions:
            if isinstance(target, exp.Star):
                for item in level.items.values():
                    self._all_of(item)
                self.anything |= level.unnamed
            elif isinstance(target, exp.Column) and isinstance(target.this, exp.Star):
                self._all_of(level.items.get(fold(target.args.get("table")), _Item(("", ""), None)))
            else:
                conditions.append(target)
        outputs = {fold(t.args["alias"]) for t in node.expressions if isinstance(t, exp.Alias)}
        self._expressions(conditions, level, hidden)
        done = {"with_", "from_", "joins", "expressions", "laterals"}
        for part, value in node.args.items():
            nodes = [
                n
                for n in (value if isinstance(value, list) else [value])
                if isinstance(n, exp.Expression)
            ]
            if part == "laterals":
                self.anything |= bool(nodes)
            elif part not in done:
                skipped = outputs if part not in ("where", "having") else set()
                self._expressions(nodes, level, hidden, skipped)

    def _joins(
        self,
        joins: Iterable[exp.Expression],
        level: _Level,
        hidden: frozenset[str],
        conditions: list[exp.Expression],
    ) -> None:
        for join in joins:
            self._item(join.this, level, hidden, conditions)
            if (on := join.args.get("on")) is not None:
                conditions.append(on)
            self.anything |= str(join.args.get("method") or "") == "NATURAL"
            for name in map(fold, join.args.get("using") or ()):
                level.merged.add(name)
                with_it = level.of_name(name)
                self.certain |= {(i.relation, name) for i in with_it if i.relation is not None}
                if not level.relations_complete:
                    self.possible.add(name)

    def _item(
        self,
        node: exp.Expression,
        level: _Level,
        hidden: frozenset[str],
        conditions: list[exp.Expression],
    ) -> None:
        """Add an item in FROM to its level. conditions: gets those of joins"""
        inner = node.this if isinstance(node, gx.FromItem) else node
        alias = node.args.get("alias") or (
            inner.args.get("alias") if isinstance(inner, exp.Expression) else None
        )
        name = fold(alias.this) if isinstance(alias, exp.TableAlias) and alias.this else ""
        renamed = isinstance(alias, exp.TableAlias) and bool(alias.args.get("columns"))
        if alias is not None and not isinstance(alias, exp.TableAlias):
            name = fold(alias)
        if isinstance(inner, gx.JoinedTable):
            level.unnamed |= bool(name)
            self._item(inner.this, level, hidden, conditions)
            self._joins(inner.args["joins"], level, hidden, conditions)
        elif isinstance(inner, exp.Table | gx.RelationName):
            bare = inner.this if isinstance(inner, gx.RelationName) else inner
            item = self._relation(bare, hidden)
            if renamed:
                self.anything, item = True, item._replace(columns=None)
            if isinstance(bare, exp.Table) and isinstance(bare.this, exp.Identifier):
                level.items[name or fold(bare.this)] = item
            else:
                level.items[name or f"{len(level.items)} "] = item
        elif isinstance(inner, exp.Expression) and isinstance(inner, exp.Query):
            lateral = isinstance(node, gx.FromItem)
            self.query(inner, level if lateral else level.outer, hidden)
            level.items[name or f"{len(level.items)} "] = _OTHER
        else:  # a function, which can read the columns of the items before it
            self._expressions([inner], level, hidden)
            level.items[name or _called(inner) or f"{len(level.items)} "] = _OTHER

    def _relation(self, node: exp.Expression, hidden: frozenset[str]) -> _Item:
        """A relation that a query names, which it certainly reads."""
        bare = node.this if isinstance(node, gx.RelationName) else node
        if not isinstance(bare, exp.Table) or not isinstance(bare.this, exp.Identifier):
            return _OTHER
        if fold(bare.this) in hidden and not bare.args.get("db"):
            return _OTHER
        key, columns = _read(self.state, bare)
        self.relations.add(key)
        return _Item(key, columns)

    def _all_of(self, item: _Item) -> None:
        """Read all columns of an item, as `*` does."""
        if item.relation is not None and item.columns is not None:
            self.certain |= {(item.relation, name) for name in item.columns}
        elif item.relation is not None:
            self.anything = True

    def _expressions(
        self,
        nodes: Iterable[exp.Expression],
        level: _Level,
        hidden: frozenset[str],
        skipped: Iterable[str] = (),
    ) -> None:
        """Read expressions. skipped: names that can be those of output columns"""
        for node in nodes:
            for one in _own_nodes(node):
                if isinstance(one, exp.Query) and not isinstance(one, exp.Values):
                    self.query(one, level, hidden)
                elif isinstance(one, exp.Column):
                    self._column(one, level, skipped)
                elif isinstance(one, exp.Identifier) and not isinstance(one.parent, _NAMING):
                    self.possible.add(fold(one))

    def _column(self, node: exp.Column, level: _Level, skipped: Iterable[str]) -> None:
        if not isinstance(node.this, exp.Identifier):
            self.anything = True  # the row of an item, as in ROW(t.*)
            return
        name = fold(node.this)
        owner = fold(node.args.get("table")) if node.args.get("table") is not None else ""
        if not owner and name in skipped:
            return
        at: _Level | None = level
        while at is not None:
            if owner:
                item = at.items.get(owner)
                if item is not None:
                    if item.relation is not None and item.columns is None:
                        self.possible.add(name)
                    elif item.relation is not None and name in (item.columns or ()):
                        self.certain.add((item.relation, name))
                    return
                if at.unnamed:
                    break
            else:
                hits = at.of_name(name)
                if hits and (len(hits) == 1 or name in at.merged):
                    self.certain |= {(i.relation, name) for i in hits if i.relation is not None}
                    return
                if hits or not at.relations_complete:
                    break
                if name in at.items or (not at.complete and at.outer is None):
                    return  # the row of an item, or a column of an item that is no relation
                if not at.complete:
                    break
            at = at.outer
        self.possible.add(name)


def _read(state: SchemaState, node: exp.Table) -> tuple[Name, frozenset[str] | None]:
    """A relation as (schema, name), and the names of its columns; None if they are unknown."""
    key = state.known_name(node, state.views)
    if key in state.views:
        output = state.views[key].output
        return key, None if output is None else frozenset(c.name for c in output)
    key = state.known_name(node, state.sequences)
    table = None if key in state.sequences else state.source(node)
    if table is None:
        return key, None
    known = is_complete(table)
    return (table.schema, table.name), frozenset(c.name for c in table.columns) if known else None


def _own_nodes(root: exp.Expression) -> Iterator[exp.Expression]:
    """The nodes of an expression, with the queries in it, but not their nodes."""

    def pruned(node: object) -> bool:
        return isinstance(node, exp.DataType) or (
            isinstance(node, exp.Query) and not isinstance(node, exp.Values)
        )

    for node in root.walk(prune=pruned):
        if isinstance(node, exp.Expression):
            yield node


def _called(node: exp.Expression) -> str:
    """The name of a called function, which is that of its item."""
    name = node.this if isinstance(node, exp.Anonymous | gx.FunctionCall) else None
    plain = str(name.this if isinstance(name, exp.Identifier) else name or "")
    return plain.rpartition(".")[2].strip('"').lower()
