"""Tree nodes for what sqlglot has no class for: distribution, partitions, encodings, external tables, PostgreSQL's odd corners."""

# ruff: noqa: RUF012 - arg_types is how sqlglot declares a node
from __future__ import annotations

from sqlglot import exp

# --- table properties -------------------------------------------------------------------------------------------------


class StorageOptions(exp.Property):
    """WITH (name = value, …) of a table, index or partition; expressions: StorageOption."""

    arg_types = {"expressions": True}


class StorageOption(exp.Expression):
    """One name, name = value or namespace.name = value."""

    arg_types = {"this": True, "namespace": False, "value": False}

    @property
    def option(self) -> str:
        """The option's name as the server compares it."""
        return str(self.this.this).lower()

    @property
    def setting(self) -> str:
        """The value as lower-case text; an option without one is switched on."""
        value = self.args.get("value")
        return "true" if value is None else str(value if isinstance(value, str) else value.name or value.sql()).lower()


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


class DistributionKey(exp.Expression):
    """A distribution column with an operator class."""

    arg_types = {"this": True, "opclass": False}


class PartitionBy(exp.Property):
    """PARTITION BY kind (keys) [SUBPARTITION BY …] [(partitions)]; subpartition: SubpartitionBy."""

    arg_types = {"kind": False, "expressions": True, "subpartition": False, "partitions": False}


class SubpartitionBy(exp.Expression):
    """SUBPARTITION BY kind (keys) [SUBPARTITION TEMPLATE (…)] and the level below it."""

    arg_types = {"kind": False, "expressions": True, "template": False, "subpartition": False}


class PartitionKey(exp.Expression):
    """A column or an expression of a partition key, with collation and operator class."""

    arg_types = {"this": True, "collate": False, "opclass": False}


class BoundIn(exp.Expression):
    """FOR VALUES IN (…)."""

    arg_types = {"expressions": True}


class BoundFromTo(exp.Expression):
    """FOR VALUES FROM (…) TO (…)."""

    arg_types = {"lower": True, "upper": True}


class BoundWith(exp.Expression):
    """FOR VALUES WITH (modulus, remainder)."""

    arg_types = {"expressions": True}


class BoundDefault(exp.Expression):
    """DEFAULT."""

    arg_types = {}


