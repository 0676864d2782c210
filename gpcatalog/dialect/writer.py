"""Trees written as SQL that the server reads back as the same tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect import grammar
from gpcatalog.dialect.synopsis import join, write

if TYPE_CHECKING:
    from sqlglot.generator import Generator

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
# functions that are keywords: bare in a call, whatever their case
_BINARY: dict[Any, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.LT: "<", exp.GT: ">", exp.EQ: "=",
    exp.LTE: "<=", exp.GTE: ">=", exp.NEQ: "<>",
}  # fmt: skip

Writer = Callable[[Any, Any], str]


def _listed(g: Any, values: Any) -> str:
    return ", ".join(text(g, v) for v in values or ())


def text(g: Any, value: Any) -> str:
    """SQL of a node, or a string as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _listed(g, value)
    return str(g.sql(value))


def _parts(g: Any, values: Any) -> str:
    return join([text(g, v) for v in values or ()])


def _identifier(g: Any, e: exp.Identifier) -> str:
    name = str(e.this)
    if e.args.get("quoted") or getattr(g, "identify", None) is True:
        return '"' + name.replace('"', '""') + '"'
    return name


def _literal(g: Any, e: exp.Literal) -> str:
    return "'" + e.this.replace("'", "''") + "'" if e.is_string else str(e.this)


def _heredoc(g: Any, e: exp.Heredoc) -> str:
    tag = e.args.get("tag") or ""
    return f"${tag}${e.this}${tag}$"


def _alias(g: Any, e: exp.TableAlias) -> str:
    columns = e.args.get("columns")
    return text(g, e.this) + (f" ({_listed(g, columns)})" if columns else "")


def _table(g: Any, e: exp.Table) -> str:
    out = ".".join(text(g, p) for p in (e.args.get("catalog"), e.args.get("db"), e.args.get("this")) if p)
    alias = e.args.get("alias")
    return f"{out} AS {_alias(g, alias)}" if alias else out


def _column(g: Any, e: exp.Column) -> str:
    return ".".join(text(g, p) for p in (e.args.get("catalog"), e.args.get("db"), e.args.get("table"), e.this) if p)


def _relation(g: Any, e: gx.RelationName) -> str:
    name = text(g, e.this)
    if e.args.get("only"):
        return f"ONLY ({name})" if e.args.get("parens") else f"ONLY {name}"
    return f"{name} *"


def _operator(g: Any, e: gx.Operator) -> str:
    name = ".".join([*(text(g, s) for s in e.args.get("schema") or ()), e.this])
    return f"OPERATOR({name})" if e.args.get("wrapped") else name


def _datatype(g: Any, e: exp.DataType) -> str:
    kind = e.this
    if kind == DType.ARRAY and e.args.get("nested"):
        values = e.args.get("values")
        return f"{_listed(g, e.expressions)}[{_listed(g, values) if values else ''}]"
    inside = f"({_listed(g, e.expressions)})" if e.expressions else ""
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


def _call(g: Any, e: gx.FunctionCall) -> str:
    name = text(g, e.this)
    if e.args.get("star"):
        return f"{name}(*)"
    quantifier = e.args.get("quantifier")
    order = e.args.get("order")
    body = (f"{quantifier} " if quantifier else "") + _listed(g, e.expressions)
    return f"{name}({body}{' ' + text(g, order) if order else ''})"


def _special(g: Any, e: gx.SpecialCall) -> str:
    word = e.this
    if e.args.get("expressions") is None:
        return str(word)
    return f"{word}({_parts(g, e.expressions)})"


def _predicate(g: Any, e: gx.Predicate) -> str:
    words = e.args["words"]
    found = e.args.get("expressions") or []
    joiner = e.args.get("joiner")
    right = f" {joiner} ".join(text(g, f) for f in found) if joiner else _listed(g, found)
    left = e.args.get("this")
    return " ".join(p for p in (text(g, left) if left else "", words, right) if p)


def _operator_call(g: Any, e: gx.OperatorCall) -> str:
    left, right = e.args.get("this"), e.args.get("expression")
    return " ".join(text(g, p) for p in (left, e.args["operator"], right) if p is not None)


def _typed_literal(g: Any, e: gx.TypedLiteral) -> str:
    fields = e.args.get("fields")
    return f"{text(g, e.args['to'])} {text(g, e.this)}{' ' + fields if fields else ''}"


