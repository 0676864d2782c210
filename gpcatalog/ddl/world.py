"""The tables a script knows, and what each statement adds to the catalogs, the files and the locks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.model import Instance, Shape
from gpcatalog.ddl import alter, extras
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.definition import define, index_key
from gpcatalog.ddl.derive import columns_of
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.expansion import Grower, levels_of, options_of, storage_of, template_sizes
from gpcatalog.ddl.relations import Column, Level, Partition, Table, fold, qualified
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

# statements that make or change objects which are no tables: their rows are not counted
_NOT_WEIGHED = {
    "CreateFunction": "a function's rows",
    "CreateProcedure": "a procedure's rows",
    "CreateAggregate": "an aggregate's rows",
    "CreateTrigger": "a trigger's rows",
    "CreateRule": "a rule's rows",
    "CreateType": "a type's rows",
    "CreateDomain": "a domain's rows",
    "CreateExtension": "what an extension brings",
    "CreatePolicy": "a policy's rows",
    "CreateStatistics": "rows of extended statistics",
    "ImportForeignSchema": "the foreign tables imported",
    "DoBlock": "what the block does",
    "CallProcedure": "what the procedure does",
}

# a snapshot counts a table's relations, columns and indexes, not these
_UNCOUNTED = "defaults, constraints and sequences that go with it: a snapshot does not count them"


class World:
    """Tables by name, as far as the script (and a baseline) tells."""

    def __init__(self, edition: Edition, zone: ZoneInfo) -> None:
        self.edition = edition
        self.zone = zone
        self.tables: dict[tuple[str, str], Table] = {}
        self.leaf_of: dict[str, tuple[str, str]] = {}
        self.sequences: set[tuple[str, str]] = set()
        self.before: set[tuple[str, str]] = set()  # known before the script began
        # partitions that only a baseline knows, by their own names: the table they belong to and their shape
        self.elsewhere: Callable[[str, str], tuple[Table, Shape] | None] = lambda schema, name: None
        self._by_name: dict[str, list[Table]] | None = None
        self._indexed = 0

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
                self.forget(before)
            self.tables[table.schema, table.name] = table
            if self._by_name is not None:
                self._by_name.setdefault(table.name, []).append(table)
                self._indexed += 1
        for part in parts if parts is not None else table.parts:
            for relation in part.walk():
                self.leaf_of[relation.name] = (table.schema, table.name)

    def forget(self, table: Table) -> None:
        """The table is gone, or has another name."""
        gone = self.tables.pop((table.schema, table.name), None)
        if gone is not None and self._by_name is not None:
            self._by_name[table.name] = [t for t in self._by_name.get(table.name, ()) if t is not gone]
            self._indexed -= 1

    def below(self, table: Table) -> list[Table]:
        """Partitions of it that are tables of their own here (PARTITION OF, ATTACH), at every level."""
        if not table.own_children:
            return []
        found = []
        for name in table.own_children:
            child = self.tables.get(name)
            if child is not None:
                found += [child, *self.below(child)]
        return found

    # --- measuring ---

    @contextmanager
    def changing(self, effect: Effect, *tables: Table) -> Iterator[None]:
        """What happens to the tables inside becomes part of the effect."""
        measured = [(t, self._weigh(t)) for t in tables]
        yield
        for table, (shapes, beyond, files) in measured:
            after, beyond_after, files_after = self._weigh(table)
            effect.gone += shapes - after
            effect.made += after - shapes
            effect.loose_files += files_after - files
            for instance in Instance:
                effect.add(instance, beyond_after[instance])
                effect.add(instance, beyond[instance], -1)

    def _weigh(self, table: Table) -> tuple[Counter[Shape], dict[Instance, Counter[str]], int]:
        if not table.known and table.baseline_shapes is None:
            return Counter(), {i: Counter() for i in Instance}, 0
        return table.shapes(self.edition), {i: table.beyond(self.edition, i) for i in Instance}, table.loose_files(self.edition)

    # --- statements ---

    def apply(self, tree: exp.Expression) -> Effect:
        """The effect of a statement, after which the world has it."""
        kind = type(tree).__name__
        handler = _HANDLERS.get(kind)
        if handler is None:
            return Effect(unknown=[_NOT_WEIGHED[kind]]) if kind in _NOT_WEIGHED else Effect()
        try:
            effect = handler(self, tree)
        except Unknown as e:
            return Effect(unknown=[str(e)])
        try:
            for shape in (*effect.made, *effect.gone):
                model.known(self.edition.name, shape)
        except CatalogError as e:  # a table that this server cannot have
            effect.made, effect.gone, effect.extra, effect.loose_files = Counter(), Counter(), {}, 0
            effect.tell(f"the server refuses it: {e.message}")
            if effect.table is not None:
                effect.table.known = False
        return effect

    def _create(self, tree: exp.Create) -> Effect:
        kind = tree.args.get("kind")
        if kind == "INDEX":
            return self._create_index(tree)
        if kind == "VIEW":
            return Effect(unknown=["a view's rows"])
        if kind in ("EXTERNAL TABLE", "FOREIGN TABLE"):
            return Effect(unknown=[f"the rows of {'an external' if kind == 'EXTERNAL TABLE' else 'a foreign'} table"])
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
            elif isinstance(p, gx.OfType):
                table.unknown.append("OF: columns of the type")
                table.known = False
        table.storage = storage_of(table.options, method, Storage.HEAP, self.edition)
        query = tree.args.get("expression")
        if of is not None:
            self._inherit_partition(table, of, method)
        elif query is not None:
            self._as_query(table, query, tree.this.expressions if isinstance(tree.this, exp.Schema) else [])
            if kind == "MATERIALIZED VIEW":
                table.known = False
                table.unknown.append("a materialized view's rule")
        if isinstance(tree.this, exp.Schema) and query is None:
            define(self, table, tree.this.expressions, parents)
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
            if table.foreign:
                table.unknown.append("foreign keys of a partitioned table")
        return self._created(table, of)

    def _created(self, table: Table, of: exp.Expression | None = None) -> Effect:
        effect = Effect("create", table, unknown=list(table.unknown), new_parts=list(table.parts))
        if table.known:
            effect.made, beyond, effect.loose_files = self._weigh(table)
            for instance in Instance:
                effect.add(instance, beyond[instance])
        effect.leaves_made = table.numbers[1] or (0 if table.partitioned else 1)
        effect.relations_locked = 1 + table.numbers[0]
        if of is not None:
            parent = self.find(of.this)
            effect.exclusive = parent is None or (parent.schema, parent.name) in self.before
        self.keep(table)
        return effect

    def _inherit(self, table: Table, node: exp.Expression) -> list[Table]:
        parents = []
        for name in node.expressions:
            parent = self.find(name)
            if parent is None or not parent.known or parent.baseline_shapes is not None:
                table.known = False
                table.unknown.append(f"INHERITS {name.sql('greenplum')}, whose columns are not known")
                continue
            parents.append(parent)
            parent.inherited = True
        table.inherits = tuple(parent.title for parent in parents)
        return parents

    def _inherit_partition(self, table: Table, of: exp.Expression, method: str) -> None:
        parent = self.find(of.this)
        table.parent = ".".join(p for p in qualified(of.this) if p)
        if parent is None or not parent.known or parent.baseline_shapes is not None:
            table.known = False
            table.unknown.append(f"the parent {table.parent}, which this script does not create")
            return
        parent.own_children.append((table.schema, table.name))
        table.columns = [replace(c, serial="") for c in parent.columns]
        table.indexes = list(parent.indexes)
        table.checks = list(parent.checks)
        table.toasted = False
        if parent.foreign:
            table.unknown.append("foreign keys of a partitioned table")
        if not method and "appendonly" not in table.options and "appendoptimized" not in table.options and self.edition.greenplum:
            table.storage = parent.storage

    def _as_query(self, table: Table, query: exp.Expression, names: list[exp.Expression]) -> None:
        """Columns of CREATE TABLE AS and SELECT INTO, as far as the query tells them."""
        try:
            found = columns_of(self, query)
        except Unknown as e:
            table.known = False
            table.unknown.append(str(e))
            return
        given = [fold(n.this if isinstance(n, exp.ColumnDef) else n) for n in names]
        found = [replace(c, name=given[i] if i < len(given) else c.name) for i, c in enumerate(found)]
        table.columns = [replace(c, not_null=False, default=False, serial="", named=0) for c in found]
        untold = [c.name for c in table.columns if not c.type]
        if untold and not self._surely_toasted(table):
            table.known = False
            table.unknown.append(f"the type of {', '.join(untold[:3])}, and so whether there is a TOAST relation")

    def _surely_toasted(self, table: Table) -> bool:
        told = replace(table, columns=[c for c in table.columns if c.type])
        return told.needs_toast(self.edition)

    def _select(self, tree: exp.Expression) -> Effect:
        into = tree.args.get("into")
        if into is None:
            return Effect()
        schema, name = qualified(into.this)
        table = Table(schema, name, node=tree)
        table.temporary = into.args.get("kind") == "TEMPORARY"
        self._as_query(table, tree, [])
        return self._created(table)

    # --- indexes ---

    def _create_index(self, tree: exp.Create) -> Effect:
        target = tree.this.args["table"]
        table = self.find(target)
        effect = Effect("index", table, index=tree)
        if table is None or (not table.known and table.baseline_shapes is None):
            effect.tell(f"the table {target.sql('greenplum')}, which this script does not create")
            return effect
        name = fold(tree.this.args.get("this"))
        if name and tree.args.get("exists") and any(key.name == name for key in table.indexes):
            return effect
        family = [table, *self.below(table)]
        if isinstance(target, gx.RelationName) and target.args.get("only"):
            family = [table]
        key = index_key(table, name, tree.this.args["params"])
        with self.changing(effect, *family):
            for one in family:
                one.directory = True
                if one.baseline_shapes is not None:
                    alter.reshape(one, lambda shape: replace(shape, indexes=(*shape.indexes, key.index)))
                one.indexes.append(replace(key, name=key.name if one is table else ""))
        if table.baseline_shapes is not None and (key.expressions or key.predicate):
            effect.tell("what the index's expressions depend on")
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
        if kind not in ("TABLE", "MATERIALIZED VIEW"):
            return Effect(unknown=["the rows of what is dropped"])
        cascade = str(tree.args.get("behavior") or "") == "CASCADE"
        for name in tree.args.get("names") or ():
            table = self.find(name)
            if table is None and self._drop_leaf(name, effect):
                continue
            if table is None:
                if not tree.args.get("exists"):
                    effect.tell(f"the table {name.sql('greenplum')}, which is not known")
                effect.exclusive = True
                continue
            effect.table = table
            for one in (table, *self.below(table)):
                self._drop_one(one, effect)
            if cascade and (
                table.inherited or any(k.target == (table.schema, table.name) for t in self.tables.values() for k in t.foreign)
            ):
                for other in self.tables.values():
                    kept = [k for k in other.foreign if k.target != (table.schema, table.name)]
                    if len(kept) < len(other.foreign):
                        with self.changing(effect, other):
                            other.foreign = kept
                if table.inherited:
                    effect.tell("children that CASCADE drops")
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
        effect.tell(_UNCOUNTED)
        return True

    def _drop_one(self, table: Table, effect: Effect) -> None:
        if not table.known and table.baseline_shapes is None:
            effect.tell(f"the rows of {table.title}, which could not be told when it was made")
        if table.doubt:
            effect.tell(table.doubt)
        if table.baseline_shapes is not None:
            effect.tell(_UNCOUNTED)
        shapes, beyond, files = self._weigh(table)
        effect.gone += shapes
        effect.loose_files -= files
        for instance in Instance:
            effect.add(instance, beyond[instance], -1)
        effect.leaves_gone += table.numbers[1] or (0 if table.partitioned else 1)
        effect.relations_locked += sum(shapes.values())
        effect.exclusive = effect.exclusive or (table.schema, table.name) in self.before
        self.forget(table)

    def _drop_indexes(self, tree: exp.Expression) -> Effect:
        effect = Effect("alter")
        for name in tree.args["indexes"]:
            _, plain = qualified(name) if not isinstance(name, exp.Dot) else ("", "")
            owner = next((t for t in self.tables.values() for key in t.indexes if key.name == plain and plain), None)
            if owner is None:
                effect.tell(f"the index {name.sql('greenplum')}, which this script does not create")
                continue
            effect.table = owner
            at = next(i for i, key in enumerate(owner.indexes) if key.name == plain)
            family = [t for t in (owner, *self.below(owner)) if len(t.indexes) > at]
            with self.changing(effect, *family):
                for one in family:
                    gone = one.indexes.pop(at)
                    if one.baseline_shapes is not None:
                        alter.reshape(one, lambda shape, gone=gone: alter.without_index(shape, gone))  # type: ignore[misc]
        return effect

    # --- sequences ---

    def _create_sequence(self, tree: exp.Expression) -> Effect:
        effect = Effect()
        name = qualified(tree.this)
        if name in self.sequences:
            return effect
        self.sequences.add(name)
        effect.loose_files = 1
        for instance in Instance:
            effect.add(instance, extras.sequence(self.edition, instance))
        if any("OWNED BY" in str(o.args.get("form", "")) for o in tree.args.get("options") or ()):
            effect.tell("the owner of a sequence")
        return effect

    def _drop_sequences(self, tree: exp.Expression) -> Effect:
        effect = Effect()
        for name in tree.args.get("names") or ():
            if qualified(name) not in self.sequences:
                effect.tell(f"the sequence {name.sql('greenplum')}, which this script does not create")
                continue
            self.sequences.discard(qualified(name))
            effect.loose_files -= 1
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
        return Effect(unknown=["what stands inside CREATE SCHEMA"] if tree.args.get("elements") else [])

    def _alter(self, tree: exp.Expression) -> Effect:
        return alter.alter(self, tree)


_HANDLERS: dict[str, Callable[[World, Any], Effect]] = {
    "Create": World._create,
    "CreateSequence": World._create_sequence,
    "CreateSchema": World._create_schema,
    "DropObject": World._drop,
    "Truncate": World._truncate,
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