class PartitionDefinition(exp.Expression):
    """One element of a classic partition list.

    role: "PARTITION", "SUBPARTITION" or "" when unnamed; default: True for DEFAULT …; bound: PartitionValues or PartitionRange.
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


class PartitionRange(exp.Expression):
    """START (…) … END (…) … EVERY (…)."""

    arg_types = {"start": False, "end": False, "every": False}


class AddedRange(PartitionRange):
    """START (…) END (…) of ADD PARTITION."""


class PartitionStart(exp.Expression):
    """START (values) with INCLUSIVE (the default) or EXCLUSIVE."""

    arg_types = {"expressions": True, "inclusive": False}


class PartitionEnd(exp.Expression):
    """END (values) with EXCLUSIVE (the default) or INCLUSIVE."""

    arg_types = {"expressions": True, "inclusive": False}


class PartitionEvery(exp.Expression):
    """EVERY (steps)."""

    arg_types = {"expressions": True}


class PartitionValues(exp.Expression):
    """VALUES (…), each a value or a tuple."""

    arg_types = {"expressions": True}


class ColumnEncoding(exp.Expression):
    """COLUMN name ENCODING (…), or DEFAULT COLUMN ENCODING (…) when there is no name."""

    arg_types = {"this": False, "encoding": True}


class EncodingConstraint(exp.Expression, exp.ColumnConstraintKind):
    """ENCODING (…) of a column."""


class ConstraintAttribute(exp.Expression, exp.ColumnConstraintKind):
    """DEFERRABLE, INITIALLY DEFERRED, NOT VALID, NO INHERIT, …"""


class KeyConstraint(exp.Expression, exp.ColumnConstraintKind):
    """UNIQUE or PRIMARY KEY, of a column or of a table."""

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


class ReferencesConstraint(exp.Expression, exp.ColumnConstraintKind):
    """[FOREIGN KEY (…)] REFERENCES table (…) MATCH … ON …"""

    arg_types = {"columns": False, "this": True, "expressions": False, "match": False, "actions": False, "period": False}


class ReferenceAction(exp.Expression):
    """ON DELETE or ON UPDATE action."""

    arg_types = {"event": True, "action": True, "expressions": False}


class ExcludeConstraint(exp.Expression, exp.ColumnConstraintKind):
    """EXCLUDE USING … (element WITH operator, …)."""

    arg_types = {
        "using": False,
        "expressions": True,
        "include": False,
        "definition": False,
        "tablespace": False,
        "where": False,
    }


class ExcludeElement(exp.Expression):
    """element WITH operator."""

    arg_types = {"this": True, "operator": True}


class CheckConstraint(exp.Expression, exp.ColumnConstraintKind):
    """CHECK (…)."""

    arg_types = {"this": True}


class GeneratedConstraint(exp.Expression, exp.ColumnConstraintKind):
    """GENERATED … AS IDENTITY (…) or AS (expression) STORED."""

    arg_types = {"when": True, "this": False, "options": False, "stored": False, "identity": False}


class TableConstraint(exp.Expression):
    """A constraint of a table: name, kind and attributes."""

    arg_types = {"this": False, "kind": True, "attributes": False}


class LikeClause(exp.Expression):
    """LIKE table INCLUDING … EXCLUDING …; expressions: "INCLUDING ALL", …"""

    arg_types = {"this": True, "expressions": False}


class IndexElement(exp.Expression):
    """A column or expression of an index, with collation, operator class and order."""

    arg_types = {"this": True, "collate": False, "opclass": False, "options": False, "order": False, "nulls": False}


# --- names, types, expressions ----------------------------------------------------------------------------------------


class RelationName(exp.Expression):
    """[ONLY] name [*], where it is not plain."""

    arg_types = {"this": True, "only": False, "star": False, "parens": False}


class SetOf(exp.Expression):
    """SETOF type."""


class ColumnType(exp.Expression):
    """table.column%TYPE."""

    arg_types = {"this": True, "setof": False}


class Operator(exp.Expression):
    """An operator by name: op, schema.op or OPERATOR(schema.op)."""

    arg_types = {"this": True, "schema": False, "wrapped": False}


class OperatorCall(exp.Expression, exp.Condition):
    """left op right for operators sqlglot has no class for; prefix without left, postfix without right."""

    arg_types = {"this": False, "operator": True, "expression": False}


class Predicate(exp.Expression, exp.Condition):
    """Keyword predicates: IS NULL, LIKE … ESCAPE, BETWEEN SYMMETRIC, OVERLAPS, AT TIME ZONE, COLLATE, …"""

    arg_types = {"this": False, "words": True, "expressions": False, "joiner": False}


class SubqueryComparison(exp.Expression, exp.Condition):
    """left op ANY | SOME | ALL (query or array)."""

    arg_types = {"this": True, "operator": True, "quantifier": True, "expression": True}


class FunctionCall(exp.Expression, exp.Condition):
    """name(arguments), with what PostgreSQL allows between and behind."""

    arg_types = {"this": True, "expressions": False, "quantifier": False, "order": False, "star": False}

    @property
    def name(self) -> str:
        """The function's own name."""
        return str(self.this.name)


class NamedArgument(exp.Expression):
    """name := value or name => value."""

    arg_types = {"this": True, "expression": True, "op": True}


class VariadicArgument(exp.Expression):
    """VARIADIC value."""


class SpecialCall(exp.Expression, exp.Condition):
    """Functions with a grammar of their own: EXTRACT, OVERLAY, TRIM, XMLELEMENT, CAST, …; parts: words and nodes in order."""

    arg_types = {"this": True, "expressions": False}


class TypedLiteral(exp.Expression, exp.Condition):
    """type 'text', e.g. date '2020-01-01' or interval '1' year."""

    arg_types = {"this": True, "to": True, "fields": False}


class Subscript(exp.Expression, exp.Condition):
    """value[i] or value[lower:upper]."""

    arg_types = {"this": True, "lower": False, "upper": False, "slice": False}


class RowValue(exp.Expression, exp.Condition):
    """ROW(…) or (a, b)."""

    arg_types = {"expressions": False, "explicit": False}


class ArrayValue(exp.Expression, exp.Condition):
    """ARRAY[…], nested brackets without the word, or ARRAY(query)."""

    arg_types = {"expressions": False, "query": False, "nested": False}


class EscapeString(exp.Expression, exp.Condition):
    """E'…' as written."""


