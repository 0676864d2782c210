"""Upkeep of the tables that a policy names: tonight's script, the coming nights, and the rules that
tables seem to follow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.services.notify import Notify, silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gpcatalog.migration.nightly import NightWork
    from gpcatalog.migration.operations import RefusedStep, TableMigration
    from gpcatalog.model.upkeep_runs import Run
    from gpcatalog.planner.operations import Step
    from gpcatalog.planner.policy import Policy
    from gpcatalog.planner.sets.reader import Reader
    from gpcatalog.probes.connection import Session
    from gpcatalog.store.snapshot import Snapshot
    from gpcatalog.upkeep.forecast import ForecastNight
    from gpcatalog.upkeep.night import Night, Place, TableState
    from gpcatalog.upkeep.reader import ReadTable, Unplanned
    from gpcatalog.upkeep.rules import NightLimits


@dataclass(kw_only=True)
class PreparedUpkeep:
    """Tables of a snapshot, prepared for upkeep. now: microseconds since 1970, UTC."""

    reader: Reader
    tables: list[ReadTable]
    unplanned: list[Unplanned]
    limits: NightLimits
    now: int

    @property
    def states(self) -> list[TableState]:
        """The states of the tables, the input for nights."""
        return [t.state for t in self.tables]

    @property
    def day(self) -> date:
        """The day of the night, UTC."""
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.now)).date()


def policy_of(path: Path | None) -> Policy:
    """Read the policy of a file and check it for upkeep. Raises CatalogError."""
    from gpcatalog.planner import policy
    from gpcatalog.upkeep import rules

    found = policy.read(path) if path else policy.Policy()
    rules.check(found)
    return found


FIRST_YEAR, LAST_YEAR = 1970, 9900
"""Years of `--today`: partitions of the following years must be dates, too."""


def today_of(text: str) -> datetime | None:
    """Noon (UTC) of a date between 1970 and 9900; None for an empty text. Raises CatalogError."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise CatalogError(
            f"--today: {text!r} is not a date", hint="write it as 2026-01-31"
        ) from None
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise CatalogError(
            f"--today: {text} is outside the years {FIRST_YEAR} to {LAST_YEAR}",
            hint="write a date on which upkeep could run, such as 2026-01-31",
        )
    return datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=12)


def prepare(
    snapshot: Snapshot, policy: Policy, now: datetime | None, *, every: bool = False
) -> PreparedUpkeep:
    """Prepare the tables that the policy names for upkeep.

    every: all partitioned tables. Raises CatalogError for a snapshot without leaves.
    """
    from gpcatalog.planner.planning import refuse_thinned
    from gpcatalog.planner.sets.reader import Reader
    from gpcatalog.upkeep import reader as upkeep_reader
    from gpcatalog.upkeep import rules

    refuse_thinned(snapshot)
    reader = Reader(snapshot, policy, now=now)
    tables, unplanned = upkeep_reader.read_tables(
        snapshot, reader.roots, reader.now, every=every, policy=policy
    )
    return PreparedUpkeep(
        reader=reader,
        tables=tables,
        unplanned=unplanned,
        limits=rules.limits_of(policy.upkeep),
        now=reader.now,
    )


def check_clock(session: Session, day: date) -> None:
    """Raise CatalogError (4) if the date of the server differs from that of the script by more than
    a day.
    """
    server = session.query(
        "/* gpcatalog:date */ SELECT pg_catalog.now() AT TIME ZONE 'UTC' AS now"
    )[0]["now"].date()
    if abs((server - day).days) > 1:
        raise CatalogError(
            f"the script would be for {day}, but the date of the server is {server}",
            hint="check the clocks of this machine and of the server, and --today if it is given",
            exit_code=Exit.REFUSED,
        )


@dataclass(kw_only=True)
class PlannedSteps:
    """The steps of a night by oid of the table.

    order: position of its merges, by id; places: the range that each of them merges; impossible:
           merges without a step; refusals: the reasons as sentences
    """

    steps: dict[int, list[Step]] = field(default_factory=lambda: defaultdict(list))
    order: dict[str, int] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    impossible: list[Place] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def steps_of(prepared: PreparedUpkeep, tonight: Night) -> PlannedSteps:
    """The steps of a night."""
    from gpcatalog.model import generations
    from gpcatalog.upkeep import steps as up

    header = prepared.reader.snapshot.header
    database, classic = header["database"], generations.is_classic(header["generation"])
    by_oid = {t.state.oid: t for t in prepared.tables}
    sets = {(t.state.oid, s.parent): s for t in prepared.tables for s in t.state.sets}
    found = PlannedSteps()
    for create in tonight.create:
        t = by_oid[create.table].state
        s = sets[create.table, create.parent]
        found.steps[t.oid] += up.create_steps(t, s, create, classic=classic)
    for gone in tonight.retire:
        t = by_oid[gone.table].state
        s = sets[gone.table, gone.parent]
        found.steps[t.oid] += [
            up.retire_step(t, s, [p], database, prepared.day) for p in gone.parts
        ]
    _add_merges(prepared, tonight, found)
    return found