def _subscript(g: Any, e: gx.Subscript) -> str:
    lower, upper = e.args.get("lower"), e.args.get("upper")
    inside = text(g, lower) if lower is not None else ""
    if e.args.get("slice"):
        inside += " : " + (text(g, upper) if upper is not None else "")
    return f"{text(g, e.this)}[{inside}]"


def _array(g: Any, e: gx.ArrayValue) -> str:
    query = e.args.get("query")
    if query is not None:
        return "ARRAY" + text(g, query)
    return ("" if e.args.get("nested") else "ARRAY") + f"[{_listed(g, e.expressions)}]"


def _window_call(g: Any, e: gx.WindowCall) -> str:
    out = text(g, e.this)
    if e.args.get("within"):
        out += f" WITHIN GROUP ({text(g, e.args['within'])})"
    if e.args.get("filter"):
        out += f" FILTER ({text(g, e.args['filter'])})"
    if e.args.get("over") is not None:
        out += f" OVER {text(g, e.args['over'])}"
    return out


def _window(g: Any, e: gx.WindowDefinition) -> str:
    partition = e.args.get("partition")
    inside = [
        text(g, e.args["base"]) if e.args.get("base") else "",
        f"PARTITION BY {_listed(g, partition)}" if partition else "",
        text(g, e.args["order"]) if e.args.get("order") else "",
        text(g, e.args["frame"]) if e.args.get("frame") else "",
    ]
    body = f"({' '.join(i for i in inside if i)})"
    return f"{text(g, e.this)} AS {body}" if e.args.get("this") else body


def _case(g: Any, e: exp.Case) -> str:
    out = ["CASE"]
    if e.args.get("this") is not None:
        out.append(text(g, e.this))
    for branch in e.args["ifs"]:
        out += ["WHEN", text(g, branch.this), "THEN", text(g, branch.args["true"])]
    if e.args.get("default") is not None:
        out += ["ELSE", text(g, e.args["default"])]
    return " ".join([*out, "END"])


def _sort_key(g: Any, e: gx.SortKey) -> str:
    out = [text(g, e.this)]
    if e.args.get("using"):
        out += ["USING", text(g, e.args["using"])]
    if e.args.get("order"):
        out.append(e.args["order"])
    if e.args.get("nulls"):
        out.append("NULLS " + e.args["nulls"])
    return " ".join(out)


def _limit_clause(g: Any, e: gx.LimitClause) -> str:
    kind, value, rows = e.args["kind"], e.args.get("this"), e.args.get("rows")
    if kind == "FETCH":
        return " ".join(p for p in ("FETCH FIRST", text(g, value) if value is not None else "", "ROWS", rows or "ONLY") if p)
    return " ".join(p for p in (kind, text(g, value) if value is not None else "", rows or "") if p)


def _lock(g: Any, e: gx.LockClause) -> str:
    out = "FOR " + e.args["strength"]
    if e.expressions:
        out += " OF " + _listed(g, e.expressions)
    return str(out + (" " + e.args["wait"] if e.args.get("wait") else ""))


def _tail(g: Any, e: exp.Expression) -> str:
    out = []
    if e.args.get("order") is not None:
        out.append(text(g, e.args["order"]))
    limit = e.args.get("limit")
    if isinstance(limit, list):
        out += [text(g, part) for part in limit]
    elif limit is not None:
        out.append(text(g, limit).strip())
    for part in e.args.get("locks") or ():
        out.append(text(g, part))
    return "".join(" " + part for part in out)


def _with(g: Any, e: exp.Expression) -> str:
    with_ = e.args.get("with_")
    if with_ is None:
        return ""
    return f"WITH {'RECURSIVE ' if with_.args.get('recursive') else ''}{_listed(g, with_.expressions)} "


def _cte(g: Any, e: exp.CTE) -> str:
    materialized = e.args.get("materialized")
    words = "" if materialized is None else "MATERIALIZED " if materialized else "NOT MATERIALIZED "
    return f"{_alias(g, e.args['alias'])} AS {words}({text(g, e.this)})"


def _joins(g: Any, joins: Any) -> str:
    return "".join(text(g, j) for j in joins or ())


