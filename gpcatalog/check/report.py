"""Values of a check: statements with their costs, findings with their positions, the context of
rules, the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import msgspec

from gpcatalog.capacity.durations import REFERENCE, Pace
from gpcatalog.capacity.model import Instance
from gpcatalog.check.durations import of_statement
from gpcatalog.check.settings import Budget, Settings
from gpcatalog.dialect.script import Statement
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.relations import Size, Table
from gpcatalog.effects.schema_state import SchemaState
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity

SCHEMA = "gpcatalog.check/1"


class LocatedFinding(msgspec.Struct, kw_only=True, frozen=True):
    """A finding with its position; columns and lines count from 1, the end is after the last
    character.
    """

    finding: Finding
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    source_line: str
    statement: int


class Cost(msgspec.Struct, kw_only=True, frozen=True):
    """What one statement, or the whole change, adds.

    rows_coordinator, rows_segment: catalog rows on one instance
    files_*: files on one segment
    locks: that one statement holds at once on one instance (of the whole change: the maximum over
        its statements): on tables and partitions, and on all other objects that it drops
    """

    leaves: int = 0
    relations: int = 0
    rows_coordinator: dict[str, int] = {}
    rows_segment: dict[str, int] = {}
    files_empty: int = 0
    files_filled: int = 0
    locks: int = 0
    complete: bool = True


class LockHeld(msgspec.Struct, frozen=True):
    """An AccessExclusiveLock on a table of the baseline.

    leaves, bytes: leaves of the table, and their bytes on all segments together (None: not read)
    rewritten: the statement rewrites the table
    seconds: estimated time of the statement after it has the lock
    """

    leaves: int
    bytes: int | None
    rewritten: bool
    seconds: float | None


class StatementReport(msgspec.Struct, kw_only=True, frozen=True):
    """One statement of the report.

    unknown: what is not known about leaves, relations, columns or files
    not_counted: rows of other catalogs that the cost leaves out
    seconds: estimated time of its DDL, without rows that it copies or reads; None if a part of it
        is unknown
    """

    number: int
    file: str
    line: int
    outcome: str
    kind: str
    table: str
    cost: Cost
    unknown: tuple[str, ...] = ()
    not_counted: tuple[str, ...] = ()
    held: LockHeld | None = None
    seconds: float | None = 0.0


class TableCost(msgspec.Struct, kw_only=True, frozen=True):
    """What the change adds to one table, on one instance (rows) or segment (files).

    locked: relations that the statement with most locks locks
    exclusive: a statement takes an AccessExclusiveLock on it, and the table existed before
    held: with a baseline, each such lock in order
    """

    table: str
    leaves: int
    rows: int
    files_empty: int
    files_filled: int
    locked: int
    exclusive: bool
    complete: bool
    held: tuple[LockHeld, ...] = ()


class CheckReport(msgspec.Struct, kw_only=True, frozen=True):
    """The result of a check.

    seconds: estimated time of the DDL of all statements, without rows that they copy or read; a
        lower bound unless seconds_complete
    pace: speed of the server of the baseline
    not_counted: rows of catalogs other than pg_class and pg_attribute that the total leaves out,
        with the number of statements
    rejected: number of statements that the server rejects; the total leaves them out
    partly_unknown: number of other statements whose effect is not fully known; the total contains
        what is known
    """

    server: str
    segments: int
    hosts: int
    files: tuple[str, ...]
    statements: tuple[StatementReport, ...]
    findings: Sequence[LocatedFinding]
    total: Cost
    typed: int
    not_understood: int
    errors: int
    ignored: int
    not_counted: dict[str, int] = {}
    rejected: int = 0
    partly_unknown: int = 0
    schema: str = SCHEMA
    baseline: dict[str, float] = {}
    tables: tuple[TableCost, ...] = ()  # largest first
    budgets: dict[
        str, dict[str, int]
    ] = {}  # upper bounds that are set for the change and for one table
    seconds: float = 0.0
    seconds_complete: bool = True
    pace: Pace = REFERENCE


def _live_size(state: SchemaState, table: Table) -> Size | None:
    """The size of a table of the baseline with its partitions at the time of the snapshot; None for
    other tables.
    """
    found = table.total_size()
    for child in state.partitions_of(table) if found is not None else ():
        child_size = child.total_size()
        found = found if found is None or child_size is None else found + child_size
    return found


def held_by(effect: Effect, state: SchemaState, server: str, pace: Pace) -> LockHeld | None:
    """The AccessExclusiveLock that a statement holds on a table of the baseline; None if it takes
    none, or without a baseline. Seconds are an estimate (check/durations.py).
    """
    exclusive = effect.exclusive and effect.table is not None
    size = _live_size(state, effect.table) if exclusive and effect.table is not None else None
    if size is None:
        return None
    time = of_statement(effect, state, server, pace, size=size)
    seconds = round(time.seconds, 3) if time.complete else None
    return LockHeld(size.leaves, size.total, effect.rewritten, seconds)


@dataclass(kw_only=True)
class RuleContext:
    """Input of a rule: one statement with its effect, and the schema state after it.

    held: locks on tables of the baseline, each with the part of the effect that takes it
    left_open: it begins a transaction that does not end in the file
    leaves_left: number of leaves until the limit, by limit and root; used by check.trees
    """

    statement: Statement
    effect: Effect
    state: SchemaState
    settings: Settings
    edition: Edition
    number: int
    guarded: bool  # a lock_timeout is in force
    today: date
    held: tuple[tuple[Effect, LockHeld], ...] = ()
    leaves_left: dict[tuple[str, str, str, int], int] = field(default_factory=dict)
    left_open: bool = False
    findings: list[tuple[Finding, int, int]] = field(default_factory=list)

    def find(
        self,
        rule: str,
        severity: Severity,
        title: str,
        detail: str,
        remedy: str,
        *,
        at: object = None,
        confidence: Confidence = Confidence.MEDIUM,
        figures: tuple[Figure, ...] = (),
        source: str = "",
        relation: str = "",
    ) -> None:
        """Record a finding at the position of a node in the file, or at the statement."""
        start, end = self.statement.start, self.statement.end
        meta = getattr(at, "_meta", None) or {}
        if "start" in meta:
            start, end = meta["start"], meta["end"]
        title_of = relation or (self.effect.table.title if self.effect.table is not None else "")
        finding = Finding(
            rule=rule,
            severity=severity,
            confidence=confidence,
            title=title,
            detail=detail,
            remedy=remedy,
            relations=(title_of,) if title_of else (),
            relations_total=1 if title_of else 0,
            figures=figures,
            source=source,
        )
        self.findings.append((finding, start, end))


@dataclass
class Ignore:
    """One `-- gpcatalog: ignore RULE reason`."""

    rules: tuple[str, ...]
    reason: str
    start: int
    end: int
    used: set[str] = field(default_factory=set)


_NO_COST, _UNKNOWN_COST = Cost(), Cost(complete=False)


def cost_of(effect: Effect, by: Edition) -> Cost:
    """The cost of an effect in rows, files and locks."""
    if not (
        effect.created
        or effect.removed
        or effect.extra
        or effect.other_files
        or effect.locks
        or effect.leaves_created
        or effect.leaves_removed
    ):
        return _NO_COST if not effect.unknown else _UNKNOWN_COST
    coordinator, segment = (effect.rows(by, instance) for instance in Instance)
    return _shared(
        (
            effect.leaves_created - effect.leaves_removed,
            effect.relations() - sum(effect.removed.values()),
            tuple(coordinator.items()),
            tuple(segment.items()),
            effect.files(by, filled=False),
            effect.files(by, filled=True),
            effect.locks,
            not effect.unknown,
        )
    )


# the statements of a long script have few distinct costs
@lru_cache(maxsize=4096)
def _shared(
    figures: tuple[
        int, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], int, int, int, bool
    ],
) -> Cost:
    leaves, relations, coordinator, segment, empty, filled, locks, complete = figures
    return Cost(
        leaves=leaves,
        relations=relations,
        rows_coordinator=dict(coordinator),
        rows_segment=dict(segment),
        files_empty=empty,
        files_filled=filled,
        locks=locks,
        complete=complete,
    )


def over_budget(
    what: str, budget: Budget, cost: Cost, settings: Settings, base: dict[str, float] | None = None
) -> list[Finding]:
    """A finding for each limit of a budget that a cost exceeds."""
    from gpcatalog.model.quantity import count

    base = base or {}
    segments_a_host = -(-settings.segments // max(settings.hosts, 1))
    amounts = {
        "leaves": (cost.leaves + base.get("leaves", 0), budget.leaves, "leaves"),
        "files per segment": (cost.files_filled + base.get("files", 0), budget.files, "files"),
        "files per host": (
            cost.files_filled * segments_a_host + base.get("files", 0) * segments_a_host,
            budget.files_per_host,
            "files",
        ),
        "catalog rows per instance": (
            max(sum(cost.rows_segment.values()), sum(cost.rows_coordinator.values()))
            + base.get("rows", 0),
            budget.rows,
            "rows",
        ),
    }
    out = []
    for name, (amount, limit, unit) in amounts.items():
        if limit is not None and amount > limit:
            out.append(
                Finding(
                    rule="budget-exceeded",
                    severity=Severity.CRITICAL,
                    confidence=Confidence.HIGH if cost.complete else Confidence.MEDIUM,
                    title=f"{what} needs {count(amount)} {name}; the budget is {count(limit)}",
                    detail=f"that is {amount / limit:.1f} × the budget"
                    + (
                        ""
                        if cost.complete
                        else (
                            "; the effect of some statements is not included, so the real value may be"
                            " higher or lower"
                        )
                    ),
                    remedy=(
                        "make larger partitions, remove empty ones, or raise the budget"
                        " deliberately"
                    ),
                    figures=(
                        Figure("found", amount, unit, "derived"),
                        Figure("budget", limit, unit, "limit"),
                    ),
                    source="budget of the command line or of the settings",
                )
            )
    return out
