"""What a snapshot knows that a check can build on: the server, its instances, its tables as shapes, the totals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from gpcatalog.capacity import model
from gpcatalog.capacity.model import FILLED, Index, Place, Shape
from gpcatalog.ddl.edition import Edition
from gpcatalog.ddl.relations import Level, Table
from gpcatalog.ddl.world import World, known_table
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

_PLACES = {"root": Place.ROOT, "intermediate": Place.INTERMEDIATE, "leaf": Place.LEAF}


@dataclass(frozen=True)
class Baseline:
    """generation, primaries and hosts of the cluster; tables; totals of the fullest instance; lock slots; the snapshot's file."""

    generation: str
    segments: int
    hosts: int
    tables: tuple[Table, ...]
    totals: dict[str, float]
    lock_slots: int
    path: Path

    def world(self, edition: Edition, zone: ZoneInfo) -> World:
        """A world that knows the tables."""
        world = World(edition, zone)
        for table in self.tables:
            world.tables[table.schema, table.name] = table
        world.elsewhere = Leaves(self.path, {table.oid: table for table in self.tables}).find
        return world


class Leaves:
    """Partitions of the tables by their own names, read from the snapshot the first time one is asked for."""

    def __init__(self, path: Path, roots: dict[int, Table]) -> None:
        self.path = path
        self.roots = roots
        self.by_name: dict[str, list[tuple[str, Table, Shape]]] | None = None

    def find(self, schema: str, name: str) -> tuple[Table, Shape] | None:
        """The table that a partition of that name belongs to, and the partition's shape."""
        if self.by_name is None:
            self.by_name = self._read()
        hits = [hit for hit in self.by_name.get(name, ()) if not schema or hit[0] == schema]
        return hits[0][1:] if len(hits) == 1 else None

    def _read(self) -> dict[str, list[tuple[str, Table, Shape]]]:
        from gpcatalog.store.snapshot import Snapshot

        found: dict[str, list[tuple[str, Table, Shape]]] = {}
        with Snapshot(self.path) as snapshot:
            for row in snapshot.rows(
                'SELECT "schema", name, root, kind, storage, level, "columns", toast, indexes, index_columns, is_default '
                "FROM relation WHERE kind = 'leaf'"
            ):
                table = self.roots.get(int(row["root"]))
                if table is not None:
                    found.setdefault(str(row["name"]), []).append((str(row["schema"]), table, _shape(row)))
        return found


def _shape(row: dict[str, Any]) -> Shape:
    indexes, index_columns = int(row["indexes"] or 0), int(row["index_columns"] or 0)
    each = [index_columns // indexes + (1 if i < index_columns % indexes else 0) for i in range(indexes)] if indexes else []
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
        bounds=0 if row["is_default"] or place in (Place.ROOT, Place.PLAIN) else max(1, int(row["level"])),
    )


def load(path: Path) -> Baseline:
    """A snapshot as a baseline. Raises CatalogError when the file is no snapshot, or only totals were kept in it."""
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as snapshot:
        header = snapshot.header
        instances = snapshot.rows("SELECT DISTINCT content, hostname FROM instance WHERE role = 'p' OR role IS NULL")
        segments = [i for i in instances if int(i["content"]) >= 0]
        grouped = snapshot.rows(
            'SELECT root, kind, storage, level, "columns", toast, indexes, index_columns, is_default, count(*) AS number, '
            "count(*) FILTER (WHERE filled) AS filled FROM relation GROUP BY ALL"
        )
        names = {
            int(r["oid"]): (str(r["schema"]), str(r["name"]))
            for r in snapshot.rows('SELECT oid, "schema", name FROM relation WHERE oid = root')
        }
        keys = snapshot.rows('SELECT root, level, strategy, "key" FROM partition_key ORDER BY root, level')
        rows = snapshot.rows('SELECT content, sum("rows") AS number FROM catalog GROUP BY content')
        settings = {str(s["name"]): str(s["setting"]) for s in snapshot.rows("SELECT name, setting FROM setting")}
    if not grouped and header.get("grain") not in (None, "leaf", "whole", "relation"):
        raise CatalogError(f"{path} keeps totals only", hint="a pruned snapshot cannot be a baseline; take a fresh one")
    shapes: dict[int, Counter[Shape]] = {}
    files = 0
    generation = str(header["generation"])
    for row in grouped:
        try:
            shape = _shape(row)
            number, filled = int(row["number"]), int(row["filled"] or 0)
            files += (number - filled) * model.relation_files(generation, shape) + filled * model.relation_files(generation, shape, FILLED)
        except (ValueError, CatalogError):
            continue  # views and foreign tables keep nothing here
        shapes.setdefault(int(row["root"]), Counter())[shape] += number
    levels: dict[int, list[Level]] = {}
    for row in keys:
        levels.setdefault(int(row["root"]), []).append(Level(str(row["strategy"]).lower(), tuple(str(row["key"] or "").split(", "))))
    tables = []
    for root, counted in shapes.items():
        if root not in names:
            continue
        schema, name = names[root]
        first = next(iter(counted))
        leaves = sum(n for s, n in counted.items() if s.place is Place.LEAF)
        tables.append(known_table(schema, name, first.storage, first.columns, leaves, counted, levels.get(root, []), root))
    totals = {
        "leaves": float(sum(max(1, len(t.parts)) if t.levels else 1 for t in tables)),
        "rows": float(max((r["number"] or 0 for r in rows), default=0)),
        "files": float(files),
    }
    slots = 0
    if settings.get("max_locks_per_transaction", "").isdigit():
        sessions = int(settings.get("max_connections", "0") or 0) + int(settings.get("max_prepared_transactions", "0") or 0)
        slots = int(settings["max_locks_per_transaction"]) * sessions
    hosts = {str(i["hostname"]) for i in segments}
    return Baseline(str(header["generation"]), max(1, len(segments)), max(1, len(hosts)), tuple(tables), totals, slots, path)