def _add_merges(prepared: PreparedUpkeep, tonight: Night, found: PlannedSteps) -> None:
    """Add the steps of merges, and the merges that are not possible."""
    from gpcatalog.upkeep.rollups import merge_steps

    by_oid = {t.state.oid: t for t in prepared.tables}
    merges = defaultdict(list)
    for number, merge in enumerate(tonight.rollups):
        merges[merge.table].append((number, merge))
    for oid, line in merges.items():
        root = by_oid[oid].root
        steps, refused = merge_steps(prepared.reader, root, [m for _, m in line])
        of = {p.oid: (number, m) for number, m in line for p in m.parts}
        for step in steps:
            number, m = of[step.units[0].oid]
            found.order[step.id] = number
            found.places[step.id] = (m.parent, m.low, m.high)
        found.steps[oid] += steps
        for m, why in refused:
            found.impossible.append((m.parent, m.low, m.high))
            found.refusals.append(
                f"{root.schema}.{root.name}: {len(m.parts)} partitions from {m.parts[0].name} are"
                f" not merged: {why}"
            )


def announced(prepared: PreparedUpkeep) -> list[tuple[str, list[str]]]:
    """Partitions that will exceed their retention in seven days, of tables that drop such
    partitions.
    """
    from gpcatalog.model.names import qualified
    from gpcatalog.upkeep.night import to_be_announced

    found = []
    for t in prepared.states:
        parts = [
            f"{qualified(p.schema, p.name)} {p.oid}"
            for s in t.sets
            for p in to_be_announced(t, s, t.key.now(prepared.now))
        ]
        if parts:
            found.append((qualified(t.schema, t.name), parts))
    return found


def _too_large(work: TableMigration, steps: list[Step], most: int) -> tuple[set[str], list[str]]:
    """Remove merges that one transaction must not copy; return their ids, and sentences about
    them.
    """
    large = {s.id for s in steps if s.operation == "merge" and (s.cost.bytes or 0) > most}
    large &= {o.id for o in work.forward}
    if not large:
        return large, []
    work.forward = [o for o in work.forward if o.id not in large]
    return large, [
        f"{work.context.root.sql}: {len(large)} merges copy more than max_rewrite; they need a"
        " script that the owner of the table runs (--owner-runs), which takes several nights"
    ]


def _same_name_twice(work: TableMigration, claimed: set[tuple[str, str]]) -> list[RefusedStep]:
    """Remove detached partitions whose new schema gets one of the same name from another table in
    the same night; return them as refused. claimed: names of earlier tables, which are added to.
    """
    from gpcatalog.migration.operations import RefusedStep
    from gpcatalog.migration.steps.retire import DetachPartitions
    from gpcatalog.model.names import qualified

    root = work.context.root
    table, refused = qualified(root.schema, root.name), []
    for o in list(work.forward):
        if not isinstance(o, DetachPartitions):
            continue
        twice = sorted(claimed & set(o.names()))
        if twice:
            work.forward.remove(o)
            reason = f"another table detaches {qualified(*twice[0])} in the same night: rename one"
            names = tuple(u.relation.name for u in o.gone)
            refused.append(RefusedStep(o.id, table, "retire", reason, names))
        else:
            claimed |= set(o.names())
    return refused


@dataclass(kw_only=True)
class _Work:
    """The part of a night that is possible on the live tables. impossible: sentences about merges
    that are not possible.
    """

    planned: PlannedSteps
    tables: list[TableMigration] = field(default_factory=list)
    refused: list[RefusedStep] = field(default_factory=list)
    impossible: dict[str, None] = field(default_factory=dict)


