"""The relations that a query reads, and the columns that it returns, if its text and the known
tables determine them: names, and types unless a function hides them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.from_functions import columns_of_call, function_name, written_columns
from gpcatalog.effects.function_types import (
    INTEGERS,
    PREDICATES,
    common_type,
    function_result,
    operator_result,
    special_result,
)
from gpcatalog.effects.function_types import (
    UNKNOWN as UNKNOWN_CONSTANT,
)
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.ties import type_names

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


class Scope(dict[str, list[Column]]):
    """Columns of each item in FROM, by its name or alias.

    outer: those of the query around this one; queries: those of WITH
    """

    outer: Scope | None = None
    queries: Scope | None = None


_DIGITS = 100  # more than any int8 has, with 0b and underscores
# functions that return the row type of their first argument
_OF_ROW_TYPE = frozenset(
    f"{json}_populate_{what}" for json in ("json", "jsonb") for what in ("record", "recordset")
)


def width(state: SchemaState, query: exp.Expression) -> int | None:
    """Number of columns that a query returns; None if its text and the known tables do not
    determine it.
    """
    try:
        return len(columns_of(state, query))
    except Unknown:
        pass
    while isinstance(query, exp.Union | exp.Except | exp.Intersect | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or any(
        isinstance(t, exp.Star) or t.find(exp.Star) for t in query.expressions
    ):
        return None
    return len(query.expressions)


def columns_of(
    state: SchemaState,
    query: exp.Expression,
    queries: Scope | None = None,
    around: Scope | None = None,
) -> list[Column]:
    """Columns of a query; an unknown type is "". Raises Unknown if even their number is unknown.

    queries: those of WITH; around: the items before a LATERAL query
    """
    with_ = query.args.get("with_")
    known = Scope(queries or {})
    for cte in with_.expressions if with_ is not None else ():
        name, given = _alias(cte.args.get("alias"))
        body = cte.this
        if with_ is not None and with_.args.get("recursive") and isinstance(body, exp.Union):
            body = body.this
        known[name] = _named(columns_of(state, body, known), given)
    if isinstance(query, exp.Subquery):
        return columns_of(state, query.this, known, around)
    if isinstance(query, exp.Union | exp.Except | exp.Intersect):
        left, right = (
            columns_of(state, query.this, known, around),
            columns_of(state, query.expression, known, around),
        )
        return [
            (
                a
                if i < len(right) and (a.type, a.typmod) == (right[i].type, right[i].typmod)
                else Column(a.name, "")
            )
            for i, a in enumerate(left)
        ]
    if isinstance(query, exp.Values):
        return [
            replace(_typed(state, value, Scope()), name=f"column{i}")
            for i, value in enumerate(query.expressions[0].expressions, 1)
        ]
    if isinstance(query, gx.TableQuery):
        return _table(state, query.this, known)
    if not isinstance(query, exp.Select):
        raise Unknown("columns of the query")
    scope, items = _scope(state, query, known, around)
    found: list[Column] = []
    for target in query.expressions:
        if isinstance(target, exp.Star):
            found += _star(items, query)
        elif isinstance(target, exp.Column) and isinstance(target.this, exp.Star):
            owner = fold(target.args.get("table"))
            if owner not in scope:
                raise Unknown(f"columns of {owner}")
            found += scope[owner]
        elif isinstance(target, exp.Dot) and isinstance(target.expression, exp.Star):
            raise Unknown("columns of a composite value")  # (expression).*
        else:
            found.append(_typed(state, target, scope))
    return found


def _alias(node: exp.Expression | None) -> tuple[str, list[str]]:
    if node is None:
        return "", []
    return fold(node.this), [fold(c) for c in node.args.get("columns") or ()]


def _named(columns: list[Column], names: list[str]) -> list[Column]:
    return [replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(columns)]


def _star(items: list[list[Column] | None], query: exp.Select) -> list[Column]:
    if any(item is None for item in items):
        raise Unknown(f"columns of {query.args['from_'].sql('greenplum')[:60]}")
    return [c for item in items for c in item or ()]


def _table(state: SchemaState, node: exp.Expression, known: Scope) -> list[Column]:
    bare = node.this if isinstance(node, gx.RelationName) else node
    name = fold(bare.args.get("this")) if isinstance(bare, exp.Table) else ""
    if name in known and not bare.args.get("db"):
        return known[name]
    table = state.source(bare) if isinstance(bare, exp.Table) else None
    view = (
        state.views.get(state.known_name(bare, state.views))
        if isinstance(bare, exp.Table)
        else None
    )
    if view is not None and view.output is not None and table is None:
        return list(view.output)
    if table is None or not table.known or view is not None:
        raise Unknown(f"columns of {bare.sql('greenplum')}")
    return table.columns


def _scope(
    state: SchemaState, query: exp.Select, known: Scope, around: Scope | None
) -> tuple[Scope, list[list[Column] | None]]:
    """The columns by the name of their item in FROM, and the columns of each item between commas;
    None for an unknown item.
    """
    scope = Scope()
    scope.outer, scope.queries = around, known
    from_ = query.args.get("from_")
    items = [_item(state, from_.this, known, scope)] if from_ is not None else []
    for join in query.args.get("joins") or ():
        right = _item(state, join.this, known, scope)
        if any(join.args.get(word) for word in ("on", "using", "method", "side", "kind")):
            items[-1] = _joined(items[-1], right, join)
        else:
            items.append(right)
    return scope, items


def _item(
    state: SchemaState, node: exp.Expression, known: Scope, scope: Scope
) -> list[Column] | None:
    """Columns of an item in FROM, which is added to the scope under its name; None if they are
    unknown.
    """
    name, given = _alias(node.args.get("alias"))
    if isinstance(node, gx.FromItem) and isinstance(node.this, exp.Subquery):  # LATERAL
        name, given = _alias(node.this.args.get("alias"))
        columns: list[Column] | None = columns_of(state, node.this.this, known, scope)
    elif isinstance(node, gx.JoinedTable):
        columns = _item(state, node.this, known, scope)
        for join in node.args["joins"]:
            columns = _joined(columns, _item(state, join.this, known, scope), join)
    elif isinstance(node, exp.Table):
        name = name or fold(node.this)
        columns = _lookup(state, node, known)
    elif isinstance(node, exp.Subquery):
        columns = columns_of(state, node.this, known)
    elif isinstance(node, gx.FromItem) and isinstance(node.this, exp.Table | gx.RelationName):
        columns = _lookup(state, node.this, known)
    elif isinstance(node, gx.FromItem):
        columns, name = _call(state, node, name, scope)
    else:
        columns = None
    if columns is not None and given:
        columns = _named(columns, given)
    if columns is not None and name:
        scope[name] = columns
    return columns


class Result(NamedTuple):
    """The result of a function of the script.

    columns: columns of RETURNS TABLE and OUT parameters, or one column of a plain type, with the
        name "" if the call determines it
    table: (schema, name) of the table or view whose row type it returns, else None
    record: it returns records whose columns the call specifies
    """

    columns: tuple[Column, ...] = ()
    table: tuple[str, str] | None = None
    record: bool = False


def result_of(state: SchemaState, tree: exp.Expression) -> Result | None:
    """The result of the function that a CREATE FUNCTION creates; None if it depends on its
    arguments.
    """
    found = [(fold(c.this), c.args["kind"]) for c in tree.args.get("columns") or ()]
    for given in tree.args.get("args") or ():
        argument = given.this if isinstance(given.this, exp.Expression) else given
        if str(argument.args.get("mode") or "").upper() in ("OUT", "INOUT", "IN OUT"):
            found.append((fold(argument.args.get("arg")), argument.args.get("kind")))
    returns = tree.args.get("returns")
    if not found and returns is not None:
        found = [("", returns.this if isinstance(returns, gx.SetOf) else returns)]
    columns = []
    for name, kind in found:
        if not isinstance(kind, exp.DataType):
            return None
        plain, _ = catalog_type(kind)
        if plain.startswith("any"):
            return None
        columns.append(Column(name, plain, -1))  # the length of a result is not stored
    if len(columns) == 1 and not columns[0].name:
        kind_node = found[0][1].args.get("kind")
        parts = (
            kind_node.sql("greenplum").split(".")
            if isinstance(kind_node, exp.Dot | exp.Identifier)
            else []
        )
        path = [part.strip('"') if part.startswith('"') else part.lower() for part in parts]
        if columns[0].type == "record":
            return Result(record=True)
        if 0 < len(path) < 3:
            key = (path[0] if len(path) == 2 else "", path[-1])
            if (
                state.named(*key) is not None
                or state.known_name(_table_named(*key), state.views) in state.views
            ):
                return Result(table=key)
            if (
                path[-1] not in state.types.definitions
                or state.types.definitions[path[-1]].columns is not None
            ):
                return None  # a type of another script, or a composite one
    return Result(tuple(columns)) if columns else None


def _table_named(schema: str, name: str) -> exp.Table:
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        db=exp.to_identifier(schema, quoted=True) if schema else None,
    )


def _call(
    state: SchemaState, item: exp.Expression, alias: str, scope: Scope
) -> tuple[list[Column] | None, str]:
    """The columns of a function call in FROM, None if they are unknown, and the name of the
    item.
    """
    node = item.this
    columns: list[Column] | None = None
    if isinstance(node, gx.RowsFrom):
        names = [_function(one.this) for one in node.expressions]
        if len(names) == 1 and alias:
            names = [alias]
        alias = alias or names[0]
        each = [
            _columns_of_call(state, one.this, name, scope, one.args.get("definitions"))
            for one, name in zip(node.expressions, names, strict=True)
        ]
        if None not in each:
            columns = [column for one in each for column in one or ()]
    elif isinstance(node, exp.Anonymous | gx.FunctionCall):
        alias = alias or _function(node)
        columns = _columns_of_call(state, node, alias, scope, item.args.get("definitions"))
    else:
        columns = written_columns(node)
    if columns is not None and item.args.get("ordinality"):
        columns = [*columns, Column("ordinality", "int8")]
    return columns, alias


def _function(node: exp.Expression) -> str:
    """The name of a called function, without schema."""
    plain = str(node.this.this if isinstance(node.this, exp.Identifier) else node.this)
    name = plain.rpartition(".")[2].strip('"')
    return name if '"' in plain else name.lower()


def _columns_of_call(
    state: SchemaState,
    node: exp.Expression,
    alias: str,
    scope: Scope,
    definitions: list[exp.Expression] | None,
) -> list[Column] | None:
    """The columns of a function call; None if they are unknown. alias: of the item in FROM, or the
    name of the function.
    """
    if definitions:
        return [Column(fold(d.this), *catalog_type(d.args["kind"])) for d in definitions]
    name = _function(node)
    if name in state.routines:
        return _result(state, name, alias)
    if function_name(node).removeprefix("pg_catalog.") != name:
        return None  # in another schema
    if name in _OF_ROW_TYPE and node.expressions:
        return _of_row_type(state, node.expressions[0])
    return columns_of_call(
        name,
        node.expressions,
        alias,
        lambda value: _built_in(state, _typed(state, value, scope).type),
        state.edition.base,
    )


def _built_in(state: SchemaState, kind: str) -> str:
    """The type if it is one of the server's own, else ""."""
    return "" if kind and state.types.outer_name(kind) else kind


