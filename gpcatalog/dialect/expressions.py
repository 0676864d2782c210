"""Tree nodes for syntax that sqlglot has no class for: distribution, partitions, encodings,
external tables, rare syntax of PostgreSQL.
"""

# ruff: noqa: RUF012 - arg_types is how sqlglot declares a node
from __future__ import annotations

from typing import Any

from sqlglot import exp


class Node(exp.Expression):
    """A node that is written in this dialect unless another one is specified."""

    def sql(self, dialect: Any = None, **opts: Any) -> str:  # type: ignore[override]
        """SQL text."""
        return str(super().sql(dialect or "greenplum", **opts))


# --- table properties -----------------------------------------------------------------------------


class StorageOptions(exp.Property):
    """WITH (name = value, …) of a table, index or partition; expressions: StorageOption."""

    arg_types = {"expressions": True}


class StorageOption(Node):
    """One name, name = value or namespace.name = value."""

    arg_types = {"this": True, "namespace": False, "value": False}

    @property
    def option(self) -> str:
        """The option's name as the server compares it."""
        return str(self.this.this).lower()

    @property
    def setting(self) -> str:
        """The value as lower-case text; an option without a value is "true"."""
        value = self.args.get("value")
        return (
            "true"
            if value is None
            else str(
                value if isinstance(value, str) else value.name or value.sql("greenplum")
            ).lower()
        )


class OidsProperty(exp.Property):
    """WITH OIDS (True) or WITHOUT OIDS (False), before PostgreSQL 12."""

    arg_types = {"this": False}


class OnCommit(exp.Property):
    """ON COMMIT DROP, DELETE ROWS or PRESERVE ROWS."""


class AccessMethod(exp.Property):
    """USING access_method."""


class OfType(exp.Property):
    """OF composite_type."""


class TableOptions(exp.Property):
    """OPTIONS (name 'value', …)."""

    arg_types = {"expressions": True}


class ServerProperty(exp.Property):
    """SERVER name of a foreign table."""


class WithData(exp.Property):
    """WITH [NO] DATA."""

    arg_types = {"no": False}


class DistributionKey(Node):
    """A distribution column with an operator class."""

    arg_types = {"this": True, "opclass": False}


class PartitionBy(exp.Property):
    """PARTITION BY kind (keys) [SUBPARTITION BY …] [(partitions)]; subpartition: SubpartitionBy."""

    arg_types = {"kind": False, "expressions": True, "subpartition": False, "partitions": False}


class SubpartitionBy(Node):
    """SUBPARTITION BY kind (keys) [SUBPARTITION TEMPLATE (…)] and the level below it."""

    arg_types = {"kind": False, "expressions": True, "template": False, "subpartition": False}


class PartitionKey(Node):
    """A column or an expression of a partition key, with collation and operator class."""

    arg_types = {"this": True, "collate": False, "opclass": False}


class BoundIn(Node):
    """FOR VALUES IN (…)."""

    arg_types = {"expressions": True}


class BoundFromTo(Node):
    """FOR VALUES FROM (…) TO (…)."""

    arg_types = {"lower": True, "upper": True}


class BoundWith(Node):
    """FOR VALUES WITH (modulus, remainder)."""

    arg_types = {"modulus": True, "remainder": True}


class BoundDefault(Node):
    """DEFAULT."""

    arg_types = {}


class PartitionDefinition(Node):
    """One element of a classic partition list.

    role: "PARTITION", "SUBPARTITION" or "" if it has no name
    default: True for DEFAULT …
    bound: PartitionValues or PartitionRange
    """

    arg_types = {
        "role": False,
        "this": False,
        "default": False,
        "bound": False,
        "options": False,
        "tablespace": False,
        "encodings": False,
        "encoding": False,
        "partitions": False,
    }


class SubpartitionDefinition(PartitionDefinition):
    """One element of a classic subpartition list or template."""


class TemplateElement(PartitionDefinition):
    """One element of a subpartition template."""


