"""The tables a script knows, and what each statement adds to the catalogs, the files and the locks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.model import FILLED, Index, Instance, Shape
from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.calendar import Unknown
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.expansion import (
    _SERIAL,
    Column,
    Grower,
    Level,
    Partition,
    Table,
    catalog_type,
    child_name,
    fold,
    levels_of,
    options_of,
    qualified,
    storage_of,
)
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage


@dataclass
class Effect:
    """What one statement does.

    verb:     "create", "drop", "add partition", "drop partition", "index", "alter", "truncate" or "" for no effect on tables
    made, gone: relations that appear and disappear, as shapes with their number
    leaves:   leaves made minus leaves gone
    exclusive: it takes AccessExclusive on a table that was there before the script
    relations_locked: relations it locks on one instance, counted or None
    unknown:  why something could not be told; then the figures are a lower bound
    """

    verb: str = ""
    table: Table | None = None
    made: Counter[Shape] = field(default_factory=Counter)
    gone: Counter[Shape] = field(default_factory=Counter)
    leaves_made: int = 0
    leaves_gone: int = 0
    new_parts: list[Partition] = field(default_factory=list)
    exclusive: bool = False
    rewritten: bool = False
    relations_locked: int = 0
    unknown: list[str] = field(default_factory=list)
    actions: list[exp.Expression] = field(default_factory=list)
    index: exp.Expression | None = None
    extra: dict[Instance, Counter[str]] = field(default_factory=dict)  # rows that no shape explains

    def rows(self, edition: Edition, instance: Instance) -> Counter[str]:
        """Catalog rows that appear (and, negative, disappear) on an instance."""
        out: Counter[str] = Counter()
        for sign, shapes in ((1, self.made), (-1, self.gone)):
            for shape, number in shapes.items():
                for catalog, rows in model.relation_rows(edition.name, shape, instance).items():
                    out[catalog] += sign * rows * number
        out.update(self.extra.get(instance, {}))
        return Counter({k: v for k, v in out.items() if v})

    def files(self, edition: Edition, *, filled: bool = False, instance: Instance = Instance.SEGMENT) -> int:
        """Files that appear on one segment (or the coordinator), tables empty or filled by one writer."""
        return sum(
            # rows go to leaves: parents stay empty where they are tables at all
            sign
            * model.relation_files(edition.name, shape, FILLED if filled and not shape.place.parent else model.EMPTY, instance)
            * number
            for sign, shapes in ((1, self.made), (-1, self.gone))
            for shape, number in shapes.items()
        )

    def relations(self) -> int:
        """pg_class rows of tables themselves that appear."""
        return sum(self.made.values())


class World:
    """Tables by name, as far as the script (and a baseline) tells."""

    def __init__(self, edition: Edition, zone: ZoneInfo) -> None:
        self.edition = edition
        self.zone = zone
        self.tables: dict[tuple[str, str], Table] = {}
        self.leaf_of: dict[str, tuple[str, str]] = {}
        self.before: set[tuple[str, str]] = set()  # known before the script began

    # --- names ---

    def find(self, table: exp.Expression) -> Table | None:
        """The table of that name, whatever schema where none is written."""
        schema, name = qualified(table)
        found = self.tables.get((schema, name))
        if found is not None:
            return found
        same = [t for (s, n), t in self.tables.items() if n == name and (not schema or not s or s == schema)]
        return same[0] if len(same) == 1 else None

    def _keep(self, table: Table) -> None:
        self.tables[table.schema, table.name] = table
        for part in table.relations():
            self.leaf_of[part.name] = (table.schema, table.name)

    # --- statements ---

    def apply(self, tree: exp.Expression) -> Effect:
        """The effect of a statement, after which the world has it."""
        handler = _HANDLERS.get(type(tree).__name__)
        if handler is None:
            return Effect()
        try:
            effect = handler(self, tree)
        except Unknown as e:
            return Effect(unknown=[str(e)])
        try:
            for shape in (*effect.made, *effect.gone):
                model.known(self.edition.name, shape)
        except CatalogError as e:  # a table that this server cannot have
            effect.made, effect.gone = Counter(), Counter()
            effect.unknown.append(f"the server refuses it: {e.message}")
            if effect.table is not None:
                effect.table.known = False
        return effect

    def _create(self, tree: exp.Create) -> Effect:
        kind = tree.args.get("kind")
        if kind == "INDEX":
            return self._create_index(tree)
        if kind not in ("TABLE", "MATERIALIZED VIEW"):
            return Effect()
        properties = list(tree.args["properties"].expressions) if tree.args.get("properties") is not None else []
        name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        schema, plain = qualified(name)
        if tree.args.get("exists") and (schema, plain) in self.tables:
            return Effect("create", self.tables[schema, plain])
        table = Table(schema, plain, node=tree, kind=str(kind))
        method, by, of = "", None, None
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
                table.unknown.append("INHERITS: columns and constraints of the parents")
                table.known = False
            elif isinstance(p, gx.OfType):
                table.unknown.append("OF: columns of the type")
                table.known = False
        table.storage = storage_of(table.options, method, Storage.HEAP, self.edition)
        if of is not None:
            self._inherit_partition(table, of, method)
        elif tree.args.get("expression") is not None:
            table.unknown.append("the columns of the query")
            table.known = False
        if isinstance(tree.this, exp.Schema):
            self._columns(table, tree.this.expressions)
        if by is not None:
            table.levels = levels_of(by)
            table.partitioned = True
            parts = by.args.get("partitions")
            if parts:
                grower = Grower(self.edition, table, self.zone, table.options)
                try:
                    table.parts = grower.level(parts, 0, table.name, table.storage, 0)
                except Unknown as e:
                    table.unknown.append(str(e))
        effect = Effect("create", table, unknown=list(table.unknown), new_parts=list(table.parts))
        if table.known or of is not None:
            effect.made = table.shapes(self.edition)
        effect.leaves_made = len(table.leaves()) or (0 if table.partitioned else 1)
        effect.relations_locked = 1 + sum(1 for _ in table.relations())
        if of is not None:
            parent = self.find(of.this)
            effect.exclusive = parent is None or (parent.schema, parent.name) in self.before
        self._keep(table)
        return effect

    def _inherit_partition(self, table: Table, of: exp.Expression, method: str) -> None:
        parent = self.find(of.this)
        table.parent = ".".join(p for p in qualified(of.this) if p)
        if parent is None or not parent.known:
            table.known = False
            table.unknown.append(f"the parent {table.parent}, which this script does not create")
            return
        table.columns = list(parent.columns)
        table.indexes = list(parent.indexes)
        table.checks = parent.checks
        if not method and "appendonly" not in table.options and "appendoptimized" not in table.options and self.edition.greenplum:
            table.storage = parent.storage

    def _columns(self, table: Table, elements: Iterable[exp.Expression]) -> None:
        primary: set[str] = set()
        for element in elements:
            if isinstance(element, exp.ColumnDef):
                column = self._column(table, element)
                if column is not None:
                    table.columns.append(column)
            elif isinstance(element, gx.TableConstraint):
                kind = element.args["kind"]
                if isinstance(kind, gx.KeyConstraint) and kind.expressions:
                    columns = [fold(c) for c in kind.expressions]
                    table.indexes.append(Index(len(columns), constraint=True))
                    if kind.args["kind"] == "PRIMARY KEY":
                        primary.update(columns)
                elif isinstance(kind, gx.CheckConstraint):
                    table.checks += 1
                else:
                    table.unknown.append("a constraint with another table or an exclusion constraint")
            elif isinstance(element, gx.LikeClause):
                source = self.find(element.this)
                if source is None or not source.known:
                    table.known = False
                    table.unknown.append(f"LIKE {element.this.sql('greenplum')}, which this script does not create")
                    continue
                words = set(element.args.get("expressions") or ())
                defaults = bool(words & {"INCLUDING DEFAULTS", "INCLUDING ALL"})
                table.columns += [replace(c, default=c.default and defaults, checks=0) for c in source.columns]
                if words & {"INCLUDING INDEXES", "INCLUDING ALL"}:
                    table.indexes += source.indexes
                if words & {"INCLUDING CONSTRAINTS", "INCLUDING ALL"}:
                    table.checks += source.checks + sum(c.checks for c in source.columns)
        if primary:
            table.columns = [replace(c, not_null=True) if c.name in primary else c for c in table.columns]

    def _column(self, table: Table, element: exp.ColumnDef) -> Column | None:
        kind = element.args.get("kind")
        if kind is None:
            return None  # PARTITION OF and OF: options for a column that comes from elsewhere
        name, typmod = catalog_type(kind)
        serial = isinstance(kind, exp.DataType) and kind.this in _SERIAL
        not_null, default, checks = serial, serial, 0
        if serial:
            table.unknown.append(f"the sequence of {fold(element.this)}")
        for constraint in element.args.get("constraints") or ():
            found = constraint.args.get("kind") if isinstance(constraint, exp.ColumnConstraint) else constraint
            if isinstance(found, exp.NotNullColumnConstraint):
                not_null = not_null or not found.args.get("allow_null")
            elif isinstance(found, exp.DefaultColumnConstraint):
                default = not isinstance(found.this, exp.Null)
            elif isinstance(found, exp.CheckColumnConstraint | gx.CheckConstraint):
                checks += 1
            elif isinstance(found, exp.PrimaryKeyColumnConstraint) or (
                isinstance(found, gx.KeyConstraint) and found.args["kind"] == "PRIMARY KEY"
            ):
                table.indexes.append(Index(1, constraint=True))
                not_null = True
            elif isinstance(found, exp.UniqueColumnConstraint | gx.KeyConstraint):
                table.indexes.append(Index(1, constraint=True))
            elif isinstance(found, gx.ReferencesConstraint):
                table.unknown.append("a foreign key")
            elif isinstance(found, gx.GeneratedConstraint):
                default = True
                if found.args.get("identity"):
                    table.unknown.append(f"the sequence of {fold(element.this)}")
                    default, not_null = False, True
        return Column(fold(element.this), name, typmod, not_null, default, checks)

    def _create_index(self, tree: exp.Create) -> Effect:
        body = tree.this.args["params"]
        target = tree.this.args["table"]
        table = self.find(target)
        effect = Effect("index", table, index=tree)
        if table is None or not table.known:
            effect.unknown.append(f"the table {target.sql('greenplum')}, which this script does not create")
            return effect
        columns = len(body.args["columns"]) + len(body.args.get("include") or ())
        if any(not isinstance(e.this, exp.Column) for e in body.args["columns"]):
            effect.unknown.append("an index on an expression")
        effect.gone = table.shapes(self.edition)
        table.indexes.append(Index(columns))
        effect.made = table.shapes(self.edition)
        effect.relations_locked = 1 + sum(1 for _ in table.relations())
        return effect

    def _drop(self, tree: exp.Expression) -> Effect:
        effect = Effect("drop")
        for name in tree.args.get("names") or ():
            table = self.find(name)
            if tree.args.get("kind") not in ("TABLE", "MATERIALIZED VIEW"):
                continue
            if table is None:
                effect.exclusive = True
                effect.unknown.append(f"the table {name.sql('greenplum')}, which is not known")
                continue
            effect.table = table
            effect.gone += table.shapes(self.edition) if table.known else Counter()
            effect.leaves_gone += len(table.leaves()) or (0 if table.partitioned else 1)
            for instance in Instance:
                left = table.extra.get(instance.value)
                if left:
                    counted = effect.extra.setdefault(instance, Counter())
                    counted.subtract(left)
            effect.relations_locked += sum(effect.gone.values())
            effect.exclusive = effect.exclusive or (table.schema, table.name) in self.before
            self.tables.pop((table.schema, table.name), None)
        return effect

    def _truncate(self, tree: exp.Expression) -> Effect:
        effect = Effect("truncate", exclusive=True)
        for name in tree.args.get("tables") or ():
            table = self.find(name)
            if table is not None:
                effect.table = table
                effect.relations_locked += 1 + sum(1 for _ in table.relations())
                effect.exclusive = (table.schema, table.name) in self.before
        return effect

    def _alter(self, tree: exp.Expression) -> Effect:
        if tree.args.get("this") is None:
            return Effect()
        table = self.find(tree.this)
        actions = list(tree.args.get("actions") or [])
        actions += [tree.args[single] for single in ("action", "move") if tree.args.get(single) is not None]
        effect = Effect("alter", table, actions=actions)
        gentle = ("AttachPartition", "ValidateConstraint", "DetachPartition")
        effect.exclusive = (table is None or (table.schema, table.name) in self.before) and any(
            type(a).__name__ not in gentle for a in actions
        )
        if any(type(a).__name__ == "AddPartition" for a in actions):
            effect.verb = "add partition"
        if table is None:
            effect.rewritten = any(
                type(a).__name__ == "SplitPartition" or (type(a).__name__ == "AlterColumnAction" and a.args.get("kind") is not None)
                for a in actions
            )
            effect.unknown.append(f"the table {tree.this.sql('greenplum')}, which is not known")
            return effect
        for action in actions:
            self._action(table, action, effect)
        effect.relations_locked = 1 + sum(1 for _ in table.relations())
        return effect

    def _action(self, table: Table, action: exp.Expression, effect: Effect) -> None:
        kind = type(action).__name__
        if kind == "AddPartition":
            self._add_partition(table, action, effect)
        elif kind == "DropPartition":
            self._drop_partition(table, action, effect)
        elif kind == "SplitPartition":
            self._split(table, action, effect)
        elif kind == "AddColumn":
            before = table.shapes(self.edition) if table.known else Counter()
            column = self._column(table, action.this)
            if column is not None and table.known and table.baseline_shapes is None:
                table.columns.append(column)
                effect.gone += before
                effect.made += table.shapes(self.edition)
                self._column_added(table, effect)
            if column is not None and column.default and self.edition.base < 11:
                effect.rewritten = True
        elif kind == "DropColumn":
            name = fold(action.this)
            if any(c.name == name for c in table.columns):
                before = table.shapes(self.edition)
                table.columns = [c for c in table.columns if c.name != name]
                table.dropped += 1
                effect.gone += before
                effect.made += table.shapes(self.edition)
        elif kind == "AlterColumnAction":
            form = str(action.args.get("form", ""))
            if action.args.get("kind") is not None or "SET ENCODING" in form:
                effect.rewritten = True
        elif kind == "SetTable" and (action.args.get("distribution") is not None or action.args.get("method") is not None):
            effect.rewritten = True
        elif kind == "AttachPartition":
            child = self.find(action.this)
            if child is not None:
                effect.unknown.append("rows of an attached partition")
        elif kind == "RenameTo":
            self.tables.pop((table.schema, table.name), None)
            table.name = fold(action.this)
            self._keep(table)
        elif kind == "SetSchema":
            self.tables.pop((table.schema, table.name), None)
            table.schema = fold(action.this)
            self._keep(table)

    def _column_added(self, table: Table, effect: Effect) -> None:
        """What ADD COLUMN leaves besides the column, on row-oriented append-optimized relations."""
        relations = [table.storage] if not table.parts else [p.storage for p in table.relations()] + [table.storage]
        rows = sum(storage is Storage.AO_ROW for storage in relations)
        if not rows or not self.edition.greenplum:
            return
        extra: Counter[str] = Counter()
        if self.edition.classic:
            effect.rewritten = True
            # the rewrite rebuilds the indexes, which segments note
            extra["pg_stat_last_operation"] = rows * len(table.indexes)
            effect.extra = {Instance.SEGMENT: extra}
        else:
            extra["pg_attribute_encoding"] = rows
            effect.extra = {Instance.SEGMENT: extra, Instance.COORDINATOR: Counter(extra)}
        for instance, counted in effect.extra.items():
            table.extra.setdefault(instance.value, Counter()).update(counted)

    def _grow(self, table: Table, elements: list[exp.Expression], effect: Effect) -> list[Partition]:
        grower = Grower(self.edition, table, self.zone, table.options)
        number = sum(1 for p in table.parts) + 1
        # Greenplum 6 makes what is added heap unless it is told otherwise, whatever the table is
        above = Storage.HEAP if self.edition.classic else table.storage
        return grower.level(elements, 0, table.name, above, 0, first=number)

    def _add_partition(self, table: Table, action: exp.Expression, effect: Effect) -> None:
        effect.verb = "add partition"
        if not table.levels:
            effect.unknown.append(f"the partitioning of {table.title}")
            effect.leaves_made += 1
            return
        if table.baseline_shapes is not None:
            self._add_to_baseline(table, action, effect)
            return
        try:
            parts = self._grow(table, [action], effect)
        except Unknown as e:
            effect.unknown.append(str(e))
            return
        before = Counter(table.shapes(self.edition))
        table.parts += parts
        after = table.shapes(self.edition)
        if table.known:
            effect.made += after - before
        effect.new_parts += parts
        effect.leaves_made += sum(1 for p in parts for x in p.walk() if not x.children)
        self._keep(table)

    def _add_to_baseline(self, table: Table, action: exp.Expression, effect: Effect) -> None:
        """ADD PARTITION to a table that only a baseline knows: one more of its commonest leaf."""
        assert table.baseline_shapes is not None
        leaves = Counter({s: n for s, n in table.baseline_shapes.items() if s.place is model.Place.LEAF})
        if not leaves or len(table.levels) > 1:
            effect.leaves_made += 1
            effect.unknown.append(f"the subpartitions that {table.title} gives a new partition")
            return
        shape = leaves.most_common(1)[0][0]
        options = action.args.get("options")
        fallback = Storage.HEAP if self.edition.classic else shape.storage
        storage = storage_of(options_of(options), "", fallback, self.edition) if options is not None else fallback
        new = replace(shape, storage=storage, indexes=shape.indexes)
        effect.made[new] += 1
        table.baseline_shapes[new] += 1
        effect.leaves_made += 1
        table.parts.append(Partition(child_name(table.name, 1, fold(action.args.get("this"))), "", False, storage, 1))

    def _drop_partition(self, table: Table, action: exp.Expression, effect: Effect) -> None:
        effect.verb = "drop partition"
        target = action.args.get("target") or action.args.get("this")
        reference = target.args.get("ref") if target is not None and target.args.get("ref") is not None else target
        by_default = "DEFAULT" in str(action.args.get("form", "")) or (target is not None and target.args.get("default"))
        name = fold(reference.this) if reference is not None and isinstance(reference.args.get("this"), exp.Identifier) else ""
        for part in table.parts:
            if (by_default and part.default) or (name and part.partition == name):
                before = table.shapes(self.edition)
                table.parts.remove(part)
                if table.known:
                    effect.gone += before - table.shapes(self.edition)
                effect.leaves_gone += sum(1 for p in part.walk() if not p.children)
                return
        effect.leaves_gone += 1
        effect.unknown.append("which partition FOR (…) names")

    def _split(self, table: Table, action: exp.Expression, effect: Effect) -> None:
        effect.verb = "split partition"
        effect.leaves_made += 1
        effect.rewritten = True
        if table.known and table.levels and table.parts:
            leaf = max((p for p in table.relations() if not p.children), key=lambda p: p.bounds)
            into = action.args.get("into") or action.args.get("into_named")
            pieces = [piece for piece in (into.args.values() if into is not None else ()) if isinstance(piece, exp.Expression)]
            name = ""
            for piece in pieces:
                ref = piece.args.get("ref") or piece
                if isinstance(ref.args.get("this"), exp.Identifier):
                    name = fold(ref.this)
                    break
            before = table.shapes(self.edition)
            new = replace(leaf, name=child_name(table.name, 1, name or "split"), partition=name, default=False, children=[])
            table.parts.append(new)
            effect.made += table.shapes(self.edition) - before


_HANDLERS: dict[str, Callable[[World, Any], Effect]] = {
    "Create": World._create,
    "DropObject": World._drop,
    "Truncate": World._truncate,
    "AlterTable": World._alter,
    "AlterIndex": World._alter,
    "AlterView": World._alter,
}


def known_table(schema: str, name: str, storage: Storage, columns: int, leaves: int, shapes: Counter[Shape], levels: list[Level]) -> Table:
    """A table that a baseline knows by its shapes."""
    table = Table(schema, name, storage, columns=[Column(f"c{i}", "int4") for i in range(columns)], baseline_shapes=shapes, levels=levels)
    table.partitioned = bool(levels)
    table.parts = [Partition(f"{name}_{i}", "", False, storage, 1) for i in range(leaves)] if levels else []
    return table