def _of_row_type(state: SchemaState, given: exp.Expression) -> list[Column] | None:
    """The columns of the table whose row type a value is cast to, as in NULL::t."""
    kind = given.args["to"].args.get("kind") if isinstance(given, exp.Cast) else None
    if not isinstance(kind, exp.Dot | exp.Identifier):
        return None
    path = [
        part.strip('"') if part.startswith('"') else part.lower()
        for part in kind.sql("greenplum").split(".")
    ]
    if len(path) > 2:
        return None
    return _lookup(state, _table_named(path[0] if len(path) == 2 else "", path[-1]), Scope())


def _result(state: SchemaState, name: str, alias: str) -> list[Column] | None:
    """The columns of a function of the script in FROM."""
    given = state.results.get(name)
    if given is None or given.record:
        return None
    if given.table is not None:
        return _lookup(state, _table_named(*given.table), Scope())
    if len(given.columns) == 1 and not given.columns[0].name:
        return [replace(given.columns[0], name=alias)]
    # parameters without a name are numbered
    return [c if c.name else replace(c, name=f"column{i}") for i, c in enumerate(given.columns, 1)]


def _joined(
    left: list[Column] | None, right: list[Column] | None, join: exp.Expression
) -> list[Column] | None:
    """The columns of a join: first those of USING or NATURAL, which occur only once."""
    if left is None or right is None:
        return None
    names = [fold(n) for n in join.args.get("using") or ()]
    if str(join.args.get("method") or "") == "NATURAL":
        names = [c.name for c in left if c.name in {r.name for r in right}]
    side = str(join.args.get("side") or "")
    merged = []
    for name in names:
        one, two = (
            next((c for c in columns if c.name == name), Column(name, ""))
            for columns in (left, right)
        )
        if side == "FULL" and (one.type, one.typmod) != (two.type, two.typmod):
            one = Column(name, "")
        merged.append(two if side == "RIGHT" else one)
    return [*merged, *(c for c in (*left, *right) if c.name not in names)]


