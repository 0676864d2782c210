"""The files of a migration: prepare, one file per table, index, verify, rollback and clean-up."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator

import gpcatalog
from gpcatalog.migration import journal, writer
from gpcatalog.migration.classic import Classic
from gpcatalog.migration.declarative import Declarative
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.operations import Operation, RefusedStep, TableMigration, WriteContext
from gpcatalog.migration.request import Mode, Request, Runner
from gpcatalog.migration.writer import Writer, array, call, literal, proven
from gpcatalog.model.names import first_lines, listed, printable
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.model.quantity import count, duration, plural, size
from gpcatalog.model.server import Server
from gpcatalog.planner.plan import Plan

REFUSED_SHOWN = 50  # maximum number of refused steps of a table that are listed with the reason


def writer_for(server: Server) -> Writer:
    """The writer of SQL for this server's generation."""
    if server.classic_partitions:
        return Classic()
    return Declarative(greenplum=server.greenplum, version_num=server.version_num)


def comment(lines: list[str]) -> str:
    """Format lines as SQL comments; nothing in them can end the comment."""
    return "".join(f"-- {printable(line)}".rstrip() + "\n" for line in lines)


def file_name(number: int, schema: str, table: str) -> str:
    """A plain file name for a table with any name.

    >>> file_name(3, "public", 'Big "T"')
    '0003_public_big_t.sql'
    """
    stem = re.sub(r"[^a-z0-9]+", "_", f"{schema}_{table}".lower()).strip("_")[:60] or "table"
    return f"{number:04d}_{stem}.sql"


def settings_text(writer: Writer, request: Request) -> str:
    """The settings at the beginning of every file."""
    r = request
    lines = [
        # one line for each step, and none for each statement
        *(
            ["\\set ON_ERROR_STOP on", "\\set QUIET on", "\\set SHOW_CONTEXT never"]
            if r.runner is Runner.PSQL
            else []
        ),
        "SET search_path = pg_catalog, pg_temp;",
        "SET client_encoding = 'UTF8';",
        "SET standard_conforming_strings = on;",
        "SET statement_timeout = 0;",
        "SET lock_timeout = '60s';",
        "SET client_min_messages = warning;",
        "SET default_transaction_read_only = off;",
        # properties of a new table that its statement does not contain
        "SET default_tablespace = '';",
        # properties are compared as the server prints them
        "SET quote_all_identifiers = off;",
        # hashes are computed from text, which must contain the complete value
        "SET bytea_output = hex;",
        "SET extra_float_digits = 3;",
        "SET DateStyle = 'ISO, MDY';",
        "SET TimeZone = 'UTC';",
        "SET IntervalStyle = postgres;",
        *writer.settings(),
        f"SET {SCHEMA}.attempts = '{r.attempts}';",
        f"SET {SCHEMA}.wait = '{r.wait_ms}ms';",
        f"SET {SCHEMA}.pause = '{r.pause_s:g}';",
        f"SET {SCHEMA}.free_space = '';",
        # 'off': a superuser never runs functions that another role can replace
        f"SET {SCHEMA}.run_owner_code = '{'on' if r.run_owner_code else 'off'}';",
    ]
    return "\n".join(lines) + "\n\n"


