"""Convert typed changes to the text of a step: phases of SQL in one block that runs completely
or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from gpcatalog.migration.introspect import Grant, Index, Relation, quote_ident_always, role_sql
from gpcatalog.migration.journal import SCHEMA, proof
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    Operation,
    PartitionOperation,
    Requirements,
    StagingTable,
    Unit,
)
from gpcatalog.model.names import qualified, quote_literal
from gpcatalog.model.names import quote_ident as quote

if TYPE_CHECKING:
    from gpcatalog.migration.steps.external_tables import MoveToExternal
    from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
    from gpcatalog.migration.steps.retire import DetachPartitions

EXCLUSIVE_SINCE = "began := pg_catalog.clock_timestamp();"
"""The statement after an exclusive lock: from then on readers wait, and the journal measures
this time.
"""

REPLICA_IDENTITY = {"f": "FULL", "n": "NOTHING"}


class Phase(StrEnum):
    """A phase of a step; each phase begins with a comment that names it."""

    GUARD = "guard: skip the step if it is done; stop if the table differs from the plan"
    READERS = "readers: wait for those that are active now; writers do not wait"
    LOCK = "lock: writers wait from here on, readers do not"
    STAGE = "stage: create staging tables for the new leaves"
    COPY = "copy: copy the rows"
    PROVE = "prove: count and hash the rows, and check the new bound"
    INDEX = "index: create indexes and statistics"
    RECHECK = "recheck: copy leaves again that changed since the copy"
    PREPARE = "prepare: validate constraints now, so that the exclusive lock needs no scan"
    EXCLUSIVE = "exclusive: readers wait from here on; retried with a short timeout"
    SWAP = "swap: replace the old leaves by the new ones"
    FINISH = "finish: set names, grants and comments"
    NOTE = "note: record the step in the journal, in the same transaction"


Phases = list[tuple[Phase, list[str]]]


@lru_cache(maxsize=1024)  # a step has the name of each of its leaves many times
def literal(text: str) -> str:
    """A string constant as SQL."""
    return quote_literal(text)


@lru_cache(maxsize=1024)
def qualified_always(schema: str, name: str) -> str:
    """Schema and name, each in quotes."""
    return f"{quote_ident_always(schema)}.{quote_ident_always(name)}"


def array(values: Iterable[str]) -> str:
    """An array of text as SQL."""
    return _array(tuple(values))


@lru_cache(maxsize=64)  # a step has the list of its leaves many times
def _array(values: tuple[str, ...]) -> str:
    items = ", ".join(literal(v) for v in values)
    return f"ARRAY[{items}]::pg_catalog.text[]"


def call(function: str, *arguments: str) -> str:
    """A call of one function of the journal."""
    return f"PERFORM {SCHEMA}.{function}({', '.join(arguments)});"


def grant_statements(relation: str, grants: Iterable[Grant]) -> list[str]:
    """GRANT statements of a table and its columns, for a block."""
    found = []
    for g in grants:
        if g.revoked:
            found.append(
                f"REVOKE {', '.join(g.privileges)} ON TABLE {relation} FROM {quote(g.role)};"
            )
            continue
        plain = [p for p in g.privileges if p not in g.grantable]
        for rights, more in ((plain, ""), (list(g.grantable), " WITH GRANT OPTION")):
            if rights:
                rights = [f"{p} ({quote(g.column)})" for p in rights] if g.column else rights
                text = f"GRANT {', '.join(rights)} ON TABLE {relation} TO {role_sql(g.role)}{more}"
                found.append(
                    call("grant_by", literal(g.grantor), literal(text)) if g.grantor else f"{text};"
                )
    return found


def lock_list(relations: Iterable[str]) -> str:
    """Tables of a LOCK statement, each without the tables below it."""
    return ", ".join(f"ONLY {r}" for r in dict.fromkeys(relations))


def names_of(unit: Unit | None) -> list[str]:
    """Return the qualified names of a partition and of everything below it."""
    return [r.sql for r in unit.everything] if unit is not None else []


def lock_from_writers(relations: Iterable[str]) -> str:
    """Return the call that blocks writers of these tables, and not readers."""
    return call("lock", literal(f"LOCK TABLE {lock_list(relations)} IN EXCLUSIVE MODE"))


def lock_from_readers(relations: Iterable[str]) -> str:
    """Return the call that blocks readers and writers of these tables."""
    return call("lock", literal(f"LOCK TABLE {lock_list(relations)} IN ACCESS EXCLUSIVE MODE"))


def without_readers(relations: Iterable[str]) -> str:
    """Return the call that waits until nobody reads these tables, and blocks nobody afterwards."""
    statement = f"LOCK TABLE {lock_list(relations)} IN ACCESS EXCLUSIVE MODE"
    return call("await_readers", literal(statement))


def dollar_tag(body: str) -> str:
    """A dollar quote that the body does not contain.

    >>> dollar_tag("SELECT 1"), dollar_tag("a $gpcatalog$ b")
    ('$gpcatalog$', '$gpcatalog1$')
    """
    tag, n = "$gpcatalog$", 0
    while tag in body or body.endswith(tag[:-1]):
        n += 1
        tag = f"$gpcatalog{n}$"
    return tag


def proven(calls: Iterable[str], declare: Iterable[str] = ()) -> str:
    """Return one transaction: proof that the journal is safe to call, then the calls."""
    declared = ["DECLARE", *("    " + line for line in declare)] if declare else []
    body = "\n".join([*declared, "BEGIN", *("    " + line for line in (*proof(), *calls)), "END"])
    tag = dollar_tag(body)
    return f"BEGIN ISOLATION LEVEL READ COMMITTED;\nDO {tag}\n{body}\n{tag};\nCOMMIT;\n"


def block(phases: Phases, *, caught: tuple[str, str, str] | None = None) -> str:
    """One transaction: the phases in a DO block, which runs completely or not at all.

    caught: plan, root and step of an upkeep script, whose error is recorded and does not stop the
            script
    """
    inner: list[str] = []
    for phase, statements in phases:
        if statements:
            inner.append(f"-- {phase}")
            inner += statements
    if caught is not None:
        plan, root, step = map(literal, caught)
        inner = [
            f"IF {SCHEMA}.upkeep_blocked({plan}, {root}) THEN RETURN; END IF;",
            "BEGIN",
            *("    " + line for line in inner),
            "EXCEPTION WHEN OTHERS THEN",
            "    GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;",
            f"    PERFORM {SCHEMA}.upkeep_failed({plan}, {root}, {step}, SQLERRM || CASE WHEN advice <>"
            " '' THEN '. ' || advice ELSE '' END);",
            "END;",
        ]
    lines = [
        "#variable_conflict use_column",
        "DECLARE",
        "    began timestamptz;",
        "    held bigint;",
        *(["    advice text;"] if caught is not None else []),
        "BEGIN",
        *("    " + line for line in proof()),
        *("    " + line for line in inner),
        "END",
    ]
    body = "\n".join(lines)
    tag = dollar_tag(body)
    return f"BEGIN ISOLATION LEVEL READ COMMITTED;\nDO {tag}\n{body}\n{tag};\nCOMMIT;\n"


def index_properties(index: Index, name: str, table: str, constraint: str) -> list[str]:
    """Return the statements that set statistics targets and the constraint comment of an index.

    They run after the index and its table are renamed.
    """
    found = [
        f"ALTER INDEX {name} ALTER COLUMN {n} SET STATISTICS {target};"
        for n, target in index.targets
    ]
    if index.constraint_comment:
        found.append(
            f"COMMENT ON CONSTRAINT {quote(constraint)} ON {table} IS"
            f" {literal(index.constraint_comment)};"
        )
    return found


class Writer(ABC):
    """SQL of one server generation."""

    classic = False
    run = ""  # of an upkeep script: errors of steps are recorded there, and the script continues

    def block(self, context: Context, change: Operation, phases: Phases) -> str:
        """Return one transaction of an operation."""
        caught = (self.run, context.root.sql, change.id) if self.run else None
        return block(phases, caught=caught)

    # --- parts that all generations share ---------------------------------------------------------

    def guard(
        self,
        context: Context,
        change: Operation,
        *,
        done: str,
        exact: bool,
        partitions: list[Relation],
    ) -> list[str]:
        """Return the statements that skip a finished step and stop one whose table has changed.

        An unknown relation below the partitions that the step removes stops the step, because the
        relation would be dropped with them.
        done: state of the step afterwards; exact: the table must have all partitions that the plan
              found, and no others
        partitions: those that must exist with their bounds
        """
        # only finished steps are rolled back
        forward, sign = change.id.removeprefix("undo-"), "=" if done == "done" else "<>"
        skip = (
            f"IF {SCHEMA}.state({literal(context.plan)}, {literal(forward)}) {sign} 'done' THEN"
            " RETURN; END IF;"
        )
        return [
            skip,
            self.trusted(context, change, partitions),
            call(
                "expect",
                literal(context.plan),
                literal(context.root.sql),
                literal(context.signature),
                literal(context.root.owner),
                "true" if exact else "false",
            ),
            call(
                "expect_partitions",
                literal(context.root.sql),
                array(self.server_name(r) for r in partitions),
                array(r.bound for r in partitions),
            ),
            *self.nothing_else_below(change),
            *self.unpublished(context, change),
            *self.same_properties(context, change),
            *self.free_names(change),
        ]

    def same_properties(self, context: Context, change: Operation) -> list[str]:
        """Return the statement that stops if a removed relation has other properties than
        `migrate` read, or than a step of the plan left.
        """
        gone = {
            context.root.sql if r.oid == context.root.oid else self.server_name(r): r.oid
            for r in change.drops(classic=self.classic)
        }
        if not gone:
            return []
        # a relation that a rollback drops was created by a step, independent of its name
        planned = {} if change.id.startswith("undo-") else context.checksums
        sums = [planned.get(oid, "") for oid in gone.values()]
        return [
            call(
                "expect_same",
                literal(context.plan),
                literal(context.root.sql),
                array(gone),
                array(sums),
            )
        ]

    def unpublished(self, context: Context, change: Operation) -> list[str]:
        """The statement that stops if a publication names the table, a parent, a schema or all."""
        if self.classic or change.allows_publications():
            return []
        parents = dict.fromkeys([context.root.sql, *(r.sql for r in change.parents())])
        schemas = array(dict.fromkeys([context.root.schema, *change.schemas()]))
        return [call("expect_unpublished", literal(context.root.sql), array(parents), schemas)]

    def free_names(self, change: Operation) -> list[str]:
        """Return the statement that stops if other relations have names that the operation
        needs.
        """
        names = dict.fromkeys(qualified_always(schema, name) for schema, name in change.names())
        if not names:
            return []
        own = dict.fromkeys(self.server_name(r) for r in change.owners(classic=self.classic))
        return [call("expect_free", array(names), array(own))]

    def nothing_else_below(self, change: Operation) -> list[str]:
        """Return the statement that stops if a removed partition has more below it than the
        operation knows.
        """
        tops, known = change.removes(classic=self.classic)
        if not tops:
            return []
        names = dict.fromkeys(self.server_name(r) for r in known)
        return [call("expect_below", array(self.server_name(r) for r in tops), array(names))]

    def as_declared(self, swap: ReplacePartitions) -> list[str]:
        """Return the statement that stops if the new partitions have other partitions below
        them than those that were built.
        """
        deep = [m for m in swap.new_partitions if m.middles]
        tops = [qualified_always(m.schema, m.name) for m in deep]
        expected = [
            qualified_always(between.like.schema, between.name)
            for m in deep
            for between in m.middles[1:]
        ]
        expected += [qualified_always(s.schema, s.final) for m in deep for s in m.stages]
        return [call("expect_below", array(tops), array([*tops, *expected]))] if tops else []

    def trusted(
        self,
        context: Context,
        change: Operation,
        partitions: Iterable[Relation] = (),
        writes: Iterable[str] | None = None,
    ) -> str:
        """Return the statement that stops a superuser before it runs code of another role. It
        checks everything that the operation reads or writes.

        partitions: also read; writes: qualified names of existing tables that are written, by
                    default those of the operation
        """
        reads = [context.root.sql, *(r.sql for r in partitions), *change.reads()]
        written = change.writes() if writes is None else writes
        checks = [call("expect_trusted", array(dict.fromkeys(reads)), array(written))]
        if context.code and change.id.startswith("undo-"):
            # existing objects need not depend on the objects that the old partitions used: another
            # role may have replaced these since then
            checks.append(call("expect_trusted_names", array(context.code)))
        return " ".join(checks)

    def requirements(self, needs: Requirements) -> list[str]:
        """Return the statements that stop a step if the server does not have enough locks or
        disk space, or its window not enough time.
        """
        found = [call("expect_locks", str(needs.locks))] if needs.locks else []
        found += [call("expect_room", str(needs.segment_bytes))] if needs.segment_bytes else []
        return found + (self.time(needs.seconds) if needs.seconds else [])

    def time(self, seconds: float) -> list[str]:
        """Return the statement that stops a step if the window does not have enough time. In an
        upkeep script, the step is left for the next night.
        """
        if self.run:
            return [f"IF NOT {SCHEMA}.has_time({seconds:.3f}) THEN RETURN; END IF;"]
        return [call("expect_time", f"{seconds:.3f}")]

    @staticmethod
    def server_name(relation: Relation) -> str:
        """A relation's qualified name as in the journal: always quoted, because two lists of
        keywords may differ.
        """
        return qualified_always(relation.schema, relation.name)

    def tally(
        self,
        context: Context,
        change: Operation,
        side: str,
        name: str,
        source: str,
        predicate: str = "true",
    ) -> str:
        """Return the call that counts and hashes rows, and records both.

        side: "old", "new" or "copied"; name: of the relation in the journal; source: the relation
              that is read
        predicate: condition that all rows must satisfy
        """
        return call(
            "tally",
            literal(context.plan),
            literal(change.id),
            literal(side),
            literal(name),
            literal(", ".join(context.columns)),
            literal(predicate or "true"),
            literal(source),
        )

    def copies(
        self, context: Context, stage: StagingTable, only: Iterable[str] | None = None
    ) -> list[str]:
        """Return the INSERTs that fill a staging table; only: from these sources."""
        columns = ", ".join(context.copied)
        found = []
        for source, predicate in stage.sources:
            if only is not None and source not in only:
                continue
            where = f" WHERE {predicate}" if predicate else ""
            found.append(
                f"INSERT INTO {qualified(stage.schema, stage.name)} ({columns}) SELECT {columns}"
                f" FROM ONLY {source}{where};"
            )
        return found

    @staticmethod
    def table_indexes(table: str, indexes: Iterable[tuple[Index, str]]) -> list[str]:
        """Return the statements that create the indexes of an empty table, or of a staging
        table, with these names.
        """
        found = []
        for index, plain in indexes:
            name = quote(plain)
            place = f" USING INDEX TABLESPACE {quote(index.tablespace)}" if index.tablespace else ""
            if index.constraint_kind:
                found.append(
                    f"ALTER TABLE {table} ADD CONSTRAINT {name}"
                    f" {index.constraint_definition}{place};"
                )
            else:
                unique = "UNIQUE " if index.unique else ""
                body = index.body
                if index.tablespace:
                    spot = f" TABLESPACE {quote(index.tablespace)}"
                    head, where, tail = body.partition(" WHERE (")
                    body = head + spot + where + tail
                found.append(f"CREATE {unique}INDEX {name} ON {table} {body};")
        return found

    def indexes(self, stage: StagingTable) -> list[str]:
        """Return the statements that create the indexes and statistics objects of a filled staging table."""
        table = qualified(stage.schema, stage.name)
        found = self.table_indexes(
            table, [(index, f"{stage.name}_i{n}") for n, (index, _) in enumerate(stage.indexes, 1)]
        )
        for n, s in enumerate(stage.properties.statistics, 1):
            staging_name = qualified(s.schema, f"{stage.name}_s{n}")
            found += s.create(staging_name, table, stage.shape.owner)
        return found

    def index_names(self, stage: StagingTable) -> list[str]:
        """Return the statements that give indexes and statistics objects their final names and
        properties.
        """
        found = []
        for n, (index, final) in enumerate(stage.indexes, 1):
            here = qualified(stage.schema, f"{stage.name}_i{n}")
            there = qualified(stage.schema, final)
            # EXCHANGE of Greenplum 6 swaps names of constraints and of their indexes
            if not (self.classic and index.constraint_kind):
                found.append(f"ALTER INDEX {here} RENAME TO {quote(final)};")
                if index.comment:
                    found.append(f"COMMENT ON INDEX {there} IS {literal(index.comment)};")
            found += index_properties(index, there, qualified(stage.schema, stage.final), final)
        return found + self.statistics_names(stage)

    @staticmethod
    def marks_of_middle(middle: IntermediatePartition) -> list[str]:
        """Return the statements for other properties of an intermediate partition and its
        indexes, after they have their names.
        """
        table = qualified(middle.like.schema, middle.name)
        found = middle.target_statements()
        identity = REPLICA_IDENTITY.get(middle.like.replica_identity, "")
        for index, final in middle.indexes:
            there = qualified(middle.like.schema, final)
            found += (
                [f"COMMENT ON INDEX {there} IS {literal(index.comment)};"] if index.comment else []
            )
            found += index_properties(index, there, table, final)
            if index.replica_identity:
                identity = f"USING INDEX {quote(final)}"
        found += [f"ALTER TABLE {table} REPLICA IDENTITY {identity};"] if identity else []
        return [*found, *middle.properties.after]

    def statistics_names(self, stage: StagingTable) -> list[str]:
        """The statements that give statistics objects their final names."""
        found = []
        for n, s in enumerate(stage.properties.statistics, 1):
            found.append(
                f"ALTER STATISTICS {qualified(s.schema, f'{stage.name}_s{n}')} RENAME TO"
                f" {quote(s.name)};"
            )
            found += s.comments()
        return found

    def own_marks(self, stage: StagingTable) -> list[str]:
        """The statements for properties that are possible only after a partition is attached
        and has its name.
        """
        table = qualified(stage.schema, stage.final)
        marks = [
            f"ALTER TABLE {table} CLUSTER ON {quote(final)};"
            for index, final in stage.indexes
            if index.clustered
        ]
        return [*marks, *stage.properties.after]

    def make_stage(self, context: Context, change: Operation, stage: StagingTable) -> list[str]:
        """Return the statements that create an empty staging table with its owner and no other grants."""
        table = qualified(stage.schema, stage.name)
        found = [
            self.create_stage(context, stage),
            call("staged", literal(context.plan), literal(change.id), literal(table)),
        ]
        for column, target in stage.statistics:
            found.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS {target};")
        found += stage.properties.before
        found.append(f"ALTER TABLE {table} OWNER TO {quote(stage.shape.owner)};")
        found.append(call("strip", literal(table)))
        return found

    def seen_by_others(self, stage: StagingTable) -> list[str]:
        """Return the statement that sets the comment of a new leaf, which clients can see."""
        table = qualified(stage.schema, stage.name)
        return [f"COMMENT ON TABLE {table} IS {literal(stage.comment)};"] if stage.comment else []

    def prove_old(self, context: Context, swap: ReplacePartitions) -> list[str]:
        """Return the tallies of the removed leaves."""
        return [self.tally(context, swap, "old", r.sql, f"ONLY {r.sql}") for r in swap.leaves]

    def prove_new(self, context: Context, swap: ReplacePartitions) -> list[str]:
        """Return the tallies of the new leaves, each within its bound."""
        return [
            self.tally(
                context,
                swap,
                "new",
                qualified(s.schema, s.final),
                f"ONLY {qualified(s.schema, s.name)}",
                s.predicate,
            )
            for s in swap.stages
        ]

    def compare(self, context: Context, change: Operation, rows: int | None = None) -> list[str]:
        """Return the statements that stop unless both sides of a step have the same rows; rows:
        their number, if it was counted.
        """
        found = [
            f"held := {SCHEMA}.compare({literal(context.plan)}, {literal(change.id)}, 'old',"
            " 'new');"
        ]
        if rows is not None:
            message = f"changed since it was planned: % rows, but {rows} were counted"
            found.append(f"IF held <> {rows} THEN RAISE EXCEPTION '{message}', held; END IF;")
        return found

    def statistics(self, stage: StagingTable) -> str:
        """Return the ANALYZE of a staging table."""
        return f"ANALYZE {qualified(stage.schema, stage.name)};"

    def writers_out(self, context: Context, swap: ReplacePartitions) -> str:
        """Return the lock that blocks writers of the old leaves."""
        return call(
            "lock",
            literal(
                f"LOCK TABLE {lock_list(self.quiet(context, swap.parent, swap.gone))} IN EXCLUSIVE"
                " MODE"
            ),
        )

    def blocked_readers(
        self, context: Context, parent: Relation, gone: Sequence[Unit], default: Unit | None
    ) -> list[str]:
        """Return the relations whose readers are blocked while these partitions of a parent are
        replaced.
        """
        return self.quiet(context, parent, gone) + names_of(default)

    def readers_out(
        self, context: Context, parent: Relation, gone: Sequence[Unit], default: Unit | None
    ) -> list[str]:
        """Return the lock that blocks all access to removed partitions and to the default
        partition.
        """
        names = self.blocked_readers(context, parent, gone, default)
        return [lock_from_readers(names), EXCLUSIVE_SINCE]

    def readers_done(self, context: Context, swap: ReplacePartitions) -> str:
        """Return the call that waits for the present readers of the old leaves, before writers are
        blocked.
        """
        names = self.blocked_readers(context, swap.parent, swap.gone, swap.default)
        return without_readers(names)

    def note(self, context: Context, change: Operation, state: str) -> list[str]:
        """Return the calls that record a state of the step in the journal, and the properties
        of the relations that it created; state: done or undone.
        """
        plan, root = literal(context.plan), literal(context.root.sql)
        found = [call("note", plan, literal(change.id), literal(state), root, "began")]
        # the journal finds other partitions itself
        recreated = [self.server_name(r) for r in change.recreated(classic=self.classic)]
        if recreated:
            found.append(call("note_properties", plan, root, array(recreated)))
        return found

    def before(
        self, context: Context, swap: ReplacePartitions, done: str, unless: Sequence[str] = ()
    ) -> list[str]:
        """Transactions that run first. unless: statements that may end each of them."""
        return []

    def nothing_in_default(self, leaf: str, predicate: str) -> str:
        """Return the statement that stops if a default partition has rows of a range; '' if the
        server checks this when it attaches.
        """
        return ""

    def identity(self, stage: StagingTable) -> list[str]:
        """Return the statement that sets the replica identity, if it is not the default."""
        table = qualified(stage.schema, stage.name)
        kind = stage.shape.replica_identity
        if kind in REPLICA_IDENTITY:
            return [f"ALTER TABLE {table} REPLICA IDENTITY {REPLICA_IDENTITY[kind]};"]
        if kind == "i":
            at = next((n for n, (i, _) in enumerate(stage.indexes, 1) if i.replica_identity), None)
            if at is not None:
                return [
                    f"ALTER TABLE {table} REPLICA IDENTITY USING INDEX"
                    f" {quote(f'{stage.name}_i{at}')};"
                ]
        return []

    # --- what differs -----------------------------------------------------------------------------

    @abstractmethod
    def create_stage(self, context: Context, stage: StagingTable) -> str:
        """Return the CREATE TABLE of a staging table."""

    @abstractmethod
    def quiet(self, context: Context, parent: Relation, gone: Sequence[Unit]) -> list[str]:
        """Return the relations whose writers are blocked while these partitions of a parent are
        replaced.
        """

    @abstractmethod
    def exchange(self, context: Context, swap: ReplacePartitions) -> Phases:
        """Return the phases from the copy to the swap."""

    @abstractmethod
    def locked_by_drop(self, context: Context, drop: PartitionOperation) -> list[str]:
        """Return the relations whose readers are blocked while partitions are removed."""

    @abstractmethod
    def drop_statements(self, context: Context, drop: PartitionOperation) -> list[str]:
        """Return the statements that drop partitions."""

    @abstractmethod
    def detach(
        self,
        context: Context,
        change: DetachPartitions,
        partition: Relation,
        stage: StagingTable | None,
        address: str,
    ) -> list[str]:
        """Return the statements that make a partition an independent table.

        stage: Greenplum 6: an empty table that replaces it; address: its address there
        """

    @abstractmethod
    def exchange_external(
        self, context: Context, change: MoveToExternal, *, forward: bool
    ) -> list[str]:
        """Return the statements that exchange a leaf with an external table, or (not `forward`)
        the external table with a table, and drop the old one.
        """

    @abstractmethod
    def settings(self) -> list[str]:
        """Return the SET statements at the beginning of a file."""

    @abstractmethod
    def after(self, context: Context) -> list[str]:
        """Statements after the last step of a table."""
