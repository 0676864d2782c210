"""Whether an object exists while a script runs: what catalog queries in a block find, and whether a
statement would fail because the object that it creates exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.catalog_facts import (
    CONSTRAINT_TYPES,
    DATABASE,
    alternatives,
    constraints,
    has,
)
from gpcatalog.effects.constant_values import SomeName
from gpcatalog.effects.extensions import TYPES
from gpcatalog.effects.handlers.registry import HANDLERS, MINOR, NO_EFFECT
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

# relkind of pg_class → kind of relation
_KINDS = {"r": "table", "i": "index", "S": "sequence", "v": "view", "m": "materialized view"}
_TABLES = ("table", "partitioned table", "partition")
_WITH_TYPE = frozenset({*_TABLES, "view", "materialized view", "foreign table", "composite type"})
# catalogs and views: the column with the name, and the kinds of relations (empty: all)
_LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pg_class": ("relname", ()),
    "pg_tables": ("tablename", _TABLES),
    "tables": ("table_name", (*_TABLES, "view", "foreign table")),
    "pg_views": ("viewname", ("view",)),
    "views": ("table_name", ("view",)),
    "pg_indexes": ("indexname", ("index",)),
    "sequences": ("sequence_name", ("sequence",)),
    "pg_sequences": ("sequencename", ("sequence",)),
}
_INFORMATION = frozenset(
    "tables views sequences schemata columns table_constraints".split()
)  # views of information_schema
_SCHEMA = ("nspname", "schemaname", "table_schema", "schema_name", "sequence_schema")
_TABLE = ("relname", "table_name", "conrelid", "attrelid")
_DUPLICATES = frozenset(
    "duplicate_object duplicate_table duplicate_column duplicate_schema duplicate_function".split()
)


def _same_schema(required: str, found: str) -> bool:
    """Whether the schema of an object is the required one; "" is any as `required`, and public as
    `found`.
    """
    return not required or (required == (found or "public"))


def _keeps_column(statement: list[str], column: str) -> bool:
    """Whether a statement certainly changes nothing of a column, although it may name its table."""
    if statement[:2] in (["create", "index"], ["create", "unique"]):
        return True
    others = {column, "rename", "schema", "inherit", "attach", "detach", "execute"}
    return statement[:2] == ["alter", "table"] and others.isdisjoint(statement)


class Presence:
    """Finds objects in one schema state."""

    def __init__(self, state: SchemaState) -> None:
        self.state = state

    def _relations(self, schema: str, name: str) -> Iterator[str]:
        """The kinds of the relations of that name."""
        state = self.state
        for there, one in state.leaf_of:
            if one == name and _same_schema(schema, there):
                yield "partition"
        for (there, one), view in state.views.items():
            if one == name and _same_schema(schema, there):
                yield "view" if view.rule else "foreign table"
        definition = state.types.definitions.get(name)
        if definition is not None and definition.columns is not None:
            yield "composite type"
        for there, one in state.sequences:
            if one == name and _same_schema(schema, there):
                yield "sequence"
        for table in state.tables.values():
            if not _same_schema(schema, table.schema):
                continue
            if table.name == name:
                yield (
                    "partitioned table"
                    if table.partitioned and not state.edition.classic
                    else table.kind.lower()
                )
            if any(key.name == name for key in (*table.indexes, *table.only)):
                yield "index"
            if name in table.sequence_names:
                yield "sequence"

    def another_kind(self, tree: exp.Expression, schema: str, name: str, kind: str = "") -> bool:
        """Whether a statement has IF NOT EXISTS and finds a permanent relation that is not of this
        kind: nothing is created.
        """
        optional = tree.args.get("exists") or tree.args.get("if_not_exists")
        return bool(optional) and bool(set(self.permanent(schema, name)) - {kind})

    def permanent(self, schema: str, name: str) -> Iterator[str]:
        """The kinds of the relations of that name, unless a temporary table has it, too."""
        state = self.state
        temporary = state.tables.get(("", name))
        if temporary is not None and temporary.temporary:
            return
        keys = [(s, name) for s in (("", "public") if schema in ("", "public") else (schema,))]
        for kind, known in (
            ("table", state.tables),
            ("partition", state.leaf_of),
            ("view", state.views),
            ("sequence", state.sequences),
        ):
            if any(key in known for key in keys):
                yield kind
        definition = state.types.definitions.get(name)
        if (
            definition is not None
            and definition.columns is not None
            and _same_schema(schema or "public", definition.schema)
        ):
            yield "composite type"
        if name in state.index_names:  # most names are not those of an index
            tables = (
                t for t in state.tables.values() if _same_schema(schema or "public", t.schema)
            )
            if any(key.name == name for table in tables for key in (*table.indexes, *table.only)):
                yield "index"

    def created_later(self, name: exp.Expression) -> bool:
        """Whether no relation has this name, because the file creates a table of it later."""
        state = self.state
        schema, plain = qualified(name)
        unread = state.unsure or state.extended or state.may_be_created_by_code(plain)
        return (
            not unread
            and state.created_later.has(schema, plain)
            and not any(self._relations(schema, plain))
        )

    def _absent(self, name: str) -> bool:
        """Return False for an object that no statement has created. Raises Unknown if it may exist
        anyway.
        """
        state = self.state
        unread = state.existing is not None or state.opaque or state.extended
        if unread or state.may_be_created_by_code(name) or name.startswith("pg_") or name in TYPES:
            raise Unknown(f"whether {name} exists")
        return False

    def relation(self, schema: str, name: str, kinds: tuple[str, ...] = ()) -> bool:
        """Whether there is a relation of that name, of one of the kinds. Raises Unknown."""
        found = set(self._relations(schema, name))
        if kinds and found and found.isdisjoint(kinds):
            raise Unknown(f"kind of {name}")
        return bool(found) or self._absent(name)

    def type(self, schema: str, name: str) -> bool:
        """Whether there is a type, or the row type of a table. Raises Unknown."""
        definition = self.state.types.definitions.get(name)
        if definition is not None:
            if not _same_schema(schema, definition.schema or "public"):
                raise Unknown(f"schema of {name}")
            return True
        if name.startswith("_") or self.state.types.resolved(name, -1)[0]:
            raise Unknown(f"whether {name} exists")  # an array, or a type of the server
        found = set(self._relations(schema, name))
        if "sequence" in found:  # on some servers, it has a type
            raise Unknown(f"whether {name} exists")
        return not found.isdisjoint(_WITH_TYPE) or self._absent(name)

    def schema(self, name: str) -> bool:
        """Whether there is a schema. Raises Unknown."""
        known = self.state.schemas | self.state.schemas_unknown  # also IF NOT EXISTS
        if name in known or name in ("public", "pg_catalog", "information_schema"):
            return True
        return self._absent(name)

    def _table(self, schema: str, name: str) -> Table:
        table = self.state.named(schema, name)
        if not schema and sum(one.name == name for one in self.state.tables.values()) > 1:
            raise Unknown(f"which table {name}")
        if table is None or not table.known or table.uncounted:
            raise Unknown(f"unknown table {name}")
        return table

    def column(
        self, schema: str, table: str, name: str, facts: dict[str, str] | None = None
    ) -> bool:
        """Whether a table has a column, with these properties, which are removed from `facts`.
        Raises Unknown.
        """
        column = next((c for c in self._table(schema, table).columns if c.name == name), None)
        facts = {} if facts is None else facts
        if column is None:
            facts.clear()  # no row, whatever its properties
            return False
        return has(column, facts)

    def any_constraint(self, schema: str, table: str, kind: str) -> bool:
        """Whether a table has a constraint of this constraint_type. Raises Unknown."""
        found = constraints(self._table(schema, table), kind)
        if kind not in ("PRIMARY KEY", "UNIQUE", "FOREIGN KEY"):  # NOT NULL can be a CHECK
            raise Unknown("constraints of a type")
        return bool(found)

    def constraint(self, schema: str, table: str, name: str, kind: str = "") -> bool:
        """Whether a table, or any if it is "", has a constraint, of this constraint_type if it is
        given. Raises Unknown.
        """
        tables = [self._table(schema, table)] if table else list(self.state.tables.values())
        if not table and any(not one.known for one in tables):
            raise Unknown(f"whether {name} exists")
        if any(name in constraints(one) for one in tables):
            if kind and not any(name in constraints(one, kind) for one in tables):
                raise Unknown(f"type of {name}")
            return True
        if name.endswith("_not_null") or any("" in constraints(one) for one in tables):
            raise Unknown(f"whether {name} exists")
        return False if table else self._absent(name)

    # --- queries ---

    def finds(
        self,
        query: exp.Expression,
        value: Callable[[exp.Expression], object],
        before: Sequence[list[str]],
    ) -> bool:
        """Whether a query of the catalogs finds a row. Raises Unknown.

        value: computes an expression of the block
        before: words, in lower case, of the statements that the block has run and that are not yet
            applied to the state
        """
        pending = {word for words in before for word in words}
        query = query.this if isinstance(query, exp.Subquery) else query
        if isinstance(query, exp.Anonymous):  # to_regclass()
            text = value(query.expressions[0])
            if not isinstance(text, str) or '"' in text or text.lower() in pending:
                raise Unknown("name of a relation")
            schema, _, name = text.lower().rpartition(".")
            if name in pending or not (schema or self.state.path in ([], ["public"])):
                raise Unknown("query of what the block has changed")
            return self.relation(schema or "public", name)
        if not isinstance(query, exp.Select):
            raise Unknown("query of a condition")
        return any(self._finds(one, value, before) for one in alternatives(query))

    def _finds(
        self,
        query: exp.Select,
        value: Callable[[exp.Expression], object],
        before: Sequence[list[str]],
    ) -> bool:
        usual = {"expressions", "from_", "joins", "where"}
        if {k for k, v in query.args.items() if v} - usual:
            raise Unknown("query of a condition")
        if any(node is not query for node in query.find_all(exp.Select)):
            raise Unknown("query of a condition")
        if any(one.find(exp.Func, gx.FunctionCall) for one in query.expressions):
            raise Unknown("query of a condition")  # count(*) always returns a row
        sources = set(_sources(query))
        facts: dict[str, str] = {}
        for column, text in _facts(query, value):
            if facts.setdefault(column, text) != text:
                raise Unknown("query of a condition")
        schema = next((facts.pop(word) for word in _SCHEMA if word in facts), "")
        asked = {word.lower() for word in facts.values()}
        name = (facts.get("column_name") or facts.get("attname") or "").lower()
        if any(
            asked & set(words) and not (name and _keeps_column(words, name)) for words in before
        ):
            raise Unknown("query of what the block has changed")
        return self._answer(sources - {"pg_namespace"} or sources, facts, schema)

    def _answer(self, sources: set[str], facts: dict[str, str], schema: str) -> bool:
        place = next((facts.pop(word) for word in _TABLE if word in facts), "")
        there, _, table = place.rpartition(".")
        schema = schema or there
        if sources == {"pg_namespace"} or sources == {"schemata"}:
            found = self.schema(schema) if schema else None
        elif sources == {"pg_type"} and "typname" in facts:
            found = self.type(schema, facts.pop("typname"))
        elif sources in ({"columns"}, {"pg_attribute"}, {"pg_attribute", "pg_class"}):
            column = facts.pop("column_name", "") or facts.pop("attname", "")
            found = self.column(schema, table, column, facts) if column and table else None
        elif sources in ({"table_constraints"}, {"pg_constraint"}, {"pg_constraint", "pg_class"}):
            name = facts.pop("constraint_name", "") or facts.pop("conname", "")
            kind = facts.pop("constraint_type", "") or CONSTRAINT_TYPES.get(
                facts.pop("contype", ""), ""
            )
            if name:
                found = self.constraint(schema, table, name, kind)
            else:
                found = self.any_constraint(schema, table, kind) if table and kind else None
        else:
            found = self._listed(sources, facts, schema, table)
        if found is None or facts:
            raise Unknown("query of a condition")
        return found

    def _listed(
        self, sources: set[str], facts: dict[str, str], schema: str, table: str
    ) -> bool | None:
        column, kinds = _LISTS.get(min(sources), ("", ())) if len(sources) == 1 else ("", ())
        name = table if column in _TABLE else facts.pop(column, "")
        if column not in _TABLE and table:  # an index of the table
            raise Unknown("query of a condition")
        kind = facts.pop("relkind", "")
        kinds = (_KINDS.get(kind, ""),) if kind else kinds
        return self.relation(schema, name, kinds) if name else None

    # --- statements ---

    def fails(
        self, trees: list[exp.Expression], caught: frozenset[str], before: list[exp.Expression]
    ) -> bool:
        """Whether statements that are rolled back together fail for a reason that is caught. Raises
        Unknown.

        before: statements that the block has run and that are not yet applied to the state
        """
        if all(without_rows(tree) for tree in trees):
            return False
        names = {fold(x) for tree in before for x in tree.find_all(exp.Identifier)}
        if names & {name for tree in trees for name in _targets(tree)}:
            raise Unknown("statement on what the block has changed")
        there = [self._conflicts(tree) for tree in trees]
        if any(there[1:]):
            raise Unknown("statement that fails")
        if there[0]:
            return True
        simple = all(type(t).__name__ in ("CreateType", "CreateSequence") for t in trees) and all(
            self.schema(name) for t in trees if (name := _schema_of(t))
        )
        if not (caught <= _DUPLICATES or simple):
            raise Unknown("statement that may fail")
        return False

    def _conflicts(self, tree: exp.Expression) -> bool:
        """Whether the object that a statement creates already exists. Raises Unknown."""
        kind = type(tree).__name__
        if without_rows(tree):
            return False
        if kind in ("CreateType", "CreateDomain"):
            named = isinstance(tree.this, exp.Table)
            schema, name = qualified(tree.this) if named else ("", fold(tree.this))
            return self.type(schema or self.state.new_objects or "public", name)
        if kind == "CreateSchema" and isinstance(tree.args.get("this"), exp.Identifier):
            return self.schema(fold(tree.this))
        if kind == "CreateSequence" or (
            isinstance(tree, exp.Create)
            and tree.args.get("kind") in ("TABLE", "VIEW", "MATERIALIZED VIEW")
        ):
            optional = tree.args.get("exists") or tree.args.get("if_not_exists")
            name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
            if optional or tree.args.get("replace"):
                return False
            if tree.find(exp.TemporaryProperty) is not None or tree.args.get("temporary"):
                raise Unknown("temporary object")
            schema, plain = self.state.new_name(name)
            return self.relation(schema or "public", plain)
        if isinstance(tree, exp.Create) and tree.args.get("kind") == "INDEX":
            name = fold(tree.this.args.get("this"))
            if not name or tree.args.get("exists"):
                return False
            return self.relation(
                self._table(*qualified(tree.this.args["table"])).schema or "public", name
            )
        if kind == "AlterTable":
            return any(self._has(tree, action) for action in tree.args.get("actions") or ())
        raise Unknown("statement that may fail")

    def _has(self, tree: exp.Expression, action: exp.Expression) -> bool:
        """Whether a table has the column or constraint that an action adds. Raises Unknown."""
        kind = type(action).__name__
        table = tree.this.this if isinstance(tree.this, gx.RelationName) else tree.this
        if kind == "AddColumn":
            optional = action.args.get("exists") or action.args.get("if_not_exists")
            return not optional and self.column(*qualified(table), fold(action.this.this))
        if kind == "AddTableConstraint":
            name = fold(action.this.args.get("this"))
            return bool(name) and self.constraint(*qualified(table), name)
        if kind in ("OwnerTo", "EnableDisable"):
            return False
        raise Unknown("statement that may fail")


def _sources(query: exp.Expression) -> Iterator[str]:
    """The catalogs that a query reads, without their schemas. Raises Unknown for other
    relations.
    """
    source = query.args.get("from_")
    for one in (source, *(query.args.get("joins") or ())):
        table = one.this if one is not None else None
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise Unknown("query of a condition")
        schema, name = qualified(table)
        if (
            schema != "information_schema"
            if name in _INFORMATION
            else schema not in ("", "pg_catalog")
        ):
            raise Unknown("query of a condition")
        yield name


def _schema_of(tree: exp.Expression) -> str:
    this = tree.args.get("this")
    return qualified(this)[0] if isinstance(this, exp.Table) else ""


def _targets(tree: exp.Expression) -> Iterator[str]:
    """Names of the objects that a statement creates, and of the table that it alters."""
    this = tree.args.get("this")
    while isinstance(this, exp.Schema | gx.RelationName | exp.Index):
        this = this.this
    if isinstance(this, exp.Expression):
        yield fold(this.args.get("this") if isinstance(this, exp.Table) else this)
    for action in tree.args.get("actions") or ():
        if isinstance(action.args.get("this"), exp.Expression):
            yield from (fold(x) for x in action.this.find_all(exp.Identifier))


def without_rows(tree: exp.Expression) -> bool:
    """Whether a statement changes no rows that are counted, whether it fails or not."""
    kind = type(tree).__name__
    return kind not in HANDLERS and (kind in NO_EFFECT or kind in MINOR)


def _facts(
    query: exp.Expression, value: Callable[[exp.Expression], object]
) -> Iterator[tuple[str, str]]:
    """Columns of the catalogs, each with the text that it must equal. Raises Unknown."""
    where = query.args.get("where")
    conditions = [where.this] if where is not None else []
    for join in query.args.get("joins") or ():
        if join.args.get("side") or join.args.get("using"):
            raise Unknown("query of a condition")
        conditions += [join.args["on"]] if join.args.get("on") is not None else []
    while conditions:
        one = conditions.pop()
        while isinstance(one, exp.Paren):
            one = one.this
        if isinstance(one, exp.And):
            conditions += [one.this, one.expression]
        elif _of_a_living_column(one):
            continue
        elif isinstance(one, exp.EQ):
            left, right = one.this, one.expression
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                if "oid" in (left.name.lower(), right.name.lower()):  # a join
                    continue
            elif not isinstance(left, exp.Column):
                left, right = right, left
            name = _column_name(left)
            if name in DATABASE:
                if not isinstance(value(right), SomeName) or "database" not in _text(right, value):
                    raise Unknown("name of a database")
                continue
            yield name, _text(right, value)
        elif _nullable(one) is not None:
            yield "is_nullable", str(_nullable(one))
        else:
            raise Unknown("query of a condition")


def _of_a_living_column(node: exp.Expression) -> bool:
    """Whether a condition is NOT attisdropped or attnum > 0."""
    text = node.sql("greenplum").lower().rpartition(".")[2]
    return text == "attnum > 0" or (isinstance(node, exp.Not) and "attisdropped" in text)


def _nullable(node: exp.Expression) -> str | None:
    """is_nullable of the columns with attnotnull, or NOT attnotnull; None for other conditions."""
    inner = node.this if isinstance(node, exp.Not) else node
    if not isinstance(inner, exp.Column) or inner.name.lower() != "attnotnull":
        return None
    return "YES" if isinstance(node, exp.Not) else "NO"


def _column_name(node: exp.Expression) -> str:
    if not isinstance(node, exp.Column):
        raise Unknown("query of a condition")
    return node.name.lower()


def _text(node: exp.Expression, value: Callable[[exp.Expression], object]) -> str:
    """The text that a column is compared with; for a regclass, the name of the relation."""
    if isinstance(node, exp.Cast) and node.args["to"].sql("greenplum").lower() == "regclass":
        name = str(value(node.this))
        if '"' in name:
            raise Unknown("quoted name")
        return name.lower()
    found = value(node)
    if not isinstance(found, str):
        raise Unknown("query of a condition")
    return found
