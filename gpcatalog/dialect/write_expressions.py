"""Expressions, names and types written as SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.synopsis import join

if TYPE_CHECKING:
    pass

DType = exp.DType
_TYPE_NAMES = {
    DType.INT: "INTEGER",
    DType.SMALLINT: "SMALLINT",
    DType.BIGINT: "BIGINT",
    DType.FLOAT: "REAL",
    DType.DOUBLE: "DOUBLE PRECISION",
    DType.DECIMAL: "NUMERIC",
    DType.BOOLEAN: "BOOLEAN",
    DType.TEXT: "TEXT",
    DType.DATE: "DATE",
    DType.CHAR: "CHARACTER",
    DType.VARCHAR: "CHARACTER VARYING",
    DType.VARBINARY: "BYTEA",
    DType.UUID: "UUID",
    DType.JSON: "JSON",
    DType.JSONB: "JSONB",
    DType.XML: "XML",
    DType.MONEY: "MONEY",
    DType.INET: "INET",
    DType.SERIAL: "SERIAL",
    DType.BIGSERIAL: "BIGSERIAL",
    DType.SMALLSERIAL: "SMALLSERIAL",
    DType.INTERVAL: "INTERVAL",
}
_ZONED = {DType.TIMESTAMP: ("TIMESTAMP", ""), DType.TIMESTAMPTZ: ("TIMESTAMP", " WITH TIME ZONE"), DType.TIME: ("TIME", ""),
          DType.TIMETZ: ("TIME", " WITH TIME ZONE")}  # fmt: skip
# spelling of binary operators
write_BINARY: dict[Any, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.LT: "<", exp.GT: ">", exp.EQ: "=",
    exp.LTE: "<=", exp.GTE: ">=", exp.NEQ: "<>",
}  # fmt: skip

Writer = Callable[[Any, Any], str]


def listed(g: Any, values: Any) -> str:
    """Return values separated by commas."""
    return ", ".join(text(g, v) for v in values or ())


def text(g: Any, value: Any) -> str:
    """Return the SQL of a node, or a string as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return listed(g, value)
    return str(g.sql(value))


def parts(g: Any, values: Any) -> str:
    """Return values separated by blanks."""
    return join([text(g, v) for v in values or ()])


def write_identifier(g: Any, e: exp.Identifier) -> str:
    """Return the SQL of an identifier."""
    name = str(e.this)
    if e.args.get("quoted") or getattr(g, "identify", None) is True:
        return '"' + name.replace('"', '""') + '"'
    return name


def write_literal(g: Any, e: exp.Literal) -> str:
    """Return the SQL of a literal."""
    return "'" + e.this.replace("'", "''") + "'" if e.is_string else str(e.this)


def write_heredoc(g: Any, e: exp.Heredoc) -> str:
    """Return the SQL of a heredoc."""
    tag = e.args.get("tag") or ""
    return f"${tag}${e.this}${tag}$"


def write_alias(g: Any, e: exp.TableAlias) -> str:
    """Return the SQL of a table alias."""
    columns = e.args.get("columns")
    return text(g, e.this) + (f" ({listed(g, columns)})" if columns else "")


def write_table(g: Any, e: exp.Table) -> str:
    """Return the SQL of a table."""
    out = ".".join(
        text(g, p) for p in (e.args.get("catalog"), e.args.get("db"), e.args.get("this")) if p
    )
    alias = e.args.get("alias")
    return f"{out} AS {write_alias(g, alias)}" if alias else out


def write_column(g: Any, e: exp.Column) -> str:
    """Return the SQL of a column."""
    return ".".join(
        text(g, p)
        for p in (e.args.get("catalog"), e.args.get("db"), e.args.get("table"), e.this)
        if p
    )


def write_relation(g: Any, e: gx.RelationName) -> str:
    """Return the SQL of a relation name."""
    name = text(g, e.this)
    if e.args.get("only"):
        return f"ONLY ({name})" if e.args.get("parens") else f"ONLY {name}"
    return f"{name} *"


def write_operator(g: Any, e: gx.Operator) -> str:
    """Return the SQL of an operator."""
    name = ".".join([*(text(g, s) for s in e.args.get("schema") or ()), e.this])
    return f"OPERATOR({name})" if e.args.get("wrapped") else name


