"""Tables of the schema state, read from their definitions in a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from sqlglot import exp

from gpcatalog.capacity.generation import (
    TOAST_COLUMNS,
    TOAST_INDEX_COLUMNS,
    generation,
)
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.dialect.script import Source, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.keys import Check, Column, ForeignKey, Key, like_of
from gpcatalog.effects.relations import Level, Odd, Partition, Size, Table
from gpcatalog.model.storage import Storage

_PLACES = {"root": Place.ROOT, "intermediate": Place.INTERMEDIATE, "leaf": Place.LEAF}
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


class SchemaName(msgspec.Struct):
    schema: str


class ViewDefinition(msgspec.Struct):
    schema: str
    columns: Number
    reads: list[tuple[str, str]] | None


class Reference(msgspec.Struct):
    schema: str | None = None
    table: str | None = None


class _Template(msgspec.Struct):
    text: str
    methods: list[str]


class TypeDefinition(msgspec.Struct):
    schema: str
    stored_as: str = msgspec.field(name="stored as")
    columns: int | None


def shape_of_row(row: dict[str, Any]) -> Shape:
    """The shape of a relation by its row in the snapshot, to count its files."""
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
        storage = Storage.HEAP  # stores nothing, but has the catalog rows of a heap
    return Shape(
        storage,
        min(int(row["columns"]), 1600),
        toastable=bool(row["toast"]),
        indexes=tuple(Index(n) for n in each),
        place=place,
    )


@dataclass
class Facts:
    """Facts of one table by kind: name and JSON of each."""

    of: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def read(self, what: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
        """Name and detail of each fact of a kind.

        Raises msgspec.DecodeError if the detail does not have the form that the probes write.
        """
        return (
            (name, msgspec.json.decode(detail, type=kind)) for name, detail in self.of.get(what, ())
        )


@dataclass(kw_only=True)
class TableReader:
    """Builds a table of the schema state from its rows in a snapshot.

    root: its row of `relation`; partitions: the rows of its partitions; keys: its rows of
        `partition_key`
    """

    edition: Edition
    root: dict[str, Any]
    partitions: list[dict[str, Any]] = field(default_factory=list)
    keys: list[dict[str, Any]] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    partition_facts: dict[int, Facts] = field(default_factory=dict)

    def table(self) -> Table:
        """Return the table. Raises msgspec.DecodeError."""
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
        table.directory = bool(row["block_directory"])
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
        facts = found[0]
        table.not_null_named = True  # names of NOT NULL constraints are not read
        gen = generation(self.edition.name)
        for name, kind, typmod, not_null, default, local, sequences, plain, generated in (
            facts.columns or ()
        ):
            serial = (
                "identity" if "identity" in sequences else sequences.split(",")[0].split(" ")[0]
            )
            # since PostgreSQL 15, a sequence is unlogged like its table, unless it was created
            # separately
            odd = "with another storage" in sequences and self.edition.base >= 15
            if "," in sequences or odd:
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
        table.dropped = facts.dropped
        more = facts.system - gen.system_columns.get(table.storage, facts.system)
        if more == 1 and self.edition.classic:
            table.oids = True
        elif more:
            table.add_extra("pg_attribute", more)

    def _constraints(self, table: Table) -> None:
        table.indexes = [_key(name, fact) for name, fact in self.facts.read("index", _Index)]
        table.checks = [
            Check(name, frozenset(fact.columns or ()))
            for name, fact in self.facts.read("check", _Constraint)
        ]
        table.foreign = [
            ForeignKey(name, tuple(fact.columns or ()), (fact.schema or "", fact.table or ""))
            for name, fact in self.facts.read("foreign key", _Constraint)
        ]
        table.inherits = tuple(
            (fact.schema, name) for name, fact in self.facts.read("parent", SchemaName)
        )
        if reads := frozenset(
            (fact.schema, name) for name, fact in self.facts.read("reads", SchemaName)
        ):
            table.kind, table.reads = "MATERIALIZED VIEW", reads

    def _toast(self, table: Table) -> None:
        """Record on the table if it has a TOAST relation that its columns do not need, or needs one
        that it does not have.
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
            level.encoded, level.gaps = number in encoded, True
            found = self._template(number)
            if found:
                level.template, level.template_parts = found, len(found)
            elif self.keys[number]["has_template"]:
                level.doubt = f"subpartition template of {table.title}"

    def _template(self, level: int) -> list[exp.Expression]:
        """Elements of the template of a level; none if there is no template, or if it is not
        understood.
        """
        texts = [
            detail
            for name, detail in self.facts.of.get("template", ())
            if int(name.split()[0]) == level
        ]
        if not texts:
            return []
        if self.edition.classic:
            return self._elements(f"SUBPARTITION TEMPLATE ({', '.join(texts)})")
        found = msgspec.json.decode(texts[0], type=_Template)
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
        placed: dict[int, tuple[list[Partition], int]] = {int(self.root["oid"]): (table.parts, 0)}
        for row in self.partitions:
            siblings, bounds = placed.get(int(row["parent"] or 0), (table.parts, 0))
            storage = Storage(row["storage"])
            if storage in _ELSEWHERE or storage is Storage.OTHER:
                table.uncounted = f"partition {row['name']}, which this server does not store"
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
                dropped_before=len(table.columns) + table.dropped - int(row["columns"])
                if table.known
                else 0,
                oid=int(row["oid"]),
                leaf=row["kind"] == "leaf",
                unlogged=row["persistence"] == "u",
                size=_size(row),
                schema=str(row["schema"]),
            )
            siblings.append(part)
            placed[part.oid] = (part.children, bounds)
            if table.known:
                self._odd(table, part, row)

    def _odd(self, table: Table, part: Partition, row: dict[str, Any]) -> None:
        """Record on a partition what it has in addition to the definition of its table, or
        lacks.
        """
        gen = generation(self.edition.name)
        kind = Place.LEAF if row["kind"] == "leaf" else Place.INTERMEDIATE
        if part.storage not in gen.storages:
            return
        shape = table.part_shape(self.edition, part)
        stored = gen.root_is_table or kind is Place.LEAF
        own = [
            _key(name, index)
            for name, index in self.partition_facts.get(part.oid, Facts()).read("index", _Index)
            if index.of is None
        ]
        toast = int(row["toast"]) - int(shape.toastable and part.storage in gen.toast and stored)
        directory = int(row["block_directory"]) - int(
            part.storage.append_optimized and stored and bool(table.indexes)
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
    """The size of a relation. Roots and intermediate partitions contain no rows."""
    leaf = row["kind"] in ("leaf", "table")
    if not leaf and row["bytes"] is None:
        return Size(0, 0, 0)
    most = row["max_segment_bytes"]
    return Size(
        int(leaf),
        None if row["bytes"] is None else int(row["bytes"]),
        None if most is None else int(most),
    )


def _key(name: str, index: _Index) -> Key:
    simple = tuple(index.simple or ())
    more = frozenset(index.reads or ()) - frozenset(simple)
    constraint = index.constraint in ("p", "u", "x")
    if index.constraint in ("p", "u"):
        keys = simple[: len(simple) - index.included]
        like = f"{'primary key' if index.constraint == 'p' else 'unique'} {keys} {index.included}"
    elif (
        index.plain
        and not index.included
        and index.method in ("btree", "bitmap", "hash", "gin", "gist", "brin")
    ):
        like = like_of(simple, index.unique, index.method)
    else:
        like = f"? {name}"
    return Key(
        name,
        index.columns,
        simple,
        expressions=more if index.expressions or not index.predicate else frozenset(),
        predicate=more if index.predicate and not index.expressions else frozenset(),
        constraint=constraint,
        bitmap=index.method == "bitmap",
        like=like,
        label="_".join(simple) or "expr",
    )
