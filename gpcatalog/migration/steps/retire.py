"""Partitions past their retention: detached, moved to files behind an external table, or dropped
with their rows after two consents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpcatalog.migration.introspect import ProbeRunner, Relation
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import (
    Context,
    Operation,
    PartitionOperation,
    Requirements,
    StagingTable,
    WriteContext,
)
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.removal_locks import locks_of_removal
from gpcatalog.migration.steps.external_tables import moved_out
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    array,
    grant_statements,
    literal,
    lock_from_readers,
)
from gpcatalog.model.names import listed, qualified
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.model.quantity import plural
from gpcatalog.upkeep.steps import Retire


@dataclass(frozen=True, kw_only=True)
class DropRetired(PartitionOperation):
    """Partitions of one parent are dropped with their rows, after an announcement seven days
    before.
    """

    def summary(self) -> str:
        return f"drop {plural(len(self.gone), 'partition')} with rows"

    def details(self) -> list[str]:
        return self.gone_lines(10)

    def allows_publications(self) -> bool:
        return True

    def drops(self, *, classic: bool) -> list[Relation]:
        return []  # dropped with all its properties, as the policy requires

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        units = [u.relation for u in self.gone]
        guard = writer.guard(context, self, done="done", exact=False, partitions=units)
        # a partition that was restored has another OID, and is announced again
        parts = array(f"{r.sql} {r.oid}" for r in units)
        consent = (
            f"IF NOT {SCHEMA}.announced({literal(context.root.sql)}, {parts}) THEN RETURN; END IF;"
        )
        phases: Phases = [
            (Phase.GUARD, [*guard, consent, *writer.requirements(self.needs)]),
            (
                Phase.EXCLUSIVE,
                [
                    lock_from_readers(writer.locked_by_drop(context, self)),
                    EXCLUSIVE_SINCE,
                    *guard,
                ],
            ),
            (Phase.SWAP, writer.drop_statements(context, self)),
            (Phase.NOTE, writer.note(context, self, "done")),
        ]
        return [writer.block(context, self, phases)]


@dataclass(frozen=True, kw_only=True)
class DetachPartitions(PartitionOperation):
    """Partitions of one parent become independent tables.

    stages: Greenplum 6: for each partition, the empty table that replaces it until it is dropped
    schema: new schema; empty: they stay in their schema
    moved: names of their tables and indexes, if they are moved
    """

    stages: tuple[StagingTable, ...]
    schema: str
    moved: tuple[str, ...] = ()

    def summary(self) -> str:
        return f"detach {plural(len(self.gone), 'partition')}"

    def details(self) -> list[str]:
        return self.gone_lines(10)

    def allows_publications(self) -> bool:
        return True

    def names(self) -> list[tuple[str, str]]:
        return [(self.schema, name) for name in self.moved]

    def drops(self, *, classic: bool) -> list[Relation]:
        return []

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        units = [u.relation for u in self.gone]
        guard = writer.guard(context, self, done="done", exact=False, partitions=units)
        stage = [line for s in self.stages for line in writer.make_stage(context, self, s)]
        stage += [line for s in self.stages for line in writer.indexes(s)]
        # EXCHANGE of Greenplum 6 gives the partition the grants of this table
        for s in self.stages:
            stage += grant_statements(qualified(s.schema, s.name), s.shape.grants)
        moves: list[str] = []
        for n, r in enumerate(units):
            moves += writer.detach(
                context, self, r, self.stages[n] if self.stages else None, self.gone[n].address
            )
            if self.schema:
                moves.append(f"ALTER TABLE {r.sql} SET SCHEMA {quote(self.schema)};")
        phases: Phases = [
            (Phase.GUARD, [*guard, *writer.requirements(self.needs)]),
            (Phase.STAGE, stage),
            (
                Phase.EXCLUSIVE,
                [
                    lock_from_readers(writer.locked_by_drop(context, self)),
                    EXCLUSIVE_SINCE,
                    *guard,
                ],
            ),
            (Phase.SWAP, moves),
            (Phase.NOTE, writer.note(context, self, "done")),
        ]
        return [writer.block(context, self, phases)]


# properties and dependent objects that a partition keeps as an independent table
_KEPT = frozenset(
    (
        *("own check", "own expression", "own index", "exclusion constraint"),
        *("index that is not valid", "column grants", "row type", "security label"),
        *("policy", "row security", "rule", "trigger", "foreign key", "sequence"),
        *("view", "publication", "needed by another object"),
    )
)
# what is dropped with a partition and its rows
_DROPPED = _KEPT - {"view", "needed by another object", "sequence"}
_OBJECTS = ("policy", "rule", "trigger")
# after EXCHANGE on Greenplum 6, neither table has the other kinds
_KEPT_CLASSIC = frozenset(("own check", "column grants", "own index", "own expression"))


def _units(live: LiveTable, step: Retire) -> tuple[list[Relation], Relation]:
    """The partitions to remove, and their parent. Raises Refusal."""
    units = [live.live(u.oid, u.name, u.bound) for u in step.units]
    parent = live.parent_of(units)
    gone = {u.oid for u in units}
    default = live.table.default_of(parent.oid)
    if default is not None and default.oid in gone:
        raise Refusal("the default partition is never removed")
    if all(c.oid in gone for c in live.table.children(parent.oid)):
        raise Refusal("the last partition cannot be removed")
    kept = _KEPT_CLASSIC if live.classic else _KEPT
    for u in units:
        for r in (u, *(leaf for leaf in live.table.leaves(u.oid))):
            live.refuse_dependents(r, but=_DROPPED if step.how == "drop" else kept)
            if r.kind == "leaf" and r.storage not in ("heap", "ao_row", "ao_column"):
                raise Refusal(f"{r.name} has storage {r.storage}: remove it by hand")
    return units, parent


def _lost(live: LiveTable, units: list[Relation]) -> list[str]:
    """What is dropped with partitions: their rows, and objects that belong only to them."""
    names = listed([u.name for u in units], 3)
    found = [
        f"all rows of {names}"
        if len(units) < 4
        else f"all rows of {len(units)} partitions ({names})"
    ]
    for u in units:
        # a leaf is its own unit
        for r in dict.fromkeys(live.unit(u).everything):
            own = [h for h in live.table.dependents.get(r.oid, ()) if h.what in _OBJECTS]
            found += [f"{h.what} {h.detail} of {r.name}" for h in own]
    return found


def _translate(live: LiveTable, step: Retire, run_probe: ProbeRunner) -> Translation:
    if step.how == "externalize":
        (unit,) = step.units
        moved = moved_out(live, step, live.live(unit.oid, unit.name, unit.bound))
        return [(replace(moved, location=step.location), None)]
    units, parent = _units(live, step)
    default = live.table.default_of(parent.oid)
    operation: Operation
    common = {
        "id": step.id,
        "title": step.explanation,
        "parent": parent,
        "above": live.above(parent),
        "gone": tuple(live.unit(u) for u in units),
        "default": None if default is None else live.unit(default),
        "needs": Requirements(locks=locks_of_removal(live, units), seconds=0.1 * len(units)),
    }
    if step.how == "drop":
        operation = DropRetired(**common, lost=tuple(_lost(live, units)))  # type: ignore[arg-type]
        return [(operation, None)]
    if step.schema and not any(r["schema"] == step.schema for r in run_probe("schema_owners")):
        raise Refusal(
            f"schema {step.schema} (retention_schema) does not exist: create it, with CREATE for the"
            " owner of the table"
        )
    stages: tuple[StagingTable, ...] = ()
    if live.classic:
        if any(u.kind != "leaf" for u in units):
            raise Refusal(
                "Greenplum 6 cannot detach a partition that has subpartitions; use retention drop"
            )
        digest = live.digest(step)
        stages = tuple(live.as_it_was(f"gpu_{digest}_{n}", u, u) for n, u in enumerate(units, 1))
    operation = DetachPartitions(
        **common,  # type: ignore[arg-type]
        stages=stages,
        schema=step.schema,
        moved=tuple(_moved(live, units)) if step.schema else (),
    )
    return [(operation, None)]


def _moved(live: LiveTable, units: list[Relation]) -> Iterator[str]:
    """Names of partitions and of their indexes. SET SCHEMA leaves what is below them."""
    for u in units:
        yield u.name
        yield from (i.name for i in live.table.indexes.get(u.oid, ()))


register(
    StepHandler(_translate, divisible=True, removes=lambda step: step.how != "externalize"),
    "retire",
)