def _lookup(state: SchemaState, node: exp.Expression, known: Scope) -> list[Column] | None:
    try:
        return _table(state, node, known)
    except Unknown:
        return None


def _arithmetic(node: exp.Expression, left: str, right: str) -> str:
    """The type of left + right, left - right and so on; "" if it is unknown."""
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)
    if not left or not right or isinstance(node, exp.Mod):
        return (
            "numeric"
            if {left, right} <= {"numeric", *INTEGERS} and "numeric" in (left, right)
            else ""
        )
    numbers = {"numeric", "float4", "float8", *INTEGERS}
    if left in numbers and right in numbers:
        return (
            "numeric"
            if not {left, right} & {"float4", "float8"}
            else "float4"
            if left == right == "float4"
            else "float8"
        )
    if left == right == "interval" and isinstance(node, exp.Add | exp.Sub):
        return "interval"
    if left == "interval" and right in numbers and isinstance(node, exp.Mul | exp.Div):
        return "interval"
    if right == "interval" and left in numbers and isinstance(node, exp.Mul):
        return "interval"
    times = {"timestamp": "timestamp", "timestamptz": "timestamptz", "date": "timestamp"}
    if isinstance(node, exp.Add) and left == "interval":
        left, right = right, left
    if right == "interval" and isinstance(node, exp.Add | exp.Sub):
        return times.get(left, "")
    if isinstance(node, exp.Sub) and left == right:
        return {"date": "int4", "timestamp": "interval", "timestamptz": "interval"}.get(left, "")
    if left == "date" and right in ("int2", "int4") and isinstance(node, exp.Add | exp.Sub):
        return "date"
    return ""


