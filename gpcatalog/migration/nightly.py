"""The script of one night of upkeep: one file for psql that does everything that is due.

A step that fails is recorded in the journal, and the script continues with other tables. At its end
it fails if any step failed, so that cron and psql report it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import gpcatalog
from gpcatalog.migration import journal
from gpcatalog.migration.folder import comment, settings_text, writer_for
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.operations import (
    Operation,
    RefusedStep,
    TableMigration,
    WriteContext,
    joined,
)
from gpcatalog.migration.request import Mode, Request
from gpcatalog.migration.steps.create import CreatePartitions
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
from gpcatalog.migration.steps.retire import DropRetired
from gpcatalog.migration.writer import Phase, array, call, dollar_tag, literal, proven
from gpcatalog.model.names import listed, printable
from gpcatalog.model.quantity import duration, plural, size
from gpcatalog.model.server import Server

MERGES = "upkeep"
"""Plan of merges in the journal: the same every night, because a merge may take several nights."""


@dataclass(frozen=True, kw_only=True)
class NightWork:
    """The work of one night, ready to be written.

    day: date of the night; tables: operations of each table, in their order
    maintained: tables of the policy (names as in SQL), with the days of cover that it requires
    announced: partitions that will be dropped in seven days or later, by table (names as in SQL)
    refused: steps that are not possible: recorded as failures, so that psql ends with an error
    waiting: partitions that are due and exceed the limits of the night
    notes: sentences on what is not done, or differently; window: seconds, 0: none; most_copied: maximum
           bytes of merges
    order: of merges, by ID: the oldest cells of all tables first
    owner_runs: whether the owner of the tables runs the script, not a superuser
    """

    day: date
    database: str
    tables: Sequence[TableMigration]
    maintained: Sequence[tuple[str, str]] = ()
    announced: Sequence[tuple[str, Sequence[str]]] = ()
    refused: Sequence[RefusedStep] = ()
    waiting: int = 0
    notes: Sequence[str] = ()
    window: float = 0.0
    most_copied: int = 0
    lock_wait: float = 0.3
    lock_attempts: int = 60
    run_owner_code: bool = False
    order: Mapping[str, int] = field(default_factory=dict)
    owner_runs: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.announced and not self.refused and not any(t.forward for t in self.tables)

    @property
    def run(self) -> str:
        """ID of the run: the same for the same work."""
        ids = [(t.context.root.oid, [(o.id, o.details()) for o in t.forward]) for t in self.tables]
        text = repr(
            (
                self.day,
                self.database,
                ids,
                self.announced,
                self.window,
                self.most_copied,
                self.owner_runs,
                [(r.table, r.id, r.reason) for r in self.refused],
            )
        )
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"upkeep-{self.day:%Y%m%d}-{digest[:8]}"


def _rank(operation: Operation) -> int:
    """The order of operations: new partitions of all tables first, then removals, then merges."""
    if isinstance(operation, CreatePartitions):
        return 0
    return 2 if isinstance(operation, ReplacePartitions) else 1


class NightScript:
    """Writer of the script of a night."""

    def __init__(self, server: Server, work: NightWork) -> None:
        self.server = server
        self.work = work
        self.run = work.run
        self.writer = writer_for(server)
        self.writer.run = self.run
        self.request = Request(
            mode=Mode.ONLINE,
            strict=False,
            attempts=work.lock_attempts,
            wait_ms=max(1, round(work.lock_wait * 1000)),
            window=work.window or None,
            run_owner_code=work.run_owner_code,
            most_copied=work.most_copied,
        )

    def text(self) -> str:
        """The whole script."""
        if self.work.empty:
            return self._nothing()
        parts = [
            comment(self._head()) + "\n",
            settings_text(self.writer, self.request),
            journal.prepare(self.server),
            self._begin(),
            *self._tables(),
            "\n" + comment(["===== end"]),
            proven(
                [
                    *(self._refusal(r) for r in joined(self.work.refused)),
                    *(
                        call("leave", literal(t.context.root.sql))
                        for t in self.work.tables
                        if t.forward
                    ),
                    call("upkeep_end", literal(self.run), str(self.work.waiting)),
                ]
            ),
            proven([call("upkeep_verdict", literal(self.run))]),
        ]
        return "".join(parts)

    def in_one_transaction(self, table: TableMigration) -> bool:
        """Whether each merge of a table is written as one transaction: on Greenplum, a
        superuser cannot identify a staging table of another role that an earlier transaction
        has left.
        """
        return (
            self.server.greenplum
            and table.context.has_unprivileged_owner
            and not self.work.owner_runs
        )

    def _signature(self) -> str:
        return (
            f"written by gpcatalog {gpcatalog.__version__} for {self.server.product}"
            f" {self.server.version}, database {self.work.database}, night of {self.work.day}"
        )

    def _nothing(self) -> str:
        """The script of a night without work: a comment and a record of the run."""
        head = ["Nothing to do tonight.", *self.work.notes, self._signature()]
        tables, cover = self._maintained()
        return (
            comment(head)
            + settings_text(self.writer, self.request)
            + journal.heartbeat(
                self.server,
                plan=literal(self.run),
                day=literal(self.work.day.isoformat()),
                maintained=tables,
                cover=cover,
                waiting=str(self.work.waiting),
                tag=dollar_tag(tables),
            )
        )

    def _maintained(self) -> tuple[str, str]:
        """Tables of the policy and the days of cover that it requires, as SQL arrays."""
        return array(name for name, _ in self.work.maintained), array(
            days for _, days in self.work.maintained
        )

    def _head(self) -> list[str]:
        work = self.work
        operations = [o for t in work.tables for o in t.forward]
        created = sum(len(o.swaps) for o in operations if isinstance(o, CreatePartitions))
        merges = [o for o in operations if isinstance(o, ReplacePartitions)]
        gone = [o for o in operations if _rank(o) == 1]
        drops = [o for o in gone if isinstance(o, DropRetired)]
        found = [
            f"Upkeep of {plural(len(work.tables), 'table')}: {plural(created, 'new partition')},"
            f" {plural(len(merges), 'merge')}, {plural(len(gone) - len(drops), 'removal')}"
            + (f", at most {plural(len(drops), 'drop')}." if drops else "."),
            "",
            *(
                f"{t.context.root.sql}: {o.title}"
                if o.title.startswith(o.summary())
                else f"{t.context.root.sql}: {o.summary()} ({o.title})"
                for t in work.tables
                for o in t.forward
            ),
            "",
            *(
                [
                    "A partition is dropped only if a script announced that seven days before."
                    " Until then, it remains with its rows, and LOST does not apply to it."
                ]
                if drops
                else []
            ),
            f"Merges copy at most {size(work.most_copied)} tonight; a larger one goes on the next"
            " night where it stopped.",
            *(
                [f"No merge or removal begins later than {duration(work.window)} after the start."]
                if work.window
                else []
            ),
            "Locks are tried for"
            f" {duration(work.lock_wait)} each time, at most {work.lock_attempts} times.",
            "Every step is a transaction. A step that fails is recorded, other tables go on, and"
            " the script fails at its end.",
            "It can be stopped and run again on the same day.",
            "",
            "Run it as the owner of the tables or as a superuser:  psql -X -v ON_ERROR_STOP=1 -f"
            " FILE",
            *self._writers_wait(),
            f"Runs and failures: SELECT * FROM {SCHEMA}.upkeep ORDER BY at DESC",
        ]
        lost = [
            f"LOST: {t.context.root.sql}: {line}"
            for t in work.tables
            for o in t.forward
            for line in o.lost
        ]
        if lost:
            found += ["", *lost]
        if work.refused:
            found += ["", "Refused:"]
            found += [f"  {step}" for step in joined(work.refused)]
        if work.notes:
            found += ["", "Notes:", *(f"  {n}" for n in work.notes)]
        return [*found, "", self._signature()]

    def _writers_wait(self) -> list[str]:
        names = [
            t.context.root.sql
            for t in self.work.tables
            if self.in_one_transaction(t)
            and any(isinstance(o, ReplacePartitions) for o in t.forward)
        ]
        if not names:
            return []
        return [
            f"Writers of these tables wait while rows are copied, as a superuser may run the"
            f" script: {listed(names, 5)}. A script for their owner (--owner-runs) lets them go on."
        ]

    def _begin(self) -> str:
        day = f"{literal(self.work.day.isoformat())}::date"
        calls = [
            call("upkeep_begin", literal(self.run), day, f"{self.work.window:.0f}"),
            call("upkeep_maintains", literal(self.run), *self._maintained()),
            call("upkeep_sweep", array(self._merges())),
            *(
                call("announce", literal(self.run), literal(root), array(parts))
                for root, parts in self.work.announced
            ),
        ]
        return "\n" + proven(calls)

    def _refusal(self, refused: RefusedStep) -> str:
        """The call that records a step that was refused when the script was written."""
        names = f"{listed(refused.partitions, 3)}: " if refused.partitions else ""
        step, why = refused.id or refused.operation, printable(names + refused.reason)
        return call("upkeep_failed", *map(literal, (self.run, refused.table, step, why)))

    def _merges(self) -> list[str]:
        return [
            o.id for t in self.work.tables for o in t.forward if isinstance(o, ReplacePartitions)
        ]

    def _tables(self) -> Iterable[str]:
        for t in self.work.tables:
            if t.forward:
                # another session may run a migration of this table
                entered = [(Phase.GUARD, [call("enter", literal(t.context.root.sql))])]
                yield self.writer.block(t.context, _EntryStep, entered)  # type: ignore[arg-type]
        line = [(o, t) for t in self.work.tables for o in t.forward]
        for operation, table in sorted(
            line, key=lambda pair: (_rank(pair[0]), self.work.order.get(pair[0].id, 0))
        ):
            yield self._operation(operation, table)

    def _operation(self, operation: Operation, table: TableMigration) -> str:
        merge = isinstance(operation, ReplacePartitions)
        plan = MERGES if merge else self.run
        context = replace(table.context, plan=plan)
        head = [f"===== {context.root.sql} · {operation.id}: {operation.title}"]
        head += operation.details()
        head += [f"  LOST: {s}" for s in operation.lost]
        request = self.request
        if merge and self.in_one_transaction(table):
            request = replace(request, mode=Mode.LOCKED)
        writing = WriteContext(self.server, request, forward=True)
        return (
            "\n"
            + comment([printable(x) for x in head])
            + "\n".join(operation.transactions(self.writer, context, writing))
        )


class _EntryStep:
    """A substitute for the step of a table that keeps other sessions out."""

    id = "enter"
