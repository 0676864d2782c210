"""What a snapshot knows that a check can build on: the server, its instances, its objects as a
schema state, the totals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.generation import (
    TOAST_COLUMNS,
    TOAST_INDEX_COLUMNS,
    generation,
)
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.capacity.model import FILLED, Index, Place, Shape
from gpcatalog.capacity.toast import toastable
from gpcatalog.dialect.script import Source, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.live_catalog import BaselineError
from gpcatalog.effects.relations import (
    Check,
    Column,
    ForeignKey,
    Key,
    Level,
    Odd,
    Partition,
    Size,
    Table,
    View,
    like_of,
)
from gpcatalog.effects.schema_state import SchemaState
from gpcatalog.effects.session import SETTINGS
from gpcatalog.effects.types import DefinedType, Types
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage
from gpcatalog.store.snapshot import Snapshot

_PLACES = {"root": Place.ROOT, "intermediate": Place.INTERMEDIATE, "leaf": Place.LEAF}
# other sessions' temporary tables are nobody's business, external and foreign tables are kept as
# views are
_READABLE = "storage NOT IN ('external', 'foreign') AND persistence IS DISTINCT FROM 't'"
_ELSEWHERE = (Storage.EXTERNAL, Storage.FOREIGN)


# --- JSON of the facts in a snapshot (sql/any/definitions*.sql) -----------------------------------


Number = Annotated[int, msgspec.Meta(ge=0, le=1600)]  # of columns


class _Columns(msgspec.Struct):
    system: Number
    dropped: Number
    columns: list[tuple[str, str, int, bool, bool, bool, str, bool, list[str]]] | None


class _Constraint(msgspec.Struct):
    columns: list[str] | None
    schema: str | None
    table: str | None


class _Index(msgspec.Struct, kw_only=True):
    columns: Number
    unique: bool
    method: str
    constraint: str
    simple: list[str] | None
    reads: list[str] | None
    expressions: bool
    predicate: bool
    included: Number
    plain: bool
    of: str | None


class _Placed(msgspec.Struct):
    schema: str


class _View(msgspec.Struct):
    schema: str
    columns: Number
    reads: list[tuple[str, str]] | None


class _Pointing(msgspec.Struct):
    schema: str | None = None
    table: str | None = None


class _Template(msgspec.Struct):
    text: str
    methods: list[str]


class _Type(msgspec.Struct):
    schema: str
    stored_as: str = msgspec.field(name="stored as")
    columns: int | None


@dataclass
class Facts:
    """Facts on one table, by kind: name and JSON of each."""

    of: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def read(self, what: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
        """Name and detail of each fact of a kind.

        Raises msgspec.DecodeError where it is not what the probes write.
        """
        return (
            (name, msgspec.json.decode(detail, type=kind)) for name, detail in self.of.get(what, ())
        )


class Baseline:
    """A snapshot, opened for as long as the check runs; tables are read from it when a statement
    names them.

    generation, segments (primaries) and hosts of the cluster; lock_slots; totals: leaves, catalog
    rows of the fullest instance, files
    """

    def __init__(self, path: Path) -> None:
        """Open a snapshot.

        Raises CatalogError if the file is no snapshot, or only totals were kept in it.
        """
        self.path = path
        self.snapshot = Snapshot(path)
        self._edition: Edition | None = None
        self._tables: dict[tuple[str, str], int] | None = None
        self._pointing: dict[tuple[str, str, str], list[tuple[str, str]]] | None = (
            None  # (what, schema, name) → tables
        )
        header = self.snapshot.header
        if header.get("grain") not in (None, "leaf"):
            raise CatalogError(
                f"{path} keeps totals only",
                hint="a pruned snapshot cannot be a baseline; take a fresh one",
            )
        self.generation = str(header["generation"])
        instances = self.snapshot.rows(
            "SELECT DISTINCT content, hostname FROM instance WHERE role = 'p' OR role IS NULL"
        )
        segments = [i for i in instances if int(i["content"]) >= 0]
        self.segments = max(1, len(segments))
        self.hosts = max(1, len({str(i["hostname"]) for i in segments}))
        found = self.snapshot.rows("SELECT name, setting, source FROM setting")
        settings = {str(s["name"]): str(s["setting"]) for s in found}
        self.lock_slots = lock_slots(settings) or 0
        self.settings = {
            str(s["name"]): str(s["setting"])
            for s in found
            if s["name"] in SETTINGS and s["source"] not in ("default", "client")
        }
        self.totals = self._totals()

    def close(self) -> None:
        """Close the snapshot."""
        self.snapshot.close()

    def _totals(self) -> dict[str, float]:
        files = leaves = 0
        for row in self.snapshot.rows(
            'SELECT kind, storage, level, "columns", toast, indexes, index_columns, is_default,'
            " count(*) AS number, count(*) FILTER (WHERE filled) AS filled FROM relation GROUP"
            " BY ALL"
        ):
            number, filled = int(row["number"]), int(row["filled"] or 0)
            leaves += number if row["kind"] in ("leaf", "table") else 0
            try:
                shape = _shape(row)
                files += (number - filled) * model.relation_files(self.generation, shape)
                files += filled * model.relation_files(self.generation, shape, FILLED)
            except (ValueError, CatalogError):
                continue  # external and foreign tables keep nothing here
        bare = (
            "SELECT count(*) AS n FROM relation r WHERE kind = 'root' AND NOT EXISTS (SELECT 1 FROM"
            " relation c WHERE c.parent = r.oid)"
        )
        leaves += int(self.snapshot.one(bare)["n"])
        rows = self.snapshot.rows(
            'SELECT content, sum("rows") AS number FROM catalog GROUP BY content'
        )
        return {
            "leaves": float(leaves),
            "rows": float(max((r["number"] or 0 for r in rows), default=0)),
            "files": float(files),
        }

    # --- a schema state ---

    def state(self, edition: Edition, zone: ZoneInfo) -> SchemaState:
        """A schema state that reads tables from the snapshot when they are named."""
        state = SchemaState(edition, zone, self)
        self._edition = edition
        state.defaults = state.defaults.with_(self.settings, later=True).with_(self.settings)
        try:
            for row in self._facts("what IN ('view', 'sequence', 'type', 'code')"):
                kind, name, detail = str(row["what"]), str(row["name"]), str(row["detail"])
                if kind == "code":
                    state.schemas_with_code.add(name)
                elif kind == "view":
                    view = msgspec.json.decode(detail, type=_View)
                    state.views[view.schema, name] = View(view.columns, frozenset(view.reads or ()))
                elif kind == "sequence":
                    state.sequences.add((msgspec.json.decode(detail, type=_Placed).schema, name))
                else:
                    made = msgspec.json.decode(detail, type=_Type)
                    found = DefinedType(made.stored_as, -1, made.columns, made.schema)
                    if (other := state.types.made.get(name)) is not None or Types().resolved(
                        name, -1
                    )[0]:
                        # another type has the name: which one is meant is not known, unless both
                        # are alike
                        alike = toastable(name) == toastable(found.base)
                        if other is not None:
                            alike = other.base == found.base and other.columns == found.columns
                        found = (
                            DefinedType(found.base, -1, found.columns, "")
                            if alike
                            else DefinedType("", -1, None)
                        )
                    state.types.made[name] = found
            for row in self._rows(
                'SELECT r."schema", r.name, r."columns" FROM relation r WHERE r.storage IN'
                " ('external', 'foreign')"
            ):
                # with ctid, tableoid and the four of transactions; Greenplum: gp_segment_id
                number = int(row["columns"]) + 6 + edition.greenplum
                state.views[str(row["schema"]), str(row["name"])] = View(
                    number, frozenset(), rule=False
                )
        except msgspec.DecodeError as e:
            raise self._damaged(e) from None
        return state

    def _facts(self, condition: str, parameters: tuple[object, ...] = ()) -> list[dict[str, Any]]:
        return self._rows(
            f"SELECT oid, what, name, detail FROM definition WHERE {condition} ORDER BY oid, what,"
            " name",
            parameters,
        )

    def _rows(self, statement: str, parameters: tuple[object, ...] = ()) -> list[dict[str, Any]]:
        try:
            return self.snapshot.rows(statement, parameters)
        except CatalogError as e:
            raise BaselineError(e.message, hint=e.hint) from None

    def _damaged(self, error: Exception) -> BaselineError:
        return BaselineError(
            f"{self.path}: a definition holds {error}",
            hint="the file is damaged; take a new snapshot",
        )

    def _oids(self) -> dict[tuple[str, str], int]:
        """Oids of the tables that are no partitions, by schema and name: names are packed in the
        file, and looked through once.
        """
        if self._tables is None:
            found = self._rows(
                "SELECT oid, \"schema\", name FROM relation WHERE kind IN ('root', 'table') AND"
                f" {_READABLE}"
            )
            self._tables = {
                (str(row["schema"]), str(row["name"])): int(row["oid"]) for row in found
            }
            self._rows(
                'CREATE TEMP TABLE partition_name AS SELECT "schema", name, root FROM relation'
                f" WHERE kind NOT IN ('root', 'table') AND {_READABLE}"
            )
        return self._tables

    def schemas_of(self, name: str) -> list[str]:
        """Schemas that have a table or partition of that name."""
        found = {schema for schema, plain in self._oids() if plain == name}
        return sorted(
            found
            | {
                str(row["schema"])
                for row in self._rows('SELECT "schema" FROM partition_name WHERE name = ?', (name,))
            }
        )

    def tables_in(self, schema: str) -> list[str]:
        """Names of the tables and partitions in a schema, without the partitions of tables in
        it.
        """
        own = {oid: name for (there, name), oid in self._oids().items() if there == schema}
        rows = self._rows(
            'SELECT name, root FROM partition_name WHERE "schema" = ? ORDER BY name', (schema,)
        )
        return [*own.values(), *(str(row["name"]) for row in rows if int(row["root"]) not in own)]

    def owner_of_index(self, name: str) -> list[tuple[str, str]]:
        """Tables that have an index of that name, as (schema, name)."""
        return self._named("SELECT oid FROM definition WHERE what = 'index' AND name = ?", name)

    def referencing(self, schema: str, name: str) -> list[tuple[str, str]]:
        """Tables with a foreign key to that table, or that inherit from it, as (schema, name)."""
        return self._to("foreign key", schema, name) + self._to("parent", schema, name)

    def reading(self, schema: str, name: str) -> list[tuple[str, str]]:
        """Materialized views that read a relation, as (schema, name)."""
        return self._to("reads", schema, name)

    def reading_schema(self, schema: str) -> list[tuple[str, str]]:
        """Materialized views that read a relation of that schema, as (schema, name)."""
        self._to("reads", schema, "")
        return [
            view
            for (what, there, _), views in (self._pointing or {}).items()
            if (what, there) == ("reads", schema)
            for view in views
        ]

    def _to(self, what: str, schema: str, name: str) -> list[tuple[str, str]]:
        """Tables with a fact that points to that table."""
        if self._pointing is None:
            self._pointing = {}
            for row in self._rows(
                'SELECT d.what, d.name, d.detail, r."schema", r.name AS own FROM definition d'
                " JOIN relation r ON r.oid = d.oid WHERE d.what IN ('foreign key', 'parent',"
                " 'reads') ORDER BY r.oid"
            ):
                try:
                    told = msgspec.json.decode(str(row["detail"]), type=_Pointing)
                except msgspec.DecodeError as e:
                    raise self._damaged(e) from None
                target = (str(row["what"]), told.schema or "", told.table or str(row["name"]))
                self._pointing.setdefault(target, []).append((str(row["schema"]), str(row["own"])))
        return self._pointing.get((what, schema, name), [])

    def _named(self, oids: str, *parameters: str) -> list[tuple[str, str]]:
        found = self._rows(
            f'SELECT "schema", name FROM relation WHERE oid IN ({oids}) ORDER BY oid', parameters
        )
        return [(str(row["schema"]), str(row["name"])) for row in found]

    def root_of(self, schema: str, name: str) -> tuple[str, str] | None:
        """Of a partition: (schema, name) of its table; None if there is no such partition."""
        self._oids()
        roots = self._rows(
            'SELECT root FROM partition_name WHERE "schema" = ? AND name = ?', (schema, name)
        )
        if len(roots) != 1:
            return None
        found = self._rows('SELECT "schema", name FROM relation WHERE oid = ?', (roots[0]["root"],))
        return (str(found[0]["schema"]), str(found[0]["name"])) if found else None

    def table(self, schema: str, name: str) -> Table | None:
        """A table that is no partition, with its partitions; None if there is none of that name."""
        assert self._edition is not None
        oid = self._oids().get((schema, name))
        if oid is None:
            return None
        found = self._rows("SELECT * FROM relation WHERE oid = ?", (oid,))
        reader = _Reader(edition=self._edition, root=found[0])
        reader.keys = self._rows(
            "SELECT * FROM partition_key WHERE root = ? ORDER BY level", (oid,)
        )
        if found[0]["kind"] == "root":
            reader.below = self._rows(
                "SELECT * FROM relation WHERE root = ? AND oid <> root ORDER BY level, oid", (oid,)
            )
        for row in self._facts(
            "oid = ? OR (what = 'index' AND oid IN (SELECT oid FROM relation WHERE root = ? AND oid"
            " <> root))",
            (oid, oid),
        ):
            facts = (
                reader.facts
                if row["oid"] == oid
                else reader.facts_below.setdefault(int(row["oid"]), Facts())
            )
            facts.of.setdefault(str(row["what"]), []).append(
                (str(row["name"]), row["detail"] if row["detail"] is not None else "")
            )
        try:
            return reader.table()
        except (msgspec.DecodeError, ValueError, LookupError) as e:
            raise self._damaged(e) from None


def _shape(row: dict[str, Any]) -> Shape:
    """The shape of a relation as far as its row tells, for its files."""
    indexes, index_columns = int(row["indexes"] or 0), int(row["index_columns"] or 0)
    each = (
        [
            index_columns // indexes + (1 if i < index_columns % indexes else 0)
            for i in range(indexes)
        ]
        if indexes
        else []
    )
    place = _PLACES.get(str(row["kind"]), Place.PLAIN)
    storage = Storage(row["storage"])
    if storage is Storage.NONE and place.parent:
        storage = Storage.HEAP  # stores nothing, and has a heap's rows
    return Shape(
        storage,
        min(int(row["columns"]), 1600),
        toastable=bool(row["toast"]),
        indexes=tuple(Index(n) for n in each),
        place=place,
    )


@dataclass(kw_only=True)
class _Reader:
    """Builds a table of the schema state from its rows in a snapshot.

    root: its row of `relation`; below: those of its partitions; keys: its rows of `partition_key`
    """

    edition: Edition
    root: dict[str, Any]
    below: list[dict[str, Any]] = field(default_factory=list)
    keys: list[dict[str, Any]] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    facts_below: dict[int, Facts] = field(default_factory=dict)

    def table(self) -> Table:
        """The table. Raises msgspec.DecodeError."""
        row = self.root
        storage = Storage(row["storage"])
        table = Table(
            str(row["schema"]),
            str(row["name"]),
            Storage.HEAP if storage is Storage.NONE else storage,
            oid=int(row["oid"]),
        )
        table.partitioned = row["kind"] == "root"
        table.unlogged = row["persistence"] == "u"
        table.size = _size(row)
        self._columns(table)
        self._constraints(table)
        gen = generation(self.edition.name)
        if table.storage not in gen.storages:
            table.uncounted = f"access method of {table.title}"
        stored = [
            r
            for r in (row, *self.below)
            if r["storage"] in (Storage.AO_ROW, Storage.AO_COLUMN)
            and r["kind"] in ("leaf", "table")
        ]
        table.directory = bool(stored) and all(r["block_directory"] for r in stored)
        self._toast(table)
        table.levels = [
            Level(strategy=str(k["strategy"]).lower(), keys=tuple(str(k["key"] or "").split(", ")))
            for k in self.keys
        ]
        self._templates(table)
        if table.partitioned:
            self._partitions(table)
        return table

    def _columns(self, table: Table) -> None:
        found = [detail for _, detail in self.facts.read("columns", _Columns)]
        if not found:
            table.known = False
            table.unknown.append(f"definition of {table.title}, which the snapshot does not have")
            return
        told = found[0]
        gen = generation(self.edition.name)
        for name, kind, typmod, not_null, default, local, sequences, plain, generated in (
            told.columns or ()
        ):
            serial = "identity" if "identity" in sequences else sequences.split(",")[0]
            if "," in sequences:
                table.uncounted = f"sequences of {table.title}"
            table.columns.append(
                Column(
                    name,
                    kind,
                    typmod,
                    not_null,
                    default,
                    serial,
                    named=int(serial == "serial"),
                    local=local,
                    plain=plain,
                    generated=frozenset(generated),
                )
            )
        table.dropped = told.dropped
        more = told.system - gen.system_columns.get(table.storage, told.system)
        if more == 1 and self.edition.classic:
            table.oids = True
        elif more:
            table.add_extra("pg_attribute", more)

    def _constraints(self, table: Table) -> None:
        table.indexes = [_key(name, told) for name, told in self.facts.read("index", _Index)]
        table.checks = [
            Check(name, frozenset(told.columns or ()))
            for name, told in self.facts.read("check", _Constraint)
        ]
        table.foreign = [
            ForeignKey(name, tuple(told.columns or ()), (told.schema or "", told.table or ""))
            for name, told in self.facts.read("foreign key", _Constraint)
        ]
        table.inherits = tuple(
            (told.schema, name) for name, told in self.facts.read("parent", _Placed)
        )
        if reads := frozenset(
            (told.schema, name) for name, told in self.facts.read("reads", _Placed)
        ):
            table.kind, table.reads = "MATERIALIZED VIEW", reads

    def _toast(self, table: Table) -> None:
        """Whether it has a TOAST relation that its columns do not call for, or the other way
        round.
        """
        gen = generation(self.edition.name)
        stored = gen.root_is_table or not table.partitioned
        if not stored or not table.known:
            return
        calls, has = (
            table.needs_toast(self.edition) and table.storage in gen.toast,
            bool(self.root["toast"]),
        )
        if has and not calls:
            table.toasted, table.toasted_at = True, table.dropped
        elif (
            calls
            and not has
            and self.edition.greenplum
            and not self.edition.classic
            and table.storage is Storage.HEAP
        ):
            table.toast_missing = True
        elif calls and not has:
            table.uncounted = f"TOAST relation of {table.title}"

    def _templates(self, table: Table) -> None:
        encoded = {int(name) for name, _ in self.facts.of.get("template encoding", ())}
        for number, level in enumerate(table.levels):
            level.encoded = number in encoded
            found = self._template(number)
            if found:
                level.template, level.template_parts = found, len(found)
            elif self.keys[number]["has_template"]:
                level.doubt = f"subpartition template of {table.title}"

    def _template(self, level: int) -> list[exp.Expression]:
        """Elements of the template of a level; none where there is none, or where it is not
        understood.
        """
        told = [
            detail
            for name, detail in self.facts.of.get("template", ())
            if int(name.split()[0]) == level
        ]
        if not told:
            return []
        if self.edition.classic:
            return self._elements(f"SUBPARTITION TEMPLATE ({', '.join(told)})")
        found = msgspec.json.decode(told[0], type=_Template)
        elements = self._elements(found.text)
        if len(elements) != len(found.methods):
            return []
        for element, method in zip(elements, found.methods, strict=True):
            if method != "<>":
                words = {
                    "ao_column": "appendonly=true, orientation=column",
                    "ao_row": "appendonly=true",
                    "heap": "appendonly=false",
                }
                (like,) = self._elements(
                    "SUBPARTITION TEMPLATE (SUBPARTITION x VALUES (1) WITH"
                    f" ({words.get(method, '')}))"
                ) or (element,)
                if like is element:
                    return []
                element.set("options", like.args["options"])
        return elements

    def _elements(self, text: str) -> list[exp.Expression]:
        trees = [s.tree for s in statements(Source(f"ALTER TABLE x SET {text}"), (self.edition,))]
        actions = [
            action
            for tree in trees
            if tree is not None
            for action in tree.args.get("actions") or ()
        ]
        return list(actions[0].args.get("partitions") or ()) if len(actions) == 1 else []

    def _partitions(self, table: Table) -> None:
        made: dict[int, tuple[list[Partition], int]] = {int(self.root["oid"]): (table.parts, 0)}
        for row in self.below:
            siblings, bounds = made.get(int(row["parent"] or 0), (table.parts, 0))
            storage = Storage(row["storage"])
            if storage in _ELSEWHERE or storage is Storage.OTHER:
                table.uncounted = f"partition {row['name']}, which is not stored here"
            name, default = str(row["name"]), bool(row["is_default"])
            given = row["partition_name"]
            if given is None and f"_{row['level']}_prt_" in name:
                given = name.rpartition(f"_{row['level']}_prt_")[2]
            bounds += not default
            part = Partition(
                name=name,
                partition=str(given or ""),
                default=default,
                storage=Storage.HEAP if storage is Storage.NONE else storage,
                bounds=bounds,
                bound=str(row["bound"] or ""),
                born=len(table.columns) + table.dropped - int(row["columns"]) if table.known else 0,
                oid=int(row["oid"]),
                leaf=row["kind"] == "leaf",
                unlogged=row["persistence"] == "u",
                size=_size(row),
                schema=str(row["schema"]),
            )
            siblings.append(part)
            made[part.oid] = (part.children, bounds)
            if table.known:
                self._odd(table, part, row)

    def _odd(self, table: Table, part: Partition, row: dict[str, Any]) -> None:
        """Note what a partition has beyond what its table says, or lacks."""
        gen = generation(self.edition.name)
        kind = Place.LEAF if row["kind"] == "leaf" else Place.INTERMEDIATE
        if part.storage not in gen.storages:
            return
        shape = table.part_shape(self.edition, part)
        stored = gen.root_is_table or kind is Place.LEAF
        own = [
            _key(name, told)
            for name, told in self.facts_below.get(part.oid, Facts()).read("index", _Index)
            if told.of is None
        ]
        toast = int(row["toast"]) - int(shape.toastable and part.storage in gen.toast and stored)
        directory = int(row["block_directory"]) - int(
            part.storage.append_optimized and stored and bool(table.indexes or table.directory)
        )
        indexes = int(row["indexes"]) - len(table.indexes)
        if toast:
            table.toast_doubt = f"TOAST relation of {part.name}"
        if indexes != len(own):
            table.uncounted = f"indexes of {part.name}"
        columns = toast * (TOAST_COLUMNS + gen.heap_system_columns + TOAST_INDEX_COLUMNS)
        odd = Odd(2 * toast, columns, 2 * toast, directory=directory > 0)
        for key in own:
            odd = odd.with_key(self.edition.name, key)
        if directory < 0:
            table.uncounted = f"block directory of {part.name}"
        if odd != Odd():
            part.odd = odd
            table.odd_parts = True


def _size(row: dict[str, Any]) -> Size:
    """What a relation holds. Roots and intermediate partitions hold nothing."""
    leaf = row["kind"] in ("leaf", "table")
    if not leaf and row["bytes"] is None:
        return Size(0, 0, 0)
    most = row["max_segment_bytes"]
    return Size(
        int(leaf),
        None if row["bytes"] is None else int(row["bytes"]),
        None if most is None else int(most),
    )


def _key(name: str, told: _Index) -> Key:
    simple = tuple(told.simple or ())
    more = frozenset(told.reads or ()) - frozenset(simple)
    constraint = told.constraint in ("p", "u", "x")
    if told.constraint in ("p", "u"):
        keys = simple[: len(simple) - told.included]
        like = f"{'primary key' if told.constraint == 'p' else 'unique'} {keys} {told.included}"
    elif (
        told.plain
        and not told.included
        and told.method in ("btree", "bitmap", "hash", "gin", "gist", "brin")
    ):
        like = like_of(simple, told.unique, told.method)
    else:
        like = f"? {name}"
    return Key(
        name,
        told.columns,
        simple,
        expressions=more if told.expressions or not told.predicate else frozenset(),
        predicate=more if told.predicate and not told.expressions else frozenset(),
        constraint=constraint,
        bitmap=told.method == "bitmap",
        like=like,
        label="_".join(simple) or "expr",
    )
