"""The limits that apply to a server, with the current values of a report."""

from __future__ import annotations

import msgspec

from gpcatalog.audit.files import LISTED, MANY
from gpcatalog.audit.report import Report, Verdict
from gpcatalog.capacity import limits, wraparound
from gpcatalog.capacity.limits import Limit
from gpcatalog.model import generations

NEAR = 0.8  # lowest share of a limit with the state "near"


def bloat_limits(generation: str) -> tuple[Limit, Limit]:
    """The (moderate, significant) bloat factors of this generation, as in the code of
    gp_bloat_diag.
    """
    found = generations.find(generation)
    return {
        "gp6": (limits.BLOAT_MODERATE_GP6, limits.BLOAT_SIGNIFICANT_GP6),
        "gp7": (limits.BLOAT_MODERATE_GP7, limits.BLOAT_SIGNIFICANT_GP7),
        # PostgreSQL publishes no factors: the documented factors of Greenplum are used and named
        "docs": (limits.BLOAT_MODERATE_DOCS, limits.BLOAT_SIGNIFICANT_DOCS),
    }[found.bloat_factors if found else "gp7"]


def verdict(
    what: str,
    value: float | None,
    limit: Limit,
    *,
    note: str = "",
    bound: float | None = None,
    source: str = "",
) -> Verdict:
    """Compare a value with its limit. bound: a setting of the server that replaces the published
    value.
    """
    most = limit.value if bound is None else bound
    share = value / most if value is not None and most else None
    state = (
        "not measured"
        if share is None
        else "over"
        if share > 1
        else "near"
        if share >= NEAR
        else "ok"
    )
    return Verdict(
        id=limit.id,
        what=what,
        value=value,
        limit=most,
        unit=limit.unit,
        share=share,
        state=state,
        source=source or limit.source,
        note=note or limit.note,
    )


def verdicts(report: Report) -> Report:
    """Return the report with its verdicts."""
    greenplum = generations.is_greenplum(report.server.generation)
    out = [
        *(_partition_counts(report) if greenplum else ()),
        *(_append_optimized(report) if greenplum else ()),
        *_bloat(report),
        *_lock_slots(report),
        *_session_start(report),
        *_session_memory(report),
        *_ages(report),
        *(_files(report) if greenplum else ()),
    ]
    return msgspec.structs.replace(report, verdicts=tuple(out))


def _partition_counts(report: Report) -> list[Verdict]:
    """The guidelines of Greenplum for numbers of partitions."""
    census = report.census
    return [
        verdict(
            "column-oriented leaves",
            census.leaves_ao_column if census else None,
            limits.LEAVES_CEILING_AOCO,
            note="with 100 concurrent sessions",
        ),
        verdict(
            "tables and leaf partitions",
            census.partitions_metric if census else None,
            limits.LEAVES_CEILING_AO_ROW,
            note="with 500 concurrent sessions, row-oriented, NVMe",
        ),
        verdict(
            "leaves of the largest table",
            census.leaves_per_table_max if census else None,
            limits.LEAVES_PER_TABLE,
        ),
        verdict(
            "partitions in one level of a table",
            (census.widest_level or None) if census else None,
            limits.LEAVES_PER_LEVEL,
        ),
    ]


def _append_optimized(report: Report) -> list[Verdict]:
    """The limit max_appendonly_tables, which only Greenplum 6 has."""
    setting = limits.whole_number(report.settings.get("max_appendonly_tables"))
    if setting is None or not generations.is_classic(report.server.generation):
        return []
    ao = [
        c
        for c in (report.census.counts if report.census else ())
        if c.storage in ("ao_row", "ao_column") and c.kind in ("leaf", "table")
    ]
    filled = (
        sum(c.relations - (c.empty or 0) for c in ao)
        if report.census and all(c.empty is not None for c in ao)
        else None
    )
    return [
        verdict(
            "append-optimized tables with rows",
            filled,
            limits.MAX_APPENDONLY_TABLES,
            bound=float(setting),
            source="max_appendonly_tables of this server",
            note="upper bound: only tables with concurrent writes count",
        )
    ]


def _bloat(report: Report) -> list[Verdict]:
    """The catalog bloat of the worst instance, and the days since the last VACUUM of
    pg_attribute.
    """
    _, significant = bloat_limits(report.server.generation)
    worst = max((t.bloat for t in report.instance_totals), default=None)
    out = [
        verdict(
            "catalog bloat of the worst instance" if report.server.segments else "catalog bloat",
            worst,
            significant,
            note="bytes / bytes needed, sum of all catalogs",
        )
    ]
    vacuumed = [
        r.last_vacuum
        for r in report.catalogs
        if r.relation == "pg_attribute" and r.last_vacuum is not None
    ]
    if vacuumed:
        days = (report.taken.taken_at - min(vacuumed)).total_seconds() / 86400
        out.append(
            verdict(
                "days since the last VACUUM of pg_attribute", days, limits.CATALOG_VACUUM_LATEST
            )
        )
    return out


