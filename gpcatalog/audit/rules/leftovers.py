"""Rules about what keeps dead rows alive, and what dead sessions and failovers left behind."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import rule
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration

OLD_SECONDS = 3600.0  # a transaction open for this long is told
OLD_TRANSACTIONS = 1_000_000  # and a slot or prepared transaction that holds back this many


@rule("catalog-horizon-held")
def catalog_horizon_held(report: Report) -> Iterator[Finding]:
    """Something old keeps dead catalog rows alive.

    What it finds: transactions open for more than an hour, prepared transactions of more than an
    hour, replication slots that hold back a million transactions or more.
    Why it matters: VACUUM cannot remove a row that the oldest snapshot might still see; the catalog
    grows whatever is vacuumed.
    How sure it is: read from the server's own lists; without pg_read_all_stats other roles'
    sessions are hidden: see coverage.
    What to do: end the session, commit or roll back the prepared transaction, drop the slot nobody
    reads.
    """
    for holder in report.holders:
        old = (holder.seconds or 0) > OLD_SECONDS or (holder.xid_age or 0) > OLD_TRANSACTIONS
        if not old:
            continue
        where = f" on segment {holder.content}" if holder.content >= 0 else ""
        since = f" for {duration(holder.seconds)}" if holder.seconds else ""
        remedy = {
            "session": f"let it end, or end it: SELECT pg_terminate_backend({holder.name})",
            "prepared transaction": "find its owner, then COMMIT PREPARED or ROLLBACK PREPARED it",
            "replication slot": (
                "start its consumer again, or drop the slot: SELECT pg_drop_replication_slot(…)"
            ),
        }[holder.holder]
        yield Finding(
            rule="catalog-horizon-held",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"{holder.holder} {holder.name}{where} keeps dead rows alive{since}"
                f" ({count(holder.xid_age or 0)} transactions)"
            ),
            detail=" ".join(
                part
                for part in (
                    holder.role and f"role {holder.role}",
                    holder.database and f"database {holder.database}",
                    holder.detail,
                )
                if part
            ),
            remedy=remedy,
            figures=(
                Figure("age", holder.xid_age or 0, "transactions", "measured"),
                Figure("open for", holder.seconds or 0.0, "s", "measured"),
            ),
            source="pg_stat_activity, pg_prepared_xacts, pg_replication_slots",
            content=holder.content,
        )


@rule("leftover-temp-schemas")
def leftover_temp_schemas(report: Report) -> Iterator[Finding]:
    """Temporary schemas of dead sessions still hold relations.

    What it finds: pg_temp_N and pg_toast_temp_N schemas with relations in them whose session is
    gone.
    Why it matters: their rows stay in the catalogs of all instances, their files on disk, and they
    hold back the oldest xid.
    How sure it is: high where the server tells which session a schema belongs to (Greenplum,
    PostgreSQL 16 and later); elsewhere nothing is reported.
    What to do: drop them in a quiet moment (DROP SCHEMA … CASCADE as superuser).
    """
    dead = [t for t in report.temp_schemas if t.alive is False and t.relations]
    if dead:
        total = sum(t.relations for t in dead)
        yield Finding(
            rule="leftover-temp-schemas",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"{count(len(dead))} temporary schemas of dead sessions hold {count(total)}"
                " relations"
            ),
            detail="the largest: "
            + ", ".join(f"{t.schema} {count(t.relations)}" for t in dead[:3])
            + ".",
            remedy="as superuser, in a quiet moment: "
            + "; ".join(f"DROP SCHEMA {t.schema} CASCADE" for t in dead[:2]),
            relations=tuple(t.schema for t in dead[:10]),
            relations_total=len(dead),
            figures=(Figure("relations", total, "rows", "counted"),),
            source="pg_namespace, pg_stat_activity",
        )


@rule("temp-table-churn")
def temp_table_churn(report: Report) -> Iterator[Finding]:
    """Temporary relations are a large part of the catalog right now.

    What it finds: temporary relations that make up more than a tenth of pg_class on the entry
    instance.
    Why it matters: each comes and goes with rows in pg_class, pg_attribute, pg_type and pg_depend
    on every instance; they are what bloats catalogs fastest.
    How sure it is: counted at one moment: medium.
    What to do: reuse temporary tables (TRUNCATE instead of CREATE and DROP), use WITH queries.
    """
    kinds = report.temporary_relations
    entry = next((t for t in report.instance_totals if t.content == -1), None)
    if entry is not None and kinds > 100 and kinds * 10 > entry.class_rows:
        yield Finding(
            rule="temp-table-churn",
            severity=Severity.NOTICE,
            confidence=Confidence.MEDIUM,
            title=(
                f"{count(kinds)} of {count(entry.class_rows)} rows of pg_class are temporary"
                " relations"
            ),
            detail="counted at the moment of the audit.",
            remedy="reuse temporary tables instead of creating them again and again",
            figures=(Figure("temporary relations", kinds, "rows", "counted"),),
            source="pg_class.relpersistence",
        )


@rule("segment-down")
def segment_down(report: Report) -> Iterator[Finding]:
    """An instance is down, out of sync or not in its preferred role.

    What it finds: rows of gp_segment_configuration with status d, roles swapped after a failover,
    mirrors not in sync; and probes that failed because a segment did not answer.
    Why it matters: what is down is not in this report; a swapped pair doubles the work of one host.
    How sure it is: the coordinator's own list; high.
    What to do: gprecoverseg, then gprecoverseg -r to give the roles back.
    """
    for one in report.instances:
        name = f"content {one.content} on {one.hostname}:{one.port}"
        if one.status == "d":
            yield Finding(
                rule="segment-down",
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                title=f"the {'mirror' if one.role == 'm' else 'primary'} of {name} is down",
                detail="its catalog is not in this report.",
                remedy="gprecoverseg",
                source="gp_segment_configuration",
                content=one.content,
            )
        elif one.role != one.preferred_role:
            yield Finding(
                rule="segment-down",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                title=f"{name} is not in its preferred role: a failover happened",
                detail=f"role {one.role}, preferred {one.preferred_role}.",
                remedy="gprecoverseg -r in a quiet moment",
                source="gp_segment_configuration",
                content=one.content,
            )
    lost = [c for c in report.coverage if c.status == "segment down"]
    if lost:
        yield Finding(
            rule="segment-down",
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            title=f"{len(lost)} probes failed because a segment did not answer",
            detail=lost[0].reason,
            remedy=(
                "see gpstate -e and the segment's log; run the audit again when all segments are up"
            ),
            source="the probes' own errors",
        )