class PartitionRange(Node):
    """START (…) … END (…) … EVERY (…)."""

    arg_types = {"start": False, "end": False, "every": False}


class AddedRange(PartitionRange):
    """START (…) END (…) of ADD PARTITION."""


class PartitionStart(Node):
    """START (values) with INCLUSIVE (the default) or EXCLUSIVE."""

    arg_types = {"expressions": True, "inclusive": False}


class PartitionEnd(Node):
    """END (values) with EXCLUSIVE (the default) or INCLUSIVE."""

    arg_types = {"expressions": True, "inclusive": False}


class PartitionEvery(Node):
    """EVERY (steps)."""

    arg_types = {"expressions": True}


class PartitionValues(Node):
    """VALUES (…), each a value or a tuple."""

    arg_types = {"expressions": True}


class ColumnEncoding(Node):
    """COLUMN name ENCODING (…), or DEFAULT COLUMN ENCODING (…) if there is no name."""

    arg_types = {"this": False, "encoding": True}


class EncodingConstraint(Node, exp.ColumnConstraintKind):
    """ENCODING (…) of a column."""


class ConstraintAttribute(Node, exp.ColumnConstraintKind):
    """DEFERRABLE, INITIALLY DEFERRED, NOT VALID, NO INHERIT, …"""


class OwnNotNull(exp.NotNullColumnConstraint):
    """NOT NULL that child tables do not inherit."""

    arg_types = {**exp.NotNullColumnConstraint.arg_types, "no_inherit": True}


class PeriodColumn(Node):
    """PERIOD column of a temporal foreign key."""


class KeyConstraint(Node, exp.ColumnConstraintKind):
    """UNIQUE or PRIMARY KEY of a column or of a table."""

    arg_types = {
        "kind": True,
        "expressions": False,
        "nulls": False,
        "include": False,
        "definition": False,
        "tablespace": False,
        "index": False,
        "overlaps": False,
    }


class ReferencesConstraint(Node, exp.ColumnConstraintKind):
    """[FOREIGN KEY (…)] REFERENCES table (…) MATCH … ON …"""

    arg_types = {
        "columns": False,
        "this": True,
        "expressions": False,
        "match": False,
        "actions": False,
        "period": False,
    }


class ReferenceAction(Node):
    """ON DELETE or ON UPDATE action."""

    arg_types = {"event": True, "action": True, "expressions": False}


class ExcludeConstraint(Node, exp.ColumnConstraintKind):
    """EXCLUDE USING … (element WITH operator, …)."""

    arg_types = {
        "using": False,
        "expressions": True,
        "include": False,
        "definition": False,
        "tablespace": False,
        "where": False,
    }


class ExcludeElement(Node):
    """element WITH operator."""

    arg_types = {"this": True, "operator": True}


class CheckConstraint(Node, exp.ColumnConstraintKind):
    """CHECK (…)."""

    arg_types = {"this": True}


class GeneratedConstraint(Node, exp.ColumnConstraintKind):
    """GENERATED … AS IDENTITY (…) or AS (expression) STORED."""

    arg_types = {"when": True, "this": False, "options": False, "stored": False, "identity": False}


class TableConstraint(Node):
    """A constraint of a table: name, kind and attributes."""

    arg_types = {"this": False, "kind": True, "attributes": False}


class LikeClause(Node):
    """LIKE table INCLUDING … EXCLUDING …; expressions: "INCLUDING ALL", …"""

    arg_types = {"this": True, "expressions": False}


class IndexElement(Node):
    """A column or expression of an index, with collation, operator class and order."""

    arg_types = {
        "this": True,
        "collate": False,
        "opclass": False,
        "options": False,
        "order": False,
        "nulls": False,
    }


# --- names, types, expressions --------------------------------------------------------------------


class RelationName(Node):
    """[ONLY] name [*], with ONLY or *."""

    arg_types = {"this": True, "only": False, "star": False, "parens": False}


class SetOf(Node):
    """SETOF type."""