def _translated(
    session: Session, prepared: PreparedUpkeep, found: _Work, *, owner_runs: bool, notify: Notify
) -> set[Place]:
    """Add the operations of all tables; return the merges that are not possible."""
    from gpcatalog.capacity.limits import lock_slots
    from gpcatalog.migration.operations import RefusedStep
    from gpcatalog.migration.translate import translate
    from gpcatalog.model.names import listed, qualified
    from gpcatalog.planner.plan import TablePlan
    from gpcatalog.probes.by_table import ByTable
    from gpcatalog.probes.connection import ProbeFailed

    slots = lock_slots({r["name"]: r["setting"] for r in session.rows("settings")})
    names = {t.state.oid: t.state for t in prepared.tables}
    places = found.planned.places
    impossible = set(found.planned.impossible)
    probe_rows = ByTable([session], found.planned.steps).rows
    claimed: set[tuple[str, str]] = set()
    for oid, line in found.planned.steps.items():
        t = names[oid]
        notify(f"reading {t.schema}.{t.name}")
        table = TablePlan(
            oid=oid,
            schema=t.schema,
            table=t.name,
            name=qualified(t.schema, t.name),
            storage="",
            steps=line,  # type: ignore[arg-type]
        )
        try:
            translation = translate(probe_rows, session.server, "upkeep", table, slots=slots)
        except ProbeFailed as e:
            translation = RefusedStep("", table.name, "table", f"it could not be read: {e.reason}")
        if isinstance(translation, RefusedStep):
            found.refused.append(translation)
            impossible |= {places[s.id] for s in line if s.id in places}
            continue
        translation.refused += _same_name_twice(translation, claimed)
        found.refused += translation.refused
        if (
            session.server.greenplum
            and translation.context.has_unprivileged_owner
            and not owner_runs
        ):
            large, why = _too_large(translation, line, prepared.limits.max_rewrite)
            impossible |= {places[one] for one in large}
            found.impossible |= dict.fromkeys(why)
        found.tables.append(translation)
    for r in found.refused:
        if r.id in places:
            impossible.add(places[r.id])
            found.impossible[
                f"{r.table}: {listed(r.partitions, 3) or r.id} are not merged: {r.reason}"
            ] = None
    found.impossible |= dict.fromkeys(found.planned.refusals)
    return impossible


@dataclass(kw_only=True)
class _LastWrites:
    """The known times of the last writes to partitions that will be merged.

    seconds: since the last write, by oid of the leaf; checked: leaves whose files were checked
    lately:  number of merges that wait, by oid of the table; failed: why the times are unknown
    """

    seconds: dict[int, float] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)
    lately: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    failed: str = ""

    def notes(self, names: dict[int, str]) -> list[str]:
        """Sentences about merges that wait."""
        why = (
            f"when their partitions were written is unknown ({self.failed})"
            if self.failed
            else "their partitions were written lately (quiet)"
        )
        from gpcatalog.model.quantity import plural

        return [
            f"{names[oid]}: {plural(n, 'merge')} must wait: {why}" for oid, n in self.lately.items()
        ]


def _written_lately(
    session: Session, prepared: PreparedUpkeep, tonight: Night, known: _LastWrites
) -> set[Place]:
    """Merges of a night whose partitions were written too recently, or at an unknown time."""
    from gpcatalog.probes.connection import ProbeFailed
    from gpcatalog.probes.written import last_written

    rules = {t.oid: t.rules for t in prepared.states}
    merges = [m for m in tonight.rollups if rules[m.table].quiet]
    if not merges:
        return set()
    leaves = _leaves_below(prepared, [p.oid for m in merges for p in m.parts])
    new = {oid: size for line in leaves.values() for oid, size in line.items()}
    new = {oid: size for oid, size in new.items() if oid not in known.checked}
    if new and not known.failed:
        try:
            known.seconds |= last_written(session, new)
        except ProbeFailed as e:
            known.failed = e.reason
        known.checked |= set(new)
    found = set()
    for m in merges:
        times = [known.seconds.get(oid, 0.0) for p in m.parts for oid in leaves[p.oid]]
        if min(times, default=0.0) < rules[m.table].quiet:
            found.add((m.parent, m.low, m.high))
            known.lately[m.table] += 1
    return found


def _leaves_below(prepared: PreparedUpkeep, oids: list[int]) -> dict[int, dict[int, int | None]]:
    """Leaves of each of these partitions, with their bytes on the fullest instance."""
    found: dict[int, dict[int, int | None]] = defaultdict(dict)
    for row in prepared.reader.snapshot.rows(
        "WITH RECURSIVE part AS (SELECT oid AS top, oid, kind FROM relation WHERE oid IN (SELECT"
        " unnest(?::UINTEGER[])) UNION SELECT p.top, r.oid, r.kind FROM part p JOIN relation r"
        " ON r.parent = p.oid) SELECT p.top, p.oid, r.max_segment_bytes AS size FROM part p JOIN"
        " relation r ON r.oid = p.oid WHERE p.kind = 'leaf' ORDER BY 1, 2",
        [oids],
    ):
        found[row["top"]][row["oid"]] = row["size"]
    return found