# operators and constants of type boolean
_TRUTHS = (
    exp.Boolean
    | exp.Not
    | exp.And
    | exp.Or
    | exp.EQ
    | exp.NEQ
    | exp.LT
    | exp.GT
    | exp.LTE
    | exp.GTE
    | exp.Is
)


def _typed(state: SchemaState, node: exp.Expression, scope: Scope) -> Column:
    """Name and type of one target; "" if the type is unknown."""
    if isinstance(node, exp.Alias):
        return replace(_typed(state, node.this, scope), name=fold(node.args.get("alias")))
    if isinstance(node, exp.Paren | gx.WindowCall):
        return _typed(state, node.this, scope)
    if isinstance(node, exp.Column):
        return _reference(node, scope)
    if isinstance(node, exp.Cast):
        kind, typmod = catalog_type(node.args["to"])
        inner = _typed(state, node.this, scope)
        return Column(inner.name if inner.name != "?column?" else kind, kind, typmod)
    if isinstance(node, gx.TypedLiteral):
        kind, typmod = catalog_type(node.args["to"])
        return Column(kind, kind, typmod)
    if isinstance(node, exp.Literal):
        return Column("?column?", _literal_type(state, node))
    if isinstance(node, exp.Subquery):
        try:
            return columns_of(state, node, scope.queries, scope)[0]
        except Unknown:
            return Column("?column?", "")
    if isinstance(node, gx.Predicate | gx.SubqueryComparison):
        words = str(node.args.get("words") or "")
        return Column(
            "exists" if words == "EXISTS" else "?column?", "bool" if words in PREDICATES else ""
        )
    if isinstance(node, _TRUTHS):
        return Column("bool" if isinstance(node, exp.Boolean) else "?column?", "bool")
    if isinstance(node, exp.Count):
        return Column("count", "int8")
    if isinstance(node, gx.SpecialCall):
        values = [part for part in node.expressions if not isinstance(part, gx.Words)]
        name, kind = special_result(
            str(node.this).upper(),
            next((str(part.this) for part in node.expressions if isinstance(part, gx.Words)), ""),
            [_typed(state, value, scope).type for value in values],
            state.edition.base,
        )
        return Column(name, kind)
    if isinstance(node, exp.Anonymous | gx.FunctionCall):
        return _call_result(state, node, scope)
    if isinstance(node, exp.Case):
        return _case(state, node, scope)
    return _operation(state, node, scope)


