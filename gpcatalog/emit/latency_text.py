"""Latency for people: what took how long, what would not fit, what the active probe left."""

from __future__ import annotations

from rich.console import Console

from gpcatalog.emit.terminal import table, text
from gpcatalog.latency.result import Latency
from gpcatalog.model.quantity import count, duration, size
from gpcatalog.model.timing import Timing

_TITLES = {
    "connect": "connect, first answer",
    "scan": "catalog scan, entry instance",
    "scan dispatched": "catalog scan, all segments",
    "describe": r"\d without a name",
    "plan": "plan, fresh session:",
    "plan again": "plan again:",
    "relation cache": "relation cache:",
}
_ACTIVE = ("create", "add column", "drop", "rollback")


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 1000 else duration(value / 1000)


def _row(title: str, t: Timing) -> tuple[str, ...]:
    return (title, str(t.n), _ms(t.min_ms), _ms(t.median_ms), _ms(t.p95_ms))


def show(latency: Latency, out: Console) -> None:
    """Print the whole of it."""
    out.print(
        text(
            f"{latency.product} {latency.version} · {latency.database} on"
            f" {latency.host or 'local'}:{latency.port}",
            "bold",
        )
    )
    out.print(
        text(
            f"{latency.taken_at:%Y-%m-%d %H:%M} UTC, {count(latency.partitions)} partitions (leaves"
            " and plain tables)"
        )
    )
    rows = []
    for t in latency.timings:
        title = _TITLES.get(t.what)
        if title and t.min_ms is not None:
            rows.append(
                _row(
                    f"{title} {t.subject} ({count(t.leaves or 0)} leaves)" if t.subject else title,
                    t,
                )
            )
    heads = ("n", "least", "median", "p95")
    out.print()
    out.print(table("", ("Passive", *heads), rows))
    active = [_row(f"{t.what} {t.subject}", t) for t in latency.timings if t.what in _ACTIVE]
    if active:
        out.print()
        out.print(table("", ("Active, rolled back", *heads), active))
    if any(t.n < 20 for t in latency.timings if t.min_ms is not None):
        out.print(text("with fewer than 20 measurements p95 is the slowest.", "dim"))
    _left(latency, out)
    _statements(latency, out)
    _log(latency, out)
    _activity(latency, out)
    _locks(latency, out)
    for probe, reason in latency.not_read:
        out.print(text(f"not read: {probe}: {reason}", "yellow"))


def _left(latency: Latency, out: Console) -> None:
    if not latency.left:
        return
    rows = [
        (
            "coordinator" if one.content == -1 else f"segment {one.content}",
            count(one.predicted_total),
            count(one.counted_total) if one.counted_total is not None else "not counted",
            "yes" if one.equal else "no" if one.counted is not None else "",
            size(one.predicted_bytes),
        )
        for one in latency.left
    ]
    out.print()
    out.print(
        table(
            "",
            (
                f"Dead rows left by {latency.rounds} rounds",
                "predicted",
                "counted",
                "equal",
                "bytes (estimate)",
            ),
            rows,
        )
    )
    if latency.stopped:
        out.print(
            text(
                f"ended early: {latency.stopped}; what the round that was cut off left is not"
                " in it",
                "yellow",
            )
        )
    out.print(text("VACUUM of the catalogs makes their room usable again.", "dim"))


def _statements(latency: Latency, out: Console) -> None:
    rows = [
        (t.subject, count(t.n), _ms(t.min_ms), _ms(t.mean_ms))
        for t in latency.timings
        if t.what == "statement"
    ]
    if rows:
        out.print()
        out.print(table("", ("pg_stat_statements", "calls", "least", "mean"), rows[:10]))


def _log(latency: Latency, out: Console) -> None:
    titles = {
        "log statement": "",
        "log lock wait": "waited long for ",
        "log lock got": "got after waiting ",
        "log cancelled": "cancelled by ",
    }
    rows = [
        (titles[t.what] + t.subject, count(t.n), _ms(t.min_ms), _ms(t.median_ms), _ms(t.p95_ms))
        for t in latency.timings
        if t.what in titles
    ]
    if not rows and latency.log_hours is None:
        return
    span = (
        f"the last {latency.log_hours:g} h"
        if latency.log_hours is not None
        else "when the snapshot was taken"
    )
    out.print()
    if rows:
        out.print(table("", (f"Server log, {span}", "logged", "least", "median", "p95"), rows))
    elif not any(probe == "server_log" for probe, _ in latency.not_read):
        out.print(text(f"the server's log tells of no DDL of this database in {span}"))
    if latency.log_settings:
        out.print(
            text(
                "coordinator's log, of this database; durations where it holds them:"
                f" {latency.log_settings}.",
                "dim",
            )
        )


def _activity(latency: Latency, out: Console) -> None:
    rows = [
        (
            f"{a.command} (pid {a.pid}, {a.role}, {a.database})",
            a.blocked_by and f"waits for {a.blocked_by}",
            duration(a.seconds),
        )
        for a in latency.activity
    ]
    if rows:
        out.print()
        out.print(table("", ("DDL at this moment", "", "since"), rows, left=2))


def _locks(latency: Latency, out: Console) -> None:
    slots = latency.locks
    if not slots.needs:
        return
    rows, styles = [], []
    for need in slots.needs[:8]:
        share = f"{need.share:.1%}" if need.share is not None else "?"
        rows.append((f"{need.statement} {need.table}", count(need.locks), share))
        styles.append(
            "bold red" if (need.share or 0) > 1 else "yellow" if (need.share or 0) > 0.5 else ""
        )
    out.print()
    have = count(slots.slots) if slots.slots is not None else "?"
    out.print(
        table("", (f"Locks of {have} slots, entry instance", "needs", "share"), rows, styles=styles)
    )
    out.print(
        text(
            f"slots: {slots.source}, shared by all sessions; needs are derived by the cost model.",
            "dim",
        )
    )