def write_datatype(g: Any, e: exp.DataType) -> str:
    """Return the SQL of a data type."""
    kind = e.this
    if kind == DType.ARRAY and e.args.get("nested"):
        values = e.args.get("values")
        return f"{listed(g, e.expressions)}[{listed(g, values) if values else ''}]"
    inside = f"({listed(g, e.expressions)})" if e.expressions else ""
    if kind == DType.USERDEFINED:
        return text(g, e.args["kind"]) + inside
    if kind in _ZONED:
        word, zone = _ZONED[kind]
        return word + inside + zone
    if kind == DType.FLOAT and inside:
        return "FLOAT" + inside
    known = _TYPE_NAMES.get(kind)
    if known is None:
        return str(super(type(g), g).datatype_sql(e))
    if kind == DType.CHAR and not inside:
        return known
    return known + inside


def write_call(g: Any, e: gx.FunctionCall) -> str:
    """Return the SQL of a function call."""
    name = text(g, e.this)
    if e.args.get("star"):
        return f"{name}(*)"
    quantifier = e.args.get("quantifier")
    order = e.args.get("order")
    body = (f"{quantifier} " if quantifier else "") + listed(g, e.expressions)
    return f"{name}({body}{' ' + text(g, order) if order else ''})"


def write_special(g: Any, e: gx.SpecialCall) -> str:
    """Return the SQL of a special call."""
    word = e.this
    if e.args.get("expressions") is None:
        return str(word)
    return f"{word}({parts(g, e.expressions)})"


def write_predicate(g: Any, e: gx.Predicate) -> str:
    """Return the SQL of a predicate."""
    words = e.args["words"]
    found = e.args.get("expressions") or []
    joiner = e.args.get("joiner")
    right = f" {joiner} ".join(text(g, f) for f in found) if joiner else listed(g, found)
    left = e.args.get("this")
    return " ".join(p for p in (text(g, left) if left else "", words, right) if p)


def write_operator_call(g: Any, e: gx.OperatorCall) -> str:
    """Return the SQL of an operator call."""
    left, right = e.args.get("this"), e.args.get("expression")
    return " ".join(text(g, p) for p in (left, e.args["operator"], right) if p is not None)


def write_typed_literal(g: Any, e: gx.TypedLiteral) -> str:
    """Return the SQL of a typed literal."""
    fields = e.args.get("fields")
    return f"{text(g, e.args['to'])} {text(g, e.this)}{' ' + fields if fields else ''}"


def write_subscript(g: Any, e: gx.Subscript) -> str:
    """Return the SQL of a subscript."""
    lower, upper = e.args.get("lower"), e.args.get("upper")
    inside = text(g, lower) if lower is not None else ""
    if e.args.get("slice"):
        inside += " : " + (text(g, upper) if upper is not None else "")
    return f"{text(g, e.this)}[{inside}]"


def write_array(g: Any, e: gx.ArrayValue) -> str:
    """Return the SQL of an array value."""
    query = e.args.get("query")
    if query is not None:
        return "ARRAY" + text(g, query)
    return ("" if e.args.get("nested") else "ARRAY") + f"[{listed(g, e.expressions)}]"


def write_window_call(g: Any, e: gx.WindowCall) -> str:
    """Return the SQL of a window call."""
    out = text(g, e.this)
    if e.args.get("within"):
        out += f" WITHIN GROUP ({text(g, e.args['within'])})"
    if e.args.get("filter"):
        out += f" FILTER ({text(g, e.args['filter'])})"
    if e.args.get("nulls"):
        out += f" {e.args['nulls']}"
    if e.args.get("over") is not None:
        out += f" OVER {text(g, e.args['over'])}"
    return out


def write_window(g: Any, e: gx.WindowDefinition) -> str:
    """Return the SQL of a window definition."""
    partition = e.args.get("partition")
    inside = [
        text(g, e.args["base"]) if e.args.get("base") else "",
        f"PARTITION BY {listed(g, partition)}" if partition else "",
        text(g, e.args["order"]) if e.args.get("order") else "",
        text(g, e.args["frame"]) if e.args.get("frame") else "",
    ]
    body = f"({' '.join(i for i in inside if i)})"
    return f"{text(g, e.this)} AS {body}" if e.args.get("this") else body


def write_case(g: Any, e: exp.Case) -> str:
    """Return the SQL of CASE."""
    out = ["CASE"]
    if e.args.get("this") is not None:
        out.append(text(g, e.this))
    for branch in e.args["ifs"]:
        out += ["WHEN", text(g, branch.this), "THEN", text(g, branch.args["true"])]
    if e.args.get("default") is not None:
        out += ["ELSE", text(g, e.args["default"])]
    return " ".join([*out, "END"])
