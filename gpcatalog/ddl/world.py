"""The schema state of a script: its tables, and the effect of each statement on catalogs, files and locks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.model import Instance, Shape
from gpcatalog.ddl import alter, extras
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.definition import define, index_key
from gpcatalog.ddl.derive import columns_of, width
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.expansion import Grower, levels_of, options_of, storage_of, template_sizes
from gpcatalog.ddl.relations import Column, Level, Partition, Table, fold, qualified, take_over
from gpcatalog.ddl.session import Defaults, commits, reverse, settings_of
from gpcatalog.ddl.types import Types
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

# statements that leave relations, their columns and files as they are
_NO_EFFECT = frozenset(
    """AlterAggregate AlterCollation AlterConversion AlterDefaultPrivileges AlterDomain AlterEventTrigger AlterForeignDataWrapper
    AlterFunction AlterGroup AlterLanguage AlterLargeObject AlterOperator AlterPolicy AlterProtocol AlterPublication AlterResourceGroup
    AlterResourceQueue AlterRule AlterServer AlterStatistics AlterSubscription AlterSystem AlterTablespace AlterTextSearch
    AlterTrigger AlterUserMapping Analyze Checkpoint CloseCursor Cluster CommentOn Copy CreateAccessMethod CreateAssertion CreateCast
    CreateCollation CreateConversion CreateDatabase CreateEventTrigger CreateForeignDataWrapper CreateGroup CreateLanguage CreateOperator
    CreateOperatorClass CreateOperatorFamily CreateProtocol CreatePublication CreateResourceGroup CreateResourceQueue CreateRole
    CreateServer CreateSubscription CreateTablespace CreateTextSearch CreateTransform CreateUserMapping Deallocate DeclareCursor
    DropAssertion DropDatabase DropResource DropRole DropSubscription DropTablespace DropUserMapping Execute Fetch Grant GrantRole Listen
    Load Lock Move Notify Prepare ReassignOwned Refresh Reindex Retrieve Revoke RevokeRole SecurityLabel SetConstraints ShowVariable
    Unlisten Vacuum Values TableQuery""".split()
)
# these too, unless CASCADE drops dependent objects
_UNLESS_CASCADE = frozenset("DropAggregate DropCast DropFunction DropLanguage DropOperator DropTransform".split())
# statements that make objects which are no relations: their rows are not counted
_MINOR = {
    "CreateFunction": "catalog rows of a function",
    "CreateProcedure": "catalog rows of a procedure",
    "CreateAggregate": "catalog rows of an aggregate",
    "CreateTrigger": "catalog rows of a trigger",
    "CreateRule": "catalog rows of a rule",
    "CreatePolicy": "catalog rows of a policy",
    "CreateStatistics": "catalog rows of extended statistics",
}
_NO_RELATIONS = frozenset(
    """FUNCTION PROCEDURE AGGREGATE TRIGGER RULE POLICY STATISTICS OPERATOR CAST COLLATION CONVERSION ROLE USER GROUP LANGUAGE PUBLICATION
    SUBSCRIPTION ROUTINE TRANSFORM""".split()
)
# statements whose created objects are unknown
_NOT_WEIGHED = {
    "CreateExtension": "objects created by CREATE EXTENSION",
    "ImportForeignSchema": "foreign tables created by IMPORT FOREIGN SCHEMA",
}

# a snapshot counts a table's relations, columns and indexes, not these
_UNCOUNTED = "defaults, constraints and owned sequences, which a snapshot does not count"


# functions that make tables: of pg_partman, TimescaleDB, Citus, dblink
_MAKE_TABLES = frozenset(
    """create_parent create_sub_parent create_partition run_maintenance run_maintenance_proc partition_data_time partition_data_id
    undo_partition drop_partition_time drop_partition_id create_hypertable create_distributed_table create_reference_table dblink_exec
    dblink query_to_xml""".split()
)
_OF_THE_SERVER = ("pg_catalog", "gp_toolkit", "information_schema")
_DDL_IN_A_BODY = re.compile(r"\b(?:create|alter|drop|execute|truncate|perform|select\s+\S+\.\S+\s*\()", re.IGNORECASE)


def _only(target: exp.Expression) -> bool:
    return isinstance(target, gx.RelationName) and bool(target.args.get("only"))


_ON = ("true", "on", "1", "yes", "t", "y")


@dataclass(frozen=True)
class View:
    """A view, or an external or foreign table: its rows of pg_attribute, if they could be counted, and the names that it reads."""

    columns: int | None
    reads: frozenset[str]
    rule: bool = True


def names_in(query: exp.Expression | None) -> frozenset[str]:
    """Names of all relations in a query."""
    if query is None:
        return frozenset()
    return frozenset(fold(t.args.get("this")) for t in query.find_all(exp.Table) if isinstance(t.args.get("this"), exp.Identifier))


@dataclass
class _Mark:
    """A savepoint or the begin of a transaction: the schema state there, and the effects since."""

    name: str
    tables: dict[tuple[str, str], Table]
    leaf_of: dict[str, tuple[str, str]]
    sequences: set[tuple[str, str]]
    types: Types
    views: dict[tuple[str, str], View]
    defaults: Defaults
    at_commit: list[tuple[str, str]]
    effects: list[Effect] = field(default_factory=list)


def cascades(tree: exp.Expression) -> bool:
    """Whether a DROP takes with it what depends on it."""
    return str(tree.args.get("behavior") or "") == "CASCADE"


class World:
    """Tables by name, as known from the script and a baseline."""

    def __init__(self, edition: Edition, zone: ZoneInfo) -> None:
        self.edition = edition
        self.zone = zone
        self.tables: dict[tuple[str, str], Table] = {}
        self.leaf_of: dict[str, tuple[str, str]] = {}
        self.sequences: set[tuple[str, str]] = set()
        self.types = Types()
        self.routines: dict[str, bool] = {}  # functions that the script makes, and whether their text may hold DDL
        self.bodies: dict[str, str] = {}  # the text of those
        self.opaque = False  # something ran whose text is not read
        self.views: dict[tuple[str, str], View] = {}  # and external and foreign tables
        self.before: set[tuple[str, str]] = set()  # known before the script began
        # partitions that only a baseline knows, by their own names: the table they belong to and their shape
        self.elsewhere: Callable[[str, str], tuple[Table, Shape] | None] = lambda schema, name: None
        self._by_name: dict[str, list[Table]] | None = None
        self._indexed = 0
        self.defaults = Defaults()
        self._outside: Defaults | None = None  # the settings behind those of SET LOCAL, while a transaction is open
        self._open = False  # a transaction
        self._marks: list[_Mark] = []
        self._at_commit: list[tuple[str, str]] = []  # tables ON COMMIT DROP

    # --- names ---

    def find(self, table: exp.Expression) -> Table | None:
        """The table of that name, whatever schema where none is written."""
        return self.named(*qualified(table))

    def named(self, schema: str, name: str) -> Table | None:
        """The table of that schema (any one where it is "") and name."""
        found = self.tables.get((schema, name))
        if found is not None:
            return found
        if self._by_name is None or self._indexed != len(self.tables):
            self._by_name, self._indexed = {}, len(self.tables)
            for one in self.tables.values():
                self._by_name.setdefault(one.name, []).append(one)
        same = [t for t in self._by_name.get(name, ()) if not schema or not t.schema or t.schema == schema]
        return same[0] if len(same) == 1 else None

    def keep(self, table: Table, parts: list[Partition] | None = None) -> None:
        """Know the table under its name; `parts` are its new ones where only they changed."""
        before = self.tables.get((table.schema, table.name))
        if before is not table:
            if before is not None:
                self.forget(before, moved=True)
            self.tables[table.schema, table.name] = table
            if self._by_name is not None:
                self._by_name.setdefault(table.name, []).append(table)
                self._indexed += 1
        for part in parts if parts is not None else table.parts:
            for relation in part.walk():
                self.leaf_of[relation.name] = (table.schema, table.name)

    def forget(self, table: Table, *, moved: bool = False) -> None:
        """Remove the table; `moved`: it goes to another name or schema."""
        if not moved and table.parent and (above := self._above(table)) is not None:
            above.own_children.remove((table.schema, table.name))
        gone = self.tables.pop((table.schema, table.name), None)
        if gone is not None and self._by_name is not None:
            self._by_name[table.name] = [t for t in self._by_name.get(table.name, ()) if t is not gone]
            self._indexed -= 1

    def _above(self, table: Table) -> Table | None:
        """Return the partitioned table that has this table as a partition."""
        key = (table.schema, table.name)
        schema, _, name = table.parent.rpartition(".")
        above = self.named(schema, name)
        return above if above is not None and key in above.own_children else None

    def inheriting(self, table: Table) -> list[Table]:
        """Tables that INHERIT from it, each once, parents first."""
        found: list[Table] = []
        to_do = [table]
        while to_do:
            title = to_do.pop(0).title
            new = [t for t in self.tables.values() if title in t.inherits and t not in found] if table.inherited else []
            found += new
            to_do += new
        return found

    def partitions_of(self, table: Table) -> list[Table]:
        """Partitions of it that are tables of their own here (PARTITION OF, ATTACH), at every level."""
        if not table.own_children:
            return []
        found = []
        for name in table.own_children:
            child = self.tables.get(name)
            if child is not None:
                found += [child, *self.partitions_of(child)]
        return found

    # --- measuring ---

    @contextmanager
    def changing(self, effect: Effect, *tables: Table) -> Iterator[None]:
        """Add to the effect what changes in these tables inside the block."""
        measured = [(t, self._weigh(t)) for t in tables]
        yield
        for table, (shapes, beyond, files) in measured:
            after, beyond_after, files_after = self._weigh(table)
            effect.gone += shapes - after
            effect.made += after - shapes
            effect.other_files += files_after - files
            for instance in Instance:
                effect.add(instance, beyond_after[instance])
                effect.add(instance, beyond[instance], -1)

    def _weigh(self, table: Table) -> tuple[Counter[Shape], dict[Instance, Counter[str]], int]:
        if not table.known and table.baseline_shapes is None:
            return Counter(), {i: Counter() for i in Instance}, 0
        return table.shapes(self.edition), {i: table.beyond(self.edition, i) for i in Instance}, table.other_files(self.edition)

    # --- statements ---

    def apply(self, tree: exp.Expression, *, rolled_back: bool = False) -> Effect:
        """Apply a statement to the schema state and return its effect.

        rolled_back: it begins a transaction or savepoint that is rolled back later
        """
        kind = type(tree).__name__
        if kind in ("BeginWork", "Savepoint", "EndWork"):
            return self._transaction(tree, kind, rolled_back)
        effect = self._effect(tree, kind)
        for mark in self._marks:
            mark.effects.append(effect)
        return effect

    def _effect(self, tree: exp.Expression, kind: str) -> Effect:
        handler = _HANDLERS.get(kind)
        if handler is None:
            if kind in _MINOR:
                return Effect(minor=[_MINOR[kind]])
            if kind in _NO_EFFECT or (kind in _UNLESS_CASCADE and not cascades(tree)):
                return Effect()
            if kind in _UNLESS_CASCADE:
                for table in self.tables.values():
                    if any(key.expressions or key.predicate or not key.simple for key in table.indexes):
                        table.uncounted = table.uncounted or "indexes dropped by CASCADE with a function"
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).upper()
            return Effect(unknown=[_NOT_WEIGHED.get(kind) or f"effect of {words}"])
        try:
            effect = handler(self, tree)
        except Unknown as e:
            return Effect(unknown=[str(e)])
        try:
            for shape in (*effect.made, *effect.gone):
                model.known(self.edition.name, shape)
        except CatalogError as e:  # a table that this server cannot have
            effect.made, effect.gone, effect.extra, effect.other_files = Counter(), Counter(), {}, 0
            effect.add_unknown(f"rejected by the server: {e.message}")
            if effect.table is not None:
                effect.table.known = False
        return effect

    def reconnect(self) -> None:
        """The next session begins: with what ALTER DATABASE and ALTER ROLE have set."""
        self.defaults, self._outside = self.defaults.reconnected(), None
        self._open, self._marks, self._at_commit = False, [], []

    # --- transactions and settings ---

    def _transaction(self, tree: exp.Expression, kind: str, rolled_back: bool) -> Effect:
        if kind == "BeginWork":
            if not self._open:
                self._open = True
                if rolled_back:
                    self._marks = [self._mark("")]
            return Effect()
        if kind == "Savepoint":
            if rolled_back:
                self._marks.append(self._mark(fold(tree.this)))
            return Effect()
        if (name := tree.args.get("savepoint")) is not None:
            depth = next((n for n in range(len(self._marks) - 1, -1, -1) if self._marks[n].name == fold(name)), None)
            if depth is None:
                return Effect(unknown=[f"statements undone by ROLLBACK TO {fold(name)}"])
            effect = self._roll_back(self._marks[depth])
            del self._marks[depth:]
            self._marks.append(self._mark(fold(name)))  # a savepoint survives ROLLBACK TO
            for mark in self._marks[:-1]:
                mark.effects.append(effect)
            return effect
        effect = Effect()
        if commits(tree):
            for key in self._at_commit:
                if key in self.tables:
                    effect.verb = "drop"
                    for one in (self.tables[key], *self.partitions_of(self.tables[key])):
                        self._drop_one(one, effect)
        elif self._marks:
            effect = self._roll_back(self._marks[0])
        elif self._open:
            effect = Effect(unknown=["statements undone by ROLLBACK"])
        self._open, self._marks, self._at_commit = False, [], []
        if self._outside is not None:
            self.defaults, self._outside = self._outside, None
        return effect

    def _mark(self, name: str) -> _Mark:
        tables = {key: table.copy() for key, table in self.tables.items()}
        types, views = self.types.copy(), dict(self.views)
        return _Mark(name, tables, dict(self.leaf_of), set(self.sequences), types, views, self.defaults, list(self._at_commit))

    def _roll_back(self, mark: _Mark) -> Effect:
        self.tables, self.leaf_of, self.sequences = mark.tables, mark.leaf_of, mark.sequences
        self.types, self.views = mark.types, mark.views
        self.defaults, self._at_commit, self._by_name = mark.defaults, mark.at_commit, None
        return reverse(mark.effects)

    def _set(self, tree: exp.Expression) -> Effect:
        changes = settings_of(tree)
        if changes:
            call = next((c for c in tree.find_all(exp.Anonymous, gx.FunctionCall) if len(c.expressions) == 3), None)
            local = str(tree.args.get("scope") or "").upper() == "LOCAL" or (
                call is not None and isinstance(call.expressions[2], exp.Boolean) and bool(call.expressions[2].this)
            )
            if local and self._open and self._outside is None:
                self._outside = self.defaults
            elif local and not self._open:
                return Effect()  # it ends with the statement
            elif self._outside is not None:
                self._outside = self._outside.with_(changes)
            self.defaults = self.defaults.with_(changes)
        return Effect()

    def _set_for_later(self, tree: exp.Expression) -> Effect:
        if changes := settings_of(tree):
            self.defaults = self.defaults.with_(changes, later=True)
        return Effect()

    def _create(self, tree: exp.Create) -> Effect:
        kind = tree.args.get("kind")
        if kind == "INDEX":
            return self._create_index(tree)
        if kind == "VIEW":
            return self._create_view(tree)
        if kind in ("EXTERNAL TABLE", "FOREIGN TABLE"):
            return self._create_external(tree, str(kind))
        if kind not in ("TABLE", "MATERIALIZED VIEW"):
            return Effect()
        properties = list(tree.args["properties"].expressions) if tree.args.get("properties") is not None else []
        name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        schema, plain = qualified(name)
        if tree.args.get("exists") and (schema, plain) in self.tables:
            return Effect("create", self.tables[schema, plain])
        table = Table(schema, plain, node=tree, kind=str(kind))
        method, by, of = "", None, None
        parents: list[Table] = []
        for p in properties:
            if isinstance(p, gx.StorageOptions):
                table.options.update(options_of(p))
            elif isinstance(p, gx.AccessMethod):
                method = fold(p.this)
            elif isinstance(p, exp.DistributedByProperty):
                word = str(p.args["kind"])
                table.distribution = {"HASH": "hash", "RANDOM": "random"}.get(word, "replicated")
                table.distribution_keys = tuple(fold(k if isinstance(k, exp.Identifier) else k.this) for k in p.expressions)
            elif isinstance(p, gx.PartitionBy):
                by = p
            elif isinstance(p, exp.PartitionedOfProperty):
                of = p
            elif isinstance(p, exp.TemporaryProperty):
                table.temporary = True
            elif isinstance(p, exp.InheritsProperty):
                parents = self._inherit(table, p)
            elif isinstance(p, gx.OnCommit):
                table.dropped_at_commit = str(p.this).upper() == "DROP"
            elif isinstance(p, gx.OidsProperty):
                table.oids = table.oids or bool(p.this)
            elif isinstance(p, gx.OfType):
                table.unknown.append("columns of the composite type (OF)")
                table.known = False
        self._stored(table, method)
        query = tree.args.get("expression")
        if of is not None:
            self._inherit_partition(table, of, method)
        elif query is not None:
            self._as_query(table, query, tree.this.expressions if isinstance(tree.this, exp.Schema) else [])
            if kind == "MATERIALIZED VIEW":
                table.reads = names_in(query)
        if isinstance(tree.this, exp.Schema) and query is None and (of is None or table.known):
            define(self, table, tree.this.expressions, parents)
            self._note_toast(table)
            if table.like_storage is not None and not method and not {"appendonly", "appendoptimized"} & table.options.keys():
                table.storage = table.like_storage
        if by is not None:
            table.levels = levels_of(by)
            table.partitioned = True
            template_sizes(self.edition, table, self.zone)
            parts = by.args.get("partitions")
            if parts:
                grower = Grower(self.edition, table, self.zone, table.options)
                try:
                    table.parts = grower.level(parts, 0, table.name, table.storage, 0)
                except Unknown as e:
                    table.unknown.append(str(e))
                    table.uncounted = f"partitions of {table.title}: {e}"
            if table.foreign:
                table.unknown.append("foreign key of a partitioned table")
        return self._created(table, of)

    def _created(self, table: Table, of: exp.Expression | None = None) -> Effect:
        effect = Effect("create", table, unknown=list(table.unknown), new_parts=list(table.parts))
        if table.known:
            effect.made, beyond, effect.other_files = self._weigh(table)
            for instance in Instance:
                effect.add(instance, beyond[instance])
        effect.leaves_made = table.numbers[1] or (0 if table.partitioned else 1)
        effect.relations_locked = 1 + table.numbers[0]
        if of is not None:
            parent = self.find(of.this)
            effect.exclusive = parent is None or (parent.schema, parent.name) in self.before
        self.keep(table)
        if table.dropped_at_commit:
            if self._open:
                self._at_commit.append((table.schema, table.name))
            else:
                self._drop_one(table, effect)
        return effect

    def _stored(self, table: Table, method: str) -> None:
        """Its storage, by its own options or the session's."""
        own = table.options
        options = own
        if self.edition.classic:
            options = {**self.defaults.options, **own}
            table.oids = table.oids or own.get("oids") in _ON
        elif self.edition.greenplum and not method and not {"appendonly", "appendoptimized"} & own.keys():
            method = self.defaults.method
        table.storage = storage_of(options, method, Storage.HEAP, self.edition)

    def _inherit(self, table: Table, node: exp.Expression) -> list[Table]:
        parents = []
        for name in node.expressions:
            parent = self.find(name)
            if parent is None or not parent.known or parent.baseline_shapes is not None:
                table.known = False
                table.unknown.append(f"unknown columns of {name.sql('greenplum')} (INHERITS)")
                continue
            parents.append(parent)
            parent.inherited = True
            table.oids = table.oids or parent.oids
        table.inherits = tuple(parent.title for parent in parents)
        return parents

    def _inherit_partition(self, table: Table, of: exp.Expression, method: str) -> None:
        parent = self.find(of.this)
        table.parent = ".".join(p for p in qualified(of.this) if p)
        if parent is None or not parent.known or parent.baseline_shapes is not None:
            table.known = False
            table.unknown.append(f"unknown parent table {table.parent}")
            return
        parent.own_children.append((table.schema, table.name))
        table.columns = [replace(c, serial="", local=False) for c in parent.columns]
        for key in (*parent.indexes, *parent.only):
            table.indexes.append(key.for_partition(table))
        table.checks = list(parent.checks)
        table.toasted = False
        if parent.foreign:
            table.unknown.append("foreign key of a partitioned table")
        if not method and "appendonly" not in table.options and "appendoptimized" not in table.options and self.edition.greenplum:
            table.storage = parent.storage

    def _as_query(self, table: Table, query: exp.Expression, names: list[exp.Expression]) -> None:
        """Columns of CREATE TABLE AS and SELECT INTO, as known from the query."""
        try:
            found = columns_of(self, query)
        except Unknown as e:
            table.known = False
            table.unknown.append(str(e))
            return
        given = [fold(n.this if isinstance(n, exp.ColumnDef) else n) for n in names]
        found = [replace(c, name=given[i] if i < len(given) else c.name) for i, c in enumerate(found)]
        table.columns = [replace(c, not_null=False, default=False, serial="", named=0) for c in found]
        self._note_toast(table)

    def _note_toast(self, table: Table) -> None:
        if reason := alter.unknown_toast(table, self.edition):
            table.known = False
            table.unknown.append(reason)

    def _select(self, tree: exp.Expression) -> Effect:
        into = tree.args.get("into")
        if into is None:
            return self._calls(tree, self._set(tree))
        schema, name = qualified(into.this)
        table = Table(schema, name, node=tree)
        table.temporary = into.args.get("kind") == "TEMPORARY"
        self._stored(table, "")
        self._as_query(table, tree, [])
        return self._created(table)

    def _calls(self, tree: exp.Expression, effect: Effect) -> Effect:
        """Note calls of functions that may run DDL: those of this script, and known ones such as create_parent()."""
        for call in tree.find_all(exp.Anonymous, gx.FunctionCall):
            path = call.this if isinstance(call.this, str) else call.this.sql("greenplum")
            schema, _, name = str(path).lower().replace('"', "").rpartition(".")
            alone = tree.args.get("from_") is None and bool(schema) and schema.rsplit(".", 1)[-1] not in _OF_THE_SERVER
            if self.routines.get(name, name in _MAKE_TABLES or (alone and name not in self.routines)):
                effect.add_unknown(f"effect of {path}()")
                self._may_change(call.sql("greenplum") + self.bodies.get(name, ""), f"effect of {path}()")
        return effect

    def _may_change(self, text: str, reason: str) -> None:
        """Note tables named in code that runs but is not read."""
        self.opaque = True
        words = set(re.findall(r"\w+", text.lower()))
        for table in self.tables.values():
            if table.name in words and table.baseline_shapes is None:
                table.uncounted = table.uncounted or reason

    def _do(self, tree: exp.Expression) -> Effect:
        text = " ".join(str(x.this) for x in tree.find_all(exp.Heredoc, exp.Literal, exp.RawString))
        self._may_change(text, "effect of a DO block")
        return Effect("call", unknown=["effect of the DO block"] if _DDL_IN_A_BODY.search(text) or not text else [])

    def _create_rule(self, tree: exp.Expression) -> Effect:
        """A rule ON SELECT makes a view of a table."""
        if re.search(r"\bON\s+SELECT\b", tree.sql("greenplum").upper()):
            return Effect(unknown=["table that the ON SELECT rule turns into a view"])
        return Effect(minor=[_MINOR["CreateRule"]])

    def _create_routine(self, tree: exp.Expression) -> Effect:
        name = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
        own = " ".join(str(x.this) for x in tree.find_all(exp.Heredoc, exp.Literal, exp.RawString))
        self.routines[name] = self.routines.get(name, False) or bool(_DDL_IN_A_BODY.search(own))
        if self.routines[name]:
            self.bodies[name] = f"{self.bodies.get(name, '')} {own}"
        return Effect(minor=[_MINOR[type(tree).__name__]])

    def _call(self, tree: exp.Expression) -> Effect:
        return Effect("call", unknown=["effect of the procedure"])

    def _explain(self, tree: exp.Expression) -> Effect:
        """EXPLAIN ANALYZE runs what it explains."""
        makes = tree.find(exp.Create) is not None or any(s.args.get("into") is not None for s in tree.find_all(exp.Select))
        return Effect(unknown=["statement run by EXPLAIN ANALYZE"] if makes and "ANALYZE" in tree.sql("greenplum").upper() else [])

    def _discard(self, tree: exp.Expression) -> Effect:
        if re.search(r"\b(ALL|TEMP)", tree.sql("greenplum").upper()) and any(t.temporary for t in self.tables.values()):
            return Effect(unknown=["temporary tables dropped by DISCARD"])
        return Effect()

    def _rename_schema(self, tree: exp.Expression) -> Effect:
        new = tree.args.get("rename")
        old = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
        if isinstance(new, exp.Identifier):
            for table in [t for t in self.tables.values() if t.schema == old]:
                self.forget(table, moved=True)
                table.schema = fold(new)
                table.own_children = [(table.schema if s == old else s, n) for s, n in table.own_children]
                self.keep(table)
        return Effect()

    def _alter_foreign(self, tree: exp.Expression) -> Effect:
        """ALTER of a foreign or external table or of a view: only a new column adds a row."""
        actions = tree.args.get("actions") or ()
        more = sum(type(a).__name__ == "AddColumn" for a in actions)
        key = qualified(tree.this)
        effect = Effect("alter", unknown=["whether the column exists"] if any(a.args.get("if_not_exists") for a in actions) else [])
        if (known := self.views.get(key)) is not None:
            self.views[key] = replace(known, columns=None if known.columns is None else known.columns + more)
        elif tree.args.get("exists") or tree.args.get("if_exists"):
            effect.add_unknown("whether the table exists")
        new = tree.args.get("rename") or next((a.this for a in actions if type(a).__name__ == "RenameTo"), None)
        if key in self.views and isinstance(new, exp.Identifier):
            self.views[key[0], fold(new)] = self.views.pop(key)
        self._rows(effect, {"pg_attribute": more})
        return effect

    # --- indexes ---

    def _create_index(self, tree: exp.Create) -> Effect:
        target = tree.this.args["table"]
        table = self.find(target)
        effect = Effect("index", table, index=tree)
        if table is None or (not table.known and table.baseline_shapes is None):
            effect.add_unknown(f"unknown table {target.sql('greenplum')}")
            self._changed_by_name(target)
            return effect
        if table.uncounted:
            effect.add_unknown(table.uncounted)
        name = fold(tree.this.args.get("this"))
        if name and tree.args.get("exists") and any(key.name == name for key in table.indexes):
            return effect
        family = [table, *self.partitions_of(table)]
        if _only(target):
            family = [table]
        key = index_key(table, name, tree.this.args["params"], unique=bool(tree.this.args.get("unique")))
        if table.parts and family == [table] and len(self.partitions_of(table)) == 0 and _only(target):
            with self.changing(effect, table):
                table.only.append(key)
            return effect
        settled: list[Table] = []  # partitions under an index that exists already keep theirs
        with self.changing(effect, *family):
            for one in family:
                if any(one is x for x in settled):
                    continue
                one.directory = True
                if one.baseline_shapes is not None:
                    alter.reshape(one, lambda shape: replace(shape, indexes=(*shape.indexes, key.index)))
                if one is table:
                    one.indexes.append(key)
                elif take_over(one, key):
                    settled += self.partitions_of(one)
                else:
                    one.indexes.append(key.for_partition(one))
        if table.baseline_shapes is not None and (key.expressions or key.predicate):
            effect.add_unknown("dependencies of the index expressions")
        effect.relations_locked = 1 + table.numbers[0]
        return effect

    # --- drops ---

    def _drop(self, tree: exp.Expression) -> Effect:
        effect = Effect("drop")
        if tree.args.get("indexes"):
            return self._drop_indexes(tree)
        kind = tree.args.get("kind")
        if kind == "SEQUENCE":
            return self._drop_sequences(tree)
        if kind in ("VIEW", "EXTERNAL TABLE", "EXTERNAL WEB TABLE", "FOREIGN TABLE"):
            return self._drop_views(tree)
        if kind in ("TYPE", "DOMAIN"):
            return self._drop_types(tree)
        if kind in _NO_RELATIONS:
            effect.minor.append("catalog rows of the dropped objects")
            if cascades(tree):
                effect.add_unknown("other objects dropped by CASCADE")
            effect.verb = ""
            return effect
        if kind not in ("TABLE", "MATERIALIZED VIEW"):
            return Effect(unknown=["catalog rows of the dropped objects"])
        cascade = cascades(tree)
        for name in tree.args.get("names") or ():
            table = self.find(name)
            if table is None and self._drop_leaf(name, effect):
                continue
            if table is None:
                self._changed_by_name(name)
                if not tree.args.get("exists") or self.opaque:
                    effect.add_unknown(f"unknown table {name.sql('greenplum')}")
                effect.exclusive = True
                continue
            effect.table = table
            for one in (table, *self.partitions_of(table)):
                self._drop_one(one, effect)
            if cascade:
                children = self.inheriting(table)
                for child in children:
                    self._drop_one(child, effect)
                self._drop_readers({table.name, *(h.name for h in children), *(p.name for p in table.relations())}, effect)
                if (table.schema, table.name) in self.before:
                    effect.add_unknown("dependent objects dropped by CASCADE")
            if cascade and (
                table.inherited or any(k.target == (table.schema, table.name) for t in self.tables.values() for k in t.foreign)
            ):
                for other in self.tables.values():
                    kept = [k for k in other.foreign if k.target != (table.schema, table.name)]
                    if len(kept) < len(other.foreign):
                        with self.changing(effect, other):
                            other.foreign = kept
        return effect

    def _drop_leaf(self, name: exp.Expression, effect: Effect) -> bool:
        """DROP TABLE of a partition that only the baseline knows."""
        hit = self.elsewhere(*qualified(name)) if not isinstance(name, exp.Dot) else None
        if hit is None or hit[0].baseline_shapes is None:
            return False
        root, shape = hit
        for change in root.reshaped:
            shape = change(shape)
        if root.baseline_shapes is None or root.baseline_shapes[shape] < 1:
            return False
        root.baseline_shapes[shape] -= 1
        if root.parts:
            root.counted([root.parts.pop()], -1)
        effect.table, effect.exclusive = root, True
        effect.gone[shape] += 1
        effect.leaves_gone += 1
        effect.relations_locked += 1
        effect.add_unknown(_UNCOUNTED)
        return True

    def _drop_one(self, table: Table, effect: Effect) -> None:
        if not table.known and table.baseline_shapes is None:
            effect.add_unknown(f"unknown definition of {table.title}")
        for reason in (table.doubt, table.uncounted):
            if reason:
                effect.add_unknown(reason)
        if table.baseline_shapes is not None:
            effect.add_unknown(_UNCOUNTED)
        shapes, beyond, files = self._weigh(table)
        effect.gone += shapes
        effect.other_files -= files
        for instance in Instance:
            effect.add(instance, beyond[instance], -1)
        for key in [k for k in table.owned if k in self.sequences]:
            self.sequences.discard(key)
            effect.other_files -= 1
            for instance in Instance:
                effect.add(instance, extras.sequence(self.edition, instance), -1)
        effect.leaves_gone += table.numbers[1] or (0 if table.partitioned else 1)
        effect.relations_locked += sum(shapes.values())
        effect.exclusive = effect.exclusive or (table.schema, table.name) in self.before
        self.forget(table)

    def _drop_indexes(self, tree: exp.Expression) -> Effect:
        effect = Effect("alter")
        for name in tree.args["indexes"]:
            _, plain = qualified(name) if not isinstance(name, exp.Dot) else ("", "")
            owner = next((t for t in self.tables.values() for key in (*t.indexes, *t.only) if key.name == plain and plain), None)
            if owner is None:
                effect.add_unknown(f"unknown index {name.sql('greenplum')}")
                continue
            effect.table = owner
            if any(key.name == plain for key in owner.only):
                with self.changing(effect, owner):
                    owner.only = [key for key in owner.only if key.name != plain]
                continue
            family = [
                t for t in (owner, *self.partitions_of(owner)) if any(plain in (key.name if t is owner else key.of,) for key in t.indexes)
            ]
            with self.changing(effect, *family):
                for one in family:
                    gone = next(key for key in one.indexes if plain == (key.name if one is owner else key.of))
                    one.indexes.remove(gone)
                    if one.baseline_shapes is not None:
                        alter.reshape(one, lambda shape, gone=gone: alter.without_index(shape, gone))  # type: ignore[misc]
        return effect

    # --- views and types ---

    def _create_view(self, tree: exp.Create) -> Effect:
        """A view has one row in pg_class and one per column in pg_attribute; its dependencies are not counted."""
        effect = Effect("view", minor=["dependencies of a view"])
        name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        given = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        key, query = qualified(name), tree.args.get("expression")
        number = None if query is None else width(self, query)
        if number is None and given:
            number = len(given)
        was = self.views[key].columns if key in self.views else 0
        fresh = key not in self.views
        if tree.args.get("replace") and fresh and not tree.args.get("temporary"):
            effect.add_unknown("whether the view already exists")
        self.views[key] = View(number, names_in(query))
        if number is None or was is None:
            effect.add_unknown("columns of the view")
            return effect
        self._rows(effect, {"pg_class": int(fresh), "pg_attribute": number - was, "pg_type": 2 * fresh, "pg_rewrite": int(fresh)})
        return effect

    def _drop_views(self, tree: exp.Expression) -> Effect:
        effect = Effect("drop", minor=["dependencies of a view"])
        for name in tree.args.get("names") or ():
            key = qualified(name)
            if key not in self.views and tree.args.get("exists"):
                continue  # as for DROP TABLE IF EXISTS
            if key not in self.views:
                effect.add_unknown(f"unknown columns of view {name.sql('greenplum')}")
                continue
            self._drop_view(key, effect)
            if cascades(tree):
                self._drop_readers({key[1]}, effect)
                if tree.args.get("kind") != "VIEW":
                    effect.add_unknown("child tables dropped by CASCADE")
        return effect

    def _drop_view(self, key: tuple[str, str], effect: Effect) -> None:
        view = self.views.pop(key)
        if view.columns is None:
            effect.add_unknown(f"unknown columns of view {key[1]}")
            return
        self._rows(effect, {"pg_class": -1, "pg_attribute": -view.columns, "pg_type": -2, "pg_rewrite": -int(view.rule)})

    def _drop_readers(self, names: set[str], effect: Effect) -> None:
        """CASCADE: drop views and materialized views that depend on these names, recursively."""
        pending = set(names)
        while pending:
            name = pending.pop()
            for key in [k for k, v in self.views.items() if name in v.reads]:
                self._drop_view(key, effect)
                pending.add(key[1])
            for table in [t for t in self.tables.values() if name in t.reads]:
                self._drop_one(table, effect)
                pending.add(table.name)
            for table in self.tables.values():
                if any(c.type == name for c in table.columns):
                    effect.add_unknown("columns that use the row type of the dropped table")

    def _create_type(self, tree: exp.Expression) -> Effect:
        """Only composite types are relations."""
        effect = Effect(minor=["catalog rows of a type"])
        columns = self.types.create(tree)
        if columns is not None:
            self._rows(effect, {"pg_class": 1, "pg_attribute": columns})
        return effect

    def _alter_type(self, tree: exp.Expression) -> Effect:
        more = self.types.alter(tree)
        effect = Effect(minor=["catalog rows of a type"], unknown=["columns of the type and of its typed tables"] if more is None else [])
        self._rows(effect, {"pg_attribute": more or 0})
        return effect

    def _write(self, tree: exp.Expression) -> Effect:
        """INSERT, UPDATE and DELETE; on a catalog their effect is unknown."""
        schema, name = qualified(tree.this.this if isinstance(tree.this, exp.Schema) else tree.this)
        by_hand = schema in ("", "pg_catalog") and name.startswith(("pg_", "gp_")) and (schema, name) not in self.tables
        return Effect(unknown=[f"direct changes to {name}"] if by_hand else [])

    def _create_external(self, tree: exp.Create, kind: str) -> Effect:
        """An external or foreign table: a row of pg_class and, with system columns, those of pg_attribute."""
        effect = Effect(
            kind.lower(), minor=[f"rows of {'an external' if kind == 'EXTERNAL TABLE' else 'a foreign'} table in other catalogs"]
        )
        name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        shadow = Table(*qualified(name))
        define(self, shadow, tree.this.expressions if isinstance(tree.this, exp.Schema) else [])
        if not shadow.known or tree.args.get("expression") is not None or tree.find(exp.PartitionedOfProperty, exp.InheritsProperty):
            effect.add_unknown(f"columns of {shadow.title}")
            for parent in tree.find_all(exp.Table):
                if (above := self.find(parent)) is not None:
                    above.uncounted = above.uncounted or f"partition or child table {shadow.title}"
            return effect
        # with ctid, tableoid and the four of transactions; Greenplum: gp_segment_id
        number = len(shadow.columns) + 6 + self.edition.greenplum
        self.views[shadow.schema, shadow.name] = View(number, frozenset(), rule=False)
        self._rows(effect, {"pg_class": 1, "pg_attribute": number, "pg_type": 2})
        return effect

    def _drop_types(self, tree: exp.Expression) -> Effect:
        effect = Effect(minor=["catalog rows of a type"])
        for kind in tree.args.get("types") or tree.args.get("names") or ():
            known, columns = self.types.drop(kind)
            if not known and not tree.args.get("exists"):
                effect.add_unknown("unknown type")
            elif columns is not None:
                self._rows(effect, {"pg_class": -1, "pg_attribute": -columns})
        if cascades(tree):
            effect.add_unknown("other objects dropped by CASCADE")
        return effect

    @staticmethod
    def _rows(effect: Effect, rows: dict[str, int]) -> None:
        for instance in Instance:
            effect.add(instance, Counter(rows))

    # --- sequences ---

    def _create_sequence(self, tree: exp.Expression) -> Effect:
        effect = Effect()
        name = qualified(tree.this)
        if name in self.sequences:
            return effect
        self.sequences.add(name)
        effect.other_files = 1
        for instance in Instance:
            effect.add(instance, extras.sequence(self.edition, instance))
        self._own(tree, name, effect)
        return effect

    def _own(self, tree: exp.Expression, name: tuple[str, str], effect: Effect) -> None:
        """OWNED BY: the sequence is dropped with the table."""
        for option in tree.args.get("options") or ():
            owner = option.args.get("owner")
            if owner is None:
                continue
            for table in self.tables.values():
                table.owned = [key for key in table.owned if key != name]
            if owner.args.get("db") is None:
                continue  # NONE
            schema = fold(owner.args["catalog"]) if owner.args.get("catalog") is not None else ""
            found = self.named(schema, fold(owner.args["db"]))
            if found is None or name not in self.sequences:
                effect.minor.append("owner of the sequence")
            else:
                found.owned.append(name)
                effect.minor.append("dependencies of the sequence")

    def _alter_sequence(self, tree: exp.Expression) -> Effect:
        effect = Effect()
        name = qualified(tree.this)
        self._own(tree, name, effect)
        new = tree.args.get("rename")
        if isinstance(new, exp.Identifier) and name in self.sequences:
            self.sequences.discard(name)
            self.sequences.add((name[0], fold(new)))
            for table in self.tables.values():
                table.owned = [(name[0], fold(new)) if key == name else key for key in table.owned]
        return effect

    def _drop_sequences(self, tree: exp.Expression) -> Effect:
        effect = Effect()
        if cascades(tree):
            effect.add_unknown("other objects dropped by CASCADE")
        for name in tree.args.get("names") or ():
            if qualified(name) not in self.sequences:
                effect.add_unknown(f"unknown sequence {name.sql('greenplum')}")
                continue
            self.sequences.discard(qualified(name))
            effect.other_files -= 1
            for instance in Instance:
                effect.add(instance, extras.sequence(self.edition, instance), -1)
        return effect

    # --- the rest ---

    def _truncate(self, tree: exp.Expression) -> Effect:
        effect = Effect("truncate", exclusive=True)
        for name in tree.args.get("tables") or ():
            table = self.find(name)
            if table is not None:
                effect.table = table
                effect.relations_locked += 1 + table.numbers[0]
                effect.exclusive = (table.schema, table.name) in self.before
        return effect

    def _create_schema(self, tree: exp.Expression) -> Effect:
        return Effect(unknown=["objects inside CREATE SCHEMA"] if tree.args.get("elements") else [])

    def _alter(self, tree: exp.Expression) -> Effect:
        if tree.args.get("this") is not None and qualified(tree.this) in self.views:
            return self._alter_foreign(tree)
        effect = alter.alter(self, tree)
        if effect.table is None and tree.args.get("this") is not None and not isinstance(tree.this, exp.Identifier):
            self._changed_by_name(tree.this)
            for other in (a.args.get("table") for a in tree.find_all(exp.Expression) if type(a).__name__ == "ExchangePartition"):
                if other is not None and (there := self.find(other)) is not None:
                    there.uncounted = there.uncounted or f"table {there.title} after EXCHANGE PARTITION"
        return effect

    def _changed_by_name(self, name: exp.Expression) -> None:
        """Note that a partition was changed by its own name: the counts of its table are unknown from here on."""
        owner = self.tables.get(self.leaf_of.get(qualified(name)[1], ("", "")))
        if owner is not None and owner.baseline_shapes is None:
            owner.uncounted = owner.uncounted or f"change to {qualified(name)[1]}, a partition of {owner.title}"