class ColumnType(Node):
    """table.column%TYPE."""

    arg_types = {"this": True, "setof": False}


class Operator(Node):
    """An operator by name: op, schema.op or OPERATOR(schema.op)."""

    arg_types = {"this": True, "schema": False, "wrapped": False}


class OperatorCall(Node, exp.Condition):
    """left op right for operators that sqlglot has no class for; a prefix operator has no left
    side, a postfix operator no right side.
    """

    arg_types = {"this": False, "operator": True, "expression": False}


class Predicate(Node, exp.Condition):
    """Keyword predicates: IS NULL, LIKE … ESCAPE, BETWEEN SYMMETRIC, OVERLAPS, AT TIME ZONE,
    COLLATE, …
    """

    arg_types = {"this": False, "words": True, "expressions": False, "joiner": False}


class SubqueryComparison(Node, exp.Condition):
    """left op ANY | SOME | ALL (query or array)."""

    arg_types = {"this": True, "operator": True, "quantifier": True, "expression": True}


class FunctionCall(Node, exp.Condition):
    """name(arguments), with the clauses that PostgreSQL allows in and after the parentheses."""

    arg_types = {
        "this": True,
        "expressions": False,
        "quantifier": False,
        "order": False,
        "star": False,
    }

    @property
    def name(self) -> str:
        """The function's own name."""
        return str(self.this.name)


class NamedArgument(Node):
    """name := value or name => value."""

    arg_types = {"this": True, "expression": True, "op": True}


class VariadicArgument(Node):
    """VARIADIC value."""


class SpecialCall(Node, exp.Condition):
    """A function with its own syntax: EXTRACT, OVERLAY, TRIM, XMLELEMENT, CAST, …; parts: words and
    nodes in order.
    """

    arg_types = {"this": True, "expressions": False}


class TypedLiteral(Node, exp.Condition):
    """type 'text', e.g. date '2020-01-01' or interval '1' year."""

    arg_types = {"this": True, "to": True, "fields": False}


class Subscript(Node, exp.Condition):
    """value[i] or value[lower:upper]."""

    arg_types = {"this": True, "lower": False, "upper": False, "slice": False}


class RowValue(Node, exp.Condition):
    """ROW(…) or (a, b)."""

    arg_types = {"expressions": False, "explicit": False}


class ArrayValue(Node, exp.Condition):
    """ARRAY[…], nested brackets without the word ARRAY, or ARRAY(query)."""

    arg_types = {"expressions": False, "query": False, "nested": False}


class EscapeString(Node, exp.Condition):
    """E'…' as written."""


class PsqlVariable(Node, exp.Condition):
    """:name, :'name' or :"name" in a psql script."""


class CurrentOf(Node, exp.Condition):
    """CURRENT OF cursor."""


class DefaultValue(Node, exp.Condition):
    """DEFAULT in the place of a value."""

    arg_types = {}


# --- queries --------------------------------------------------------------------------------------


class TableQuery(Node, exp.Query):
    """TABLE name as a query."""

    arg_types = {"this": True, **exp.QUERY_MODIFIERS, "with_": False}


class FromItem(Node):
    """An item of FROM that is not only a table or subquery with an alias: LATERAL, functions,
    TABLESAMPLE, column definitions.
    """

    arg_types = {
        "this": True,
        "lateral": False,
        "portion": False,
        "ordinality": False,
        "alias": False,
        "definitions": False,
        "sample": False,
    }


class JoinedTable(Node):
    """A join inside parentheses, or as the right side of another join."""

    arg_types = {"this": True, "joins": True, "alias": False, "parens": False}


class NamedJoin(exp.Join):
    """JOIN … USING (…) AS name: the alias of the joined columns."""

    arg_types = {**exp.Join.arg_types, "alias": True}


class WordRun(Node):
    """Words and expressions in the order in which they are written."""

    arg_types = {"expressions": True}


class WatchedCTE(exp.CTE):
    """A recursive query with SEARCH or CYCLE."""

    arg_types = {**exp.CTE.arg_types, "search": False, "cycle": False}


