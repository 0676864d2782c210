"""Writes trees as SQL that the server parses to the same tree: one writer for each kind of node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect import grammar
from gpcatalog.dialect.synopsis import write
from gpcatalog.dialect.write_expressions import (
    Writer,
    listed,
    parts,
    text,
    write_alias,
    write_array,
    write_BINARY,
    write_call,
    write_case,
    write_column,
    write_datatype,
    write_heredoc,
    write_identifier,
    write_literal,
    write_operator,
    write_operator_call,
    write_predicate,
    write_relation,
    write_special,
    write_subscript,
    write_table,
    write_typed_literal,
    write_window,
    write_window_call,
)
from gpcatalog.dialect.write_queries import (
    select,
    write_cte,
    write_delete,
    write_from_item,
    write_grouping,
    write_insert,
    write_into,
    write_join,
    write_joined,
    write_joins,
    write_limit_clause,
    write_lock,
    write_returning,
    write_sampling,
    write_scattered,
    write_set_columns,
    write_set_operation,
    write_sort_key,
    write_subquery,
    write_tail,
    write_update,
    write_values,
    write_with,
)
from gpcatalog.dialect.write_tables import (
    create,
    write_column_constraint,
    write_column_def,
    write_distributed,
    write_exclude,
    write_external_format,
    write_generated,
    write_index_body,
    write_index_element,
    write_key,
    write_like,
    write_partition_key,
    write_references,
    write_schema,
    write_sql_body,
    write_storage_option,
    write_table_constraint,
)

if TYPE_CHECKING:
    from sqlglot.generator import Generator


def _simple(template: str) -> Writer:
    """Return a writer for a template with {this} and {expressions}."""

    def writer(g: Any, e: exp.Expression) -> str:
        return template.format(
            this=text(g, e.args.get("this") or ""), expressions=listed(g, e.args.get("expressions"))
        )

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
    exp.Identifier: write_identifier,
    exp.Literal: write_literal,
    exp.Heredoc: write_heredoc,
    exp.National: lambda g, e: "N'" + e.this.replace("'", "''") + "'",
    exp.BitString: lambda g, e: f"B'{e.this}'",
    exp.HexString: lambda g, e: f"X'{e.this}'",
    gx.EscapeString: lambda g, e: f"E'{e.this}'",
    gx.PsqlVariable: lambda g, e: str(e.this),
    exp.Null: lambda g, e: "NULL",
    exp.Boolean: lambda g, e: "TRUE" if e.this else "FALSE",
    exp.Star: lambda g, e: "*",
    exp.Parameter: lambda g, e: f"${text(g, e.this)}",
    exp.TableAlias: write_alias,
    exp.Table: write_table,
    exp.Column: write_column,
    exp.Dot: _dot,
    exp.Alias: lambda g, e: f"{text(g, e.this)} AS {text(g, e.args['alias'])}",
    exp.Paren: _simple("({this})"),
    exp.Not: _simple("NOT {this}"),
    exp.Neg: _neg,
    exp.Is: lambda g, e: f"{text(g, e.this)} IS {text(g, e.expression)}",
    exp.And: _binary("AND"),
    exp.Or: _binary("OR"),
    exp.Cast: lambda g, e: f"CAST({text(g, e.this)} AS {text(g, e.args['to'])})",
    exp.Case: write_case,
    exp.DataType: write_datatype,
    exp.DataTypeParam: lambda g, e: text(g, e.this),
    exp.Order: lambda g, e: (
        f"ORDER BY {listed(g, e.expressions)}"
        if isinstance(e.expressions[0], gx.SortKey)
        else g.order_sql(e).strip()
    ),
    exp.Where: _simple("WHERE {this}"),
    exp.Select: select,
    exp.Union: write_set_operation("UNION"),
    exp.Except: write_set_operation("EXCEPT"),
    exp.Intersect: write_set_operation("INTERSECT"),
    exp.Subquery: write_subquery,
    exp.Values: write_values,
    exp.CTE: write_cte,
    exp.From: lambda g, e: f"{text(g, e.this)}{write_joins(g, e.args.get('joins'))}",
    exp.Join: write_join,
    exp.Tuple: _simple("({expressions})"),
    exp.Insert: write_insert,
    exp.Update: write_update,
    exp.Delete: write_delete,
    exp.Create: create,
    exp.Schema: write_schema,
    exp.ColumnDef: write_column_def,
    exp.ColumnConstraint: write_column_constraint,
    exp.CollateColumnConstraint: _simple("COLLATE {this}"),
    exp.CheckColumnConstraint: _simple("CHECK ({this})"),
    exp.DefaultColumnConstraint: _simple("DEFAULT {this}"),
    exp.PrimaryKeyColumnConstraint: lambda g, e: "PRIMARY KEY",
    exp.UniqueColumnConstraint: lambda g, e: "UNIQUE",
    gx.OwnNotNull: lambda g, e: "NOT NULL NO INHERIT",
    gx.PeriodColumn: lambda g, e: f"PERIOD {text(g, e.this)}",
    exp.NotNullColumnConstraint: lambda g, e: "NULL" if e.args.get("allow_null") else "NOT NULL",
    exp.DistributedByProperty: write_distributed,
    exp.InheritsProperty: _simple("INHERITS ({expressions})"),
    exp.TableSpaceProperty: _simple("TABLESPACE {this}"),
    gx.RelationName: write_relation,
    gx.Operator: write_operator,
    gx.OperatorCall: write_operator_call,
    gx.Predicate: write_predicate,
    gx.SubqueryComparison: lambda g, e: (
        f"{text(g, e.this)} {text(g, e.args['operator'])} {e.args['quantifier']}"
        f" {text(g, e.expression)}"
    ),
    gx.FunctionCall: write_call,
    exp.Anonymous: lambda g, e: f"{text(g, e.this)}({listed(g, e.expressions)})",
    exp.Count: lambda g, e: f"count({text(g, e.this)})",
    gx.SpecialCall: write_special,
    gx.NamedArgument: lambda g, e: f"{text(g, e.this)} {e.args['op']} {text(g, e.expression)}",
    gx.VariadicArgument: _simple("VARIADIC {this}"),
    gx.TypedLiteral: write_typed_literal,
    gx.Subscript: write_subscript,
    gx.RowValue: lambda g, e: (
        ("ROW" if e.args.get("explicit") else "") + f"({listed(g, e.expressions)})"
    ),
    gx.ArrayValue: write_array,
    gx.CurrentOf: _simple("CURRENT OF {this}"),
    gx.DefaultValue: lambda g, e: "DEFAULT",
    gx.SetOf: _simple("SETOF {this}"),
    gx.ColumnType: lambda g, e: (
        ("SETOF " if e.args.get("setof") else "") + text(g, e.this) + "%TYPE"
    ),
    gx.WindowCall: write_window_call,
    gx.WindowDefinition: write_window,
    gx.WindowFrame: lambda g, e: parts(g, e.expressions),
    gx.WordRun: lambda g, e: parts(g, e.expressions),
    gx.NamedJoin: lambda g, e: f"{write_join(g, e)} AS {text(g, e.args['alias'])}",
    gx.WatchedCTE: lambda g, e: " ".join(
        [write_cte(g, e), *(text(g, e.args[k]) for k in ("search", "cycle") if e.args.get(k))]
    ),
    gx.Words: lambda g, e: str(e.this),
    gx.SortKey: write_sort_key,
    gx.LimitClause: write_limit_clause,
    gx.LockClause: write_lock,
    gx.TableQuery: lambda g, e: f"{write_with(g, e)}TABLE {text(g, e.this)}{write_tail(g, e)}",
    gx.FromItem: write_from_item,
    gx.JoinedTable: write_joined,
    gx.TableSampling: write_sampling,
    gx.RowsFrom: _simple("ROWS FROM ({expressions})"),
    gx.RowsFromItem: lambda g, e: (
        text(g, e.this)
        + (f" AS ({listed(g, e.args['definitions'])})" if e.args.get("definitions") else "")
    ),
    gx.TypedName: lambda g, e: (
        f"{text(g, e.this)} {text(g, e.args['kind'])}"
        + (f" COLLATE {text(g, e.args['collate'])}" if e.args.get("collate") is not None else "")
    ),
    gx.IntoTarget: write_into,
    gx.GroupingItem: write_grouping,
    gx.ScatteredQuery: write_scattered,
    gx.SetColumns: write_set_columns,
    exp.Returning: write_returning,
    gx.NamedReturning: write_returning,
    gx.ReturningName: lambda g, e: f"{e.args['kind']} AS {text(g, e.this)}",
    gx.MergeRows: lambda g, e: write_with(g, e) + parts(g, e.expressions),
    gx.StorageOption: write_storage_option,
    gx.StorageOptions: _simple("WITH ({expressions})"),
    gx.OidsProperty: lambda g, e: "WITH OIDS" if e.this else "WITHOUT OIDS",
    gx.OnCommit: _simple("ON COMMIT {this}"),
    gx.AccessMethod: _simple("USING {this}"),
    gx.ServerProperty: _simple("SERVER {this}"),
    gx.WithData: lambda g, e: "WITH NO DATA" if e.args.get("no") else "WITH DATA",
    gx.CheckOption: lambda g, e: f"WITH {e.this + ' ' if e.args.get('this') else ''}CHECK OPTION",
    gx.ExternalFormat: write_external_format,
    gx.PartitionKey: write_partition_key,
    gx.ConstraintAttribute: _simple("{this}"),
    gx.AttributeSpec: lambda g, e: " ".join(text(g, a) for a in e.expressions),
    gx.EncodingConstraint: _simple("ENCODING {this}"),
    gx.CheckConstraint: lambda g, e: (
        f"CHECK ({text(g, e.this)})" + (" NO INHERIT" if e.args.get("no_inherit") else "")
    ),
    gx.KeyConstraint: write_key,
    gx.ReferencesConstraint: write_references,
    gx.ExcludeConstraint: write_exclude,
    gx.ExcludeElement: lambda g, e: f"{text(g, e.this)} WITH {text(g, e.args['operator'])}",
    gx.GeneratedConstraint: write_generated,
    gx.TableConstraint: write_table_constraint,
    gx.LikeClause: write_like,
    gx.IndexElement: write_index_element,
    gx.IndexBody: write_index_body,
    gx.ColumnStorage: lambda g, e: f"{e.args['kind']} {text(g, e.this)}",
    gx.SqlBody: write_sql_body,
    **{node: _binary(word) for node, word in write_BINARY.items()},
}


def _by_synopsis(body: Any) -> Writer:
    def writer(g: Generator, e: exp.Expression) -> str:
        return write(body, e.args, lambda value: text(g, value))

    return writer


for _node, _body in grammar.SYNOPSES.writers():
    WRITERS.setdefault(_node, _by_synopsis(_body))
