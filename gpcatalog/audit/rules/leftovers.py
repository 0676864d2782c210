"""Rules about old transactions, temporary relations and failed segments."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.catalogs import bloated, holders_of_rows
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration, plural

OLD_SECONDS = 3600.0  # shortest duration of a transaction that is reported
OLD_TRANSACTIONS = 1_000_000  # lowest xid age that is reported


@rule("catalog-horizon-held", Harm.SLOW, own_remedy=True)
def catalog_horizon_held(report: Report) -> Iterator[Finding]:
    """An old transaction prevents VACUUM from removing dead catalog rows.

    What it finds: transactions and prepared transactions older than one hour, and replication slots
    with an xid age of a million or more; an xid age of 1,000 is sufficient if the bloat of a
    catalog is worth a warning.
    Why it matters: VACUUM cannot remove a row that the oldest snapshot may still need, so the
    catalogs grow.
    How sure it is: read from the server's views. Without pg_read_all_stats, the duration of other
    roles' sessions is unknown; on Greenplum 6, only superusers see their transactions.
    What to do: end the session, commit or roll back the prepared transaction, or drop the unused
    slot; if the slot is active, end the old transaction on its standby, which an audit there names.
    """
    harmful = holders_of_rows(report) if bloated(report) else []
    for holder in report.holders:
        old = (holder.seconds or 0) > OLD_SECONDS or (holder.xid_age or 0) > OLD_TRANSACTIONS
        if not old and holder not in harmful:
            continue
        where = f" on segment {holder.content}" if holder.content >= 0 else ""
        since = f" for {duration(holder.seconds)}" if holder.seconds else ""
        remedy = {
            "session": f"wait for it, or end it: SELECT pg_terminate_backend({holder.name})",
            "prepared transaction": "ask its owner, then run COMMIT PREPARED or ROLLBACK PREPARED",
            "replication slot": (
                "end the old transaction on its standby (an audit of the standby names it), or wait"
                " until its consumer has caught up"
                if holder.detail == "active"
                else "restart its consumer, or drop the slot: SELECT pg_drop_replication_slot(…)"
            ),
        }[holder.holder]
        yield Finding(
            rule="catalog-horizon-held",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"{holder.holder} {holder.name}{where} has prevented VACUUM from removing dead"
                f" rows{since}"
                + ("" if holder.xid_age is None else f" ({plural(holder.xid_age, 'transaction')})")
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
            figures=tuple(
                Figure(name, value, unit, "measured")
                for name, value, unit in (
                    ("age", holder.xid_age, "transactions"),
                    ("open for", holder.seconds, "s"),
                )
                if value is not None
            ),
            source="pg_stat_activity, pg_prepared_xacts, pg_replication_slots",
            content=holder.content,
        )


@rule("leftover-temp-schemas", Harm.SPACE)
def leftover_temp_schemas(report: Report) -> Iterator[Finding]:
    """Temporary schemas of ended sessions still contain relations.

    What it finds: pg_temp_N and pg_toast_temp_N schemas that contain relations although their
    session has ended.
    Why it matters: their rows stay in the catalogs of all instances, their files on disk, and they
    hold back the oldest xid.
    How sure it is: high where the server shows which session a schema belongs to (Greenplum,
    PostgreSQL 16 and later). Other versions are not checked.
    What to do: drop them at a quiet time (DROP SCHEMA … CASCADE as superuser).
    """
    dead = [t for t in report.temp_schemas if t.alive is False and t.relations]
    if dead:
        total = sum(t.relations for t in dead)
        yield Finding(
            rule="leftover-temp-schemas",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"{plural(len(dead), 'temporary schema')} of ended sessions still"
                f" {'contains' if len(dead) == 1 else 'contain'} {plural(total, 'relation')}"
            ),
            detail="Largest: "
            + ", ".join(f"{t.schema} {count(t.relations)}" for t in dead[:3])
            + ".",
            remedy="as superuser, at a quiet time: "
            + "; ".join(f"DROP SCHEMA {t.schema} CASCADE" for t in dead[:2]),
            relations=tuple(t.schema for t in dead[:10]),
            relations_total=len(dead),
            figures=(Figure("relations", total, "rows", "counted"),),
            source="pg_namespace, pg_stat_activity",
        )


@rule("temp-table-churn", Harm.UPKEEP)
def temp_table_churn(report: Report) -> Iterator[Finding]:
    """Temporary relations are a large part of the catalog.

    What it finds: temporary relations that are more than a tenth of pg_class on the coordinator or
    server.
    Why it matters: each one adds and removes rows of pg_class, pg_attribute, pg_type and pg_depend
    on every instance. Temporary tables are the most frequent cause of catalog bloat.
    How sure it is: medium: counted at one moment.
    What to do: reuse temporary tables (TRUNCATE instead of CREATE and DROP), or use WITH queries.
    """
    kinds = report.temporary_relations
    entry = next((t for t in report.instance_totals if t.content == -1), None)
    if entry is not None and kinds > 100 and kinds * 10 > entry.class_rows:
        yield Finding(
            rule="temp-table-churn",
            severity=Severity.NOTICE,
            confidence=Confidence.MEDIUM,
            title=(
                f"{count(kinds)} of {count(entry.class_rows)} rows in pg_class are temporary"
                " relations"
            ),
            detail="Counted at the time of the audit.",
            remedy="reuse temporary tables (TRUNCATE) instead of creating them each time",
            figures=(Figure("temporary relations", kinds, "rows", "counted"),),
            source="pg_class.relpersistence",
        )


@rule("segment-down", Harm.OUTAGE)
def segment_down(report: Report) -> Iterator[Finding]:
    """An instance is down, not in sync or not in its preferred role.

    What it finds: rows of gp_segment_configuration with status d, roles swapped by a failover, and
    probes that failed because a segment did not answer.
    Why it matters: an instance that is down is missing in this report. After a failover one host
    does the work of two.
    How sure it is: high: read from the coordinator's own list.
    What to do: run gprecoverseg, then gprecoverseg -r to restore the roles.
    """
    for one in report.instances:
        name = f"content {one.content} on {one.hostname}:{one.port}"
        if one.status == "d":
            yield Finding(
                rule="segment-down",
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                title=f"the {'mirror' if one.role == 'm' else 'primary'} of {name} is down",
                detail="Its catalog is not in this report.",
                remedy="run gprecoverseg",
                source="gp_segment_configuration",
                content=one.content,
            )
        elif one.role != one.preferred_role:
            yield Finding(
                rule="segment-down",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                title=f"{name} is not in its preferred role after a failover",
                detail=f"Role {one.role}, preferred role {one.preferred_role}.",
                remedy="run gprecoverseg -r at a quiet time",
                source="gp_segment_configuration",
                content=one.content,
            )
    lost = [c for c in report.coverage if c.status == "segment down"]
    if lost:
        yield Finding(
            rule="segment-down",
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            title=f"{plural(len(lost), 'probe')} failed because a segment did not answer",
            detail=lost[0].reason,
            remedy=(
                "run gpstate -e and read the segment's log; audit again when all segments are up"
            ),
            source="errors of the probes",
        )
