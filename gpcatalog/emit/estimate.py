"""The text of an estimate: the cost of tables of one shape in each storage type."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from gpcatalog.capacity.durations import SOURCE as TIME_SOURCE
from gpcatalog.capacity.estimate import Estimate, StorageCost
from gpcatalog.capacity.memory import SOURCE as MEMORY_SOURCE
from gpcatalog.emit.action_titles import TITLES, plain_title
from gpcatalog.emit.terminal import table, text
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.quantity import count, duration, plural, size

_CATALOGS = 8  # catalogs listed by name; the others are summed
_STATEMENTS = {
    "create": "CREATE",
    "select": "SELECT, all leaves",
    "insert": "INSERT, all leaves",
    "truncate": "TRUNCATE",
    "drop": "DROP",
    "backup": "pg_dump",
}


def subject(estimate: Estimate) -> str:
    """The subject of the estimate, in one line."""
    words = [estimate.table or plural(estimate.tables, "table")]
    if estimate.leaves:
        words.append(
            plural(estimate.leaves, "leaf", "leaves") + (" each" if estimate.tables > 1 else "")
        )
    if estimate.intermediates:
        words.append(plural(estimate.intermediates, "intermediate"))
    words.append(
        plural(estimate.columns, "column")
        + (f" and {count(estimate.dropped)} dropped" if estimate.dropped else "")
        + (f", {count(estimate.not_null)} of them NOT NULL" if estimate.not_null else "")
        + (f", {plural(estimate.defaults, 'default')}" if estimate.defaults else "")
        + (f", {plural(estimate.checks, 'CHECK constraint')}" if estimate.checks else "")
    )
    if estimate.indexes:
        words.append(plural(estimate.indexes, "index", "indexes"))
    where = ""
    if estimate.segments:
        where = f" on {plural(estimate.segments, 'segment')}{' with mirrors' if estimate.mirrors else ''}"
    return ", ".join([*words, estimate.storages[0].storage]) + where


def sentence(estimate: Estimate) -> str:
    """The result in a few sentences, one for each storage type.

    For the requested storage: rows per instance, also those of the leaves only, and files; for the
    others the same in a shorter form.
    """
    chosen, *others = estimate.storages
    leaves = estimate.leaf_rows
    alone = (
        f" ({count(leaves['pg_class'])} and {count(leaves['pg_attribute'])} for the leaves only)"
        if leaves
        else ""
    )
    clauses = [
        (
            f"{subject(estimate)}: {_rows(chosen)} rows per instance{alone},"
            f" {_files(estimate, chosen)}"
        )
    ]
    clauses += [
        f"as {other.storage}: {_rows(other)} rows, {_files(estimate, other)}" for other in others
    ]
    return "; ".join(clauses) + "."


def _rows(cost: StorageCost) -> str:
    return (
        f"{count(cost.segment.get('pg_class', 0))} pg_class and"
        f" {count(cost.segment.get('pg_attribute', 0))} pg_attribute"
    )


def _files(estimate: Estimate, cost: StorageCost) -> str:
    if estimate.segments:
        return (
            f"{count(cost.segment_files.filled)} files per segment and"
            f" {count(cost.cluster_files.filled)} in total when filled"
        )
    return f"{count(cost.segment_files.filled)} files when filled"


def show(estimate: Estimate, out: Console) -> None:
    """Print the whole estimate."""
    chosen = estimate.storages[0]
    greenplum = is_greenplum(estimate.server)
    one = "a segment" if greenplum else "the server"
    out.print(text(f"Estimate for {estimate.title} ({estimate.source})", "bold"))
    out.print(text(sentence(estimate)))
    out.print()
    out.print(_catalog(estimate, one))
    out.print()
    out.print(_on_one(estimate, one))
    if estimate.segments:
        out.print()
        out.print(_on_all(estimate))
    both = ("coordinator", "segment") if greenplum else ("server", "")
    out.print()
    out.print(_two(f"Rows by catalog, {chosen.storage}", both, _by_catalog(chosen)))
    out.print()
    held = [
        (_STATEMENTS[x.statement], count(x.coordinator), count(x.segment)) for x in chosen.locks
    ]
    out.print(_two(f"Locks of a statement on one table, {chosen.storage}", both, held))
    out.print()
    if chosen.memory:
        out.print(_memory(estimate, both))
        out.print()
    if chosen.seconds:
        out.print(_seconds(estimate))
        out.print()
    _removal(estimate, chosen, greenplum, out)
    out.print()
    out.print(text(f"Catalog bytes: live rows without bloat; {estimate.bytes_source}.", "dim"))
    added = (
        f"{estimate.query_ms:,.0f} ms" if estimate.query_ms >= 10 else f"{estimate.query_ms:.1f} ms"
    )
    out.print(
        text(
            f"A catalog scan takes about {added} longer (estimate; {estimate.query_source}, one"
            " test cluster).",
            "dim",
        )
    )
    if chosen.memory:
        out.print(text(f"Memory of sessions: {MEMORY_SOURCE}.", "dim"))
    if chosen.seconds:
        out.print(text(f"Time of statements: {TIME_SOURCE}.", "dim"))
    for note in estimate.notes:
        out.print(text(note, "yellow"))


def _catalog(estimate: Estimate, one: str) -> Table:
    heads = ("pg_class", "pg_attribute", "all rows", "catalog bytes", "all instances")
    rows = [
        (
            cost.storage,
            count(cost.segment.get("pg_class", 0)),
            count(cost.segment.get("pg_attribute", 0)),
            count(cost.segment_rows),
            size(cost.segment_bytes),
            size(cost.cluster_bytes),
        )
        for cost in estimate.storages
    ]
    return table(f"Catalog rows on {one}; bytes are estimates", ("", *heads), rows)


def _on_one(estimate: Estimate, one: str) -> Table:
    heads = ("empty", "filled", "2 writers", "vacuumed", "× heap", "empty bytes")
    rows = [
        (
            cost.storage,
            count(cost.segment_files.empty),
            count(cost.segment_files.filled),
            count(cost.segment_files.second_writer),
            count(cost.segment_files.vacuumed),
            f"{cost.times_heap:.1f}",
            size(cost.empty_bytes),
        )
        for cost in estimate.storages
    ]
    return table(f"Files on {one}", ("", *heads), rows)


def _on_all(estimate: Estimate) -> Table:
    rows = [
        (
            c.storage,
            count(c.cluster_files.empty),
            count(c.cluster_files.filled),
            _host(c),
            size(c.cluster_empty_bytes),
        )
        for c in estimate.storages
    ]
    return table(
        "Files on all instances", ("", "empty", "filled", "per host, filled", "empty bytes"), rows
    )


def _by_catalog(chosen: StorageCost) -> list[tuple[str, str, str]]:
    named = list(chosen.coordinator)[:_CATALOGS]
    rest = [c for c in {**chosen.coordinator, **chosen.segment} if c not in named]
    rows = [(c, count(chosen.coordinator[c]), count(chosen.segment.get(c, 0))) for c in named]
    if rest:
        here, there = (
            sum(side.get(c, 0) for c in rest) for side in (chosen.coordinator, chosen.segment)
        )
        rows.append((plural(len(rest), "other catalog"), count(here), count(there)))
    return rows


def _seconds(estimate: Estimate) -> Table:
    """A table of the durations of statements, one column for each storage type."""
    leaves = estimate.leaves
    rows = [
        (
            title if leaves else plain_title(action),
            *(duration(cost.seconds.get(action.value)) for cost in estimate.storages),
        )
        for action, title in TITLES.items()
        if action.value in estimate.storages[0].seconds
    ]
    empty = "with empty leaves" if leaves else "without rows"
    title = f"Time of a statement on one table {empty}; estimates"
    return table(title, ("", *(cost.storage for cost in estimate.storages)), rows)


_READS = {"count": "count(*)", "select": "all columns"}


def _memory(estimate: Estimate, both: tuple[str, str]) -> Table:
    rows = [
        (
            f"{cost.storage}, {_READS[kept.reads]}",
            size(kept.coordinator),
            "" if kept.segment is None else size(kept.segment),
        )
        for cost in estimate.storages
        for kept in cost.memory
    ]
    title = "Memory a session keeps at least after a query over all leaves of one table; estimates"
    return _two(title, both, rows)


def _host(cost: StorageCost) -> str:
    return "" if cost.host_files is None else count(cost.host_files)


def _two(title: str, both: tuple[str, str], rows: list[tuple[str, str, str]]) -> Table:
    """A table with two columns of numbers, or with one for a single server."""
    if both[1]:
        return table(title, ("", *both), rows)
    return table(title, ("", both[0]), [row[:2] for row in rows])


def _removal(estimate: Estimate, chosen: StorageCost, greenplum: bool, out: Console) -> None:
    one = "a segment's " if greenplum else ""
    rows = [(x.source, count(x.files_per_second), duration(x.seconds)) for x in chosen.removal]
    out.print(
        table(
            f"Removing {one}{plural(chosen.segment_files.filled, 'filled file')}, {chosen.storage}",
            ("", "files/s", "estimate"),
            rows,
        )
    )
    rates = estimate.unlink_rate
    if rates is not None:
        speed = (
            f"{count(rates.created_per_second)} files/s created,"
            f" {count(rates.removed_per_second)} files/s removed"
        )
        out.print(
            text(
                f"Measured with {plural(rates.files, 'new, small file')}: {speed}. Disks with a"
                " cold cache or other load are slower.",
                "dim",
            )
        )