def _operation(state: SchemaState, node: exp.Expression, scope: Scope) -> Column:
    """The column of an operator or an array."""
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod | exp.Div):
        left, right = (
            _typed(state, node.this, scope).type,
            _typed(state, node.expression, scope).type,
        )
        return Column("?column?", _arithmetic(node, left, right))
    if isinstance(node, exp.Neg):
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return Column("?column?", _literal_type(state, node.this, sign=-1))
        return Column("?column?", _typed(state, node.this, scope).type)
    if isinstance(node, gx.ArrayValue) and node.args.get("query"):
        return Column("array", "_array")
    if isinstance(node, gx.ArrayValue):
        each = {
            "" if isinstance(value, gx.ArrayValue) else _typed(state, value, scope).type
            for value in node.expressions
        }
        kind = each.pop() if len(each) == 1 else ""
        return Column("array", "_array" if kind else "")
    if isinstance(node, gx.OperatorCall) and node.args.get("operator") is not None:
        sides = [
            _argument(state, side, scope)
            for side in (node.args.get("this"), node.args.get("expression"))
        ]
        return Column("?column?", operator_result(str(node.args["operator"].this), *sides))
    return Column("?column?", "")


def _argument(state: SchemaState, node: exp.Expression | None, scope: Scope) -> str:
    """The type of an argument; UNKNOWN_CONSTANT for a string constant, "" if it is unknown."""
    if isinstance(node, exp.Literal) and node.is_string:
        return UNKNOWN_CONSTANT
    return "" if node is None else _typed(state, node, scope).type


def _reference(node: exp.Column, scope: Scope) -> Column:
    """The column that a name refers to; its type is "" if no column or several columns have the
    name.
    """
    name, owner = fold(node.this), fold(node.args.get("table"))
    hits: list[Column] = []
    level: Scope | None = scope
    while level is not None and not hits:
        places = [level[owner]] if owner in level else list(level.values()) if not owner else []
        hits = [c for columns in places for c in columns if c.name == name]
        level = None if owner in level else level.outer
    # a column that a join merged occurs twice
    same = len({(c.type, c.typmod) for c in hits}) == 1
    return hits[0] if hits and same else Column(name, "")


def _literal_type(state: SchemaState, node: exp.Literal, sign: int = 1) -> str:
    """The type of a constant; "" for a string constant of type unknown.

    sign: -1 after a minus, which is part of a number
    """
    if node.is_string:
        # before PostgreSQL 10, a string constant keeps the type unknown
        return "" if state.edition.base < 10 else "text"
    text = str(node.this)
    if not text.isdigit():
        # 0x1F, 0o17, 0b11 and 1_000, since PostgreSQL 16
        if "." in text or not re.fullmatch(r"0[xob][0-9a-f_]+|[0-9_]+", text, re.I):
            return "numeric"
        if state.edition.base < 16:
            return ""
    if len(text) > _DIGITS:
        return "numeric"
    try:
        value = sign * int(text, 0 if text[:2].lower() in ("0x", "0o", "0b") else 10)
    except ValueError:  # not a number of that base
        return ""
    return next((t for t, n in (("int4", 31), ("int8", 63)) if -(2**n) <= value < 2**n), "numeric")