def _lock_slots(report: Report) -> list[Verdict]:
    """The locks of dropping or truncating the widest table. Empty if the size of the lock table is
    unknown.
    """
    slots, most = limits.lock_slots(report.settings), report.most_locks
    if slots is None or most is None:
        return []
    return [
        Verdict(
            id="lock-slots",
            what=f"lock slots to {most.statement} {most.schema}.{most.name}",
            value=most.locks,
            limit=slots,
            unit="locks",
            share=most.locks / slots,
            state="over" if most.locks > slots else "near" if most.locks >= NEAR * slots else "ok",
            source=limits.LOCK_SLOTS_SOURCE,
            note=(
                "estimate: leaves, indexes, auxiliary relations; for DROP also row types, constraints"
                " and defaults; all sessions share the slots"
            ),
        )
    ]


def _has_probe(report: Report, probe: str) -> bool:
    """Whether the snapshot was taken with this probe; older versions of gpcatalog do not have
    it.
    """
    return any(c.probe == probe for c in report.coverage)


def _session_start(report: Report) -> list[Verdict]:
    """The bytes of pg_attribute that a session start reads on the worst instance."""
    if not _has_probe(report, "session_start"):
        return []
    return [
        verdict(
            "pg_attribute read by a session start",
            max((s.bytes for s in report.session_starts or ()), default=None),
            limits.BOOTSTRAP_ROWS_DISPLACED,
            note="without pg_internal.init, on the worst instance",
        )
    ]


def _session_memory(report: Report) -> list[Verdict]:
    """The memory of a plan over all leaves of the widest table, if statement_mem limits it."""
    memory = report.session_memory
    if memory is None or memory.statement_mem is None or memory.widest is None:
        return []
    if report.settings.get("optimizer") == "on":
        return []  # plans of GPORCA have one operator for all leaves
    return [
        verdict(
            f"statement_mem for a query over {memory.widest.schema}.{memory.widest.name}",
            memory.widest.statement_mem,
            limits.STATEMENT_MEM,
            bound=memory.statement_mem,
            source="statement_mem of this server",
            note="100 KB for each leaf; above the limit the statement fails",
        )
    ]


def _ages(report: Report) -> list[Verdict]:
    """The oldest transaction and multixact of any database, compared with the age at which the
    server refuses new ones.
    """
    if not _has_probe(report, "database_ages"):
        return []
    generation, databases = (
        report.server.generation,
        [a for a in report.ages or () if a.kind == "database"],
    )
    multixacts = [a.multixact_age for a in databases if a.multixact_age is not None]
    out = []
    for word, worst, found in (
        (
            "transaction",
            max((a.xid_age for a in databases), default=None),
            wraparound.transactions(generation, report.settings),
        ),
        (
            "multixact",
            max(multixacts, default=None),
            wraparound.multixacts(generation, report.settings),
        ),
    ):
        if worst is None and databases:
            continue  # Greenplum 6 does not report the age of multixacts
        limit = Limit(f"{word}s-age", found.stop, f"{word}s", found.source)
        note = "of any database on any instance; at the limit the server refuses new ones"
        out.append(verdict(f"age of the oldest {word}", worst, limit, note=note))
    return out


def _files(report: Report) -> list[Verdict]:
    """The guidelines for files.

    The average has a lower limit, so its share is limit / value.
    """
    files = report.files
    if files is None:
        return []
    fullest = max((host.files + host.mirror_files for host in files.hosts), default=None)
    listed = files.basis in LISTED
    out = [
        verdict(
            "files on the host with the most files" + ("" if listed else ", at least"),
            fullest,
            limits.FILES_PER_HOST,
            note="of this database only, mirrors included"
            + ("" if listed else "; files of system catalogs and forks are not counted"),
        )
    ]
    target = limits.AVERAGE_FILE_TARGET_LOW
    if files.average_bytes:
        share = target.value / files.average_bytes
        tolerable = files.average_bytes >= limits.AVERAGE_FILE_TOLERABLE_LOW.value
        # the average size of few files does not matter
        state = "ok" if share <= 1 else "near" if tolerable or files.files < MANY else "over"
        note = f"bytes / files; {limits.AVERAGE_FILE_TARGET.value / limits.MIB:.0f} MB or more is better; irrelevant below {MANY:,} files"
        if files.sample:
            note = f"estimated from 1 in {files.sample.one_in} file numbers; {note}"
        out.append(
            Verdict(
                id=target.id,
                what="average file size",
                value=files.average_bytes,
                limit=target.value,
                unit="bytes",
                share=share,
                state=state,
                source=target.source,
                note=note,
                minimum=True,
            )
        )
    return out