# owners, schemas, tablespaces and partitions for which a role needs membership, CREATE or SELECT
Needed = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class Folder:
    """Writer of the texts of all files, one after the other.

    Attributes, set by `files`: work (for each table that has any) and names of their files;
    refused.
    """

    def __init__(
        self,
        plan: Plan,
        server: Server,
        request: Request,
    ) -> None:
        self.plan = plan
        self.server = server
        self.request = request
        self.writer = writer_for(server)
        self.work: list[TableMigration] = []
        self.names: list[str] = []
        self.refused: list[RefusedStep] = []
        self._last_needed: tuple[TableMigration, Needed] | None = None  # of the last table

    def files(
        self, translated: Iterable[TableMigration | RefusedStep]
    ) -> Generator[tuple[str, Iterable[str]]]:
        """Yield name and text (in pieces) of every file, those of tables first. Each file is
        created when it is requested: the next tables are read meanwhile, and the file of a large
        table may need as much memory as all of its partitions.

        translated: the work on each table, or why there is none, in the order in which files run
        """
        for found in translated:
            if isinstance(found, RefusedStep):
                self.refused.append(found)
                continue
            self.refused += found.refused
            if not found.forward:
                continue
            root = found.context.root
            name = file_name(len(self.names) + 1, root.schema, root.name)
            self.work.append(found)
            self.names.append(name)
            yield name, self.forward(found, name)
            yield f"rollback/{name}", self.rollback_file(found, name)
        yield "0000_prepare.sql", [self.prepare()]
        yield "index.sql" if self.request.runner is Runner.PSQL else "index.txt", [self.index()]
        yield "verify.sql", [self.verify()]
        yield "cleanup.sql", [self.cleanup()]

    # --- parts ------------------------------------------------------------------------------------

    def _opening(self, lines: list[str]) -> str:
        source = self.plan.source
        head = [
            *lines,
            "",
            (
                f"written by gpcatalog {gpcatalog.__version__} for {self.server.product}"
                f" {self.server.version}, database {source.database}, from {self.plan.id}, based"
                f" on snapshot {source.snapshot} of {source.taken_at}"
            ),
        ]
        return comment(head) + "\n"

    def _settings(self) -> str:
        return settings_text(self.writer, self.request)

    def prepare(self) -> str:
        """Return the file that creates the journal."""
        head = [
            (
                f"Creates schema {SCHEMA} with the journal, so that files can be run again, and"
                " with functions that check, lock and compare."
            ),
            (
                "Changes no other schema. cleanup.sql removes it. Running this file again"
                " changes nothing. It needs CREATE on the database."
            ),
            (
                f"SELECT * FROM {SCHEMA}.progress, in another session of the same role, shows the"
                " running step and the remaining steps."
            ),
        ]
        return self._opening(head) + self._settings() + journal.prepare(self.server)

    def _describe(self, change: Operation) -> list[str]:
        found = [f"{change.id}: {change.title}"]
        found += change.details()
        if grantors := sorted({g.grantor for g in change.grants()} - {""}):
            line = (
                f"  grants by {', '.join(grantors)} are repeated by that role if the session can"
                " SET ROLE to it, otherwise by the owner"
            )
            found.append(line)
        found += [f"  condition: {s}" for s in change.rests_on]
        return found + [f"  LOST: {s}" for s in change.lost]

    def _transactions(self, work: TableMigration, change: Operation, *, forward: bool) -> str:
        return "\n".join(
            change.transactions(
                self.writer, work.context, WriteContext(self.server, self.request, forward)
            )
        )

    def _needed(self, work: TableMigration) -> Needed:
        """What the role of both files of a table needs, computed once for each table."""
        if self._last_needed is None or self._last_needed[0] is not work:
            self._last_needed = work, self._needed_by(work)
        return self._last_needed[1]

    def _needed_by(self, work: TableMigration) -> Needed:
        root, changes = work.context.root, [*work.forward, *work.rollback]
        gone = [r for c in changes for r in c.drops(classic=self.server.classic_partitions)]
        owners = dict.fromkeys([root.owner, *(r.owner for r in gone)])
        schemas = dict.fromkeys([root.schema, *(s for c in changes for s in c.schemas())])
        tablespaces = dict.fromkeys(t for c in changes for t in c.tablespaces())
        used = [getattr(c, "default", None) for c in changes]
        read = [*gone, *(leaf for unit in used if unit is not None for leaf in unit.leaves)]
        readable = dict.fromkeys(r.sql for r in read if "SELECT" in r.revoked)
        return tuple(owners), tuple(schemas), tuple(tablespaces), tuple(readable)

    def _privileges(self, work: TableMigration) -> str:
        """The statement that stops a file before its first step if the role lacks a privilege."""
        needed = (array(names) for names in self._needed(work))
        return call("expect_privileges", literal(work.context.root.sql), *needed)

    def _role(self, work: TableMigration) -> list[str]:
        """Which role must run the file, and why."""
        owner = work.context.root.owner
        owners, schemas, tablespaces, readable = self._needed(work)
        others = [o for o in owners if o != owner]
        found = [
            f"Role: run all files of this folder as {owner}, the owner of the table.",
            (
                f"It needs USAGE and CREATE on {'schemas' if len(schemas) > 1 else 'schema'}"
                f" {listed([quote(s) for s in schemas], 5)}"
                + (f", CREATE on tablespaces {listed(tablespaces, 5)}" if tablespaces else "")
                + (f", SELECT on {listed(readable, 5)}" if readable else "")
                + (
                    f", membership in the owners of partitions ({listed(others, 5)})"
                    if others
                    else ""
                )
                + ". Each file checks this first."
            ),
        ]
        if self.request.run_owner_code:
            return [
                *found,
                (
                    "If a superuser runs them, functions of other roles run with the privileges"
                    " of a superuser (--run-owner-code was given)."
                ),
            ]
        if work.reachable:
            return [
                *found,
                (
                    "If a superuser runs them, they stop before the first copy, because this"
                    " code would run as superuser:"
                ),
                f"  {listed(work.reachable, 5)}",
            ]
        found.append(
            "A superuser can run them too: no function of another role would run. Every step"
            " checks this again."
        )
        if (
            self.request.mode is Mode.ONLINE
            and self.server.greenplum
            and work.context.has_unprivileged_owner
        ):
            found.append(
                "UPDATE and DELETE on the leaves of a step wait while the leaves are copied."
            )
        return found

    def _locks(self) -> list[str]:
        if self.request.mode is Mode.ONLINE:
            first = (
                "Exclusive on the root and the leaves of one step while their rows are compared:"
                " writers wait, readers do not"
            )
        else:
            first = (
                "Exclusive on the root and the leaves of one step while their rows are copied:"
                " writers wait, readers do not"
            )
        return [
            "Locks:",
            f"  {first}",
            (
                "  AccessExclusive on the parent, these leaves and the default partition for the"
                " swap and its COMMIT, which removes the old"
            ),
            "  files: readers wait",
            *self._wait_for_readers(),
            (
                f"  the files try each lock every {self.request.pause_s:g} s with a timeout of"
                f" {self.request.wait_ms} ms, at most {self.request.attempts} times"
            ),
            (
                "End REPEATABLE READ transactions first: a transaction that began before a swap"
                " does not see the swapped rows, as after TRUNCATE."
            ),
        ]

    def _wait_for_readers(self) -> list[str]:
        """How long writers wait because of readers."""
        longest = duration(self.request.longest_wait)
        if self.request.mode is Mode.ONLINE:
            return [
                "  before the Exclusive lock, a step waits for transactions that read these partitions:"
                " writers do not wait",
                (
                    "  before the swap, it waits for those that began later: writers wait too, at"
                    f" most {longest} more"
                ),
            ]
        return [
            (
                "  before the swap, a step waits for transactions that read these partitions:"
                f" writers wait too, at most {longest} more"
            )
        ]

    def _merged_by_the_server(self, work: TableMigration) -> list[str]:
        number = sum(
            c.uses_server_merge(WriteContext(self.server, self.request, forward=True))
            for c in work.forward
        )
        if not number:
            return []
        return [
            (
                f"  {plural(number, 'merge')} of at most {self.request.merge_seconds:g} s with"
                " MERGE PARTITIONS: readers wait during the copy"
            ),
            "  (tested on PostgreSQL 19 beta 2)",
        ]

    def _forecast(self, work: TableMigration) -> list[str]:
        """Gains and costs of the steps of one table."""
        basis = next((b for b in self.plan.basis if b.startswith("time")), "copying rate")
        gp = self.server.greenplum
        found = [
            (
                f"Gain (predicted): {count(work.gain)} catalog rows and {count(work.files)}"
                f" files{' on each segment' if gp else ''}."
            ),
            (
                f"Copies {size(work.bytes)}. Its largest step needs {size(work.segment_bytes)} of"
                f" disk space{' on one segment' if gp else ''}."
            ),
            f"Time: about {duration(work.seconds)} (estimate of the plan: {basis}).",
        ]
        if work.locks:  # unknown for steps that move no rows
            found.append(
                f"Needs at most {count(work.locks)} locks in one"
                f" transaction{' on each instance' if gp else ''}."
            )
        if self.request.window:
            found.append(
                f"A step starts only if it ends within {duration(self.request.window)} after the"
                " start of the first one (estimate)."
            )
        return found

    def _running(self, work: TableMigration, name: str) -> list[str]:
        """How to run, stop and roll back the file."""
        return [
            (
                f"Run 0000_prepare.sql before it:  psql -X -v ON_ERROR_STOP=1 -f {name}"
                if self.request.runner is Runner.PSQL
                else (
                    "Run 0000_prepare.sql before it, with a client that supports dollar quoting"
                    " and stops at the first error."
                )
            ),
            (
                "Every step is a separate transaction. The file can be stopped at any time;"
                " running it again continues with the remaining steps."
            ),
            f"Rollback: rollback/{name}.",
            *(
                f"  There is no rollback for {c.id}: {c.title}"
                for c in self._without_rollback(work)
            ),
        ]

    def _remarks(self, work: TableMigration) -> list[str]:
        """Notes of the operations, advice, and refused steps."""
        notes = dict.fromkeys(
            note for c in work.forward for note in c.notes(classic=self.server.classic_partitions)
        )
        found = [line for note in notes for line in ("", note)]
        lost = {n: len(c.lost) for n, c in enumerate(work.forward, 1) if c.lost}
        if lost:
            where = f"{plural(len(lost), 'step')} ({listed([str(n) for n in lost], 10)})"
            number = plural(sum(lost.values()), "line")
            found += ["", f"Properties are lost: {number} after LOST in the headings of {where}."]
        if work.advice:
            found += ["", *(f"Afterwards: {a}" for a in work.advice)]
        if work.refused:
            reasons = [f"  {r.id}: {r.reason}" for r in work.refused]
            found += ["", "Refused:", *first_lines(reasons, REFUSED_SHOWN)]
        return found

    def _begin(self, work: TableMigration) -> str:
        """The transaction that records the planned steps in the journal."""
        root = work.context.root
        names, bounds = [n for n, _ in work.initial], [b for _, b in work.initial]
        titles = [printable(change.summary()) for change in work.forward]
        # all parts of a step have the same estimate, because the plan estimates whole steps
        seconds = [work.seconds / len(work.forward) if work.forward else 0.0] * len(work.forward)
        window = self.request.window
        return proven(
            [
                call("enter", literal(root.sql)),
                self._privileges(work),
                *([call("window_from_now", f"{window:.0f}")] if window is not None else []),
                "-- the partitions that the plan found",
                call(
                    "begin",
                    literal(work.context.plan),
                    literal(root.sql),
                    array(names),
                    array(bounds),
                    array(c.id for c in work.forward),
                    array(titles),
                    f"ARRAY[{', '.join(f'{s:.3f}' for s in seconds)}]::pg_catalog.float8[]",
                ),
            ]
        )

    def forward(self, work: TableMigration, name: str) -> Iterator[str]:
        """The file that performs the steps of one table."""
        root = work.context.root
        head = [
            f"{root.sql}: {plural(len(work.forward), 'step')}, {count(work.leaves)} fewer leaves",
            "",
            *self._forecast(work),
            "",
            *self._locks(),
            *self._merged_by_the_server(work),
            "",
            *self._role(work),
            "",
            *self._running(work, name),
            *self._remarks(work),
        ]
        yield from (self._opening(head), self._settings(), self._begin(work))
        for n, change in enumerate(work.forward, 1):
            title, *rest = self._describe(change)
            yield "\n" + comment([f"===== {n} of {len(work.forward)} · " + title, *rest])
            yield self._transactions(work, change, forward=True)
        if all(c.keeps_root() for c in work.forward):
            yield "\n" + comment(["===== statistics of the whole table"]) + self._statistics(work)
        yield "\n" + proven([call("leave", literal(root.sql))])

    def _statistics(self, work: TableMigration) -> str:
        """The transaction after the last step. ANALYZE opens the root, whose partition key may
        call functions. The steps are done, so an error, for example of an unreachable foreign
        partition, is reported and stops nothing.
        """
        root = literal(work.context.root.sql)
        return proven(
            [
                call("expect_trusted_tree", root),
                "BEGIN",
                *(f"    {statement}" for statement in self.writer.after(work.context)),
                "EXCEPTION WHEN OTHERS THEN",
                f"    RAISE INFO '%: the steps are done, but ANALYZE failed: %', {root}, SQLERRM;",
                "END;",
            ]
        )

    @staticmethod
    def _without_rollback(work: TableMigration) -> list[Operation]:
        written = {change.id for change in work.rollback}
        return [change for change in work.forward if f"undo-{change.id}" not in written]

    def rollback_file(self, work: TableMigration, name: str) -> Iterator[str]:
        """The file that rolls back the steps of one table."""
        root = work.context.root
        head = [
            (
                f"Rollback of {name} for {root.sql}: restores the bounds, storage and privileges"
                " that its partitions had before."
            ),
            (
                "Writers wait while rows are copied, and then for transactions that read the"
                f" partitions, at most {duration(self.request.longest_wait)} more."
            ),
            (
                "Readers wait while partitions are added and exchanged one by one, which can take"
                " most of the time, and during the COMMIT."
                if self.server.classic_partitions
                else "Readers wait while the partitions are replaced, and during the COMMIT."
            ),
            "Rows that were added later are kept. Steps that did not run are skipped.",
            f"Run it in the same way as {name}. It can be stopped and run again.",
        ]
        entered = proven([call("enter", literal(root.sql)), self._privileges(work)])
        yield self._opening(head) + self._settings() + entered
        for change in work.rollback:
            yield "\n" + comment(self._describe(change))
            yield self._transactions(work, change, forward=False)
        left = self._without_rollback(work)
        for c in left:
            yield "\n" + comment([f"There is no rollback for {c.id}: {c.title}"])
        if work.rollback:
            yield "\n" + self._statistics(work)
        yield "\n" + proven([call("leave", literal(root.sql))])
        if left:
            undone = call("expect_undone", literal(work.context.plan), array(c.id for c in left))
            yield "\n" + proven([undone])

    def index(self) -> str:
        """Return the file that runs all others, or that lists them for a plain runner."""
        head = [
            "Runs all files, in the order of removed catalog rows per second.",
            "",
        ]
        for w, name in zip(self.work, self.names, strict=True):
            gain = f"{count(w.leaves)} fewer leaves and {count(w.gain)} fewer catalog rows"
            head += [f"{name}: {gain}, {size(w.bytes)} copied, {duration(w.seconds)}"]
        head += [
            "",
            (
                "verify.sql checks the result. cleanup.sql removes the journal and the objects"
                " that a crash left."
            ),
        ]
        if self.refused:
            head += [
                "",
                "Refused:",
                *(f"  {r.table} {r.operation} {r.id}: {r.reason}" for r in self.refused),
            ]
        if self.request.runner is Runner.PLAIN:
            head = [printable(line) for line in head]
            return (
                "\n".join([*head, "", "Order:", "0000_prepare.sql", *self.names, "verify.sql"])
                + "\n"
            )
        return (
            self._opening(head)
            + "\\set ON_ERROR_STOP on\n"
            + "".join(f"\\ir {n}\n" for n in ["0000_prepare.sql", *self.names])
        )

    def verify(self) -> str:
        """Return the file that compares the result with the journal."""
        plan = literal(self.plan.id)
        head = [
            (
                "Checks that all steps of each table are done, or all are rolled back, and that"
                " the rows are those that were copied."
            ),
            (
                "Prints one line per table. The last line is OK or reports the differences. A"
                " missing step or partition is an error."
            ),
        ]
        calls = []
        for work in self.work:
            c = work.context
            ids = array(change.id for change in work.forward)
            verdict = (
                f"{SCHEMA}.judge({plan}, {literal(c.root.sql)}, {ids}, {literal(c.signature)},"
                f" {literal(c.root.owner)})"
            )
            calls.append(f"verdicts := verdicts || {verdict};")
        calls.append(call("conclude", "verdicts"))
        return (
            self._opening(head)
            + self._settings()
            + proven(calls, declare=["verdicts text[] := ARRAY[]::text[];"])
        )

    def cleanup(self) -> str:
        """Return the file that removes the records of a plan, and objects that a crash left."""
        plan = literal(self.plan.id)
        head = [
            (
                "Removes the records of this plan, and staging tables and temporary constraints"
                f" that a crash left; drops the journal (schema {SCHEMA}) if nothing else uses it."
            ),
            (
                "No rows are lost: a staging table is a copy until the swap. Unfinished"
                " migrations need new files afterwards (gpcatalog migrate)."
            ),
        ]
        deletes = "".join(
            # the journal of an older version does not have all tables
            f"    IF {SCHEMA}.relation('{SCHEMA}.{t}') IS NOT NULL THEN DELETE FROM {SCHEMA}.{t} WHERE"
            f" plan = {plan}; END IF;\n"
            for t in journal.TABLES
        )
        body = (
            "BEGIN\n    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname ="
            f" '{SCHEMA}') THEN RETURN; END IF;\n"
            + "".join(f"    {line}\n" for line in journal.proof())
            + f"    PERFORM {SCHEMA}.expect_trusted({array([])}, {array([])});\n    PERFORM"
            f" {SCHEMA}.sweep({plan});\n{deletes}    -- other plans and upkeep may still use the journal\n"
            f"    IF NOT EXISTS (SELECT 1 FROM {SCHEMA}.step) AND NOT EXISTS (SELECT 1 FROM"
            f" {SCHEMA}.tree)\n       AND NOT EXISTS (SELECT 1 FROM {SCHEMA}.upkeep) THEN\n"
            f"        DROP SCHEMA {SCHEMA} CASCADE;\n    END IF;\nEND\n"
        )
        return (
            self._opening(head)
            + self._settings()
            + f"BEGIN;\nDO $gpcatalog$\n{body}$gpcatalog$;\nCOMMIT;\n"
        )


__all__ = ["Folder", "Request", "Runner", "writer"]