class PsqlVariable(exp.Expression, exp.Condition):
    """:name, :'name' or :"name" in a psql script."""


class CurrentOf(exp.Expression, exp.Condition):
    """CURRENT OF cursor."""


class DefaultValue(exp.Expression, exp.Condition):
    """DEFAULT where a value is asked for."""

    arg_types = {}


# --- queries ----------------------------------------------------------------------------------------------------------


class TableQuery(exp.Expression, exp.Query):
    """TABLE name as a query."""

    arg_types = {"this": True, **exp.QUERY_MODIFIERS, "with_": False}


class FromItem(exp.Expression):
    """An item of FROM that is more than a table or subquery with an alias: LATERAL, functions, TABLESAMPLE, column definitions."""

    arg_types = {
        "this": True,
        "lateral": False,
        "ordinality": False,
        "alias": False,
        "definitions": False,
        "sample": False,
    }


class JoinedTable(exp.Expression):
    """A join inside parentheses, or as the right side of another join."""

    arg_types = {"this": True, "joins": True, "alias": False, "parens": False}


class TableSampling(exp.Expression):
    """TABLESAMPLE method (…) REPEATABLE (…)."""

    arg_types = {"this": True, "expressions": True, "seed": False}


class RowsFrom(exp.Expression):
    """ROWS FROM (f(…), …)."""

    arg_types = {"expressions": True}


class RowsFromItem(exp.Expression):
    """f(…) AS (name type, …)."""

    arg_types = {"this": True, "definitions": False}


class TypedName(exp.Expression):
    """name type [COLLATE c]."""

    arg_types = {"this": True, "kind": True, "collate": False}


class IntoTarget(exp.Expression):
    """INTO [TEMP | UNLOGGED] [TABLE] name."""

    arg_types = {"this": True, "kind": False, "table": False}


class GroupingItem(exp.Expression):
    """ROLLUP, CUBE, GROUPING SETS or ()."""

    arg_types = {"this": True, "expressions": False}


class SortKey(exp.Ordered):
    """An ORDER BY item with USING operator."""

    arg_types = {"this": True, "using": False, "nulls": False}


class LimitClause(exp.Expression):
    """LIMIT, OFFSET or FETCH as written."""

    arg_types = {"kind": True, "this": False, "rows": False}


class LockClause(exp.Expression):
    """FOR UPDATE … OF … NOWAIT."""

    arg_types = {"strength": True, "expressions": False, "wait": False}


class WindowDefinition(exp.Expression):
    """(base PARTITION BY … ORDER BY … frame), with a name in the WINDOW clause."""

    arg_types = {"this": False, "base": False, "partition": False, "order": False, "frame": False}


class WindowFrame(exp.Expression):
    """ROWS BETWEEN … AND … EXCLUDE …; words and nodes in order."""

    arg_types = {"expressions": True}


class WindowCall(exp.Expression, exp.Condition):
    """call WITHIN GROUP (…) FILTER (WHERE …) OVER …"""

    arg_types = {"this": True, "within": False, "filter": False, "over": False, "nulls": False}


class ScatteredQuery(exp.Expression):
    """TABLE (query SCATTER BY …) as a function's argument."""

    arg_types = {"this": True, "expressions": False, "randomly": False}


class SetColumns(exp.Expression):
    """SET column = value or (columns) = value."""

    arg_types = {"columns": True, "this": True, "wrapped": False}


class Words(exp.Expression):
    """Keywords in a list of parts."""


class MergeRows(exp.Expression):
    """MERGE INTO …; words and nodes in order."""

    arg_types = {"expressions": True, "with_": False}


# --- further properties and bodies of CREATE ---------------------------------------------------------------------------


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


class IndexBody(exp.Expression):
    """What follows the table in CREATE INDEX."""

    arg_types = {
        "using": False,
        "columns": True,
        "include": False,
        "nulls": False,
        "with_storage": False,
        "tablespace": False,
        "where": False,
    }


class ColumnStorage(exp.Expression, exp.ColumnConstraintKind):
    """STORAGE or COMPRESSION of a column."""

    arg_types = {"kind": True, "this": True}


class SqlBody(exp.Expression):
    """RETURN expression, or BEGIN ATOMIC statements END."""

    arg_types = {"expressions": True, "atomic": False}


class AttributeSpec(exp.Expression):
    """Attributes of a constraint, in a row."""

    arg_types = {"expressions": True}
