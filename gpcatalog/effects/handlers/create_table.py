"""All forms of CREATE TABLE."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import held_locks
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.certain import created_before
from gpcatalog.effects.columns_read import reading_of
from gpcatalog.effects.definition import define
from gpcatalog.effects.effect import REJECTED, Effect
from gpcatalog.effects.expansion import (
    PartitionExpander,
    levels_of,
    options_of,
    storage_of,
    template_sizes,
)
from gpcatalog.effects.handlers.actions import unknown_toast
from gpcatalog.effects.handlers.indexes import create_index
from gpcatalog.effects.handlers.registry import handles
from gpcatalog.effects.handlers.sequences import named_sequences
from gpcatalog.effects.handlers.views import create_external, create_view
from gpcatalog.effects.keys import Column, fold, qualified
from gpcatalog.effects.outer_dependencies import (
    TEMPLATE,
    element_depends,
    note_dependencies,
    note_inherited,
    note_key,
    note_outer,
)
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.query_columns import columns_of, read_names, row_types
from gpcatalog.effects.refused_distribution import default_keys
from gpcatalog.effects.refused_partitions import note_bound
from gpcatalog.effects.relations import Table
from gpcatalog.effects.view_sequences import read_sequences
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


_ON = ("true", "on", "1", "yes", "t", "y")


@dataclass
class _Clauses:
    """Clauses of CREATE TABLE that its storage, columns and partitions depend on.

    method: access method of USING, "" without it; parents: known tables of INHERITS
    """

    method: str = ""
    partition_by: exp.Expression | None = None
    partition_of: exp.Expression | None = None
    parents: list[Table] = field(default_factory=list)


_BOTH = "a temporary and a permanent table {}"


@handles("Create")
def create(state: SchemaState, tree: exp.Create) -> Effect:
    """CREATE of a table, view, index, or external or foreign table."""
    kind = tree.args.get("kind")
    if kind == "INDEX":
        return create_index(state, tree)
    if kind == "VIEW":
        return create_view(state, tree)
    if kind in ("EXTERNAL TABLE", "FOREIGN TABLE"):
        return create_external(state, tree, str(kind))
    if kind not in ("TABLE", "MATERIALIZED VIEW"):
        return Effect()
    properties = (
        list(tree.args["properties"].expressions) if tree.args.get("properties") is not None else []
    )
    name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    schema, plain = state.new_name(name)
    temporary = tree.find(exp.TemporaryProperty) is not None or schema == "pg_temp"
    if temporary:
        schema, plain = qualified(name)
        schema = "" if schema == "pg_temp" else schema
    there = state.existing_table(schema, plain) if tree.args.get("exists") else None
    if there is not None and there.temporary == temporary:
        return Effect(verb="create", table=there)
    if not temporary and Presence(state).another_kind(tree, schema, plain):
        return Effect(verb="create")
    table = Table(schema, plain, kind=str(kind), temporary=temporary)
    hidden = state.tables.get(("" if schema == "public" else schema, plain))
    if tree.args.get("exists") and hidden is not None and hidden.temporary != temporary:
        table.unknown.append(_BOTH.format(plain))
    if tree.args.get("exists") and state.may_be_created_by_code(plain):
        table.uncounted = f"whether {plain} exists"
        table.unknown.append(table.uncounted)
    clauses = _apply_properties(state, table, properties)
    method, of = clauses.method, clauses.partition_of
    set_storage(state, table, method)
    query = tree.args.get("expression")
    if of is not None:
        inherit_partition(state, table, of, method)
    elif query is not None:
        columns_of_query(
            state, table, query, tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        )
        if kind == "MATERIALIZED VIEW":
            table.reads = _note_reads(state, (schema, plain), table, query)
    if isinstance(tree.this, exp.Schema) and query is None and (of is None or table.known):
        define(state, table, tree.this.expressions, clauses.parents)
        note_toast(state, table)
        if (
            table.like_storage is not None
            and not method
            and not {"appendonly", "appendoptimized"} & table.options.keys()
        ):
            table.storage = table.like_storage
        if state.edition.greenplum and not table.distribution and not _copies(tree, clauses):
            table.default_keys = default_keys(table)
    if state.edition.greenplum and any(c.outer_order for c in table.columns):
        note_dependencies(state.ties, table)  # the distribution key can use a class of operators
    if any(c.serial == "identity" for c in table.columns):
        table.former_sequences |= named_sequences(tree)
    if clauses.partition_by is not None:
        _expand_partitions(state, table, clauses.partition_by)
    return created(state, table, of, sources=_sources(tree))


def _sources(tree: exp.Create) -> int:
    """Number of tables that LIKE names."""
    elements = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    return sum(isinstance(e, gx.LikeClause) for e in elements)


def _copies(tree: exp.Create, clauses: _Clauses) -> bool:
    """Whether columns of a new table come from other tables, and maybe its distribution."""
    return bool(
        clauses.parents
        or clauses.partition_of is not None
        or any(isinstance(e, gx.LikeClause) for e in tree.this.expressions)
    )


def _apply_properties(
    state: SchemaState, table: Table, properties: list[exp.Expression]
) -> _Clauses:
    """Set the properties of the table that its clauses specify; return the clauses that its
    definition needs later.
    """
    found = _Clauses()
    for p in properties:
        if isinstance(p, gx.StorageOptions):
            table.options.update(options_of(p))
        elif isinstance(p, gx.AccessMethod):
            found.method = fold(p.this)
        elif isinstance(p, exp.DistributedByProperty):
            word = str(p.args["kind"])
            table.distribution = {"HASH": "hash", "RANDOM": "random"}.get(word, "replicated")
            table.distribution_keys = tuple(
                fold(k if isinstance(k, exp.Identifier) else k.this) for k in p.expressions
            )
        elif isinstance(p, gx.PartitionBy):
            found.partition_by = p
        elif isinstance(p, exp.PartitionedOfProperty):
            found.partition_of = p
        elif isinstance(p, exp.TemporaryProperty):
            table.temporary = True
        elif isinstance(p, exp.UnloggedProperty):
            table.unlogged = True
        elif isinstance(p, exp.InheritsProperty):
            found.parents = inherit_columns(state, table, p)
        elif isinstance(p, gx.OnCommit):
            table.dropped_at_commit = str(p.this).upper() == "DROP"
        elif isinstance(p, gx.OidsProperty):
            table.oids = table.oids or bool(p.this)
            table.options.setdefault("oids", "true" if p.this else "false")
        elif isinstance(p, gx.OfType):
            table.unknown.append("columns of the composite type (OF)")
            table.known = False
    return found


def _expand_partitions(state: SchemaState, table: Table, by: exp.Expression) -> None:
    """Set the levels and partitions of PARTITION BY; the table is uncounted if they are unknown."""
    table.levels = levels_of(by)
    table.partitioned = True
    template_sizes(state.edition, table, state.zone)
    elements = (element for level in table.levels for element in level.template or ())
    if state.edition.classic and any(e.args.get("encoding") is not None for e in elements):
        table.leave_out(TEMPLATE)
    _note_partition_keys(state, table, by)
    parts = by.args.get("partitions")
    if parts:
        expander = PartitionExpander(state.edition, table, state.zone, table.options)
        try:
            table.parts = expander.level(parts, 0, table.name, table.storage, 0)
        except Unknown as e:
            table.unknown.append(str(e))
            table.uncounted = f"partitions of {table.title}: {e}"


def _note_reads(
    state: SchemaState, key: tuple[str, str], table: Table, query: exp.Expression
) -> frozenset[tuple[str, str]]:
    """Record and return the relations that the query of a materialized view reads or names."""
    reads = read_names(state, query) | row_types(state, query)
    sequences = read_sequences(state, query)
    table.reading = reading_of(state, query, named=False)
    state.ties.index(key, reads | sequences)
    return reads | sequences


def _note_partition_keys(state: SchemaState, table: Table, by: exp.Expression) -> None:
    """Note dependencies of the partition keys on types, functions and collations."""
    own = {c.name for c in table.columns if c.own_type and state.edition.classic}
    for key in by.find_all(gx.PartitionKey):
        note_outer(state.types, state.ties, table, key.this)
        if element_depends(key):
            note_dependencies(state.ties, table)
    for name in (fold(key) for key in by.expressions if isinstance(key, exp.Identifier)):
        note_key(state.ties, table, (name,))
        if name in own:  # the rules store constants of the type
            note_dependencies(state.ties, table)


def created(
    state: SchemaState, table: Table, of: exp.Expression | None = None, *, sources: int = 0
) -> Effect:
    """Store a new table and return the effect of its creation.

    of: the clause PARTITION OF; sources: number of tables that LIKE names
    """
    key = table.schema, table.name
    if why := created_before(state, key, temporary=table.temporary):
        return Effect(verb="create", unknown=[REJECTED + why])
    there = None if state.opaque or key in state.before else state.tables.get(key)
    effect = Effect(
        verb="create", table=table, unknown=list(table.unknown), new_parts=list(table.parts)
    )
    if there is not None and there.temporary == table.temporary:
        there.uncounted = there.uncounted or f"whether {table.title} exists"
        return Effect(verb="create", unknown=[there.uncounted])
    if table.kind == "MATERIALIZED VIEW":
        effect.minor.append("dependencies of a view")
    if table.known:
        effect.created, beyond, effect.other_files = state.count_resources(table)
        for instance in Instance:
            effect.add(instance, beyond[instance])
    effect.leaves_created = table.numbers[1] or (0 if table.partitioned else 1)
    effect.locks = held_locks.created(state, table, sources)
    if of is not None:
        parent = state.find(of.this)
        effect.exclusive = parent is None or (parent.schema, parent.name) in state.before
    other = state.tables.get((table.schema, table.name))
    if other is not None and other.temporary != table.temporary:
        table.known = False
        table.unknown.append(_BOTH.format(table.name))
    state.keep(table)
    for c in table.columns:
        if c.sequences_used:  # also those of LIKE and INHERITS
            state.ties.use_sequences(table, c.sequences_used)
    schemas = state.created.get(table.name, ())
    if table.schema not in schemas:
        state.created[table.name] = (*schemas, table.schema)
    if table.dropped_at_commit:
        if state.in_transaction:
            state.at_commit.append((table.schema, table.name))
        else:
            state.drop(table, effect)
    return effect


def set_storage(state: SchemaState, table: Table, method: str) -> None:
    """Set the storage of a table, by its own options or the settings of the session."""
    own = table.options
    options = own
    if state.edition.classic:
        options = {**state.defaults.options, **own}
        table.oids = table.oids or own.get("oids") in _ON
        if state.defaults.with_oids and "oids" not in own and table.kind == "TABLE":
            table.oids = True
    elif not method and not (
        state.edition.greenplum and {"appendonly", "appendoptimized"} & own.keys()
    ):
        method = state.defaults.method
    table.storage = storage_of(options, method, Storage.HEAP, state.edition)


def inherit_columns(state: SchemaState, table: Table, node: exp.Expression) -> list[Table]:
    """Return the parents of INHERITS; an unknown parent makes the table unknown."""
    parents = []
    for name in node.expressions:
        parent = state.find(name)
        if parent is None or not parent.known:
            table.known = False
            table.unknown.append(f"unknown columns of {name.sql('greenplum')} (INHERITS)")
            key = state.known_name(name, state.views)
            if (
                parent is None and key in state.views
            ):  # a foreign table: its changes reach the table
                state.views[key] = replace(state.views[key], columns=None, output=None)
            continue
        parents.append(parent)
        parent.inherited = True
        note_inherited(state.ties, table, parent)
        table.oids = table.oids or parent.oids
    table.inherits = tuple((parent.schema, parent.name) for parent in parents)
    return parents


def inherit_partition(state: SchemaState, table: Table, of: exp.Expression, method: str) -> None:
    """Copy columns, keys, checks and storage from the parent of PARTITION OF."""
    parent = state.find(of.this)
    table.parent = qualified(of.this) if parent is None else (parent.schema, parent.name)
    if parent is None or not parent.known:
        table.known = False
        table.unknown.append(f"unknown parent table {of.this.sql('greenplum')}")
        return
    parent.own_children.append((table.schema, table.name))
    note_bound(state, parent, table, of.args.get("expression"))
    table.columns = [c.of_partition() for c in parent.columns]
    for key in (*parent.indexes, *parent.only):
        table.indexes.append(key.for_partition(table))
    table.checks = [replace(c, own=False) for c in parent.checks]
    table.not_counted = parent.not_counted
    table.toasted = False
    if (
        not method
        and "appendonly" not in table.options
        and "appendoptimized" not in table.options
        and state.edition.greenplum
    ):
        table.storage = parent.storage


def columns_of_query(
    state: SchemaState, table: Table, query: exp.Expression, names: list[exp.Expression]
) -> None:
    """Set the columns of CREATE TABLE AS and SELECT INTO, if the query determines them."""
    try:
        found = columns_of(state, query)
    except Unknown as e:
        table.known = False
        table.unknown.append(str(e))
        return
    given = [fold(n.this if isinstance(n, exp.ColumnDef) else n) for n in names]
    found = [replace(c, name=given[i] if i < len(given) else c.name) for i, c in enumerate(found)]
    if any(not c.type or c.outer_order for c in found) or _types_may_differ(state, query):
        note_dependencies(state.ties, table)
    table.columns = [
        Column(
            c.name,
            *state.types.resolved(c.type, c.typmod),
            own_type=bool(c.type) and (c.own_type or state.types.outer_name(c.type)),
        )
        for c in found
    ]
    note_toast(state, table)


def _types_may_differ(state: SchemaState, query: exp.Expression) -> bool:
    """Whether the dependencies of the new columns on types and collations are not those of the
    columns that the query reads: a set operation, VALUES or USING changes a domain to its base
    type, and collations are not followed.
    """
    sources = [t for name in query.find_all(exp.Table) if (t := state.find(name)) is not None]
    columns = [c for table in sources for c in table.columns]
    changing = (exp.SetOperation, exp.Values, exp.Case, exp.Anonymous, gx.FunctionCall)
    mixed = query.find(*changing) is not None or any(
        join.args.get("using") for join in query.find_all(exp.Join)
    )
    outer = bool(state.types.definitions) and (not sources or any(c.own_type for c in columns))
    return any(c.outer_order for c in columns) or (mixed and outer)


def note_toast(state: SchemaState, table: Table) -> None:
    """Note that it is unknown whether a table gets a TOAST relation."""
    if reason := unknown_toast(table, state.edition):
        table.known = False
        table.unknown.append(reason)
