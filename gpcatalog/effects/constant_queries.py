"""Queries whose rows do not depend on a database: over VALUES, generate_series(), unnest() and
other functions of constants, as loops of PL/pgSQL read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constant_values import Value, field_key
from gpcatalog.effects.constants import Constants
from gpcatalog.effects.keys import fold

_SELECT = {"expressions", "from_", "joins", "where", "order", "limit", "distinct", "with_"}
_ITEM = {"this", "alias", "ordinality", "lateral"}
_EACH = "\0each"  # the value of a function that returns several
_PLAIN = re.compile(r"[^\\.*+?()\[\]{}|^$]+")  # a regular expression that matches itself only
Scope = dict[str, Value]  # values by column, as in Constants.known


@dataclass(frozen=True)
class Rows:
    """The result of a query. ordered: whether the server returns the rows in this order."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    ordered: bool = True


@dataclass
class _Joined:
    """The rows of FROM up to an item.

    columns: alias and name of each column, in order
    """

    columns: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[Value, ...]] = field(default_factory=lambda: [()])
    ordered: bool = True

    def scope(
        self, row: tuple[Value, ...], variables: Mapping[str, Value], declared: Collection[str]
    ) -> Scope:
        """The values that expressions can use. Names that are ambiguous have no value."""
        names = [name for _, name in self.columns]
        found = {k: v for k, v in variables.items() if k not in names}
        for (alias, name), value in zip(self.columns, row, strict=True):
            found[field_key(alias, name)] = value
            if names.count(name) == 1 and name not in declared:
                found[name] = value
        return found


def _clauses(node: exp.Expression) -> set[str]:
    return {k for k, v in node.args.items() if v}


def _only(node: exp.Expression, known: set[str]) -> None:
    if not _clauses(node) <= known:
        raise Unknown("clause of a query")


def _called(node: exp.Expression) -> str:
    """The name of the function that an expression calls; "" for others."""
    if not isinstance(node, exp.Anonymous | gx.FunctionCall):
        return ""
    name = node.this if isinstance(node.this, str) else node.this.sql("greenplum")
    return str(name).lower().removeprefix("pg_catalog.")


def _column_name(node: exp.Expression) -> str:
    """The name that the server gives to a column of the result; "" if it is not known."""
    if isinstance(node, exp.Alias):
        return fold(node.args["alias"])
    if isinstance(node, exp.Column):
        return fold(node.this)
    if isinstance(node, exp.Cast):
        inner = _column_name(node.this)
        return inner if inner != "?column?" else ""  # the name of the type
    unnamed = isinstance(node, exp.Literal | exp.Binary | exp.Neg | exp.Null | gx.OperatorCall)
    return _called(node) or ("?column?" if unnamed else "")