class TableSampling(Node):
    """TABLESAMPLE method (…) REPEATABLE (…)."""

    arg_types = {"this": True, "expressions": True, "seed": False}


class RowsFrom(Node):
    """ROWS FROM (f(…), …)."""

    arg_types = {"expressions": True}


class RowsFromItem(Node):
    """f(…) AS (name type, …)."""

    arg_types = {"this": True, "definitions": False}


class TypedName(Node):
    """name type [COLLATE c]."""

    arg_types = {"this": True, "kind": True, "collate": False}


class IntoTarget(Node):
    """INTO [TEMP | UNLOGGED] [TABLE] name."""

    arg_types = {"this": True, "kind": False, "table": False}


class GroupingItem(Node):
    """ROLLUP, CUBE, GROUPING SETS or ()."""

    arg_types = {"this": True, "expressions": False}


class SortKey(exp.Ordered):
    """An ORDER BY item with USING operator."""

    arg_types = {"this": True, "using": False, "nulls": False}


class LimitClause(Node):
    """LIMIT, OFFSET or FETCH as written."""

    arg_types = {"kind": True, "this": False, "rows": False}


class LockClause(Node):
    """FOR UPDATE … OF … NOWAIT."""

    arg_types = {"strength": True, "expressions": False, "wait": False}


class WindowDefinition(Node):
    """(base PARTITION BY … ORDER BY … frame), with a name in the WINDOW clause."""

    arg_types = {"this": False, "base": False, "partition": False, "order": False, "frame": False}


class WindowFrame(Node):
    """ROWS BETWEEN … AND … EXCLUDE …; words and nodes in order."""

    arg_types = {"expressions": True}


class WindowCall(Node, exp.Condition):
    """call WITHIN GROUP (…) FILTER (WHERE …) OVER …"""

    arg_types = {"this": True, "within": False, "filter": False, "over": False, "nulls": False}


class ScatteredQuery(Node):
    """TABLE (query SCATTER BY …) as a function's argument."""

    arg_types = {"this": True, "expressions": False, "randomly": False}


class SetColumns(Node):
    """SET column = value or (columns) = value."""

    arg_types = {"columns": True, "this": True, "wrapped": False}


class Words(Node):
    """Keywords in a list of parts."""


class MergeRows(Node):
    """MERGE INTO …; words and nodes in order."""

    arg_types = {"expressions": True, "with_": False}


# --- further properties and bodies of CREATE ------------------------------------------------------


class RecursiveView(exp.Property):
    """RECURSIVE of a view."""

    arg_types = {"this": False}


class CheckOption(exp.Property):
    """WITH [LOCAL | CASCADED] CHECK OPTION."""

    arg_types = {"this": False}


class ExternalKind(exp.Property):
    """[READABLE | WRITABLE] EXTERNAL [WEB]."""

    arg_types = {"this": False, "web": False}


class ExternalFormat(exp.Property):
    """FORMAT 'name' (options)."""

    arg_types = {"this": True, "options": False}


class IndexBody(Node):
    """The clauses after the table in CREATE INDEX."""

    arg_types = {
        "using": False,
        "columns": True,
        "include": False,
        "nulls": False,
        "with_storage": False,
        "tablespace": False,
        "where": False,
    }


class ReturningName(Node):
    """OLD or NEW (kind) AS a name, in RETURNING WITH."""

    arg_types = {"this": True, "kind": True}


class NamedReturning(Node, exp.Returning):
    """RETURNING WITH (names) expressions."""

    arg_types = {"expressions": True, "names": True}


class ColumnStorage(Node, exp.ColumnConstraintKind):
    """STORAGE or COMPRESSION of a column."""

    arg_types = {"kind": True, "this": True}


class SqlBody(Node):
    """RETURN expression, or BEGIN ATOMIC statements END."""

    arg_types = {"expressions": True, "atomic": False}


class AttributeSpec(Node):
    """The attributes of a constraint."""

    arg_types = {"expressions": True}
