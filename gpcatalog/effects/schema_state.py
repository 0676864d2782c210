"""The schema state of a script: its tables, and the effect of each statement on catalogs, files and
locks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.capacity import locks
from gpcatalog.capacity.model import Instance, Shape
from gpcatalog.dialect.version import Edition
from gpcatalog.effects import auxiliary_rows
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.certain import doubt_tables, outside_path
from gpcatalog.effects.created_later import CreatedLater
from gpcatalog.effects.effect import REJECTED, Effect
from gpcatalog.effects.handlers.hidden_code import HiddenCode
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import AFTER, HANDLERS, without_handler
from gpcatalog.effects.keys import Key, object_name, qualified
from gpcatalog.effects.live_catalog import LiveCatalog
from gpcatalog.effects.outer_dependencies import FOREIGN, OF_PARTITIONS, note_taken_over
from gpcatalog.effects.partition_lookup import path_to
from gpcatalog.effects.refusals import refusal
from gpcatalog.effects.relations import Partition, Table, View, index_rows
from gpcatalog.effects.session import Defaults
from gpcatalog.effects.straight_code import Routine, forget_routines
from gpcatalog.effects.ties import Ties, keys_of_partitions
from gpcatalog.effects.transactions import Mark, transaction
from gpcatalog.effects.types import Types

if TYPE_CHECKING:
    from gpcatalog.effects.handlers.dependents import Holds
    from gpcatalog.effects.query_columns import Result


class SchemaState:
    """The objects of a script and its baseline; tables by name."""

    created_later = CreatedLater()  # tables of the file that is read

    def __init__(
        self, edition: Edition, zone: ZoneInfo, existing: LiveCatalog | None = None
    ) -> None:
        self.edition = edition
        self.existing = existing  # the tables of a baseline, read when a statement names them
        # names that were read from the baseline, and names that it does not have
        self.recalled: set[tuple[str, str]] = set()
        self.absent_views: set[tuple[str, str]] = set()  # after DROP VIEW
        self.renamed_schemas: dict[
            str, str
        ] = {}  # of a baseline: new name → old name; "" if the schema was renamed or dropped
        self.code_words: dict[
            str, str
        ] = {}  # words of code that ran and was not parsed, with the reason
        # tests for tables of a baseline that are read later and may have lost objects by DROP …
        # CASCADE, with the reason
        self.lost: list[tuple[Holds, str]] = []
        # by schema ("" if none is written or set): kinds of statements that created objects in it
        # that relations of other schemas can use, with a test for these relations
        self.usable: dict[str, dict[str, Holds]] = {}
        self._zone = zone
        self.tables: dict[tuple[str, str], Table] = {}
        # (schema, name) of a partition → of its table
        self.leaf_of: dict[tuple[str, str], tuple[str, str]] = {}
        self.unknown_indexes: set[str] = set()  # names of indexes of unknown tables
        self.index_names: set[str] = set()  # written names of indexes, also of dropped ones
        self.sequences: set[tuple[str, str]] = set()
        self.unlogged_sequences: set[tuple[str, str]] = set()
        self.owned_once: set[tuple[str, str]] = set()  # sequences that a table owns or has owned
        # names of sequences of columns whose owner may have changed
        self.disowned: set[str] = set()
        self.schemas: set[str] = set()  # created by the script
        self.schemas_unknown: set[str] = set()  # that may have contained objects before
        self.schemas_gone: set[str] = set()  # dropped or renamed by the script
        self.types = Types()
        self.schemas_with_code: set[str] = set()  # of a baseline: with functions or operators
        self.routines: set[str] = set()  # functions that the script creates
        self.bodies: dict[str, str] = {}  # the text of these functions
        self.code: dict[str, Routine | None] = {}  # functions by name; None: several of this name
        self.running: set[str] = set()  # functions whose statements are being applied
        self.ran = 0  # number of statements of code that were applied
        # results of functions of the script; None: several of this name, or unknown
        self.results: dict[str, Result | None] = {}
        self.hidden = HiddenCode()
        self.doubt = ""  # why the state of tables and settings is unknown
        self.lost_temporary = False  # a table got the name of a temporary table
        # opaque: code ran that is not read; extended: an extension may have created objects of any
        # name; perhaps: a statement may not have run; valueless: this one has unknown variables
        self.opaque = self.extended = self.perhaps = self.valueless = self.in_transaction = False
        self.views: dict[tuple[str, str], View] = {}  # also external and foreign tables
        self.ties = Ties()
        self.before: set[tuple[str, str]] = set()  # tables that existed before the script
        # schemas of the tables that the script has created, by table name
        self.created: dict[str, tuple[str, ...]] = {}
        self.by_name: dict[str, list[Table]] | None = None
        self._indexed = 0
        self.defaults = Defaults()
        self.outer_defaults: Defaults | None = (
            None  # the settings without those of SET LOCAL, while a transaction is open
        )
        self.marks: list[Mark] = []
        self.savepoints: list[tuple[str, Mark | None]] = []  # with the marks of rolled back ones
        self.at_commit: list[tuple[str, str]] = []  # tables ON COMMIT DROP

    @property
    def unsure(self) -> bool:
        """Whether objects may exist, or be missing, because of statements that were not read or may
        not have run.
        """
        return self.opaque or self.perhaps

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the session. Raises Unknown."""
        return self.defaults.zone(self._zone)

    # --- names ---

    @property
    def path(self) -> list[str]:
        """The schemas of search_path, except those known to be dropped; empty if it is not set."""
        return [s for s in self.defaults.path if s not in self.schemas_gone]

    @property
    def _places(self) -> tuple[str, ...]:
        """Schemas in which a name without a schema is looked up, in order. Objects that were
        created before search_path was set are in "", which is public.
        """
        return tuple(
            place
            for one in self.path or ["public"]
            for place in (("", "public") if one == "public" else (one,))
        )

    def why_not_found(self, name: exp.Expression, table: Table) -> str:
        """Why a statement may not find a known table; "" if it finds it.

        Name without a schema: the known search_path does not contain the schema of the table. Name
        with a schema: the table was created without a schema, before search_path was set.
        """
        written = qualified(name)[0]
        path = ("", *(self.path or ["public"]))
        if table.temporary or (not written and table.schema in path):
            return ""
        if not written:
            return f"whether search_path has schema {table.schema} of {table.title}"
        if table.schema or written in ("public", "pg_temp"):
            return ""
        return f"whether {table.title} is in schema {written}, which search_path decides"

    @property
    def new_objects(self) -> str:
        """The schema of new objects by search_path; "" if it is not set."""
        return self.path[0] if self.path else ""

    def find(self, table: exp.Expression) -> Table | None:
        """The table of that name; in any schema if none is written."""
        return self.named(*qualified(table))

    def named(self, schema: str, name: str) -> Table | None:
        """The table of that schema ("": any) and name."""
        if self.existing is not None:
            self._recall(schema, name)
        found = self._known(schema, name)
        return found if found or self.edition.classic else self._partition(schema, name)

    def _known(self, schema: str, name: str) -> Table | None:
        temporary = self.tables.get(("", name))
        if temporary is not None and not temporary.temporary:
            temporary = None
        before = () if schema else self.defaults.before_temporary
        if schema in ("", "pg_temp") and temporary is not None:
            first = (
                t for s in before if (t := self.tables.get((s, name))) not in (None, temporary)
            )
            return next(first, temporary)
        places = (schema,) if schema else self._places
        found = next((t for s in places if (t := self.tables.get((s, name))) is not None), None)
        if found is not None or (not schema and self.path):
            return found
        if self.by_name is None or self._indexed != len(self.tables):
            self.by_name, self._indexed = {}, len(self.tables)
            for one in self.tables.values():
                self.by_name.setdefault(one.name, []).append(one)
        same = [
            t
            for t in self.by_name.get(name, ())
            if not schema or not t.schema or t.schema == schema
        ]
        if self.existing is not None and not schema:  # the schemas of a baseline are known
            same = [t for t in same if t.schema in ("", "public")]
        return same[0] if len(same) == 1 else None

    def may_exist(self, schema: str, name: str) -> bool:
        """Whether the baseline has a table or partition of that name that is unknown here: it could
        not be read, or not be distinguished from others.
        """
        if self.existing is None:
            return False
        schemas = [schema] if schema else self.path or ["public"]
        schemas_found = set(self.existing.schemas_of(name))
        return any(
            was in schemas_found and ((s, name) in self.leaf_of or (was, name) not in self.recalled)
            for s in schemas
            if (was := self.renamed_schemas.get(s, s))
        )

    def may_be_created_by_code(self, name: str) -> bool:
        """Whether code that is not read may have created a relation: it contains the name, or a
        part of the name before or after a "_".
        """
        ends = [at for at, letter in enumerate(name) if letter == "_"]
        parts = (name, *(name[: at + 1] for at in ends), *(name[at:] for at in ends))
        return any(part in self.code_words for part in parts)

    def existing_table(self, schema: str, name: str) -> Table | None:
        """The table that CREATE … IF NOT EXISTS finds under that name; for a partition, the table
        that it belongs to.
        """
        if self.existing is not None:
            self._recall(schema, name)
        for one in (schema, *(("", "public") if schema in ("", "public") else ())):
            if (one, name) in self.tables:
                return self.tables[one, name]
            if (one, name) in self.leaf_of:
                return self.tables.get(self.leaf_of[one, name])
        return None

    def new_schema(self, was: str) -> str:
        """The current name of a schema of the baseline, which the script may have renamed."""
        return next((new for new, old in self.renamed_schemas.items() if old == was), was)

    def _recall(self, schema: str, name: str) -> None:
        """Read the table or partition of that name from the baseline, once."""
        temporary = self.tables.get(("", name))
        if (
            not schema
            and temporary is not None
            and (temporary.temporary or not self.path or "public" in self.path)
        ):
            return
        for one in [schema] if schema else self.path or ["public"]:
            if (one, name) in self.tables or self._read(one, name):
                return

    def _read(self, schema: str, name: str) -> bool:
        """Read a table of the baseline, or the table that has this partition; return whether there
        is one.
        """
        assert self.existing is not None
        was = self.renamed_schemas.get(schema, schema)
        if not was or (was, name) in self.recalled:
            return False
        table = self.existing.table(was, name)
        if table is None:
            above = self.existing.root_of(was, name)
            self.recalled.add((was, name))
            if above is not None:
                self._read(self.new_schema(above[0]), above[1])
            return above is not None
        self.recalled.add((was, name))
        table.schema = schema
        table.inherits = tuple((self.new_schema(s), n) for s, n in table.inherits)
        table.foreign = [
            replace(k, target=(self.new_schema(k.target[0]), k.target[1])) for k in table.foreign
        ]
        table.reads = frozenset((self.new_schema(s), n) for s, n in table.reads)
        for part in table.relations():
            part.schema = self.new_schema(part.schema)
        words = (
            {name.lower(), *(part.name.lower() for part in table.relations())}
            & self.code_words.keys()
            if self.code_words
            else set()
        )
        if words:
            table.uncounted = table.uncounted or self.code_words[min(words)]
        for holds, reason in self.lost:
            if holds(self, table):
                table.known = False
                table.unknown.append(reason)
        if any(
            object_name(table.name, c.name, "seq") in self.disowned
            for c in table.columns
            if c.serial
        ):
            table.uncounted = table.uncounted or "owner of a sequence"
        self.keep(table)
        key = schema, name
        self.before.add(key)
        for other in self.tables.values():
            other.inherited = other.inherited or (other.schema, other.name) in table.inherits
            table.inherited = table.inherited or key in other.inherits
        for other_schema, other_name in self.existing.referencing(was, name):
            if (other_schema, other_name) in self.recalled:
                continue  # already read, or dropped since
            there = self.new_schema(other_schema)
            self._read(there, other_name)
            if (there, other_name) not in self.tables:
                table.uncounted = (
                    table.uncounted
                    or f"table {other_name}, which inherits from {table.title} or references it"
                )
        return True

    def read_reading(self, schema: str) -> None:
        """Read the materialized views of the baseline that read a relation of this schema, before
        the schema is renamed.
        """
        if self.existing is not None and (was := self.renamed_schemas.get(schema, schema)):
            for view_schema, view in self.existing.reading_schema(was):
                self._read(self.new_schema(view_schema), view)

    def read_schema(self, schema: str) -> None:
        """Read all tables of a schema from the baseline."""
        if self.existing is not None and (was := self.renamed_schemas.get(schema, schema)):
            for name in self.existing.tables_in(was):
                self._read(schema, name)
                if (schema, name) in self.leaf_of:
                    self.named(schema, name)  # a partition of a table of another schema

    def _partition(self, schema: str, name: str) -> Table | None:
        """A partition that a statement names: it becomes a separate table in the schema state."""
        found = self.partition(schema, name)
        if found is None:
            return None
        table, path = found
        there, plain = path[-1].schema or table.schema, path[-1].name
        for _ in path:  # partitions of a new separate table are copies
            table = self._promote(table, path_to(table.parts, plain, there, table.schema)[0])
        return table

    def partition(self, schema: str, name: str) -> tuple[Table, list[Partition]] | None:
        """The table that has a partition of that name, and its partitions from the first level down
        to that one.
        """
        schemas = [schema, ""] if schema else ["", *(self.path or ["public"])]
        hits = [(s, self.leaf_of[s, name]) for s in schemas if (s, name) in self.leaf_of]
        if not hits and not schema and self.existing is None and not self.path:
            hits = [(s, root) for (s, plain), root in self.leaf_of.items() if plain == name]
            hits = hits if len(hits) == 1 else []
        table = self.tables.get(hits[0][1]) if hits else None
        if table is None or table.uncounted:
            return None
        path = path_to(table.parts, name, hits[0][0], table.schema)
        return (table, path) if path else None

    def separate_odd(self, table: Table) -> None:
        """Make separate tables of the partitions with indexes of their own, which may become part
        of an index of the table.
        """
        if self.edition.classic:
            return
        for part in [p for p in table.relations() if p.odd.keys]:
            self._partition(part.schema or table.schema, part.name)

    def source(self, table: exp.Expression) -> Table | None:
        """The table of that name, to read its definition; for a partition that is not a separate
        table here, a copy.
        """
        found = self.find(table)
        if found is None and (hit := self.partition(*qualified(table))) is not None:
            return self._table_of(hit[0], hit[1][-1])
        return found

    def _table_of(self, above: Table, part: Partition) -> Table:
        """A partition as a table, which is not yet part of the schema state."""
        child = Table(
            part.schema or above.schema,
            part.name,
            part.storage,
            columns=[c.of_partition() for c in above.columns],
            dropped=max(0, above.dropped - part.dropped_before),
            toasted=above.toasted and part.dropped_before < above.toasted_at,
            toasted_at=max(0, above.toasted_at - part.dropped_before),
            directory=part.odd.directory,
            indexes=[],
            checks=list(above.checks),
            parent=(above.schema, above.name),
            widened=above.widened,
            levels=[] if part.leaf else [replace(level) for level in above.levels[1:]],
            parts=[one.copy() for one in part.children],
            partitioned=bool(part.children) or (len(above.levels) > 1 and not part.leaf),
            known=above.known,
            unknown=list(above.unknown),
            unlogged=above.unlogged if part.unlogged is None else part.unlogged,
            odd_parts=above.odd_parts,
            toast_doubt=above.toast_doubt,
            oid=part.oid,
            size=part.size,
        )
        for key in above.indexes:
            child.indexes.append(key.for_partition(child))
        for one in child.relations():
            one.dropped_before += child.dropped - above.dropped
        rows, columns, files = index_rows(self.edition.name, part.odd.keys)
        child.add_extra("pg_class", part.odd.classes - rows)
        child.add_extra("pg_attribute", part.odd.attributes - columns)
        child.extra_files = part.odd.files - (files if part.is_leaf else 0)
        child.take_keys(part.odd.keys, self.edition)
        return child

    def _promote(self, above: Table, part: Partition) -> Table:
        """Make a partition a separate table."""
        child = self._table_of(above, part)
        child.origin = part
        child.origin_at = next(n for n, one in enumerate(above.parts) if one is part)
        above.parts[:] = [one for one in above.parts if one is not part]
        above.counted([part], -1)
        above.own_children.append((child.schema, child.name))
        self.keep(child)
        self.leaf_of.pop((part.schema or above.schema, part.name), None)
        if (above.schema, above.name) in self.before:
            self.before.add((child.schema, child.name))
        return child

    def new_name(self, name: exp.Expression) -> tuple[str, str]:
        """(schema, name) of an object that is created; without a written schema, the first of
        search_path, or "" if that is not set.
        """
        schema, plain = qualified(name)
        return schema or self.new_objects, plain

    def known_name(
        self, name: exp.Expression, known: Collection[tuple[str, str]]
    ) -> tuple[str, str]:
        """(schema, name) under which an object is known, or as it is written if it is not."""
        schema, plain = qualified(name)
        places = ("pg_temp", *self._places)
        if schema:
            places = ("public", "") if schema == "public" else (schema,)
        return next(
            ((s, plain) for s in places if (s, plain) in known),
            (schema or self.new_objects, plain),
        )

    def keep(self, table: Table, parts: list[Partition] | None = None) -> None:
        """Store the table under its name; parts: its new partitions, if only they changed."""
        self.index_names.update(key.name for key in table.indexes)
        before = self.tables.get((table.schema, table.name))
        if before is not table:
            if before is not None:
                self.lost_temporary = self.lost_temporary or before.temporary
                self.forget(before, moved=True)
            self.tables[table.schema, table.name] = table
            if self.by_name is not None:
                self.by_name.setdefault(table.name, []).append(table)
                self._indexed += 1
        for part in parts if parts is not None else table.parts:
            for relation in part.walk():
                self.leaf_of[relation.schema or table.schema, relation.name] = (
                    table.schema,
                    table.name,
                )

    def creates(self, schema: str, name: str) -> bool:
        """Return whether the script has created a table of that name; "" is any schema."""
        schemas = self.created.get(name, ())
        return bool(schemas) and (not schema or bool({"", schema}.intersection(schemas)))

    def forget(self, table: Table, *, moved: bool = False) -> None:
        """Remove the table; moved: it gets another name or schema."""
        if not moved and table.parent is not None and (above := self._above(table)) is not None:
            above.own_children.remove((table.schema, table.name))
        gone = self.tables.pop((table.schema, table.name), None)
        if gone is not None and self.by_name is not None:
            self.by_name[table.name] = [
                t for t in self.by_name.get(table.name, ()) if t is not gone
            ]
            self._indexed -= 1

    def _above(self, table: Table) -> Table | None:
        """Return the partitioned table that has this table as a partition."""
        above = self.tables.get(table.parent) if table.parent is not None else None
        return (
            above
            if above is not None and (table.schema, table.name) in above.own_children
            else None
        )

    def take_over(self, partition: Table, key: Key, *, any_key: bool = False) -> bool:
        """Make an index of a partition, with those of its partitions, part of this index of the
        table; return whether there is one that fits.

        any_key: a primary key and a unique constraint fit each other
        """
        if key.exclusion and self.edition.base >= 19:  # exclusion constraints are not compared
            return False
        for at, own in enumerate(partition.indexes):
            if key.fits(own) or (any_key and key.fits_key(own)):
                top = key.of or key.name
                if own.constraint > key.constraint:
                    note_taken_over(self.ties, partition)
                partition.indexes[at] = replace(own, of=top)
                self.part_of(partition, own.name, top)
                return True
        return False

    def detach_indexes(self, partition: Table) -> None:
        """Detach the indexes of a partition from those of its table; the indexes of its own
        partitions then belong to them.
        """
        for key in partition.indexes:
            if key.of:
                self.part_of(partition, key.of, key.name)
        partition.indexes = [replace(key, of="") for key in partition.indexes]

    def part_of(self, table: Table, old: str, new: str) -> None:
        """Change the index that indexes of partitions belong to."""
        for partition in self.partitions_of(table):
            partition.indexes = [
                replace(key, of=new) if key.of == old else key for key in partition.indexes
            ]

    def has_index(self, table: Table, key: Key, *, any_key: bool = False) -> bool:
        """Whether a table has an index that fits this one, so that ATTACH PARTITION makes it part
        of it. any_key: as in `take_over`

        An invalid index (of a partitioned table whose partitions do not all have it) does not
        become part of it, except on Greenplum 7.0, which is older than PostgreSQL 12.16.
        """
        own = next((k for k in table.indexes if key.fits(k) or (any_key and key.fits_key(k))), None)
        if own is None:
            return False
        if self.edition.greenplum:
            return True
        partitions = [
            child
            for child in self.partitions_of(table)
            if child.parent == (table.schema, table.name)
        ]
        return all(any(k.of == own.name for k in child.indexes) for child in partitions)

    def inheriting(self, table: Table) -> list[Table]:
        """Tables that inherit from a table, each once, parents first."""
        found: list[Table] = []
        to_do = [table]
        while to_do:
            above = to_do.pop(0)
            key = above.schema, above.name
            new = (
                [t for t in self.tables.values() if key in t.inherits and t not in found]
                if table.inherited
                else []
            )
            found += new
            to_do += new
        return found

    def partitions_of(self, table: Table) -> list[Table]:
        """Partitions of a table that are separate tables (PARTITION OF, ATTACH), at all levels."""
        if not table.own_children:
            return []
        found = []
        for name in table.own_children:
            child = self.tables.get(name)
            if child is not None:
                found += [child, *self.partitions_of(child)]
        return found

    def leaves_of(self, table: Table) -> int:
        """Number of leaves of a table at all levels, 1 for one without partitions."""
        partitions = self.partitions_of(table)
        separate = sum(not one.partitioned for one in partitions)
        parts = sum(one.numbers[1] for one in (table, *partitions))
        return separate + parts + (not table.partitioned)

    # --- measuring ---

    @contextmanager
    def changing(self, effect: Effect, *tables: Table) -> Iterator[None]:
        """Add the changes of these tables inside the block to the effect."""
        measured = [(t, self.count_resources(t)) for t in tables]
        yield
        for table, (shapes, beyond, files) in measured:
            after, beyond_after, files_after = self.count_resources(table)
            effect.removed += shapes - after
            effect.created += after - shapes
            effect.other_files += files_after - files
            for instance in Instance:
                effect.add(instance, beyond_after[instance])
                effect.add(instance, beyond[instance], -1)

    def count_resources(
        self, table: Table
    ) -> tuple[Counter[Shape], dict[Instance, Counter[str]], int]:
        """Return relations by shape, and rows (by instance) and files that no shape explains."""
        if not table.known:
            return Counter(), {i: Counter() for i in Instance}, 0
        return (
            table.shapes(self.edition),
            {i: table.beyond(self.edition, i) for i in Instance},
            table.other_files(self.edition),
        )

    def drop(self, table: Table, effect: Effect) -> None:
        """Drop one table: its relations, rows, files and owned sequences become part of the
        effect.
        """
        if not table.known:
            effect.add_unknown(table.unknown_definition)
        for reason in (table.doubt, table.uncounted):
            if reason:
                effect.add_unknown(reason)
        if table.kind == "MATERIALIZED VIEW":
            effect.minor.append("dependencies of a view")
        effect.minor += table.not_counted
        if table.odd_parts or table.only:
            effect.minor.append(OF_PARTITIONS)
        if keys_of_partitions(self, table):
            effect.minor.append(FOREIGN)
        shapes, beyond, files = self.count_resources(table)
        effect.removed += shapes
        effect.other_files -= files
        for instance in Instance:
            effect.add(instance, beyond[instance], -1)
        for key in [k for k in table.owned if k in self.sequences]:
            self.sequences.discard(key)
            effect.other_files -= 1 + (key in self.unlogged_sequences)
            self.unlogged_sequences.discard(key)
            for instance in Instance:
                effect.add(instance, auxiliary_rows.sequence(self.edition, instance), -1)
                effect.add(instance, Counter({"pg_depend": 1}), -1)  # dependency on the column
        effect.leaves_removed += table.numbers[1] or (0 if table.partitioned else 1)
        effect.locks += locks.drop_locks(self.edition.name, shapes)
        effect.exclusive = effect.exclusive or (table.schema, table.name) in self.before
        self.forget(table)

    def note_change_by_name(self, name: exp.Expression) -> None:
        """Note that a partition was changed by its own name: the counts of its table are unknown
        afterwards.
        """
        schema, plain = qualified(name)
        owners = {
            root
            for (s, n), root in self.leaf_of.items()
            if n == plain and (not schema or s in (schema, ""))
        }
        owner = self.tables.get(next(iter(owners))) if len(owners) == 1 else None
        if owner is not None:
            owner.uncounted = (
                owner.uncounted or f"change to {qualified(name)[1]}, a partition of {owner.title}"
            )

    # --- statements ---

    def apply(self, tree: exp.Expression, *, rolled_back: bool = False) -> Effect:
        """Apply a statement to the schema state and return its effect.

        rolled_back: it begins a transaction or savepoint that is rolled back later
        """
        kind = type(tree).__name__
        if kind in ("BeginWork", "Savepoint", "EndWork"):
            return transaction(self, tree, kind, rolled_back)
        effect = self.effect_of(tree)
        for mark in self.marks:
            mark.effects.append(effect)
        return effect

    def effect_of(self, tree: exp.Expression) -> Effect:
        """Apply a statement that does not begin or end a transaction."""
        if why := refusal(self, tree):
            return Effect(unknown=[REJECTED + why])
        outside = list(outside_path(self, tree))
        effect = self._effect_of(tree)
        for handler in AFTER:
            handler(self, tree, effect)
        doubt_tables(outside, effect)
        return effect

    def _effect_of(self, tree: exp.Expression) -> Effect:
        kind = type(tree).__name__
        handler = HANDLERS.get(kind)
        if handler is None:
            forget_routines(self, tree, kind)
            return without_handler(kind, cascade=cascades(tree))
        try:
            effect = handler(self, tree)
        except Unknown as e:
            return Effect(unknown=[str(e)])
        effect.check_shapes(self.edition)
        return effect

    def reconnect(self) -> None:
        """Begin the next session: settings of ALTER DATABASE and ROLE, no temporary objects."""
        for table in [t for t in self.tables.values() if t.temporary]:
            self.forget(table)
        self.views = {key: view for key, view in self.views.items() if key[0] != "pg_temp"}
        self.sequences = {key for key in self.sequences if key[0] != "pg_temp"}
        self.defaults, self.outer_defaults = self.defaults.reconnected(), None
        self.in_transaction, self.marks, self.savepoints, self.at_commit = False, [], [], []
