"""Properties of columns and constraints that queries of catalogs compare, and queries with several
alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.keys import Column
from gpcatalog.effects.relations import Table

_MOST_ALTERNATIVES = 16
# pg_type.typname → data_type of information_schema.columns
_DATA_TYPES = {
    "int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision", "numeric": "numeric",
    "bool": "boolean", "text": "text", "varchar": "character varying", "bpchar": "character", "bytea": "bytea", "date": "date",
    "time": "time without time zone", "timetz": "time with time zone", "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone", "interval": "interval", "json": "json", "jsonb": "jsonb", "uuid": "uuid",
    "xml": "xml", "inet": "inet", "cidr": "cidr", "_array": "ARRAY",
}  # fmt: skip
# contype of pg_constraint → constraint_type of information_schema.table_constraints
CONSTRAINT_TYPES = {"p": "PRIMARY KEY", "u": "UNIQUE", "f": "FOREIGN KEY", "c": "CHECK"}
# columns of information_schema with the name of the database
DATABASE = ("table_catalog", "constraint_catalog", "catalog_name", "sequence_catalog")


def has(column: Column, facts: dict[str, str]) -> bool:
    """Whether a column has these properties (columns of information_schema.columns); removes them
    from `facts`. Raises Unknown.
    """
    asked = {
        word: facts.pop(word) for word in ("is_nullable", "data_type", "udt_name") if word in facts
    }
    if asked and column.own_type:  # a domain can have NOT NULL
        raise Unknown("column of a type that the script creates")
    found = {"is_nullable": "NO" if column.not_null else "YES", "udt_name": column.type}
    if "data_type" in asked:
        found["data_type"] = _DATA_TYPES.get(column.type, "")
        if not found["data_type"]:
            raise Unknown(f"data_type of {column.type}")
    if "udt_name" in asked and (not column.type or column.type.startswith("_")):
        raise Unknown("name of a type")
    return all(found[word] == text for word, text in asked.items())


def constraints(table: Table, kind: str = "") -> set[str]:
    """Names of its constraints, except NOT NULL; kind: only those of this constraint_type."""
    keys = [key for key in table.indexes if key.constraint]
    primary = {key.name for key in keys if key.like.startswith("primary key")}
    found = {
        "CHECK": {check.name for check in table.checks},
        "PRIMARY KEY": primary,
        "UNIQUE": {key.name for key in keys} - primary,
        "FOREIGN KEY": {key.name for key in table.foreign},
    }
    if kind:
        return found.get(kind, set())
    return {key.name for key in table.indexes if key.exclusion}.union(*found.values())


def alternatives(query: exp.Select) -> Iterator[exp.Select]:
    """The query without OR and IN: it finds a row if one of these finds one. Raises Unknown."""
    waiting, number = [_without_scalar_subqueries(query)], 0
    while waiting:
        one = waiting.pop()
        node = _choice(one)
        if node is None:
            number += 1
            if number > _MOST_ALTERNATIVES:
                raise Unknown("query of a condition")
            yield one
            continue
        for at in range(len(_choices(node)) - 1, -1, -1):
            other = one.copy()
            place = _choice(other)
            if place is not None:
                place.replace(_choices(place)[at].copy())
                waiting.append(other)


def _without_scalar_subqueries(query: exp.Select) -> exp.Select:
    """The query with `f()` in place of `(SELECT f())`."""
    query = query.copy()
    for sub in list(query.find_all(exp.Subquery)):
        inner = sub.this
        only = isinstance(inner, exp.Select) and {k for k, v in inner.args.items() if v} == {
            "expressions"
        }
        if only and len(inner.expressions) == 1 and not isinstance(inner.expressions[0], exp.Star):
            sub.replace(inner.expressions[0].unalias())
    return query


def _choice(query: exp.Select) -> exp.Expression | None:
    """The first OR, or IN with a list, that is a condition of the whole query."""
    where = query.args.get("where")
    waiting = [where.this] if where is not None else []
    while waiting:
        one: exp.Expression = waiting.pop()
        if isinstance(one, exp.And):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Paren):
            waiting.append(one.this)
        elif isinstance(one, exp.Or) or _listed(one):
            return one
    return None


def _listed(node: exp.Expression) -> list[exp.Expression]:
    """The values of `IN (…)`; empty for other conditions."""
    if not isinstance(node, gx.Predicate) or str(node.args.get("words")) != "IN":
        return []
    (values,) = node.expressions
    if isinstance(values, gx.RowValue):
        return list(values.expressions)
    return [values.this] if isinstance(values, exp.Paren) else []


def _choices(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Or):
        return [node.this, node.expression]
    return [exp.EQ(this=node.this.copy(), expression=one.copy()) for one in _listed(node)]
