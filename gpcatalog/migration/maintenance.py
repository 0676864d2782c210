"""Catalog maintenance: the VACUUM, REINDEX and ANALYZE statements that a report requires, as
one SQL script.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gpcatalog.audit.report import CatalogRow, Report, ServerFacts
from gpcatalog.audit.verdicts import bloat_limits
from gpcatalog.capacity import limits
from gpcatalog.migration import vacuum_full
from gpcatalog.migration.window import NoWindow, Window, alone
from gpcatalog.model import generations
from gpcatalog.model.auxiliary import INDEX_OF
from gpcatalog.model.names import printable, qualified
from gpcatalog.model.quantity import duration, plural, size

WORTH_FULL = (
    64 << 20
)  # minimum reclaimable heap bytes on one instance that justify the lock of an exclusive rewrite
# The server's names of auxiliary relations and their indexes. A snapshot may be hostile: no
# statement is written for other names.
AUXILIARY_NAME = re.compile(r"pg_aoseg\.pg_ao(seg|csseg|visimap|blkdir)_[0-9]+(_index)?")
WORTH_ANY = 1 << 20  # reclaimable bytes on one instance; a catalog with less is not treated


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """Treatment of one catalog. needed, reclaimable: bytes of the worst instance."""

    relation: str
    full: bool
    reindex: bool
    needed: int
    reclaimable: int
    bloat: float
    content: int


def rates() -> tuple[float, float, float]:
    """Speed of published VACUUM FULL runs, in bytes of live catalog per second: lower quartile,
    median, upper quartile.
    """
    each = [note.after * 1e9 / (note.minutes * 60) for note in limits.VACUUM_FULL_NOTES]
    lower, median, upper = statistics.quantiles(each, n=4, method="inclusive")
    return lower, median, upper


def treatments(report: Report) -> list[Treatment]:
    """Catalogs that are worth a treatment, those with the most reclaimable bytes first."""
    moderate, significant = bloat_limits(report.server.generation)
    by: dict[str, list[CatalogRow]] = defaultdict(list)
    for row in report.catalogs:
        if row.reclaimable_bytes is not None:
            by[row.relation].append(row)
    out = []
    for relation, rows in by.items():
        worst = max(rows, key=lambda r: r.reclaimable_bytes or 0)
        reclaimable = worst.reclaimable_bytes or 0
        if reclaimable < WORTH_ANY or (worst.bloat or 1) < 1.3:
            continue
        heap = max((r.heap_reclaimable or 0) for r in rows)
        heap_row = max(rows, key=lambda r: r.heap_reclaimable or 0)
        heap_bloat = heap_row.heap_bytes / max(
            1, heap_row.heap_bytes - (heap_row.heap_reclaimable or 0)
        )
        full = not worst.shared and (
            (heap >= WORTH_FULL and heap_bloat > moderate.value)
            or (heap >= WORTH_FULL // 16 and heap_bloat > significant.value)
        )
        index_reclaimable = reclaimable - (worst.heap_reclaimable or 0)
        out.append(
            Treatment(
                relation=relation,
                full=full,
                reindex=not full and index_reclaimable >= WORTH_ANY // 2,
                needed=worst.needed_bytes or 0,
                reclaimable=reclaimable,
                bloat=worst.bloat or 1.0,
                content=worst.content,
            )
        )
    return sorted(out, key=lambda t: -t.reclaimable)


def _since_17(report: Report) -> list[str]:
    """Settings of PostgreSQL 17 and later. Since version 17, REINDEX runs event triggers, whose
    functions may belong to anybody.
    """
    server = generations.find(report.server.generation)
    if server is None or server.greenplum or server.base < 17:
        return []
    return [
        "SET transaction_timeout = 0;",
        (
            "-- since version 17, REINDEX runs event triggers: functions of other roles would"
            " run with the privileges of the role that runs this script"
        ),
        "DO $gpcatalog$",
        "BEGIN",
        (
            "    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolsuper AND r.rolname IN"
            " (current_user, session_user)) THEN"
        ),
        "        PERFORM pg_catalog.set_config('event_triggers', 'off', false);",
        "    END IF;",
        "END",
        "$gpcatalog$;",
    ]


def _comment(lines: Iterable[str]) -> list[str]:
    """Format lines as SQL comments; nothing in them can end the comment."""
    return [f"-- {printable(line)}".rstrip() for line in lines]


def _locks(server: ServerFacts, full: list[Treatment]) -> list[str]:
    """What the statements block, and what VACUUM FULL may damage; full: catalogs with VACUUM
    FULL.
    """
    found = [
        "Locks:",
        ("  REINDEX      blocks writers of that catalog (all DDL) and queries that use the index"),
        (
            "               It would wait for transactions with DDL that are open or prepared: the"
            " script skips it then"
        ),
        "  VACUUM       blocks only another VACUUM",
    ]
    if full:
        found += [
            (
                "  VACUUM FULL  AccessExclusive on the catalog: every statement that needs"
                " planning waits. Run it at a quiet"
            ),
            "               time. It rebuilds the indexes, so no REINDEX is needed before it",
            "",
            "Catalogs that get VACUUM FULL: "
            + ", ".join(f"{t.relation} ({t.bloat:.1f} ×)" for t in full),
        ]
        known = vacuum_full.hazards(server)
        if known:
            found += ["", "Known problems of VACUUM FULL on catalogs of this version:"]
            found += [f"  {h.text} ({h.source})" for h in known]
    return found


def _time(live: int) -> list[str]:
    """Estimated time, from the bytes of live rows and indexes on one instance."""
    slow, median, fast = rates()
    return [
        (
            f"Estimated time: {duration(live / median)} ({duration(live / fast)} to"
            f" {duration(live / slow)}), for {size(live)} of live rows and indexes per instance"
            f" at {size(slow)} to {size(fast)} per second, the middle half of published runs"
        ),
        (
            f"({limits.VACUUM_FULL_SOURCE}; the time depends on the live size and the disks, not"
            " on the bloat). Segments work in parallel."
        ),
    ]


def _head(report: Report, todo: list[Treatment], window: Window) -> list[str]:
    """The head of the script, as lines: what it does, why, its locks and its time."""
    full = [t for t in todo if t.full]
    head = [
        (
            f"Frees about {size(sum(t.reclaimable for t in todo))} on the worst instance"
            " (estimate from sampled widths)."
        ),
        "Run as superuser or owner of the database, outside a transaction block:",
        "    psql -X -v ON_ERROR_STOP=1 -f FILE",
        "The script can be stopped and run again at any point: the statements are independent.",
        *window.head(),
        "",
        *_locks(report.server, full),
        "",
        *_time(sum(t.needed for t in full) or sum(t.needed for t in todo)),
    ]
    holders = sorted(
        (h for h in report.holders if h.xid_age), key=lambda h: (-(h.xid_age or 0), h.name)
    )
    if holders:
        head += ["", "At the time of the snapshot, VACUUM could not remove dead rows because of"]
        head += [
            f"  {h.holder} {h.name} ({plural(h.xid_age or 0, 'transaction')})"
            for h in holders[:HOLDERS]
        ]
        if len(holders) > HOLDERS:
            head += [f"  and {len(holders) - HOLDERS} more"]
        head += ["End them first: less is freed as long as one of them is there."]
    return head


HOLDERS = 10  # that the head of the script names
ROW_ORDER = "order of the rows that a session start needs"


def _session(report: Report, window: Window) -> list[str]:
    """Settings of the session, and checks that may end the script."""
    return [
        *alone(),
        "SET statement_timeout = 0;",
        (
            "-- the script ends if it cannot get a lock within this time; run it again at a"
            " quieter time"
        ),
        "SET lock_timeout = '60s';",
        "SET client_min_messages = warning;",
        "SET search_path = pg_catalog, pg_temp;",
        *_since_17(report),
        *window.begin(report.taken.taken_at),
    ]


def _statements(report: Report, todo: list[Treatment], window: Window) -> list[str]:
    """Settings, then indexes, dead rows and statistics.

    In a window, a catalog is treated completely before the next one, those with the most
    reclaimable bytes first.
    """
    lines = [
        *_session(report, window),
        *(vacuum_full.settings() if any(t.full for t in todo) else []),
    ]
    if isinstance(window, NoWindow):
        reindex = [
            line
            for t in todo
            if t.reindex
            for line in window.reindex(f"REINDEX TABLE {_name(t)}", 0)
        ]
        lines += ["", "-- 1. indexes", *(reindex or ["-- no index needs REINDEX"])]
        lines += ["", "-- 2. dead rows"]
        lines += [f"{_vacuum(t)};  -- {_gain(t)}" for t in todo]
        comments, block = vacuum_full.row_order(report.server)
        lines += ["", f"-- 3. {ROW_ORDER}", *comments, f"{block};"]
        lines += ["", "-- 4. statistics"]
        return [*lines, *(f"ANALYZE {_name(t)};" for t in todo)]
    slow = rates()[0]
    for t in todo:
        # VACUUM FULL writes only live rows; the other statements also read dead rows
        seconds = (t.needed + t.reclaimable) / slow
        lines += ["", f"-- {printable(t.relation)}: {_gain(t)}"]
        if t.reindex:
            lines += window.reindex(f"REINDEX TABLE {_name(t)}", seconds)
        lines += window.gated(_vacuum(t), t.needed / slow if t.full else seconds)
        lines += window.gated(f"ANALYZE {_name(t)}", seconds)
    return [*lines, "", *_row_order(report, window)]


def _row_order(report: Report, window: Window) -> list[str]:
    """Statements that check the order of the rows that a session start needs, and move them back.

    CLUSTER takes about as long as VACUUM FULL of pg_attribute. On Greenplum, the statement only
    warns, so it always runs.
    """
    comments, block = vacuum_full.row_order(report.server)
    if generations.is_greenplum(report.server.generation):
        return [f"-- {ROW_ORDER}", *comments, f"{block};"]
    needed = [
        r.needed_bytes
        for r in report.catalogs
        if r.relation == "pg_attribute" and r.needed_bytes is not None
    ]
    seconds = max(needed) / rates()[0] if needed else None
    return [f"-- {ROW_ORDER}", *comments, *window.gated(block, seconds, ROW_ORDER)]


def _name(one: Treatment) -> str:
    return qualified("pg_catalog", one.relation)


def _vacuum(one: Treatment) -> str:
    return f"VACUUM {'FULL ' if one.full else ''}{_name(one)}"


def _gain(one: Treatment) -> str:
    return f"{size(one.reclaimable)} reclaimable, {one.bloat:.1f} ×"


def _auxiliary(report: Report, window: Window) -> list[str]:
    """Statements for bloated auxiliary relations of append-optimized tables."""
    worth = [
        a
        for a in (report.auxiliary.relations if report.auxiliary is not None else ())
        if (a.worst_reclaimable or 0) >= WORTH_ANY
        and (a.bloat or 1) >= 1.3
        and AUXILIARY_NAME.fullmatch(a.relation)
    ]
    if not worth:
        return []
    rewritten = {(a.schema, a.name, a.kind) for a in worth}
    lines = _comment(
        [
            "Auxiliary relations of append-optimized tables. VACUUM FULL takes an AccessExclusive",
            "lock on the auxiliary relation only. Statements on the table wait until it ends.",
        ]
    )
    for a in worth:
        heap = next((kind for kind, index in INDEX_OF.items() if index == a.kind), "")
        if (a.schema, a.name, heap) in rewritten:
            continue  # VACUUM FULL rebuilds the index
        schema, _, name = a.relation.partition(".")
        verb = "REINDEX INDEX" if heap else "VACUUM FULL"
        what = f"{a.kind} of {a.schema}.{a.name}: {size(a.worst_reclaimable or 0)} reclaimable"
        why = f"{printable(what)}, {a.bloat or 1:.1f} ×, on segment {a.worst_content}"
        bytes_read = a.worst_bytes if heap else a.worst_needed
        seconds = None if bytes_read is None else bytes_read / rates()[0]
        statement = window.gated(f"{verb} {qualified(schema, name)}", seconds)
        lines += [f"{statement[0]}  -- {why}"] if len(statement) == 1 else [f"-- {why}", *statement]
    return lines


def _displaced(report: Report) -> bool:
    """Whether the rows that a session start needs are displaced on some instance."""
    limit = limits.BOOTSTRAP_ROWS_DISPLACED.value
    return any(s.bytes >= limit for s in report.session_starts or ())


def _without_catalogs(report: Report, auxiliary: list[str], window: Window) -> list[str]:
    """The script without catalogs to treat."""
    head = ["No catalog has enough reclaimable bytes to justify the locks."]
    row_order: list[str] = []
    if _displaced(report):
        head += [
            "Session starts are slow: the rows of pg_attribute that they need first are not in front."
        ]
        row_order = ["", *_row_order(report, window)]
    if auxiliary:
        head += ["Auxiliary relations of append-optimized tables are bloated."]
    elif not row_order:
        return _comment([f"{head[0].rstrip('.')}, so there is nothing to do."])
    head += [
        "Run as superuser, outside a transaction block, at a quiet time:",
        "    psql -X -v ON_ERROR_STOP=1 -f FILE",
    ]
    return [*_comment([*head, *window.head()]), "", *_session(report, window), *row_order]


def script(report: Report, window_seconds: float | None = None) -> str:
    """The script: a head with purpose, reason, locks and time, then the statements in the
    documented order.

    window_seconds: no step begins that would not end within this time; None: no window
    If there is nothing to do, the script states this and contains no statement.
    """
    window = NoWindow() if window_seconds is None else Window(window_seconds)
    todo = treatments(report)
    auxiliary = _auxiliary(report, window)
    server = report.server
    title = [
        f"Catalog maintenance of database {server.database}, {server.product} {server.version}",
        (
            f"written by gpcatalog {report.taken.gpcatalog_version} from snapshot"
            f" {report.taken.snapshot_id} of {report.taken.taken_at:%Y-%m-%d %H:%M} UTC"
        ),
        *(
            ["That server was a standby. Run this script on its primary; a standby refuses it."]
            if server.standby
            else []
        ),
        "",
    ]
    if todo:
        head = _comment([*title, *_head(report, todo, window)])
        lines = [*head, "", *_statements(report, todo, window)]
    else:
        lines = [*_comment(title), *_without_catalogs(report, auxiliary, window)]
    if auxiliary:
        lines += ["", *auxiliary]
    return "\n".join(lines) + "\n"
