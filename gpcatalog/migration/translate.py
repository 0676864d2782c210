"""Translate the steps of a plan to operations on the live table and their rollback. Steps that
are not safe are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from gpcatalog.migration.introspect import (
    ProbeRunner,
    Table,
    Unsafe,
    quote_ident_always,
    read,
    read_details,
)
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import Operation, RefusedStep, TableMigration
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.steps import handler_of
from gpcatalog.migration.steps.registry import Translation
from gpcatalog.migration.writer import array
from gpcatalog.model.names import qualified
from gpcatalog.model.server import Server
from gpcatalog.planner import operations as op
from gpcatalog.planner.plan import TablePlan


def translate(
    run_probe: ProbeRunner,
    server: Server,
    plan_id: str,
    planned: TablePlan,
    *,
    counts: dict[str, int] | None = None,
    growth: float = 1.5,
    slots: int | None = None,
    window: float | None = None,
) -> TableMigration | RefusedStep:
    """The work on one table, or the reason why there is none. Refused steps are listed in it.

    counts: rows of leaves by qualified name, for those that could be counted; growth: factor by
            which leaves may exceed their planned bytes
    slots:  locks that the server has for all sessions together; window: maximum seconds of a step
    """
    what = "table"
    try:
        table = read(run_probe, server, planned.oid)
    except Unsafe as e:
        return RefusedStep("", planned.name, what, str(e))
    if table is None:
        return RefusedStep(
            "",
            planned.name,
            what,
            ("the table does not exist any more or is no longer partitioned"),
        )
    if (table.root.schema, table.root.name) != (planned.schema, planned.table):
        return RefusedStep("", planned.name, what, f"it was renamed to {table.root.sql}")
    read_details(run_probe, table, _concerned(table, planned))
    live = LiveTable(table, plan_id, planned, counts=counts, growth=growth, slots=slots)
    superusers = {row["role"] for row in run_probe("trusted_roles") if row["superuser"]}
    live.context = replace(
        live.context,
        has_unprivileged_owner=any(r.owner not in superusers for r in table.relations.values()),
        code=tuple(
            f"{quote_ident_always(schema)}.{quote_ident_always(name)}"
            for schema, name in sorted(table.code)
        ),
    )
    migration = TableMigration(context=live.context)
    migration.initial = [
        (f"{quote_ident_always(r.schema)}.{quote_ident_always(r.name)}", r.bound)
        for r in table.relations.values()
        if r.level > 0
    ]
    blocked, kept = (_obstacle(live, removing=removing) for removing in (False, True))
    limits = _Limits(blocked, kept, window, slots)
    if blocked and all(
        handler_of(s).exchanges and not handler_of(s).removes(s) for s in planned.steps
    ):
        return RefusedStep("", planned.name, what, blocked)
    _translate_steps(migration, live, run_probe, limits)
    return migration


def _obstacle(live: LiveTable, *, removing: bool) -> str:
    """The obstacle to every step of a table, or to steps that only remove partitions; empty if
    there is none.
    """
    try:
        live.table_obstacles(removing=removing)
    except Refusal as e:
        return str(e)
    return ""


def _translate_steps(
    migration: TableMigration,
    live: LiveTable,
    run_probe: ProbeRunner,
    limits: _Limits,
) -> None:
    """Add the operations of every step, or the reason why it is refused."""
    done = _TranslatedSteps()
    done.add_steps(live, run_probe, limits, frozenset())
    occupied = _occupied_names(live, run_probe, [o for _, pairs in done.steps for o, _ in pairs])
    # translate again without the refused steps: other steps depend on the accepted ones
    if occupied:
        done = _TranslatedSteps()
        live.forget()
        done.add_steps(live, run_probe, limits, occupied)
    whole = {r.id: r for r in done.refused}
    parts = {s.id: _divided(s, whole) for s in live.planned.steps}
    if any(len(of) > 1 for of in parts.values()):
        steps = [part for of in parts.values() for part in of]
        live.planned = structs.replace(live.planned, steps=steps)
        done = _TranslatedSteps()
        live.forget()
        done.add_steps(live, run_probe, limits, occupied)
        done.join(whole, parts)
    migration.advice += done.advice
    migration.refused += done.refused
    for step, pairs in done.steps:
        _add(migration, step, pairs)


def _partitions(step: op.AnyStep) -> tuple[str, ...]:
    """The names of the partitions that a step would change or create."""
    units = getattr(step, "new", None) or getattr(step, "units", None) or ()
    return tuple(unit.name for unit in units)


def _divided(step: op.AnyStep, refused: Collection[str]) -> Sequence[op.AnyStep]:
    """The parts of a refused step that may be possible alone; the step itself if it has none."""
    alone = handler_of(step).alone
    return alone(step) if alone is not None and step.id in refused else [step]


@dataclass(frozen=True)
class _Limits:
    """Limits for the steps of a table.

    blocked: obstacle to exchanging partitions; kept: obstacle to removing them
    """

    blocked: str
    kept: str
    window: float | None
    slots: int | None


@dataclass
class _TranslatedSteps:
    """The steps of a table with their operations, and steps for which no SQL is written."""

    steps: list[tuple[op.AnyStep, Translation]] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    refused: list[RefusedStep] = field(default_factory=list)

    def join(
        self, whole: Mapping[str, RefusedStep], parts: Mapping[str, Sequence[op.AnyStep]]
    ) -> None:
        """Report a step once if all its parts are refused for the same reason.

        whole: refused steps by id; parts: the parts of each step
        """
        for id, step in whole.items():
            of = {part.id for part in parts[id]}
            mine = [r for r in self.refused if r.id in of]
            if len(mine) == len(of) > 1 and len({r.reason for r in mine}) == 1:
                at = self.refused.index(mine[0])
                self.refused = [r for r in self.refused if r.id not in of]
                self.refused.insert(at, replace(step, reason=mine[0].reason))

    def add_steps(
        self,
        live: LiveTable,
        run_probe: ProbeRunner,
        limits: _Limits,
        occupied: Collection[tuple[str, str]],
    ) -> None:
        """Translate all steps; occupied: (schema, name) that are in use, so that no step can use
        them.
        """
        for step in live.planned.steps:
            handler = handler_of(step)
            try:
                blocked = limits.kept if handler.removes(step) else limits.blocked
                if blocked and (handler.exchanges or live.classic):
                    raise Refusal(blocked)
                if handler.advise is not None:
                    self.advice.append(handler.advise(step))
                    continue
                if not handler.divisible:
                    _refuse_too_large(step, window=limits.window, slots=limits.slots)
                pairs = handler.translate(live, step, run_probe)
                for name in (
                    n
                    for operation, _ in pairs
                    for n in operation.names_when_written()
                    if n in occupied
                ):
                    raise Refusal(
                        f"a relation named {qualified(*name)} exists already: drop or rename it"
                    )
            except (Refusal, ValueError) as e:
                reason = str(e) if isinstance(e, Refusal) else f"not supported: {e}"
                self.refused.append(
                    RefusedStep(
                        step.id, live.planned.name, step.operation, reason, _partitions(step)
                    )
                )
                continue
            live.accepted.append(step)
            self.steps.append((step, pairs))


def _occupied_names(
    live: LiveTable, run_probe: ProbeRunner, operations: Sequence[Operation]
) -> set[tuple[str, str]]:
    """(schema, name) that operations need, but that relations outside of the table already have."""
    table = live.table
    own = {(r.schema, r.name) for r in table.relations.values()}
    own |= {(table.relations[oid].schema, i.name) for oid, of in table.indexes.items() for i in of}
    needed = {n for o in operations for n in o.names_when_written()} - own
    if not needed:
        return set()
    names, schemas = (sorted({n[at] for n in needed}) for at in (1, 0))
    found = run_probe("migration_names", names=array(names), schemas=array(schemas))
    return {(r["schema"], r["name"]) for r in found} & needed


def _concerned(table: Table, planned: TablePlan) -> set[int]:
    """OIDs of relations whose details are needed: leaves of the steps, by OID or by name, and
    leaves of default partitions.
    """
    leaves = [leaf for s in planned.steps for leaf in getattr(s, "leaves", ())]
    named = {leaf.name for leaf in leaves}
    found = {leaf.oid for leaf in leaves}
    patterns = {s.like.oid for s in planned.steps if hasattr(s, "like")}
    patterns |= {
        u.oid for s in planned.steps if s.operation == "retire" for u in getattr(s, "units", ())
    }
    found |= {leaf.oid for oid in patterns & table.relations.keys() for leaf in table.leaves(oid)}
    found |= {r.oid for r in table.relations.values() if r.name in named}
    found |= {
        leaf.oid for r in table.relations.values() if r.is_default for leaf in table.leaves(r.oid)
    }
    return found & table.relations.keys()


def _add(migration: TableMigration, step: op.AnyStep, pairs: Translation) -> None:
    """Add the operations of a step and their rollback, its gain and its cost."""
    for operation, rollback in pairs:
        migration.forward.append(operation)
        if rollback is not None:
            migration.rollback.insert(0, rollback)
    migration.gain += step.gain.rows
    migration.leaves += step.gain.leaves
    migration.files += step.gain.files
    migration.seconds += step.cost.seconds
    migration.bytes += step.cost.bytes or 0
    migration.segment_bytes = max(migration.segment_bytes, step.cost.segment_bytes or 0)
    migration.locks = max(migration.locks, *(o.needs.locks for o, _ in pairs), 0)


def _refuse_too_large(step: op.AnyStep, *, window: float | None, slots: int | None) -> None:
    """Raise Refusal for a step that takes longer than the window, or needs more locks than the
    server has (both estimates).
    """
    if window is not None and step.cost.seconds > window:
        raise Refusal(
            f"it takes about {step.cost.seconds:,.0f} s (estimate); the window is {window:,.0f} s"
        )
    if slots is not None and step.cost.locks > slots:
        raise Refusal(
            f"it needs about {step.cost.locks:,} locks; the server has {slots:,} for all sessions"
        )