class ConstantQueries:
    """Computes queries of one block.

    constants: its variables and functions; declared: names of all variables
    """

    def __init__(self, constants: Constants, declared: Collection[str]) -> None:
        self._constants = constants
        self._declared = declared
        self._named: dict[str, Rows] = {}  # of WITH

    def rows(self, query: exp.Expression) -> Rows:
        """The rows of a query in their order. Raises Unknown."""
        if isinstance(query, exp.Values):
            return self._values(query)
        if isinstance(query, exp.Subquery):
            _only(query, {"this"})
            return self.rows(query.this)
        if isinstance(query, exp.Union):
            _only(query, {"this", "expression", "distinct"})
            one, two = self.rows(query.this), self.rows(query.expression)
            if len(one.columns) != len(two.columns):
                raise Unknown("columns of UNION")
            found = [*one.rows, *two.rows]
            if query.args.get("distinct"):
                return Rows(one.columns, _distinct(found), ordered=False)
            return Rows(one.columns, found, one.ordered and two.ordered)
        if isinstance(query, exp.Select):
            return self._select(query)
        raise Unknown("query")

    def _values(self, query: exp.Expression) -> Rows:
        _only(query, {"expressions"})
        rows = [
            tuple(self._constants.value(one) for one in row.expressions)
            for row in query.expressions
        ]
        widths = {len(row) for row in rows}
        if len(widths) != 1:
            raise Unknown("VALUES")
        return Rows(tuple(f"column{n + 1}" for n in range(widths.pop())), rows)

    def _select(self, query: exp.Expression) -> Rows:
        _only(query, _SELECT)
        before = self._named
        try:
            self._with(query.args.get("with_"))
            return self._selected(query)
        finally:
            self._named = before

    def _with(self, clause: exp.Expression | None) -> None:
        if clause is None:
            return
        _only(clause, {"expressions"})
        for one in clause.expressions:
            alias = one.args["alias"]
            _only(one, {"this", "alias"})
            found = self.rows(one.this)
            self._named = {**self._named, fold(alias.this): _renamed(found, alias)}

    def _selected(self, query: exp.Expression) -> Rows:
        joined = self._from(query)
        targets = self._targets(query, joined)
        where = query.args.get("where")
        found: list[tuple[tuple[Value, ...], Constants]] = []
        for row in joined.rows:
            known = self._knowing(joined, row)
            if where is not None:
                value = known.value(where.this)
                if value is not None and not isinstance(value, bool):
                    raise Unknown("WHERE")
                if not value:
                    continue
            found += [(result, known) for result in self._results(targets, known)]
            if len(found) > calendar.MOST:
                raise Unknown("number of rows")
        columns = tuple(_column_name(one) for one in targets)
        sorted_rows, ordered = _sorted(query, columns, found)
        rows = [row for row, _ in sorted_rows]
        keys = query.args.get("order")
        ordered = joined.ordered if ordered is None else ordered
        if (distinct := query.args.get("distinct")) is not None:
            _only(distinct, set())
            rows = _distinct(rows)
            # the keys are columns of the result
            ordered = ordered and keys is not None and len(keys.expressions) == len(columns)
        limit = self._limit(query)
        if limit is not None and not ordered:
            raise Unknown("order of rows")
        return Rows(columns, rows[:limit], ordered)

    def _limit(self, query: exp.Expression) -> int | None:
        clauses = query.args.get("limit")
        if not clauses:
            return None
        kinds = {str(one.args.get("kind")): one.this for one in clauses}
        found = self._constants.value(kinds["LIMIT"]) if set(kinds) == {"LIMIT"} else None
        if type(found) is not int or found < 0:
            raise Unknown("LIMIT")
        return found

    def _knowing(self, joined: _Joined, row: tuple[Value, ...]) -> Constants:
        constants = self._constants
        return constants.knowing(joined.scope(row, constants.known, self._declared))

    # -- FROM --------------------------------------------------------------------------------------

    def _from(self, query: exp.Expression) -> _Joined:
        joined = _Joined()
        source = query.args.get("from_")
        if source is None:
            return joined
        items = [source.this]
        for join in query.args.get("joins") or ():
            if _clauses(join) - {"this", "kind"} or join.args.get("kind") not in (
                None,
                "",
                "CROSS",
            ):
                raise Unknown("JOIN")
            items.append(join.this)
        for item in items:
            joined = self._joined(joined, item)
        return joined

    def _joined(self, before: _Joined, item: exp.Expression) -> _Joined:
        """The rows of FROM with one more item, which can use the columns of those before it."""
        found = _Joined([], [], before.ordered)
        for row in before.rows:
            known = self._knowing(before, row)
            alias, rows = self._item(item, known)
            found.columns = [*before.columns, *((alias, name) for name in rows.columns)]
            found.rows += [(*row, *one) for one in rows.rows]
            # the server chooses which item it reads in the outer loop
            found.ordered &= rows.ordered and len(before.rows) == 1
            if len(found.rows) > calendar.MOST:
                raise Unknown("number of rows")
        if not before.rows:
            raise Unknown("columns of no rows")
        return found

    def _item(self, item: exp.Expression, known: Constants) -> tuple[str, Rows]:
        alias = item.args.get("alias")
        name = "" if alias is None else fold(alias.this)
        if isinstance(item, exp.Table):
            _only(item, {"this", "alias"})
            rows = self._named.get(fold(item.this))
            if rows is None:
                raise Unknown("table")
            return name or fold(item.this), _renamed(rows, alias)
        if isinstance(item, exp.Subquery):
            _only(item, {"this", "alias"})
            return name, _renamed(self.rows(item.this), alias)
        _only(item, _ITEM)
        function = _called(item.this)
        values = self._function(item.this, known)
        if values is None:
            raise Unknown("item of FROM")
        # a function that returns one column names it like its alias
        columns, lines = (name or function,), [(value,) for value in values]
        if item.args.get("ordinality"):
            counted = [(value, n) for n, value in enumerate(values, 1)]
            return name or function, _renamed(Rows((*columns, "ordinality"), [*counted]), alias)
        return name or function, _renamed(Rows(columns, [*lines]), alias)

    def _function(self, node: exp.Expression, known: Constants) -> list[Value] | None:
        """The values of a function that returns several; None for other expressions."""
        name = _called(node)
        if name not in _SEVERAL or name in known.own:
            return None
        _only(node, {"this", "expressions"})
        return _SEVERAL[name](known, node)

    # -- targets -----------------------------------------------------------------------------------

    def _targets(self, query: exp.Expression, joined: _Joined) -> list[exp.Expression]:
        """The expressions of the result, with * replaced by the columns."""
        found: list[exp.Expression] = []
        for one in query.expressions:
            table = None
            if isinstance(one, exp.Column) and isinstance(one.this, exp.Star):
                table = fold(one.args["table"])
            if isinstance(one, exp.Star) or table is not None:
                _only(one, set() if table is None else {"this", "table"})
                found += [
                    exp.Column(
                        this=exp.to_identifier(name, quoted=True),
                        table=exp.to_identifier(alias, quoted=True),
                    )
                    for alias, name in joined.columns
                    if table in (None, alias)
                ]
            else:
                found.append(one)
        return found

    def _results(
        self, targets: Sequence[exp.Expression], known: Constants
    ) -> Iterator[tuple[Value, ...]]:
        """The rows of the result for one row of FROM: several if a target returns several."""
        nodes = [one.this if isinstance(one, exp.Alias) else one for one in targets]
        calls = [call for node in nodes for call in _several(node)]
        if not calls:
            yield tuple(map(known.value, nodes))
            return
        values = self._function(calls[0], known)
        if len(calls) > 1 or values is None or any(node.find(exp.Case) for node in nodes):
            raise Unknown("functions that return several rows")
        nodes = [_with_mark(node) if _several(node) else node for node in nodes]
        for value in values:
            each = known.knowing({**known.known, _EACH: value})
            yield tuple(map(each.value, nodes))


