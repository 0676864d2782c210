"""The columns of functions in FROM that every server has, and of XMLTABLE and JSON_TABLE."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.function_types import INTEGERS
from gpcatalog.effects.keys import Column, fold

Typed = Callable[[exp.Expression], str]  # the type of an expression; "" if it is unknown
# one column, which is named like the function or its alias
_ONE = {
    "generate_subscripts": "int4",
    "regexp_matches": "_array",
    "regexp_split_to_table": "text",
    "string_to_table": "text",
    "json_object_keys": "text",
    "jsonb_object_keys": "text",
    "jsonb_path_query": "jsonb",
    "pg_ls_dir": "text",
}
# columns by the names of output parameters
_SEVERAL = {
    "json_array_elements": "value json",
    "jsonb_array_elements": "value jsonb",
    "json_array_elements_text": "value text",
    "jsonb_array_elements_text": "value text",
    "json_each": "key text, value json",
    "jsonb_each": "key text, value jsonb",
    "json_each_text": "key text, value text",
    "jsonb_each_text": "key text, value text",
    "aclexplode": "grantor oid, grantee oid, privilege_type text, is_grantable bool",
    "pg_options_to_table": "option_name text, option_value text",
}
# functions that return an array, and its elements
_ARRAYS = {"string_to_array": "text", "regexp_split_to_array": "text", "regexp_match": "text"}
_SINCE = {"string_to_table": 14, "jsonb_path_query": 12, "regexp_match": 10}  # base versions


def columns_of_call(
    name: str, values: Sequence[exp.Expression], alias: str, typed: Typed, base: int
) -> list[Column] | None:
    """The columns of a call of a function of the server, None if they are unknown.

    name: without schema; alias: of the item, or the name; typed: the type of an argument; base: the
    version of PostgreSQL on which the server is based
    """
    if base < _SINCE.get(name, 0):
        return None
    if name == "generate_series":
        return [Column(alias, _series([typed(value) for value in values]))]
    if name == "unnest":
        elements = [_element(value, typed) for value in values]
        if not elements or None in elements:
            return None
        return [Column(alias if len(elements) == 1 else "unnest", e or "") for e in elements]
    if name in _ONE:
        return [Column(alias, _ONE[name])]
    if name in _SEVERAL:
        pairs = [one.split() for one in _SEVERAL[name].split(", ")]
        return [Column(column, kind) for column, kind in pairs]
    return None


def _series(types: list[str]) -> str:
    """The type that generate_series() returns for arguments of these types; "" if it is unknown."""
    if types and all(t in INTEGERS for t in types):
        return "int8" if "int8" in types else "int4"
    return (
        types[0]
        if types[:1] == types[1:2] and types[:1] in (["timestamp"], ["timestamptz"])
        else ""
    )


def _element(value: exp.Expression, typed: Typed) -> str | None:
    """The type of the elements of an array, "" if it is some type without columns; None if it may
    have columns.
    """
    if isinstance(value, exp.Paren):
        return _element(value.this, typed)
    if isinstance(value, exp.Cast) and value.args["to"].this == exp.DType.ARRAY:
        element = value.args["to"].expressions[0]
        while isinstance(element, exp.DataType) and element.this == exp.DType.ARRAY:
            element = element.expressions[0]
        own = isinstance(element, exp.DataType) and element.this != exp.DType.USERDEFINED
        return catalog_type(element)[0] if own else None
    if isinstance(value, gx.ArrayValue):
        if value.args.get("query") or not value.expressions:
            return None
        # string constants get the type of the others
        each = {
            _element(one, typed) if isinstance(one, gx.ArrayValue) else typed(one) or None
            for one in value.expressions
            if not (isinstance(one, exp.Literal) and one.is_string)
        } or {"text"}
        return each.pop() if len(each) == 1 else None
    if isinstance(value, exp.Anonymous | gx.FunctionCall):
        return _ARRAYS.get(function_name(value).removeprefix("pg_catalog."))
    return None


def function_name(node: exp.Expression) -> str:
    """The name of a called function as written, in lower case."""
    return str(node.this.this if isinstance(node.this, exp.Identifier) else node.this).lower()


def written_columns(node: exp.Expression) -> list[Column] | None:
    """The columns of XMLTABLE or JSON_TABLE; None for another call.

    In JSON_TABLE, the columns of NESTED PATH come after the others of their level.
    """
    if not isinstance(node, gx.SpecialCall) or str(node.this) not in ("XMLTABLE", "JSON_TABLE"):
        return None
    levels: list[tuple[list[Column], list[Column]]] = [([], [])]
    parts = node.expressions
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        words = str(part.this) if isinstance(part, gx.Words) else ""
        if words == "COLUMNS (":
            levels.append(([], []))
        elif words == ")" and len(levels) > 1:
            own, nested = levels.pop()
            levels[-1][1].extend(own + nested)
        elif isinstance(part, exp.Identifier):
            if isinstance(after, exp.DataType):
                levels[-1][0].append(Column(fold(part), *catalog_type(after)))
            elif isinstance(after, gx.Words) and str(after.this) == "FOR ORDINALITY":
                levels[-1][0].append(Column(fold(part), "int4"))
    own, nested = levels[0]
    return own + nested
