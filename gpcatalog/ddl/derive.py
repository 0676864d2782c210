"""Columns that a query gives, as far as its text and the tables known tell: names, and types where no function hides them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.expansion import catalog_type
from gpcatalog.ddl.relations import Column, fold

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World

Scope = dict[str, list[Column]]  # columns of each item in FROM, by the name it goes by

_TEXTS = frozenset(("text", "varchar", "bpchar"))
_INTEGERS = ("int2", "int4", "int8")
_NILADIC = {
    "CURRENT_DATE": "date",
    "CURRENT_TIMESTAMP": "timestamptz",
    "LOCALTIMESTAMP": "timestamp",
    "CURRENT_TIME": "timetz",
    "LOCALTIME": "time",
}
_FUNCTIONS = {
    **dict.fromkeys(("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "to_timestamp"), "timestamptz"),
    **dict.fromkeys(("count", "row_number", "rank", "dense_rank", "nextval"), "int8"),
    **dict.fromkeys(
        ("lower", "upper", "to_char", "md5", "concat", "replace", "btrim", "ltrim", "rtrim", "string_agg", "split_part"), "text"
    ),
    **dict.fromkeys(("length", "char_length", "octet_length", "strpos"), "int4"),
    "to_date": "date",
    "random": "float8",
}


def width(world: World, query: exp.Expression) -> int | None:
    """How many columns a query gives; None where its text and the tables known do not tell."""
    try:
        return len(columns_of(world, query))
    except Unknown:
        pass
    while isinstance(query, exp.Union | exp.Except | exp.Intersect | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or any(isinstance(t, exp.Star) or t.find(exp.Star) for t in query.expressions):
        return None
    return len(query.expressions)


def columns_of(world: World, query: exp.Expression, outer: Scope | None = None) -> list[Column]:
    """Columns of a query; an unknown type is "". Raises Unknown if even their number is unknown."""
    with_ = query.args.get("with_")
    known: Scope = dict(outer or {})
    for cte in with_.expressions if with_ is not None else ():
        name, given = _alias(cte.args.get("alias"))
        body = cte.this
        if with_ is not None and with_.args.get("recursive") and isinstance(body, exp.Union):
            body = body.this
        known[name] = _named(columns_of(world, body, known), given)
    if isinstance(query, exp.Subquery):
        return columns_of(world, query.this, known)
    if isinstance(query, exp.Union | exp.Except | exp.Intersect):
        left, right = columns_of(world, query.this, known), columns_of(world, query.expression, known)
        return [
            a if i < len(right) and (a.type, a.typmod) == (right[i].type, right[i].typmod) else Column(a.name, "")
            for i, a in enumerate(left)
        ]
    if isinstance(query, exp.Values):
        return [replace(_typed(world, value, {}), name=f"column{i}") for i, value in enumerate(query.expressions[0].expressions, 1)]
    if isinstance(query, gx.TableQuery):
        return _table(world, query.this, known)
    if not isinstance(query, exp.Select):
        raise Unknown("columns of the query")
    scope, items = _scope(world, query, known)
    found: list[Column] = []
    for target in query.expressions:
        if isinstance(target, exp.Star):
            found += _star(items, query)
        elif isinstance(target, exp.Column) and isinstance(target.this, exp.Star):
            owner = fold(target.args.get("table"))
            if owner not in scope:
                raise Unknown(f"columns of {owner}")
            found += scope[owner]
        else:
            found.append(_typed(world, target, scope))
    return found


def _alias(node: exp.Expression | None) -> tuple[str, list[str]]:
    if node is None:
        return "", []
    return fold(node.this), [fold(c) for c in node.args.get("columns") or ()]


def _named(columns: list[Column], names: list[str]) -> list[Column]:
    return [replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(columns)]


def _star(items: list[list[Column] | None], query: exp.Select) -> list[Column]:
    if any(item is None for item in items):
        raise Unknown(f"columns of {query.args['from_'].sql('greenplum')[5:60]}")
    return [c for item in items for c in item or ()]


def _table(world: World, node: exp.Expression, known: Scope) -> list[Column]:
    bare = node.this if isinstance(node, gx.RelationName) else node
    name = fold(bare.args.get("this")) if isinstance(bare, exp.Table) else ""
    if name in known and not bare.args.get("db"):
        return known[name]
    table = world.source(bare) if isinstance(bare, exp.Table) else None
    if table is None or not table.known:
        raise Unknown(f"columns of {bare.sql('greenplum')}")
    return table.columns


def _scope(world: World, query: exp.Select, known: Scope) -> tuple[Scope, list[list[Column] | None]]:
    """Columns by the name of the item in FROM that has them, and of each item between commas; None for one that is unknown."""
    scope: Scope = {}
    from_ = query.args.get("from_")
    items = [_item(world, from_.this, known, scope)] if from_ is not None else []
    for join in query.args.get("joins") or ():
        right = _item(world, join.this, known, scope)
        if any(join.args.get(word) for word in ("on", "using", "method", "side", "kind")):
            items[-1] = _joined(items[-1], right, join)
        else:
            items.append(right)
    return scope, items


def _item(world: World, node: exp.Expression, known: Scope, scope: Scope) -> list[Column] | None:
    """Columns of an item in FROM, which is added to the scope under its name; None if they are unknown."""
    name, given = _alias(node.args.get("alias"))
    if isinstance(node, gx.JoinedTable):
        columns = _item(world, node.this, known, scope)
        for join in node.args["joins"]:
            columns = _joined(columns, _item(world, join.this, known, scope), join)
    elif isinstance(node, exp.Table):
        name = name or fold(node.this)
        columns = _lookup(world, node, known)
    elif isinstance(node, exp.Subquery):
        columns = columns_of(world, node.this, known)
    elif isinstance(node, gx.FromItem) and isinstance(node.this, exp.Table | gx.RelationName):
        columns = _lookup(world, node.this, known)
    else:
        columns = None
    if columns is not None and given:
        columns = _named(columns, given)
    if columns is not None and name:
        scope[name] = columns
    return columns


def _joined(left: list[Column] | None, right: list[Column] | None, join: exp.Expression) -> list[Column] | None:
    """Columns of a join: those of USING or NATURAL once and first."""
    if left is None or right is None:
        return None
    names = [fold(n) for n in join.args.get("using") or ()]
    if str(join.args.get("method") or "") == "NATURAL":
        names = [c.name for c in left if c.name in {r.name for r in right}]
    side = str(join.args.get("side") or "")
    merged = []
    for name in names:
        one, two = (next((c for c in columns if c.name == name), Column(name, "")) for columns in (left, right))
        if side == "FULL" and (one.type, one.typmod) != (two.type, two.typmod):
            one = Column(name, "")
        merged.append(two if side == "RIGHT" else one)
    return [*merged, *(c for c in (*left, *right) if c.name not in names)]


def _lookup(world: World, node: exp.Expression, known: Scope) -> list[Column] | None:
    try:
        return _table(world, node, known)
    except Unknown:
        return None


def _typed(world: World, node: exp.Expression, scope: Scope) -> Column:
    """Name and type of one target; "" if the type is unknown."""
    if isinstance(node, exp.Alias):
        return replace(_typed(world, node.this, scope), name=fold(node.args.get("alias")))
    if isinstance(node, exp.Paren):
        return _typed(world, node.this, scope)
    if isinstance(node, exp.Column):
        name, owner = fold(node.this), fold(node.args.get("table"))
        places = [scope[owner]] if owner in scope else list(scope.values()) if not owner else []
        hits = [c for columns in places for c in columns if c.name == name]
        same = len({(c.type, c.typmod) for c in hits}) == 1  # a column that a join merged is there twice
        return hits[0] if hits and same else Column(name, "")
    if isinstance(node, exp.Cast):
        kind, typmod = catalog_type(node.args["to"])
        inner = _typed(world, node.this, scope)
        return Column(inner.name if inner.name != "?column?" else kind, kind, typmod)
    if isinstance(node, gx.TypedLiteral):
        kind, typmod = catalog_type(node.args["to"])
        return Column(kind, kind, typmod)
    if isinstance(node, exp.Literal):
        if not node.is_string:
            text = str(node.this)
            if text.isdigit():
                return Column("?column?", "int4" if int(text) < 2**31 else "int8" if int(text) < 2**63 else "numeric")
            return Column("?column?", "numeric")
        # until PostgreSQL 10 a bare string stayed of the type unknown
        return Column("?column?", "" if world.edition.base < 10 else "text")
    if isinstance(node, exp.Boolean | exp.Not | exp.And | exp.Or | exp.EQ | exp.NEQ | exp.LT | exp.GT | exp.LTE | exp.GTE | exp.Is):
        return Column("bool" if isinstance(node, exp.Boolean) else "?column?", "bool")
    if isinstance(node, exp.Count):
        return Column("count", "int8")
    if isinstance(node, gx.WindowCall):
        return _typed(world, node.this, scope)
    if isinstance(node, gx.SpecialCall):
        word = str(node.this).upper()
        return Column(word.lower(), _NILADIC.get(word, ""))
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod):
        left, right = _typed(world, node.this, scope).type, _typed(world, node.expression, scope).type
        if left in _INTEGERS and right in _INTEGERS:
            return Column("?column?", max(left, right, key=_INTEGERS.index))
        if {left, right} <= {"numeric", *_INTEGERS} and "numeric" in (left, right):
            return Column("?column?", "numeric")
        return Column("?column?", "")
    if isinstance(node, gx.OperatorCall) and node.args.get("operator") is not None and node.args["operator"].this == "||":
        sides = {_typed(world, side, scope).type for side in (node.args.get("this"), node.args.get("expression")) if side is not None}
        return Column("?column?", "text" if sides & _TEXTS else "")
    if isinstance(node, exp.Anonymous | gx.FunctionCall):
        name = str(node.this.this if isinstance(node.this, exp.Identifier) else node.this).lower()
        if name in ("coalesce", "greatest", "least", "max", "min"):
            types = {(c.type, c.typmod) for c in (_typed(world, a, scope) for a in node.expressions)}
            if len(types) == 1:
                kind, typmod = next(iter(types))
                return Column(name, kind, typmod if name == "coalesce" else -1)
            return Column(name, "")
        return Column(name.rsplit(".", 1)[-1], _FUNCTIONS.get(name, ""))
    if isinstance(node, exp.Case):
        types = {(c.type, c.typmod) for c in (_typed(world, b.args["true"], scope) for b in node.args["ifs"])}
        if node.args.get("default") is not None and not isinstance(node.args["default"], exp.Null):
            last = _typed(world, node.args["default"], scope)
            types.add((last.type, last.typmod))
        kind, typmod = next(iter(types)) if len(types) == 1 else ("", -1)
        return Column("case", kind, typmod)
    return Column("?column?", "")
