"""A snapshot as the baseline of a check: the server, its instances, its objects as a schema state,
the totals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from gpcatalog.capacity import model
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.capacity.model import FILLED
from gpcatalog.capacity.toast import toastable
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.baseline_tables import (
    Facts,
    Reference,
    SchemaName,
    TableReader,
    TypeDefinition,
    ViewDefinition,
    shape_of_row,
)
from gpcatalog.effects.live_catalog import BaselineError
from gpcatalog.effects.relations import Table, View
from gpcatalog.effects.schema_state import SchemaState
from gpcatalog.effects.session import SETTINGS
from gpcatalog.effects.types import DefinedType, Types
from gpcatalog.errors import CatalogError
from gpcatalog.store.snapshot import Snapshot

# temporary tables of other sessions are not relevant; external and foreign tables are kept like
# views
_READABLE = "storage NOT IN ('external', 'foreign') AND persistence IS DISTINCT FROM 't'"


class Baseline:
    """A snapshot that is open while the check runs; tables are read from it when a statement names
    them.

    generation, segments (primaries) and hosts of the cluster; lock_slots; totals: leaves, catalog
    rows of the instance with the most rows, files
    """

    def __init__(self, path: Path) -> None:
        """Open a snapshot.

        Raises CatalogError if the file is not a snapshot, or contains only totals.
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
                f"{path} contains only totals per table",
                hint=(
                    "a reduced snapshot cannot be a baseline; take a new one with"
                    " `gpcatalog snapshot take`"
                ),
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
        self.lock_slots = lock_slots(settings)  # None: not read
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
                shape = shape_of_row(row)
                files += (number - filled) * model.relation_files(self.generation, shape)
                files += filled * model.relation_files(self.generation, shape, FILLED)
            except (ValueError, CatalogError):
                continue  # external and foreign tables store nothing here
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
        """A schema state that reads tables from the snapshot when a statement names them."""
        state = SchemaState(edition, zone, self)
        self._edition = edition
        state.defaults = state.defaults.with_(self.settings, later=True).with_(self.settings)
        try:
            for row in self._facts("what IN ('view', 'sequence', 'type', 'code')"):
                kind, name, detail = str(row["what"]), str(row["name"]), str(row["detail"])
                if kind == "code":
                    state.schemas_with_code.add(name)
                elif kind == "view":
                    view = msgspec.json.decode(detail, type=ViewDefinition)
                    state.views[view.schema, name] = View(view.columns, frozenset(view.reads or ()))
                elif kind == "sequence":
                    state.sequences.add((msgspec.json.decode(detail, type=SchemaName).schema, name))
                else:
                    definition = msgspec.json.decode(detail, type=TypeDefinition)
                    found = DefinedType(
                        definition.stored_as, -1, definition.columns, definition.schema, None, None
                    )
                    if (other := state.types.definitions.get(name)) is not None or Types().resolved(
                        name, -1
                    )[0]:
                        # another type has the same name: it is unknown which one is meant, unless
                        # both are alike
                        alike = toastable(name) == toastable(found.base)
                        if other is not None:
                            alike = other.base == found.base and other.columns == found.columns
                        found = (
                            DefinedType(found.base, -1, found.columns, "", None, None)
                            if alike
                            else DefinedType("", -1, None, "", None, None)
                        )
                    state.types.definitions[name] = found
            for row in self._rows(
                'SELECT r."schema", r.name, r."columns" FROM relation r WHERE r.storage IN'
                " ('external', 'foreign')"
            ):
                # with ctid, tableoid and the four system columns of transactions; Greenplum:
                # gp_segment_id
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
            f"{self.path}: invalid definition: {error}",
            hint="the file is damaged; take a new snapshot with `gpcatalog snapshot take`",
        )

    def _oids(self) -> dict[tuple[str, str], int]:
        """OIDs of the tables that are not partitions, by schema and name. Names are compressed in
        the file, so they are read only once.
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
        """Tables with a stored fact that references that table."""
        if self._pointing is None:
            self._pointing = {}
            for row in self._rows(
                'SELECT d.what, d.name, d.detail, r."schema", r.name AS own FROM definition d'
                " JOIN relation r ON r.oid = d.oid WHERE d.what IN ('foreign key', 'parent',"
                " 'reads') ORDER BY r.oid"
            ):
                try:
                    reference = msgspec.json.decode(str(row["detail"]), type=Reference)
                except msgspec.DecodeError as e:
                    raise self._damaged(e) from None
                target = (
                    str(row["what"]),
                    reference.schema or "",
                    reference.table or str(row["name"]),
                )
                self._pointing.setdefault(target, []).append((str(row["schema"]), str(row["own"])))
        return self._pointing.get((what, schema, name), [])

    def _named(self, oids: str, *parameters: str) -> list[tuple[str, str]]:
        found = self._rows(
            f'SELECT "schema", name FROM relation WHERE oid IN ({oids}) ORDER BY oid', parameters
        )
        return [(str(row["schema"]), str(row["name"])) for row in found]

    def root_of(self, schema: str, name: str) -> tuple[str, str] | None:
        """(schema, name) of the table that a partition belongs to; None if there is no such
        partition.
        """
        self._oids()
        roots = self._rows(
            'SELECT root FROM partition_name WHERE "schema" = ? AND name = ?', (schema, name)
        )
        if len(roots) != 1:
            return None
        found = self._rows('SELECT "schema", name FROM relation WHERE oid = ?', (roots[0]["root"],))
        return (str(found[0]["schema"]), str(found[0]["name"])) if found else None

    def table(self, schema: str, name: str) -> Table | None:
        """A table that is not a partition, with its partitions; None if there is none of that
        name.
        """
        assert self._edition is not None
        oid = self._oids().get((schema, name))
        if oid is None:
            return None
        found = self._rows("SELECT * FROM relation WHERE oid = ?", (oid,))
        reader = TableReader(edition=self._edition, root=found[0])
        reader.keys = self._rows(
            "SELECT * FROM partition_key WHERE root = ? ORDER BY level", (oid,)
        )
        if found[0]["kind"] == "root":
            reader.partitions = self._rows(
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
                else reader.partition_facts.setdefault(int(row["oid"]), Facts())
            )
            facts.of.setdefault(str(row["what"]), []).append(
                (str(row["name"]), row["detail"] if row["detail"] is not None else "")
            )
        try:
            return reader.table()
        except (msgspec.DecodeError, ValueError, LookupError) as e:
            raise self._damaged(e) from None
