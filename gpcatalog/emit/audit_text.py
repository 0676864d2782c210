"""An audit for people: one or two screens, the verdict first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpcatalog.audit.report import CatalogRow, CatalogSummary, InstanceTotal, Report, Verdict
from gpcatalog.emit.files_text import show_files
from gpcatalog.emit.terminal import table, text
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.quantity import count, duration, plural, size

_STYLE = {
    Severity.CRITICAL: "bold red",
    Severity.WARNING: "yellow",
    Severity.NOTICE: "cyan",
    Severity.INFO: "dim",
}
_STATE = {"over": "bold red", "near": "yellow", "ok": "green", "not measured": "dim"}
CATALOGS_SHOWN = 14
TABLES_SHOWN = 8
SHOWN_SETTINGS = (
    "max_locks_per_transaction",
    "max_connections",
    "max_prepared_transactions",
    "autovacuum",
    "gp_autovacuum_scope",
    "max_appendonly_tables",
    "gp_appendonly_insert_files",
    "default_table_access_method",
    "gp_default_storage_options",
)


def _heading(out: Console, words: str) -> None:
    out.print()
    out.print(Text(words, style="bold"))


def headline(report: Report) -> Text:
    """One line: what was looked at, where and when."""
    server = report.server
    where = f"{server.database} on {server.host or 'local'}:{server.port}"
    when = report.taken.taken_at.strftime("%Y-%m-%d %H:%M UTC")
    return text(f"{server.product} {server.version} · {where} · {when}", "bold")


def _server(report: Report, out: Console) -> None:
    server = report.server
    parts = []
    if server.segments:
        parts.append(
            f"coordinator and {plural(server.segments, 'segment')} on"
            f" {plural(server.hosts, 'host')}"
        )
        parts.append(plural(server.mirrors, "mirror") if server.mirrors else "no mirrors")
    if server.standby:
        parts.append("standby")
    parts.append(f"{size(server.block_size)} blocks")
    if server.database_bytes is not None:
        parts.append(f"database {size(server.database_bytes)}")
    parts.append(
        f"read in {duration(report.taken.seconds)} as {server.role}"
        + (" (superuser)" if server.superuser else "")
    )
    out.print(text(", ".join(parts)))
    shown = []
    for name in SHOWN_SETTINGS:
        value = report.settings.get(name)
        if value:
            shown.append(f"{name} {value}")
    out.print(text(" · ".join(shown), "dim"))


def findings(found: tuple[Finding, ...], out: Console) -> None:
    """Every finding: what, why, what to do, and what it rests on."""
    _heading(out, "Findings")
    if not found:
        out.print(Text("none", style="green"))
    for finding in found:
        body = Text("\n").join(
            [
                text(finding.title),
                *([text(finding.detail, "dim")] if finding.detail else []),
                text(f"→ {finding.remedy}"),
                text(
                    f"{finding.rule}, confidence {finding.confidence.value}"
                    + (f", source: {finding.source}" if finding.source else ""),
                    "dim",
                ),
            ]
        )
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=8)
        grid.add_column()
        grid.add_row(Text(finding.severity.word, style=_STYLE[finding.severity]), body)
        out.print(grid)


def _catalog_line(summary: CatalogSummary, rows: int | None, *, segments: bool) -> tuple[str, ...]:
    """One catalog's line; with segments those of coordinator, median and worst."""
    live = count(rows) if rows is not None else "?"
    reclaim = size(summary.worst_reclaimable) if summary.worst_reclaimable is not None else "?"
    bloat = f"{summary.worst_bloat:.1f}" if summary.worst_bloat is not None else "?"
    if not segments:
        return summary.relation, live, size(summary.worst_bytes), reclaim, bloat
    return (
        summary.relation,
        live,
        size(summary.coordinator_bytes),
        size(summary.median_bytes),
        size(summary.worst_bytes),
        str(summary.worst_content),
        reclaim,
        bloat,
    )