def _several(node: exp.Expression) -> list[exp.Expression]:
    """The calls in an expression that return several values."""
    calls = node.find_all(exp.Anonymous, gx.FunctionCall)
    return [call for call in calls if _called(call) in _SEVERAL]


def _with_mark(node: exp.Expression) -> exp.Expression:
    """A copy of an expression, with a name in place of the function that returns several values."""
    mark = exp.Column(this=exp.to_identifier(_EACH, quoted=True))
    if _called(node) in _SEVERAL:
        return mark
    node = node.copy()
    for call in _several(node):
        call.replace(mark)
    return node


def _renamed(rows: Rows, alias: exp.Expression | None) -> Rows:
    """The rows with the column names of an alias; it can name the first ones only."""
    names = [fold(one) for one in alias.args.get("columns") or ()] if alias is not None else []
    if len(names) > len(rows.columns):
        raise Unknown("columns of an alias")
    return Rows((*names, *rows.columns[len(names) :]), rows.rows, rows.ordered)


def _distinct(rows: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """The rows without repetitions. Values of different types are not compared."""
    for column in zip(*rows, strict=True):
        if len({type(value) for value in column if value is not None}) > 1:
            raise Unknown("comparison of values")
    return list(dict.fromkeys(rows))


def _sorted(
    query: exp.Expression,
    columns: tuple[str, ...],
    rows: list[tuple[tuple[Value, ...], Constants]],
) -> tuple[list[tuple[tuple[Value, ...], Constants]], bool | None]:
    """The rows in the order of ORDER BY, and whether it determines their order; None without it.
    Texts, whose order depends on the collation, stay as they are.
    """
    order = query.args.get("order")
    if order is None:
        return rows, None
    texts = False
    for key in reversed(order.expressions):
        _only(key, {"this", "order"})
        descending = str(key.args.get("order") or "ASC").upper() == "DESC"
        values = [_sort_value(key.this, columns, *row) for row in rows]
        if all(type(v) is int for v in values) or all(isinstance(v, date) for v in values):
            if len({type(v) for v in values}) > 1:
                raise Unknown("order of rows")
            pairs = sorted(
                zip(values, rows, strict=True),
                key=lambda pair: pair[0],  # type: ignore[arg-type,return-value]
                reverse=descending,
            )
            rows = [row for _, row in pairs]
        elif all(isinstance(v, str) for v in values):
            texts = True
        else:
            raise Unknown("order of rows")
    keys = [
        tuple(_sort_value(key.this, columns, *row) for key in order.expressions) for row in rows
    ]
    return rows, not texts and len(set(keys)) == len(keys)


def _sort_value(
    key: exp.Expression, columns: tuple[str, ...], row: tuple[Value, ...], known: Constants
) -> Value:
    if isinstance(key, exp.Literal) and not key.is_string:
        return row[int(key.this) - 1] if 1 <= int(key.this) <= len(row) else None
    if isinstance(key, exp.Column) and key.args.get("table") is None:
        places = [n for n, name in enumerate(columns) if name == fold(key.this)]
        if len(places) == 1:
            return row[places[0]]
    return known.value(key)


# --- functions that return several rows -----------------------------------------------------------


def _unnested(known: Constants, node: exp.Expression) -> list[Value]:
    (array,) = [known.value(one) for one in node.expressions]
    if not isinstance(array, tuple) or any(isinstance(one, tuple) for one in array):
        raise Unknown("elements of an array")
    return list(array)


def _split(known: Constants, node: exp.Expression) -> list[Value]:
    text, separator = [known.value(one) for one in node.expressions]
    if not (isinstance(text, str) and isinstance(separator, str) and text and separator):
        raise Unknown("parts of a text")
    spaces = re.fullmatch(r"(.*?)\\s([*+])", separator)
    if spaces is not None and (spaces[1] and _PLAIN.fullmatch(spaces[1])):
        return list(re.split(re.escape(spaces[1]) + rf"\s{spaces[2]}", text))
    if not _PLAIN.fullmatch(separator):
        raise Unknown("regular expression")
    return list(text.split(separator))


def _split_plainly(known: Constants, node: exp.Expression) -> list[Value]:
    text, separator = [known.value(one) for one in node.expressions]
    if not (isinstance(text, str) and isinstance(separator, str) and text and separator):
        raise Unknown("parts of a text")
    return list(text.split(separator))


def _subscripts(known: Constants, node: exp.Expression) -> list[Value]:
    array, dimension = [known.value(one) for one in node.expressions]
    if not isinstance(array, tuple) or dimension != 1:
        raise Unknown("subscripts of an array")
    return list(range(1, len(array) + 1))


_SEVERAL: dict[str, Callable[[Constants, exp.Expression], list[Value]]] = {
    "generate_series": lambda known, node: known.series(node),
    "generate_subscripts": _subscripts,
    "unnest": _unnested,
    "regexp_split_to_table": _split,
    "string_to_table": _split_plainly,
}