def _call_result(state: SchemaState, node: exp.Expression, scope: Scope) -> Column:
    """The column of a function call in the target list."""
    name = str(node.this.this if isinstance(node.this, exp.Identifier) else node.this).lower()
    plain = name.rsplit(".", 1)[-1]
    syntax = ("coalesce", "greatest", "least")
    if name == f"pg_catalog.{plain}":
        name, own = plain, False
    else:
        own = plain in state.routines and name not in syntax
    if name in (*syntax, "max", "min") and not own:
        kind, typmod = _common(state, node.expressions, scope)
        return Column(name, kind, typmod if name in syntax else -1)
    if own:
        result = state.results.get(plain)
        one = (
            result.columns[0] if result is not None and len(result.columns) == 1 else Column("", "")
        )
        return Column(plain, one.type, one.typmod)
    given = [_argument(state, value, scope) for value in node.expressions]
    return Column(plain, function_result(name, given))


def _case(state: SchemaState, node: exp.Case, scope: Scope) -> Column:
    """The column of a CASE; its type is known if all its results have the same type.

    A missing ELSE is NULL, which has no length: then the result has none.
    """
    results = [*(b.args["true"] for b in node.args["ifs"]), node.args.get("default")]
    values = [r for r in results if r is not None and not isinstance(r, exp.Null)]
    kind, typmod = _common(state, values, scope)
    return Column("case", kind, typmod if len(values) == len(results) else -1)


def _common(state: SchemaState, values: Sequence[exp.Expression], scope: Scope) -> tuple[str, int]:
    """The common (type, typmod) of values, as of those of COALESCE and CASE; ("", -1) if it is
    unknown.
    """
    found = {
        (c.type, c.typmod)
        for value in values
        if not _is_constant(value)
        for c in [_typed(state, value, scope)]
    }
    if not found:
        return ("text" if state.edition.base >= 10 else ""), -1
    constants = any(map(_is_constant, values))
    if len(found) == 1 and not constants:
        return next(iter(found))
    return common_type({kind for kind, _ in found}), -1


def _is_constant(node: exp.Expression) -> bool:
    """Whether it is a string constant or NULL, whose type is that of other values."""
    return isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.is_string)


def reads_temporary(state: SchemaState, query: exp.Expression | None) -> bool:
    """Whether a query reads a temporary relation: a view of it is temporary, too."""
    for node in query.find_all(exp.Table) if query is not None else ():
        if isinstance(node.args.get("this"), exp.Identifier):
            if any(
                state.known_name(node, known)[0] == "pg_temp"
                for known in (state.views, state.sequences)
            ):
                return True
            table = state.find(node)
            if table is not None and table.temporary:
                return True
    return False


def read_names(state: SchemaState, query: exp.Expression | None) -> frozenset[tuple[str, str]]:
    """The relations that a query reads, as (schema, name): as known in the schema state, or as
    written.
    """
    found = set()
    for node in query.find_all(exp.Table) if query is not None else ():
        if isinstance(node.args.get("this"), exp.Identifier):
            key = state.known_name(node, state.views)
            if key not in state.views:
                key = state.known_name(node, state.sequences)
            known = key in state.views or key in state.sequences
            table = None if known else state.source(node)
            found.add(key if table is None else (table.schema, table.name))
    return frozenset(found)


def row_types(state: SchemaState, query: exp.Expression | None) -> frozenset[tuple[str, str]]:
    """The known tables and views whose row types a query names, in casts."""
    found = set()
    for schema, name in type_names(query) if query is not None else ():
        if name in state.types.definitions:
            continue  # of a type with this name in another schema
        node = exp.Table(
            this=exp.to_identifier(name, quoted=True),
            db=exp.to_identifier(schema, quoted=True) if schema else None,
        )
        key = state.known_name(node, state.views)
        table = None if key in state.views else state.source(node)
        if key in state.views or table is not None:
            found.add(key if table is None else (table.schema, table.name))
    return frozenset(found)