def _join(g: Any, e: exp.Join) -> str:
    args = e.args
    words = [args.get(k) for k in ("method", "side", "kind") if args.get(k)]
    on, using = args.get("on"), args.get("using")
    if not words and on is None and not using:
        return f", {text(g, e.this)}"
    out = f" {' '.join([*words, 'JOIN'])} {text(g, e.this)}"  # type: ignore[list-item]
    if on is not None:
        out += f" ON {text(g, on)}"
    elif using:
        out += f" USING ({_listed(g, using)})"
    return out


def _joined(g: Any, e: gx.JoinedTable) -> str:
    out = text(g, e.this) + _joins(g, e.args.get("joins"))
    alias = e.args.get("alias")
    if e.args.get("parens"):
        out = f"({out})"
    return f"{out} AS {_alias(g, alias)}" if alias else out


def _select(g: Any, e: exp.Select) -> str:
    args = e.args
    out = [_with(g, e) + "SELECT"]
    distinct = args.get("distinct")
    if distinct is not None:
        on = distinct.args.get("on")
        out.append(f"DISTINCT ON ({_listed(g, on.expressions)})" if on is not None else "DISTINCT")
    if e.expressions:
        out.append(_listed(g, e.expressions))
    if args.get("into") is not None:
        out.append(text(g, args["into"]))
    if args.get("from_") is not None:
        out.append(f"FROM {text(g, args['from_'].this)}{_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    group = args.get("group")
    if group is not None:
        out.append(f"GROUP BY {group.args['all'] + ' ' if group.args.get('all') else ''}{_listed(g, group.expressions)}")
    if args.get("having") is not None:
        out.append(f"HAVING {text(g, args['having'].this)}")
    if args.get("windows"):
        out.append(f"WINDOW {_listed(g, args['windows'])}")
    return " ".join(out) + _tail(g, e)


_FOREIGN_SELECT = frozenset(
    ("qualify", "laterals", "pivots", "hint", "kind", "operation_modifiers", "connect", "match", "sample", "sort", "cluster", "exclude")
)


def select(g: Any, e: exp.Select) -> str:
    """A query of this dialect's shape; trees of other dialects go sqlglot's way."""
    limit = e.args.get("limit")
    if any(e.args.get(k) for k in _FOREIGN_SELECT) or (limit is not None and not isinstance(limit, list)) or e.args.get("offset"):
        return str(g.select_sql(e))
    return _select(g, e)


def _set_operation(word: str) -> Writer:
    def writer(g: Any, e: exp.SetOperation) -> str:
        every = "" if e.args.get("distinct") else " ALL"
        return f"{_with(g, e)}{text(g, e.this)} {word}{every} {text(g, e.expression)}{_tail(g, e)}"

    return writer


def _subquery(g: Any, e: exp.Subquery) -> str:
    out = f"{_with(g, e)}({text(g, e.this)})"
    alias = e.args.get("alias")
    return (f"{out} AS {_alias(g, alias)}" if alias else out) + _tail(g, e)


def _values(g: Any, e: exp.Values) -> str:
    rows = ", ".join(f"({_listed(g, row.expressions)})" for row in e.expressions)
    out = f"{_with(g, e)}VALUES {rows}{_tail(g, e)}"
    alias = e.args.get("alias")
    return f"({out}) AS {_alias(g, alias)}" if alias else out


def _from_item(g: Any, e: gx.FromItem) -> str:
    args = e.args
    out = ("LATERAL " if args.get("lateral") else "") + text(g, e.this)
    if args.get("ordinality"):
        out += " WITH ORDINALITY"
    alias, definitions = args.get("alias"), args.get("definitions")
    if alias is not None:
        out += f" AS {_alias(g, alias)}"
    if definitions:
        out += f"{'' if alias is not None else ' AS'} ({_listed(g, definitions)})"
    return out + (f" {text(g, args['sample'])}" if args.get("sample") is not None else "")


def _sampling(g: Any, e: gx.TableSampling) -> str:
    seed = e.args.get("seed")
    return f"TABLESAMPLE {text(g, e.this)} ({_listed(g, e.expressions)})" + (f" REPEATABLE ({text(g, seed)})" if seed is not None else "")


def _scattered(g: Any, e: gx.ScatteredQuery) -> str:
    tail = " SCATTER RANDOMLY" if e.args.get("randomly") else f" SCATTER BY {_listed(g, e.expressions)}" if e.expressions else ""
    return f"TABLE({text(g, e.this)}{tail})"


def _insert(g: Any, e: exp.Insert) -> str:
    args = e.args
    if "default" not in args and "conflict" in args and not isinstance(args["conflict"], gx.WindowFrame) and args["conflict"] is not None:
        return str(g.insert_sql(e))
    target = e.this
    target_sql = f"{text(g, target.this)} ({_listed(g, target.expressions)})" if isinstance(target, exp.Schema) else text(g, target)
    out = [f"{_with(g, e)}INSERT INTO {target_sql}"]
    if args.get("overriding"):
        out.append(f"OVERRIDING {args['overriding']} VALUE")
    out.append("DEFAULT VALUES" if args.get("default") else text(g, args["expression"]))
    if args.get("conflict") is not None:
        out.append(text(g, args["conflict"]))
    if args.get("returning") is not None:
        out.append(f"RETURNING {_listed(g, args['returning'].expressions)}")
    return " ".join(out)


def _update(g: Any, e: exp.Update) -> str:
    args = e.args
    out = [f"{_with(g, e)}UPDATE {text(g, e.this)} SET {_listed(g, e.expressions)}"]
    if args.get("from_") is not None:
        out.append(f"FROM {text(g, args['from_'].this)}{_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    if args.get("returning") is not None:
        out.append(f"RETURNING {_listed(g, args['returning'].expressions)}")
    return " ".join(out)


def _delete(g: Any, e: exp.Delete) -> str:
    args = e.args
    out = [f"{_with(g, e)}DELETE FROM {text(g, e.this)}"]
    using = args.get("using")
    if using is not None:
        items = text(g, using.this) if isinstance(using, exp.From) else _listed(g, using)
        out.append(f"USING {items}{_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    if args.get("returning") is not None:
        out.append(f"RETURNING {_listed(g, args['returning'].expressions)}")
    return " ".join(out)


def _set_columns(g: Any, e: gx.SetColumns) -> str:
    columns = _listed(g, e.args["columns"])
    return f"({columns}) = {text(g, e.this)}" if e.args.get("wrapped") else f"{columns} = {text(g, e.this)}"


def _into(g: Any, e: gx.IntoTarget) -> str:
    kind = e.args.get("kind")
    return f"INTO {kind + ' ' if kind else ''}TABLE {text(g, e.this)}"


def _grouping(g: Any, e: gx.GroupingItem) -> str:
    return f"{e.this} ({_listed(g, e.expressions)})".strip() if e.this else "()"


# --- tables -----------------------------------------------------------------------------------------------------------


def _storage_option(g: Any, e: gx.StorageOption) -> str:
    out = text(g, e.this)
    if e.args.get("namespace") is not None:
        out = f"{text(g, e.args['namespace'])}.{out}"
    value = e.args.get("value")
    return out if value is None else f"{out} = {text(g, value)}"


def _distributed(g: Any, e: exp.DistributedByProperty) -> str:
    kind = e.text("kind").upper()
    if kind in ("RANDOM", "RANDOMLY"):
        return "DISTRIBUTED RANDOMLY"
    if kind == "REPLICATED":
        return "DISTRIBUTED REPLICATED"
    return f"DISTRIBUTED BY ({_listed(g, e.expressions)})"


def _partition_key(g: Any, e: gx.PartitionKey) -> str:
    out = text(g, e.this)
    if e.args.get("collate") is not None:
        out += f" COLLATE {text(g, e.args['collate'])}"
    return out + (f" {text(g, e.args['opclass'])}" if e.args.get("opclass") is not None else "")


def _column_constraint(g: Any, e: exp.ColumnConstraint) -> str:
    name = e.args.get("this")
    return (f"CONSTRAINT {text(g, name)} " if name is not None else "") + text(g, e.args["kind"])


def _column_def(g: Any, e: exp.ColumnDef) -> str:
    out = [text(g, e.this)]
    if e.args.get("kind") is not None:
        out.append(text(g, e.args["kind"]))
    if e.args.get("with_options"):
        out.append("WITH OPTIONS")
    out += [text(g, c) for c in e.args.get("constraints") or ()]
    return " ".join(out)


def _key(g: Any, e: gx.KeyConstraint) -> str:
    args = e.args
    out = [args["kind"]]
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    if args.get("index") is not None:
        return " ".join([*out, text(g, args["index"])] if out[0] == "NOT NULL" else [*out, "USING INDEX", text(g, args["index"])])
    if e.expressions:
        out.append(f"({_listed(g, e.expressions)}{' WITHOUT OVERLAPS' if args.get('overlaps') else ''})")
    if args.get("include"):
        out.append(f"INCLUDE ({_listed(g, args['include'])})")
    out += _key_tail(g, args)
    return " ".join(out)


def _key_tail(g: Any, args: dict[str, Any]) -> list[str]:
    out = []
    if args.get("definition"):
        out.append(f"WITH ({_listed(g, args['definition'])})")
    if args.get("tablespace") is not None:
        out.append(f"USING INDEX TABLESPACE {text(g, args['tablespace'])}")
    return out


def _references(g: Any, e: gx.ReferencesConstraint) -> str:
    args = e.args
    out = []
    if args.get("columns"):
        out.append(f"FOREIGN KEY ({_listed(g, args['columns'])})")
    out.append(f"REFERENCES {text(g, e.this)}")
    if e.expressions:
        out.append(f"({_listed(g, e.expressions)})")
    if args.get("match"):
        out.append(f"MATCH {args['match']}")
    for action in args.get("actions") or ():
        listed = action.args.get("expressions")
        tail = f" ({_listed(g, listed)})" if listed else ""
        out.append(f"ON {action.args['event']} {action.args['action']}{tail}")
    return " ".join(out)


def _exclude(g: Any, e: gx.ExcludeConstraint) -> str:
    args = e.args
    out = ["EXCLUDE"]
    if args.get("using") is not None:
        out.append(f"USING {text(g, args['using'])}")
    out.append(f"({_listed(g, e.expressions)})")
    if args.get("include"):
        out.append(f"INCLUDE ({_listed(g, args['include'])})")
    out += _key_tail(g, args)
    if args.get("where") is not None:
        out.append(f"WHERE ({text(g, args['where'])})")
    return " ".join(out)


def _generated(g: Any, e: gx.GeneratedConstraint) -> str:
    args = e.args
    if args.get("identity"):
        options = args.get("options")
        return f"GENERATED {args['when']} AS IDENTITY{' ' + text(g, options) if options is not None else ''}"
    return f"GENERATED {args['when']} AS ({text(g, e.this)}){' STORED' if args.get('stored') else ''}"


def _table_constraint(g: Any, e: gx.TableConstraint) -> str:
    name = e.args.get("this")
    out = [f"CONSTRAINT {text(g, name)}" if name is not None else "", text(g, e.args["kind"])]
    out += [text(g, a) for a in e.args.get("attributes") or ()]
    return " ".join(o for o in out if o)


def _like(g: Any, e: gx.LikeClause) -> str:
    return " ".join([f"LIKE {text(g, e.this)}", *(e.args.get("expressions") or ())])


def _index_element(g: Any, e: gx.IndexElement) -> str:
    args = e.args
    out = [text(g, e.this)]
    if args.get("collate") is not None:
        out.append(f"COLLATE {text(g, args['collate'])}")
    if args.get("opclass") is not None:
        out.append(text(g, args["opclass"]))
    if args.get("options"):
        out.append(f"({_listed(g, args['options'])})")
    if args.get("order"):
        out.append(args["order"])
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    return " ".join(out)


def _index_body(g: Any, e: gx.IndexBody) -> str:
    args = e.args
    out = [f"USING {text(g, args['using'])}"] if args.get("using") is not None else []
    out.append(f"({_listed(g, args['columns'])})")
    if args.get("include"):
        out.append(f"INCLUDE ({_listed(g, args['include'])})")
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    if args.get("with_storage"):
        out.append(f"WITH ({_listed(g, args['with_storage'])})")
    if args.get("tablespace") is not None:
        out.append(f"TABLESPACE {text(g, args['tablespace'])}")
    if args.get("where") is not None:
        out.append(f"WHERE {text(g, args['where'])}")
    return " ".join(out)


def _schema(g: Any, e: exp.Schema) -> str:
    return f"{text(g, e.this)} ({_listed(g, e.expressions)})"


def _partition_of(g: Any, e: exp.PartitionedOfProperty) -> str:
    return f"PARTITION OF {text(g, e.this)}"


def _external_format(g: Any, e: gx.ExternalFormat) -> str:
    options = e.args.get("options")
    return f"FORMAT {text(g, e.this)}{' ' + text(g, options) if options is not None else ''}"


_OURS = (
    exp.UnloggedProperty, exp.TemporaryProperty, exp.DistributedByProperty, exp.PartitionedOfProperty, exp.InheritsProperty,
    exp.TableSpaceProperty,
)  # fmt: skip


def _ours(e: exp.Create) -> bool:
    kind = e.args.get("kind")
    if kind not in ("TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "EXTERNAL TABLE", "FOREIGN TABLE"):
        return False
    if kind == "INDEX" and not isinstance(e.this.args.get("params"), gx.IndexBody):
        return False
    properties = e.args.get("properties")
    return properties is None or all(
        isinstance(p, _OURS) or type(p).__module__ == gx.__name__ or isinstance(p, gx.StorageOptions) for p in properties.expressions
    )


def create(g: Any, e: exp.Create) -> str:
    """CREATE of this dialect's shape; trees of other dialects go sqlglot's way."""
    if not _ours(e):
        return str(g.create_sql(e))
    args = e.args
    kind = args["kind"]
    properties = list(args["properties"].expressions) if args.get("properties") is not None else []
    exists = "IF NOT EXISTS " if args.get("exists") else ""
    out = ["CREATE"]
    if kind == "INDEX":
        index = e.this
        out += ["UNIQUE"] if args.get("unique") else []
        out += ["INDEX"] + (["CONCURRENTLY"] if args.get("concurrently") else [])
        name = index.args.get("this")
        out.append(exists + (text(g, name) + " " if name is not None else "") + "ON " + text(g, index.args["table"]))
        out.append(text(g, index.args["params"]))
        return " ".join(out)
    if args.get("replace"):
        out.append("OR REPLACE")
    late: list[str] = []
    words = kind
    for p in properties:
        if isinstance(p, exp.UnloggedProperty):
            out.append("UNLOGGED")
        elif isinstance(p, exp.TemporaryProperty):
            out.append("TEMPORARY")
    for p in properties:
        if isinstance(p, gx.RecursiveView):
            out.append("RECURSIVE")
        elif isinstance(p, gx.ExternalKind):
            head = [p.args.get("this") or "", "EXTERNAL", "WEB" if p.args.get("web") else ""]
            out = ["CREATE", *(h for h in head if h), *out[1:]]
            words = "TABLE"
    out.append(words)
    out.append(exists + text(g, e.this.this if isinstance(e.this, exp.Schema) else e.this))
    columns = f"({_listed(g, e.this.expressions)})" if isinstance(e.this, exp.Schema) else ""
    query = args.get("expression")
    lead: list[str] = []
    bound = ""
    for p in properties:
        if isinstance(p, gx.OfType):
            lead.append(f"OF {text(g, p.this)}")
        elif isinstance(p, exp.PartitionedOfProperty):
            lead.append(_partition_of(g, p))
            bound = text(g, p.expression)
    out += lead
    if columns:
        out.append(columns)
    if bound:
        out.append(bound)
    after_query = (exp.DistributedByProperty, gx.PartitionBy, gx.WithData)
    skipped = (exp.UnloggedProperty, exp.TemporaryProperty, gx.RecursiveView, gx.ExternalKind, gx.OfType, exp.PartitionedOfProperty)
    for p in properties:
        if isinstance(p, skipped):
            continue
        if query is not None and isinstance(p, (*after_query, gx.CheckOption)):
            late.append(text(g, p))
        else:
            out.append(text(g, p))
    if query is not None:
        out += ["AS", text(g, query), *late]
    return " ".join(o for o in out if o)


def _sql_body(g: Any, e: gx.SqlBody) -> str:
    if not e.args.get("atomic"):
        return f"RETURN {_listed(g, e.expressions)}"
    inside = "".join(f" {text(g, x)};" for x in e.expressions)
    return f"BEGIN ATOMIC{inside} END"


def _simple(template: str) -> Writer:
    """A writer from a template: {this}, {expressions}."""

    def writer(g: Any, e: exp.Expression) -> str:
        return template.format(this=text(g, e.args.get("this") or ""), expressions=_listed(g, e.args.get("expressions")))

    return writer


def _binary(word: str) -> Writer:
    def writer(g: Any, e: exp.Binary) -> str:
        return f"{text(g, e.this)} {word} {text(g, e.expression)}"

    return writer


def _neg(g: Any, e: exp.Neg) -> str:
    inner = text(g, e.this)
    return f"- {inner}" if inner[:1] in "-+~!@#%^&|`?*/<>=" else f"-{inner}"


def _dot(g: Any, e: exp.Dot) -> str:
    return f"{text(g, e.this)}.{text(g, e.expression)}"


WRITERS: dict[type[exp.Expression], Writer] = {
    exp.Identifier: _identifier,
    exp.Literal: _literal,
    exp.Heredoc: _heredoc,
    exp.National: lambda g, e: "N'" + e.this.replace("'", "''") + "'",
    exp.BitString: lambda g, e: f"B'{e.this}'",
    exp.HexString: lambda g, e: f"X'{e.this}'",
    gx.EscapeString: lambda g, e: f"E'{e.this}'",
    gx.PsqlVariable: lambda g, e: str(e.this),
    exp.Null: lambda g, e: "NULL",
    exp.Boolean: lambda g, e: "TRUE" if e.this else "FALSE",
    exp.Star: lambda g, e: "*",
    exp.Parameter: lambda g, e: f"${text(g, e.this)}",
    exp.TableAlias: _alias,
    exp.Table: _table,
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Alias: lambda g, e: f"{text(g, e.this)} AS {text(g, e.args['alias'])}",
    exp.Paren: _simple("({this})"),
    exp.Not: _simple("NOT {this}"),
    exp.Neg: _neg,
    exp.Is: lambda g, e: f"{text(g, e.this)} IS {text(g, e.expression)}",
    exp.And: _binary("AND"),
    exp.Or: _binary("OR"),
    exp.Cast: lambda g, e: f"CAST({text(g, e.this)} AS {text(g, e.args['to'])})",
    exp.Case: _case,
    exp.DataType: _datatype,
    exp.DataTypeParam: lambda g, e: text(g, e.this),
    exp.Order: lambda g, e: f"ORDER BY {_listed(g, e.expressions)}" if isinstance(e.expressions[0], gx.SortKey) else g.order_sql(e).strip(),
    exp.Where: _simple("WHERE {this}"),
    exp.Select: select,
    exp.Union: _set_operation("UNION"),
    exp.Except: _set_operation("EXCEPT"),
    exp.Intersect: _set_operation("INTERSECT"),
    exp.Subquery: _subquery,
    exp.Values: _values,
    exp.CTE: _cte,
    exp.From: lambda g, e: f"{text(g, e.this)}{_joins(g, e.args.get('joins'))}",
    exp.Join: _join,
    exp.Tuple: _simple("({expressions})"),
    exp.Insert: _insert,
    exp.Update: _update,
    exp.Delete: _delete,
    exp.Create: create,
    exp.Schema: _schema,
    exp.ColumnDef: _column_def,
    exp.ColumnConstraint: _column_constraint,
    exp.CollateColumnConstraint: _simple("COLLATE {this}"),
    exp.CheckColumnConstraint: _simple("CHECK ({this})"),
    exp.DefaultColumnConstraint: _simple("DEFAULT {this}"),
    exp.PrimaryKeyColumnConstraint: lambda g, e: "PRIMARY KEY",
    exp.UniqueColumnConstraint: lambda g, e: "UNIQUE",
    gx.OwnNotNull: lambda g, e: "NOT NULL NO INHERIT",
    gx.PeriodColumn: lambda g, e: f"PERIOD {text(g, e.this)}",
    exp.NotNullColumnConstraint: lambda g, e: "NULL" if e.args.get("allow_null") else "NOT NULL",
    exp.DistributedByProperty: _distributed,
    exp.InheritsProperty: _simple("INHERITS ({expressions})"),
    exp.TableSpaceProperty: _simple("TABLESPACE {this}"),
    gx.RelationName: _relation,
    gx.Operator: _operator,
    gx.OperatorCall: _operator_call,
    gx.Predicate: _predicate,
    gx.SubqueryComparison: lambda g, e: f"{text(g, e.this)} {text(g, e.args['operator'])} {e.args['quantifier']} {text(g, e.expression)}",
    gx.FunctionCall: _call,
    exp.Anonymous: lambda g, e: f"{text(g, e.this)}({_listed(g, e.expressions)})",
    exp.Count: lambda g, e: f"count({text(g, e.this)})",
    gx.SpecialCall: _special,
    gx.NamedArgument: lambda g, e: f"{text(g, e.this)} {e.args['op']} {text(g, e.expression)}",
    gx.VariadicArgument: _simple("VARIADIC {this}"),
    gx.TypedLiteral: _typed_literal,
    gx.Subscript: _subscript,
    gx.RowValue: lambda g, e: ("ROW" if e.args.get("explicit") else "") + f"({_listed(g, e.expressions)})",
    gx.ArrayValue: _array,
    gx.CurrentOf: _simple("CURRENT OF {this}"),
    gx.DefaultValue: lambda g, e: "DEFAULT",
    gx.SetOf: _simple("SETOF {this}"),
    gx.ColumnType: lambda g, e: ("SETOF " if e.args.get("setof") else "") + text(g, e.this) + "%TYPE",
    gx.WindowCall: _window_call,
    gx.WindowDefinition: _window,
    gx.WindowFrame: lambda g, e: _parts(g, e.expressions),
    gx.WordRun: lambda g, e: _parts(g, e.expressions),
    gx.NamedJoin: lambda g, e: f"{_join(g, e)} AS {text(g, e.args['alias'])}",
    gx.WatchedCTE: lambda g, e: " ".join([_cte(g, e), *(text(g, e.args[k]) for k in ("search", "cycle") if e.args.get(k))]),
    gx.Words: lambda g, e: str(e.this),
    gx.SortKey: _sort_key,
    gx.LimitClause: _limit_clause,
    gx.LockClause: _lock,
    gx.TableQuery: lambda g, e: f"{_with(g, e)}TABLE {text(g, e.this)}{_tail(g, e)}",
    gx.FromItem: _from_item,
    gx.JoinedTable: _joined,
    gx.TableSampling: _sampling,
    gx.RowsFrom: _simple("ROWS FROM ({expressions})"),
    gx.RowsFromItem: lambda g, e: text(g, e.this) + (f" AS ({_listed(g, e.args['definitions'])})" if e.args.get("definitions") else ""),
    gx.TypedName: lambda g, e: (
        f"{text(g, e.this)} {text(g, e.args['kind'])}"
        + (f" COLLATE {text(g, e.args['collate'])}" if e.args.get("collate") is not None else "")
    ),
    gx.IntoTarget: _into,
    gx.GroupingItem: _grouping,
    gx.ScatteredQuery: _scattered,
    gx.SetColumns: _set_columns,
    gx.MergeRows: lambda g, e: _with(g, e) + _parts(g, e.expressions),
    gx.StorageOption: _storage_option,
    gx.StorageOptions: _simple("WITH ({expressions})"),
    gx.OidsProperty: lambda g, e: "WITH OIDS" if e.this else "WITHOUT OIDS",
    gx.OnCommit: _simple("ON COMMIT {this}"),
    gx.AccessMethod: _simple("USING {this}"),
    gx.ServerProperty: _simple("SERVER {this}"),
    gx.WithData: lambda g, e: "WITH NO DATA" if e.args.get("no") else "WITH DATA",
    gx.CheckOption: lambda g, e: f"WITH {e.this + ' ' if e.args.get('this') else ''}CHECK OPTION",
    gx.ExternalFormat: _external_format,
    gx.PartitionKey: _partition_key,
    gx.ConstraintAttribute: _simple("{this}"),
    gx.AttributeSpec: lambda g, e: " ".join(text(g, a) for a in e.expressions),
    gx.EncodingConstraint: _simple("ENCODING {this}"),
    gx.CheckConstraint: lambda g, e: f"CHECK ({text(g, e.this)})" + (" NO INHERIT" if e.args.get("no_inherit") else ""),
    gx.KeyConstraint: _key,
    gx.ReferencesConstraint: _references,
    gx.ExcludeConstraint: _exclude,
    gx.ExcludeElement: lambda g, e: f"{text(g, e.this)} WITH {text(g, e.args['operator'])}",
    gx.GeneratedConstraint: _generated,
    gx.TableConstraint: _table_constraint,
    gx.LikeClause: _like,
    gx.IndexElement: _index_element,
    gx.IndexBody: _index_body,
    gx.ColumnStorage: lambda g, e: f"{e.args['kind']} {text(g, e.this)}",
    gx.SqlBody: _sql_body,
    **{node: _binary(word) for node, word in _BINARY.items()},
}


def _by_synopsis(body: Any) -> Writer:
    def writer(g: Generator, e: exp.Expression) -> str:
        return write(body, e.args, lambda value: text(g, value))

    return writer


for _node, _body in grammar.SYNOPSES.writers():
    WRITERS.setdefault(_node, _by_synopsis(_body))