_HANDLERS: dict[str, Callable[[World, Any], Effect]] = {
    "Create": World._create,
    "CreateSequence": World._create_sequence,
    "CreateSchema": World._create_schema,
    "CreateType": World._create_type,
    "CreateDomain": World._create_type,
    "AlterType": World._alter_type,
    "CreateFunction": World._create_routine,
    "CreateProcedure": World._create_routine,
    "CallProcedure": World._call,
    "DoBlock": World._do,
    "CreateRule": World._create_rule,
    "Explain": World._explain,
    "Discard": World._discard,
    "AlterSequence": World._alter_sequence,
    "AlterSchema": World._rename_schema,
    "AlterForeignTable": World._alter_foreign,
    "AlterExternalTable": World._alter_foreign,
    "Except": World._select,
    "Intersect": World._select,
    "Insert": World._write,
    "Update": World._write,
    "Delete": World._write,
    "DropObject": World._drop,
    "Truncate": World._truncate,
    "SetVariable": World._set,
    "ResetVariable": World._set,
    "AlterDatabase": World._set_for_later,
    "AlterRole": World._set_for_later,
    "AlterTable": World._alter,
    "AlterIndex": World._alter,
    "AlterView": World._alter,
    "Select": World._select,
    "Union": World._select,
}


def known_table(
    schema: str, name: str, storage: Storage, columns: int, leaves: int, shapes: Counter[Shape], levels: list[Level], oid: int = 0
) -> Table:
    """A table that a baseline knows by its shapes."""
    table = Table(
        schema, name, storage, columns=[Column(f"c{i}", "int4") for i in range(columns)], baseline_shapes=shapes, levels=levels, oid=oid
    )
    table.partitioned = bool(levels)
    table.parts = [Partition(f"{name}_{i}", "", False, storage, 1) for i in range(leaves)] if levels else []
    return table