def night_work(
    session: Session,
    prepared: PreparedUpkeep,
    *,
    allow_drop: bool = False,
    run_owner_code: bool = False,
    owner_runs: bool = False,
    notify: Notify = silent,
) -> NightWork:
    """Return tonight's work on the live tables.

    owner_runs: the owner of the tables runs the script; notify: called with a line about each table
    """
    from gpcatalog.migration.nightly import NightWork
    from gpcatalog.model.names import qualified
    from gpcatalog.upkeep.night import night

    names = {t.state.oid: f"{t.state.schema}.{t.state.name}" for t in prepared.tables}
    excluded: set[Place] = set()
    quiet = _LastWrites()
    if any(t.rules.quiet for t in prepared.states):
        # check all merges that are due at once: checking only those within the limits would repeat
        # the check
        every = replace(prepared.limits, max_leaves=1 << 60, max_rewrite=1 << 60)
        states = [replace(t, rules=replace(t.rules, retention="none")) for t in prepared.states]
        due = night(states, prepared.now, every)
        excluded |= _written_lately(session, prepared, due, quiet)
    impossible: dict[str, None] = {}
    while True:
        tonight = night(
            prepared.states,
            prepared.now,
            prepared.limits,
            excluded=excluded,
            allow_drop=allow_drop,
        )
        lately = _written_lately(session, prepared, tonight, quiet)
        if lately:
            excluded |= lately
            continue
        found = _Work(planned=steps_of(prepared, tonight))
        new = _translated(session, prepared, found, owner_runs=owner_runs, notify=notify)
        impossible |= found.impossible
        # impossible merges must not use up the limits of the night
        if new <= excluded:
            break
        excluded |= new
    notes = [f"{u.schema}.{u.name}: {u.reason}" for u in prepared.unplanned]
    notes += [f"{names[n.table]}: {n.text}" for n in tonight.notes]
    if tonight.waiting:
        notes.append(
            f"{tonight.waiting} partitions are due and exceed the limits of this night; they are"
            " left for the next ones"
        )
    return NightWork(
        day=prepared.day,
        maintained=[
            (qualified(t.schema, t.name), f"{t.rules.cover_days:g}") for t in prepared.states
        ],
        database=session.target["dbname"],
        tables=found.tables,
        announced=announced(prepared),
        refused=found.refused,
        notes=[*notes, *quiet.notes(names), *impossible],
        waiting=tonight.waiting,
        window=prepared.limits.window,
        most_copied=prepared.limits.max_rewrite,
        lock_wait=prepared.limits.lock_wait,
        lock_attempts=prepared.limits.lock_attempts,
        run_owner_code=run_owner_code,
        order=found.planned.order,
        owner_runs=owner_runs,
    )


def script_of(session: Session, work: NightWork) -> str:
    """The text of the script."""
    from gpcatalog.migration.nightly import NightScript

    return NightScript(session.server, work).text()


def runs_of(session: Session) -> tuple[list[Run] | None, list[str]]:
    """Runs of the journal, the newest last, and unfinished merges; None without a journal.

    Raises CatalogError if another role owns a part of the journal, or if the role may not read it.
    """
    from gpcatalog.model.server import OF_OTHERS
    from gpcatalog.model.upkeep_runs import runs
    from gpcatalog.probes.connection import ProbeFailed

    if not session.rows("upkeep_home"):
        return None, []
    try:
        rows = session.rows("upkeep_runs")
        waiting = session.rows("upkeep_unfinished")
    except ProbeFailed as e:
        raise CatalogError(
            f"the journal of upkeep cannot be read: {e.reason}",
            hint="connect as the role that runs the scripts"
            + ("" if e.reason.endswith(OF_OTHERS) else ", or as a superuser"),
            exit_code=Exit.UNREACHABLE,
        ) from None
    return runs(rows), [f"{r['relation']}: {r['step']}" for r in waiting]


def nights(
    prepared: PreparedUpkeep, days: int, *, announced: bool = False
) -> Iterator[ForecastNight]:
    """The forecast of the coming nights. announced: whether earlier nights announced the drops that
    are due.
    """
    from gpcatalog.upkeep.forecast import forecast

    yield from forecast(prepared.states, prepared.now, prepared.limits, days, announced=announced)


def announces(conninfo: str) -> bool:
    """Whether scripts of upkeep have run on a database for seven days: then drops were
    announced.
    """
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo
    from gpcatalog.upkeep.rules import ANNOUNCED

    with connect(as_conninfo(conninfo)) as session:
        runs, _ = runs_of(session)
    if not runs:
        return False
    return datetime.now(UTC) - runs[0].begun > timedelta(microseconds=ANNOUNCED)
