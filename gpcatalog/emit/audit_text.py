"""An audit as text: the verdict first, then findings, then sizes; all tables on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpcatalog.audit.files import LISTED
from gpcatalog.audit.report import (
    MINIMUM_WORDS,
    STATE_WORDS,
    CatalogSummary,
    Coverage,
    InstanceTotal,
    Report,
    Verdict,
)
from gpcatalog.emit.catalog_rows import live_rows, note
from gpcatalog.emit.cover_text import show_cover
from gpcatalog.emit.files_text import bytes_of, files_of, show_auxiliary, show_files
from gpcatalog.emit.sessions_text import (
    show_query_locks,
    show_session_memory,
    show_session_state,
    show_statement_times,
)
from gpcatalog.emit.terminal import heading, table, text
from gpcatalog.model.emptiness import basis_words
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.quantity import count, duration, plural, size

_STYLE = {
    Severity.CRITICAL: "bold red",
    Severity.WARNING: "yellow",
    Severity.NOTICE: "cyan",
    Severity.INFO: "dim",
}
_STATE = {"over": "bold red", "near": "yellow", "ok": "green", "not measured": "dim"}
LINES = 40  # lines of the summary, on a terminal of 80 columns
LARGEST_SHOWN = 3
CATALOGS_SHOWN = 14
TABLES_SHOWN = 8
MISSING_SHOWN = 3  # unread probes in the summary
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


class Detail(StrEnum):
    """The amount of output of an audit."""

    VERDICT = "verdict"
    SUMMARY = "summary"
    ALL = "all"


# --- verdict --------------------------------------------------------------------------------------


def tally(found: Iterable[Finding]) -> str:
    """The number of findings by severity, the worst first."""
    by = Counter(f.severity for f in found)
    many = {
        Severity.CRITICAL: "critical",
        Severity.WARNING: "warnings",
        Severity.NOTICE: "notices",
        Severity.INFO: "infos",
    }
    words = [plural(by[s], s.word, many[s]) for s in reversed(Severity) if by[s]]
    return ", ".join(words) or "no findings"


def _unread(report: Report) -> list[Coverage]:
    """Probes that failed; probes that were left out on purpose do not count."""
    return [c for c in report.coverage if c.status not in ("read", "not applicable")]


def verdict_lines(report: Report) -> list[Text]:
    """The state of the database, its worst figure, and the next step."""
    failed = len(_unread(report))
    unread = f"{failed} of {plural(len(report.coverage), 'probe')} could not be read"
    incomplete = f" Incomplete: {unread}." if failed else ""
    if report.findings:
        worst = report.findings[0]
        state = Text(worst.severity.word.upper(), style=_STYLE[worst.severity])
        first = text(f": {worst.title}.{incomplete}", "bold")
        return [state + first, text(f"Next: {worst.remedy}.")]
    reach = _limit_sentence(report)
    if failed:
        state = Text("INCOMPLETE", style="yellow")
        first = text(f": {unread}. The others have no findings.{reach}", "bold")
        return [state + first, text(f"Next: {_remedy_of_unread(report)}.")]
    if report.only:
        state = Text("NO FINDINGS", style="yellow")
        first = text(f" of {', '.join(report.only)}; no other rule ran.", "bold")
        return [state + first, text("Next: run the audit without --only.")]
    if any(v.state == "over" for v in report.verdicts):
        state = Text("NOTICE", style=_STYLE[Severity.NOTICE])
        first = text(f": no findings, but limits are violated: {_violations(report)}.", "bold")
        return [state + first, text("Next: --verbose lists all limits with their sources.")]
    state = Text("OK", style="green") + text(f": no findings.{reach}", "bold")
    following = "nothing to do. Take a snapshot every day to see growth: `gpcatalog snapshot take`."
    return [state, text(f"Next: {following}")]


def _limit_sentence(report: Report) -> str:
    """A sentence with the violated limits, or with the upper limit whose used share is highest."""
    if any(v.state == "over" for v in report.verdicts):
        return f" Violated limits: {_violations(report)}."
    known = [v for v in report.verdicts if v.share is not None and not v.minimum]
    fullest = max(known, key=lambda v: v.share or 0, default=None)
    if fullest is None:
        return ""
    return (
        f" The limit that is closest: {fullest.what}, {amount(fullest.value, fullest.unit)} of"
        f" {amount(fullest.limit, fullest.unit)}."
    )


def _violations(report: Report) -> str:
    """Violated limits with the current values."""
    return ", ".join(
        f"{v.what} {amount(v.value, v.unit)}"
        f" ({'minimum' if v.minimum else 'limit'} {amount(v.limit, v.unit)})"
        for v in report.verdicts
        if v.state == "over"
    )


def _remedy_of_unread(report: Report) -> str:
    """The remedy for probes that could not be read, by the most frequent reason."""
    by = Counter(c.status for c in _unread(report))
    return {
        "denied": "`gpcatalog doctor` prints the GRANT for each missing privilege",
        "busy": "run the audit again when the lock on the catalog is released",
        "timed out": "run the audit again with a longer --statement-timeout",
        "segment down": "recover the segment (gprecoverseg), then run the audit again",
    }.get(by.most_common(1)[0][0], "--verbose lists the reasons")


# --- heading --------------------------------------------------------------------------------------


def headline(report: Report) -> Text:
    """The server, the database and the time."""
    server = report.server
    where = f"{server.database} on {server.host or 'local'}:{server.port}"
    when = report.taken.taken_at.strftime("%Y-%m-%d %H:%M UTC")
    return text(f"{server.product} {server.version}, database {where}, {when}", "bold")


def _server(report: Report) -> Text:
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
        where = " on the segments" if server.segments else ""
        parts.append(f"database {size(server.database_bytes)}{where}")
    parts.append(
        f"read in {duration(report.taken.seconds)} as {server.role}"
        + (" (superuser)" if server.superuser else "")
    )
    return text(", ".join(parts))


def _settings(report: Report) -> Text:
    shown = [f"{name} {value}" for name in SHOWN_SETTINGS if (value := report.settings.get(name))]
    return text(" · ".join(shown), "dim")


# --- findings -------------------------------------------------------------------------------------


def finding_table(finding: Finding, *, full: bool) -> Table:
    """A finding: title and remedy; full: also the reason and the confidence."""
    lines = [text(finding.title)]
    if full and finding.detail:
        lines.append(text(finding.detail, "dim"))
    lines.append(text(f"→ {finding.remedy}", "" if full else "dim"))
    if full:
        source = f"; source: {finding.source}" if finding.source else ""
        lines.append(
            text(f"rule {finding.rule}; confidence: {finding.confidence.value}{source}", "dim")
        )
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8)
    grid.add_column()
    grid.add_row(
        Text(finding.severity.word, style=_STYLE[finding.severity]), Text("\n").join(lines)
    )
    return grid


def findings(found: tuple[Finding, ...], out: Console) -> None:
    """Print all findings: title, reason, remedy, confidence and source."""
    heading(out, "Findings")
    if not found:
        out.print(Text("none", style="green"))
    for finding in found:
        out.print(finding_table(finding, full=True))


# --- catalogs -------------------------------------------------------------------------------------


def _catalog_line(summary: CatalogSummary, live: str, *, segments: bool) -> tuple[str, ...]:
    """Cells of one catalog; with segments: coordinator, median and largest segment."""
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
    """Cells of the sum of all catalogs; None if those of the entry instance were not read."""
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
    """Print the largest catalogs, their sum, and the meaning of the columns."""
    segments = bool(report.server.segments)
    shown = report.catalog_summary[:CATALOGS_SHOWN]
    live = live_rows(report, shown)
    rows: list[tuple[str, ...]] = []
    styles = []
    for summary in shown:
        rows.append(_catalog_line(summary, live[summary.relation], segments=segments))
        styles.append("yellow" if (summary.worst_bloat or 1) > 4 else "")
    total = _sum_line(report.instance_totals, segments=segments)
    if total is not None:
        rows.append(total)
        styles.append("bold")
    out.print()
    heads = (
        ("Catalog", "rows", "coord.", "median", "largest", "seg", "reclaim", "bloat")
        if segments
        else ("Catalog", "rows", "bytes", "reclaimable", "bloat")
    )
    out.print(table("", heads, rows, styles=styles))
    notes = [
        "Bytes of heap, TOAST and indexes. Live rows are counted; those of pg_attribute are derived"
        f" from pg_class{f'; {estimates}' if (estimates := note(live)) else '.'}"
    ]
    if segments:
        notes.append("Reclaimable bytes and bloat factor: largest segment.")
    rest = report.catalog_summary[CATALOGS_SHOWN:]
    if rest:
        notes.append(f"--format json lists {plural(len(rest), 'smaller catalog')}.")
    out.print(text(" ".join(notes), "dim"))


def tables_line(report: Report) -> str:
    """The numbers of partitioned tables, leaf partitions and other tables, and of empty leaves."""
    census = report.census
    if census is None:
        return "not read"
    line = (
        f"{plural(census.partitioned_tables, 'partitioned table')} with"
        f" {plural(census.leaves, 'leaf partition')},"
        f" {plural(census.unpartitioned, 'other table')}"
    )
    if census.empty_leaves is not None and census.leaves:
        share = census.empty_leaves / census.leaves
        verb = "leaf is" if census.empty_leaves == 1 else "leaves are"
        line += f"; {count(census.empty_leaves)} {verb} empty ({share:.0%})"
    return line


def _census(report: Report, out: Console) -> None:
    """Print the numbers of tables and leaves, and the tables with the most catalog rows."""
    census = report.census
    heading(out, "Tables and partitions")
    if census is None:
        out.print(text("not read: see below", "yellow"))
        return
    out.print(text(tables_line(report)))
    if census.leaves:
        out.print(
            text(
                f"leaves per table: median {count(census.leaves_per_table_median)}, maximum"
                f" {count(census.leaves_per_table_max)}"
            )
        )
    if census.empty_leaves is not None and census.leaves:
        out.print(
            text(f"empty leaves: measured from {basis_words(report.taken.filled_basis)}", "dim")
        )
    kinds: Counter[str] = Counter()
    for c in census.counts:
        if c.kind in ("leaf", "table"):
            kinds[c.storage] += c.relations
    by_storage = ", ".join(f"{storage} {count(n)}" for storage, n in kinds.most_common())
    if by_storage:
        out.print(text(f"by storage: {by_storage}", "dim"))
    if report.tables:
        _owners(report, out)


def _owners(report: Report, out: Console) -> None:
    """Print the tables and the schemas with the most catalog rows."""
    rows = [
        (
            f"{t.schema}.{t.name}",
            t.storage,
            count(t.leaves),
            count(t.empty_leaves) if t.empty_leaves is not None else "?",
            count(t.class_rows),
            count(t.attribute_rows),
            "?" if t.catalog_bytes is None else size(t.catalog_bytes),
        )
        for t in report.tables[:TABLES_SHOWN]
    ]
    heads = ("Most catalog rows", "storage", "leaves", "empty", "pg_class", "pg_attr.", "catalog")
    out.print()
    out.print(table("", heads, rows, left=2))
    by_schema = [
        (
            s.schema,
            s.name,
            count(s.leaves),
            count(s.class_rows),
            count(s.attribute_rows),
            "?" if s.catalog_bytes is None else size(s.catalog_bytes),
        )
        for s in report.schemas[:5]
    ]
    heads_of_schemas = ("By schema", "", "leaves", "pg_class", "pg_attr.", "catalog")
    out.print(table("", heads_of_schemas, by_schema, left=2))
    out.print(
        text(
            "Rows on each instance. Catalog bytes on each instance are an estimate: a share of the"
            " bytes needed.",
            "dim",
        )
    )


def amount(value: float | None, unit: str) -> str:
    """A number with the unit of its limit."""
    if value is None:
        return "not read"
    if unit == "x":
        return f"{value:.1f} ×"
    return size(value) if unit == "bytes" else f"{count(value)} {unit}"


def verdicts(found: tuple[Verdict, ...], out: Console) -> None:
    """Print all limits: the current value, the limit, the state and the source."""
    sources: list[str] = []
    rows, styles = [], []
    for v in found:
        if v.source not in sources:
            sources.append(v.source)
        mark = chr(ord("a") + sources.index(v.source))
        limit = ("at least " if v.minimum else "") + amount(v.limit, v.unit)
        rows.append((v.what, amount(v.value, v.unit), limit, mark, v.word))
        styles.append(_STATE[v.state] if v.state in ("over", "near") else "")
    out.print()
    out.print(table("", ("Limits", "now", "limit", "", "state"), rows, styles=styles))
    out.print(
        text(
            "; ".join(f"{chr(ord('a') + n)}: {source}" for n, source in enumerate(sources)) + ".",
            "dim",
        )
    )


_UNKNOWN_AGE = {"replication slot": ""}  # has none; that of a session may be hidden


def _holders(report: Report, out: Console) -> None:
    if report.holders:
        heading(out, "What prevents VACUUM from removing dead rows")
    rows = [
        (
            f"{h.holder} {h.name}" + (f" (segment {h.content})" if h.content >= 0 else ""),
            " ".join(x for x in (h.role, h.database, h.detail) if x),
            duration(h.seconds) if h.seconds is not None else _UNKNOWN_AGE.get(h.holder, "?"),
            count(h.xid_age) if h.xid_age is not None else "",
        )
        for h in report.holders[:6]
    ]
    if rows:
        out.print(table("", ("holder", "role, database", "open for", "transactions"), rows, left=2))
    _temporary(report, out)


def _temporary(report: Report, out: Console) -> None:
    """Print the relations in temporary schemas. They do not prevent VACUUM from removing rows."""
    dead = [t for t in report.temp_schemas if t.alive is False and t.relations]
    alive = sum(t.relations for t in report.temp_schemas if t.alive is not False)
    if dead or alive:
        heading(out, "Temporary tables with their indexes and TOAST tables")
    if dead:
        out.print(
            text(
                f"{plural(len(dead), 'temporary schema')} of ended sessions with"
                f" {plural(sum(t.relations for t in dead), 'relation')}"
            )
        )
    if alive:
        out.print(text(f"{plural(alive, 'temporary relation')} of active sessions", "dim"))


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
        table("", (f"Last {days:.1f} days", "then", "now", "per day", "limit reached in"), rows)
    )
    out.print(text(f"{report.forecasts[0].source}.", "dim"))


def _coverage(report: Report, out: Console) -> None:
    lost = [c for c in report.coverage if c.status != "read"]
    if not lost:
        return
    heading(out, "Not read")
    for c in lost:
        out.print(Padding(text(f"{c.probe}: {c.status}: {c.reason}"), (0, 0, 0, 2), expand=False))
        if c.needs:
            out.print(Padding(text(f"needs: {c.needs}", "dim"), (0, 0, 0, 4), expand=False))


# --- summary --------------------------------------------------------------------------------------


def _catalog_line_of_summary(report: Report) -> str:
    totals = report.instance_totals
    if not totals:
        return "not read"
    entry = next((t for t in totals if t.content == -1), None)
    segments = sorted((t for t in totals if t.content >= 0), key=lambda t: t.bytes)
    parts = []
    if entry is not None:
        parts.append(size(entry.bytes) + (" on the coordinator" if segments else ""))
    if segments:
        low, high = size(segments[0].bytes), size(segments[-1].bytes)
        parts.append(f"{low if low == high else f'{low} to {high}'} on each segment")
    reclaimable = sum(t.reclaimable_bytes for t in totals)
    where = " on all instances" if segments else ""
    return f"{', '.join(parts)}; {size(reclaimable)} reclaimable{where} (estimate)"


def _files_line(report: Report) -> str:
    files = report.files
    if files is None:
        return "not read"
    where = "on all segments" if report.server.segments else "on this server"
    least = "" if files.basis in LISTED else "at least "
    return f"{least}{plural(files.files, 'file')} {where}{bytes_of(files)}"


def _limits_line(report: Report) -> str:
    by = Counter(v.word for v in report.verdicts)
    words = dict.fromkeys(
        word
        for pair in zip(STATE_WORDS.values(), MINIMUM_WORDS.values(), strict=True)
        for word in pair
    )
    counted = ", ".join(f"{by[word]} {word}" for word in words if by[word])
    bad = _violations(report)
    return counted + (f"; violated: {bad}" if bad else "")


def _sizes(report: Report) -> Table:
    """One line each for catalogs, tables, files, limits and unread probes."""
    rows = [("Catalogs", _catalog_line_of_summary(report)), ("Tables", tables_line(report))]
    if report.server.segments or report.files is not None:
        rows.append(("Files", _files_line(report)))
    if report.verdicts:
        rows.append(("Limits", _limits_line(report)))
    rows += [
        ("Growth", f"{f.what} {f.per_day:+,.1f} per day over {f.days:.1f} days")
        for f in report.forecasts[:1]
    ]
    lost = _unread(report)
    rows += [
        ("Not read", f"{c.probe}: {c.reason}" + (f"; needs {c.needs}" if c.needs else ""))
        for c in lost[:MISSING_SHOWN]
    ]
    if len(lost) > MISSING_SHOWN:
        rows.append(("", f"and {plural(len(lost) - MISSING_SHOWN, 'probe')} more"))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8)
    grid.add_column()
    for name, words in rows:
        grid.add_row(Text(name, style="bold"), text(words))
    return grid


def _largest(report: Report) -> RenderableType | None:
    if not report.tables:
        return None
    heads = ("Largest in the catalog", "leaves", "empty", "pg_attribute", "catalog", "files")
    files = (
        {(t.schema, t.name): files_of(t, report.files.sample) for t in report.files.tables}
        if report.files
        else {}
    )
    rows = []
    for t in report.tables[:LARGEST_SHOWN]:
        known = files.get((t.schema, t.name))
        rows.append(
            (
                f"{t.schema}.{t.name}",
                count(t.leaves),
                count(t.empty_leaves) if t.empty_leaves is not None else "?",
                count(t.attribute_rows),
                "?" if t.catalog_bytes is None else size(t.catalog_bytes),
                known or "?",
            )
        )
    return table("", heads, rows)


def _summary(report: Report, out: Console, kept: str) -> None:
    """Print the verdict, findings and sizes in at most LINES lines."""
    top: list[RenderableType] = [
        *verdict_lines(report),
        Text(),
        headline(report),
        _server(report),
    ]
    bottom: list[RenderableType] = [Text(), _sizes(report)]
    largest = _largest(report)
    if largest is not None:
        bottom += [Text(), largest]
    more = "--verbose prints all findings in full, all tables and limits with their sources."
    bottom += [Text(), text(f"Snapshot: {kept}. {more}" if kept else more, "dim")]

    def height(*parts: RenderableType) -> int:
        return len(out.render_lines(Group(*parts), pad=False))

    shown: list[RenderableType] = []
    left = LINES - height(*top, *bottom) - 2  # the heading and the line for the remaining findings
    for n, finding in enumerate(report.findings):
        one = finding_table(finding, full=False)
        lines = height(one)
        if n and lines > left:
            break
        shown.append(one)
        left -= lines
    rest = report.findings[len(shown) :]
    out.print(*top, sep="\n")
    if shown:
        heading(out, f"Findings: {tally(report.findings)}")
    for grid in shown:
        out.print(grid)
    if rest:
        out.print(text(f"         and {tally(rest)} more", "dim"))
    out.print(*bottom, sep="\n")


def show(report: Report, out: Console, detail: Detail = Detail.SUMMARY, *, kept: str = "") -> None:
    """Print an audit. kept: file of its snapshot, empty if it was not stored."""
    if detail is Detail.VERDICT:
        out.print(*verdict_lines(report), sep="\n")
        return
    if detail is Detail.SUMMARY:
        _summary(report, out, kept)
        return
    out.print(*verdict_lines(report), sep="\n")
    out.print()
    out.print(headline(report))
    out.print(_server(report))
    out.print(_settings(report))
    findings(report.findings, out)
    _catalogs(report, out)
    _census(report, out)
    show_files(report.files, out)
    show_auxiliary(report.auxiliary, out)
    verdicts(report.verdicts, out)
    _forecasts(report, out)
    show_query_locks(report, out)
    show_session_memory(report, out)
    show_statement_times(report, out)
    _holders(report, out)
    show_session_state(report, out)
    show_cover(report, out)
    _coverage(report, out)
    out.print()
    relations = sum(report.relations_by_kind.values())
    out.print(
        text(
            f"{tally(report.findings)} · {plural(relations, 'relation')} ·"
            f" {sum(1 for c in report.coverage if c.status == 'read')} of"
            f" {plural(len(report.coverage), 'probe')} read",
            "bold",
        )
    )
    if kept:
        out.print(text(f"Snapshot: {kept}", "dim"))