def _sum_line(totals: Sequence[InstanceTotal], *, segments: bool) -> tuple[str, ...] | None:
    """The line of all catalogs together; None where the entry instance has none."""
    entry = next((t for t in totals if t.content == -1), None)
    others = [t for t in totals if t.content >= 0]
    if entry is None:
        return None
    if not (segments and others):
        return (
            "all catalogs",
            "",
            size(entry.bytes),
            size(entry.reclaimable_bytes),
            f"{entry.bloat:.1f}",
        )
    worst = max(others, key=lambda t: t.bytes)
    median = sorted(others, key=lambda t: t.bytes)[(len(others) - 1) // 2]
    return (
        "all catalogs",
        "",
        size(entry.bytes),
        size(median.bytes),
        size(worst.bytes),
        str(worst.content),
        size(worst.reclaimable_bytes),
        f"{worst.bloat:.1f}",
    )


def _catalogs(report: Report, out: Console) -> None:
    """The catalogs by size, all of them together, and what the numbers are."""
    segments = bool(report.server.segments)
    by: dict[tuple[str, int], CatalogRow] = {(r.relation, r.content): r for r in report.catalogs}
    rows: list[tuple[str, ...]] = []
    styles = []
    for summary in report.catalog_summary[:CATALOGS_SHOWN]:
        entry = by.get((summary.relation, -1))
        live = entry.rows if entry else summary.worst_rows
        rows.append(_catalog_line(summary, live, segments=segments))
        styles.append("yellow" if (summary.worst_bloat or 1) > 4 else "")
    total = _sum_line(report.instance_totals, segments=segments)
    if total is not None:
        rows.append(total)
        styles.append("bold")
    out.print()
    heads = (
        ("Catalog", "rows", "coord.", "median", "worst", "seg", "reclaim", "bloat")
        if segments
        else ("Catalog", "rows", "bytes", "reclaimable", "bloat")
    )
    out.print(table("", heads, rows, styles=styles))
    notes = [
        "bytes of heap, TOAST and indexes; live rows counted (pg_attribute derived from pg_class)"
    ]
    if segments:
        notes[0] += "; reclaimable and bloat of the worst segment"
    rest = report.catalog_summary[CATALOGS_SHOWN:]
    if rest:
        notes.append(f"{len(rest)} smaller catalogs are in --format json")
    out.print(text("; ".join(notes) + ".", "dim"))


def _census(report: Report, out: Console) -> None:
    """How many tables and leaves there are, and which own most of the catalog."""
    census = report.census
    _heading(out, "Tables and partitions")
    if census is None:
        out.print(text("not read: see below", "yellow"))
        return
    line = (
        f"{plural(census.partitioned_tables, 'partitioned table')} with"
        f" {plural(census.leaves, 'leaf partition')} (median"
        f" {count(census.leaves_per_table_median)}, most {count(census.leaves_per_table_max)} a"
        f" table), {plural(census.unpartitioned, 'plain table')}: partitions metric"
        f" {count(census.partitions_metric)}"
    )
    out.print(text(line))
    if census.empty_leaves is not None and census.leaves:
        share = census.empty_leaves / census.leaves
        out.print(
            text(
                f"{count(census.empty_leaves)} leaves are empty ({share:.0%}), told by"
                f" {report.taken.filled_basis}"
            )
        )
    kinds: Counter[str] = Counter()
    for c in census.counts:
        if c.kind in ("leaf", "table"):
            kinds[c.storage] += c.relations
    out.print(
        text(
            "by storage: "
            + ", ".join(f"{storage} {count(n)}" for storage, n in kinds.most_common()),
            "dim",
        )
    )
    if report.tables:
        _owners(report, out)


def _owners(report: Report, out: Console) -> None:
    """The tables and the schemas that own most rows of catalogs."""
    rows = [
        (
            f"{t.schema}.{t.name}",
            t.storage,
            count(t.leaves),
            count(t.empty_leaves) if t.empty_leaves is not None else "?",
            count(t.class_rows),
            count(t.attribute_rows),
            size(t.catalog_bytes),
        )
        for t in report.tables[:TABLES_SHOWN]
    ]
    heads = ("Owns most catalog", "storage", "leaves", "empty", "pg_class", "pg_attr.", "catalog")
    out.print()
    out.print(table("", heads, rows, left=2))
    by_schema = [
        (
            s.schema,
            s.name,
            count(s.leaves),
            count(s.class_rows),
            count(s.attribute_rows),
            size(s.catalog_bytes),
        )
        for s in report.schemas[:5]
    ]
    heads_of_schemas = ("by schema", "", "leaves", "pg_class", "pg_attr.", "catalog")
    out.print(table("", heads_of_schemas, by_schema, left=2))
    out.print(
        text(
            "rows on each instance; catalog bytes an instance are an estimate (share of needed"
            " bytes).",
            "dim",
        )
    )


def verdicts(found: tuple[Verdict, ...], out: Console) -> None:
    """Every limit beside where this server stands, with its source."""

    def amount(value: float | None, unit: str) -> str:
        if value is None:
            return "?"
        return (
            f"{value:.1f} ×"
            if unit == "x"
            else size(value)
            if unit == "bytes"
            else f"{count(value)} {unit}"
        )

    sources: list[str] = []
    rows, styles = [], []
    for v in found:
        if v.source not in sources:
            sources.append(v.source)
        mark = chr(ord("a") + sources.index(v.source))
        rows.append((v.what, amount(v.value, v.unit), amount(v.limit, v.unit), mark, v.state))
        styles.append(_STATE[v.state] if v.state in ("over", "near") else "")
    out.print()
    out.print(table("", ("Against the limits", "now", "limit", "", ""), rows, styles=styles))
    out.print(
        text(
            "; ".join(f"{chr(ord('a') + n)}: {source}" for n, source in enumerate(sources)) + ".",
            "dim",
        )
    )


def _holders(report: Report, out: Console) -> None:
    if not report.holders and not any(t.relations for t in report.temp_schemas):
        return
    _heading(out, "What keeps dead rows alive")
    rows = [
        (
            f"{h.holder} {h.name}" + (f" (segment {h.content})" if h.content >= 0 else ""),
            " ".join(x for x in (h.role, h.database, h.detail) if x),
            duration(h.seconds) if h.seconds is not None else "",
            count(h.xid_age) if h.xid_age is not None else "",
        )
        for h in report.holders[:6]
    ]
    if rows:
        out.print(table("", ("holder", "of", "open for", "transactions"), rows, left=2))
    dead = [t for t in report.temp_schemas if t.alive is False and t.relations]
    alive = sum(t.relations for t in report.temp_schemas if t.alive is not False)
    if dead:
        out.print(
            text(
                f"{plural(len(dead), 'temporary schema')} of dead sessions with"
                f" {plural(sum(t.relations for t in dead), 'relation')}"
            )
        )
    if alive:
        out.print(text(f"{plural(alive, 'temporary relation')} of living sessions", "dim"))


def _forecasts(report: Report, out: Console) -> None:
    if not report.forecasts:
        return
    rows = []
    for f in report.forecasts:
        shown = size if f.unit == "bytes" else count
        rate = f"{'+' if f.per_day >= 0 else '-'}{shown(abs(f.per_day))}"
        rows.append(
            (
                f.what,
                shown(f.then),
                shown(f.now),
                rate,
                f"{f.days_left:,.0f} days" if f.days_left is not None else "",
            )
        )
    out.print()
    days = report.forecasts[0].days
    out.print(
        table("", (f"Since {days:.1f} days ago", "then", "now", "a day", "to the limit"), rows)
    )
    out.print(text(f"{report.forecasts[0].source}.", "dim"))


def _coverage(report: Report, out: Console) -> None:
    lost = [c for c in report.coverage if c.status != "read"]
    if not lost:
        return
    _heading(out, "Not read")
    for c in lost:
        out.print(Padding(text(f"{c.probe}: {c.status}: {c.reason}"), (0, 0, 0, 2), expand=False))
        if c.needs:
            out.print(Padding(text(f"needs: {c.needs}", "dim"), (0, 0, 0, 4), expand=False))


def last_line(report: Report) -> Text:
    """Counts of findings, relations and probes."""
    by = Counter(f.severity for f in report.findings)
    many = {
        Severity.CRITICAL: "critical",
        Severity.WARNING: "warnings",
        Severity.NOTICE: "notices",
        Severity.INFO: "infos",
    }
    words = (
        ", ".join(plural(by[s], s.word, many[s]) for s in reversed(Severity) if by[s])
        or "no findings"
    )
    relations = sum(report.relations_by_kind.values())
    failed = sum(1 for c in report.coverage if c.status != "read")
    return text(
        f"{words} · {count(relations)} relations · {plural(failed, 'probe')} not read of"
        f" {len(report.coverage)}",
        "bold",
    )


def show(report: Report, out: Console) -> None:
    """Print the whole report."""
    out.print(headline(report))
    _server(report, out)
    findings(report.findings, out)
    _catalogs(report, out)
    _census(report, out)
    show_files(report.files, out)
    verdicts(report.verdicts, out)
    _forecasts(report, out)
    _holders(report, out)
    _coverage(report, out)
    out.print()
    out.print(last_line(report))
