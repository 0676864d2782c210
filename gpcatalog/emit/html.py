"""One self-contained page: the verdict, then charts that answer questions, then tables to sort and
search.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from gpcatalog import __version__
from gpcatalog.audit.report import Census, Report
from gpcatalog.capacity.limits import (
    FILE_BUCKETS,
    FILE_BUCKETS_SOURCE,
)
from gpcatalog.emit.growth_text import amount
from gpcatalog.emit.html_growth import forecast_chart, growth_section, latency_chart, segments_chart
from gpcatalog.emit.html_parts import Cell, figure, short, table
from gpcatalog.emit.html_plan import Outlook, section
from gpcatalog.emit.svg import Bar, Column, bars, columns, legend, safe
from gpcatalog.growth.chart_data import Picture
from gpcatalog.growth.points import Point
from gpcatalog.growth.result import Growth
from gpcatalog.latency.locks import Slots
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.quantity import count, duration, plural, size

# of the page that the list of tables may take; what is left out is summed up in its last row
TABLES_BYTES = 200_000
FINDINGS_SHOWN = 60
LOCKS_SHOWN = 12
SEGMENTS_SHOWN = 64
_DAY = 86400.0


# --- the verdict ----------------------------------------------------------------------------------


def _verdict(report: Report) -> str:
    found = report.findings
    by = Counter(f.severity for f in found)
    words = {
        Severity.CRITICAL: "critical",
        Severity.WARNING: "warning",
        Severity.NOTICE: "notice",
        Severity.INFO: "info",
    }
    worst = max(by, default=Severity.INFO)
    tally = ", ".join(
        f"{by[s]} {words[s]}{'s' if by[s] > 1 and s is not Severity.CRITICAL else ''}"
        for s in reversed(Severity)
        if by[s]
    )
    headline = (
        short(found[0].title, 240)
        if found
        else "Nothing found: the catalog is in order by every limit that was checked."
    )
    lines_ = [f"<b>{safe(headline)}</b>"]
    if found:
        lines_.append(f"<p>→ {safe(short(found[0].remedy, 400))}</p>")
        lines_.append(f"<p class=dim>{safe(tally)} in all</p>")
    lost = [c for c in report.coverage if c.status != "read"]
    if lost:
        lines_.append(
            f"<p class=dim>{plural(len(lost), 'probe')} of {len(report.coverage)} could not be"
            " read: what they would tell is unknown</p>"
        )
    return f'<div class="verdict {worst.word if found else ""}">{"".join(lines_)}</div>'


def _census_cells(census: Census | None) -> list[tuple[str, str]]:
    """Figures of tables and partitions with what they count; "?" where they were not read."""
    if census is None:
        return [("?", "plain tables and leaf partitions: not read")]
    empty = census.empty_leaves
    share = f"{empty / census.leaves:.0%}" if empty is not None and census.leaves else "?"
    return [
        (count(census.partitions_metric), "partitions: leaves and plain tables"),
        (count(census.leaves), f"leaves of {plural(census.partitioned_tables, 'table')}"),
        (share, "of the leaves are empty"),
    ]


def _facts(report: Report) -> str:
    census = report.census
    total = sum(t.bytes for t in report.instance_totals)
    reclaimable = sum(t.reclaimable_bytes for t in report.instance_totals)
    cells = [
        *_census_cells(census),
        (size(total), "catalog bytes, all instances"),
        (size(reclaimable), "of them reclaimable (estimate)"),
        (
            size(report.server.database_bytes) if report.server.database_bytes is not None else "?",
            "database",
        ),
    ]
    return (
        "<div class=facts>"
        + "".join(
            f"<div><b>{safe(value)}</b><span>{safe(what)}</span></div>" for value, what in cells
        )
        + "</div>"
    )


def _limits(report: Report) -> str:
    rows: list[tuple[Cell, ...]] = []
    classes = []
    for v in report.verdicts:
        share = (
            "?" if v.share is None else f"{v.share:,.0f} ×" if v.share >= 10 else f"{v.share:.0%}"
        )
        value = (
            "?"
            if v.value is None
            else f"{v.value:.1f} ×"
            if v.unit == "x"
            else amount(v.value, v.unit)
        )
        limit = f"{v.limit:.1f} ×" if v.unit == "x" else amount(v.limit, v.unit)
        rows.append(
            ((v.what, v.source + (f"; {v.note}" if v.note else "")), value, limit, share, v.state)
        )
        classes.append(v.state if v.state in ("over", "near") else "")
    if not rows:
        return ""
    return "<h2>Against the limits</h2>" + table(
        ("limit of", "now", "limit", "share", "state"), rows, classes=classes
    )


def _finding(f: Finding) -> str:
    relations = ", ".join(f.relations[:5]) + (
        f" and {count(f.relations_total - 5)} more" if f.relations_total > 5 else ""
    )
    parts = [f"<span class=tag>{f.severity.word}</span><b>{safe(short(f.title, 300))}</b>"]
    if f.detail:
        parts.append(f"<p>{safe(short(f.detail, 600))}</p>")
    if relations:
        parts.append(f"<p class=dim>{safe(short(relations, 400))}</p>")
    parts.append(f"<p>→ {safe(short(f.remedy, 600))}</p>")
    source = f", source: {f.source}" if f.source else ""
    parts.append(
        f'<p class="source">{safe(f"{f.rule}, confidence {f.confidence.value}{source}")}</p>'
    )
    return f'<div class="finding {f.severity.word}">{"".join(parts)}</div>'


def _findings(report: Report) -> str:
    if not report.findings:
        return ""
    shown = "".join(_finding(f) for f in report.findings[:FINDINGS_SHOWN])
    rest = len(report.findings) - FINDINGS_SHOWN
    more = (
        f"<p class=dim>{count(rest)} more, none worse, are in the audit's own output.</p>"
        if rest > 0
        else ""
    )
    return f"<h2>Findings</h2>{shown}{more}"


# --- charts ---------------------------------------------------------------------------------------


def _catalogs_chart(report: Report) -> str:
    live: dict[str, int] = defaultdict(int)
    dead: dict[str, int] = defaultdict(int)
    for row in report.catalogs:
        total = row.heap_bytes + row.toast_bytes + row.index_bytes
        live[row.relation] += total - (row.reclaimable_bytes or 0)
        dead[row.relation] += row.reclaimable_bytes or 0
    names = sorted(live, key=lambda r: (-(live[r] + dead[r]), r))[:10]
    chart = bars(
        "live and reclaimable bytes of each catalog",
        [
            Bar(
                r, ((live[r], "a"), (dead[r], "b")), f"{size(dead[r])} of {size(live[r] + dead[r])}"
            )
            for r in names
        ],
        label_letters=22,
    )
    return figure(
        "Which catalogs would give space back?",
        "all instances together, heap and indexes; what VACUUM FULL and REINDEX would leave, and"
        " what they would free (estimate).",
        chart and chart + legend([("needed", "a"), ("reclaimable", "b")]),
    )


def _instances_chart(report: Report) -> str:
    totals = report.instance_totals
    if len(totals) < 2:
        return ""
    shown = sorted(totals, key=lambda t: (-t.bytes, t.content))[:12]
    rows = [
        Bar(
            "coordinator" if t.content == -1 else f"segment {t.content}",
            ((t.needed_bytes, "a"), (t.reclaimable_bytes, "b")),
            f"{size(t.bytes)}, {t.bloat:.1f} ×",
        )
        for t in shown
    ]
    rest = f" The {len(shown)} largest of {len(totals)}." if len(totals) > len(shown) else ""
    return figure(
        "Which instance is worst?",
        f"needed and reclaimable catalog bytes now, with bytes / bytes needed.{rest}",
        bars("catalog bytes of each instance", rows)
        + legend([("needed", "a"), ("reclaimable", "b")]),
    )


def _files_chart(seen: Picture) -> str:
    rows = []
    for f in seen.files:
        rows.append(Bar(f"{f.storage} now", ((f.now, "a"),), count(f.now)))
        if f.full != f.now:
            rows.append(Bar("all leaves filled", ((f.full, "b"),), count(f.full)))
        if f.storage == "ao_column":
            rows.append(Bar("as ao_row instead", ((f.as_row, "c"),), count(f.as_row)))
    return figure(
        "How many files a segment, and how many would there be?",
        "derived from the tables' columns, indexes and auxiliary relations by the cost model"
        " (estimate).",
        bars("files of one segment by storage", rows),
    )


def _sizes_chart(report: Report, seen: Picture) -> str:
    """Files by size: as listed in the directories where they were, else each leaf with its
    average.
    """
    listed = report.files is not None and report.files.basis == "directory" and report.files.buckets
    if report.files is not None and listed:
        found_by: Counter[str] = Counter()
        for one in report.files.buckets:
            found_by[one.label] += one.files
        sizes = [found_by[b.label] for b in FILE_BUCKETS]
        basis = "as listed in the data directories, all parts of all tables and of the system."
    else:
        sizes = list(seen.sizes)
        basis = "each leaf counts with its average."
    total = sum(sizes)
    if not total:
        return ""
    found = [
        Column(
            b.label,
            n / total,
            b.published,
            f"{n / total:.0%}" if n / total >= 0.005 or not n else "<1%",
        )
        for b, n in zip(FILE_BUCKETS, sizes, strict=True)
    ]
    entries = (
        '<p class="legend"><span><i class="key a"></i>here</span><span><i class="key'
        ' o"></i>published</span></p>'
    )
    return figure(
        "Are the files too small?",
        f"share of {plural(total, 'file' if listed else 'data file')} by size; {basis}",
        columns("share of files by size", found) + entries,
        FILE_BUCKETS_SOURCE,
    )


def _grains_chart(seen: Picture) -> str:
    rows = [
        Bar(
            g.grain,
            ((g.leaves, "a"),),
            f"{count(g.leaves)} in {count(g.tables)}, most {count(g.most)}",
        )
        for g in seen.grains
    ]
    return figure(
        "Where do the leaves come from?",
        "leaves by the grain of their table's first level, in how many tables, and the most of"
        " one.",
        bars("leaves by grain", rows, label_letters=9),
    )


def _timings(report: Report) -> str:
    rows: list[tuple[Cell, ...]] = []
    for t in report.timings:
        known = t.median_ms if t.median_ms is not None else t.mean_ms
        if known is None:
            continue
        mean = "" if t.median_ms is not None else "mean"
        rows.append(
            (
                (f"{t.what} {t.subject}".strip(), mean),
                count(t.n),
                _ms(t.min_ms),
                _ms(known),
                _ms(t.p95_ms),
                count(t.leaves) if t.leaves is not None else "",
            )
        )
    if not rows:
        return ""
    heads = ("what", "measurements", "least", "median", "p95", "leaves")
    note = "<p>With fewer than 20 measurements p95 is the slowest of them.</p>"
    return "<h2>Latency</h2>" + note + table(heads, rows, name="timings", budget=30_000)


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 1000 else duration(value / 1000)


def _locks(slots: Slots) -> str:
    if not slots.needs:
        return ""
    have = count(slots.slots) if slots.slots is not None else "?"
    rows = [
        (
            f"{n.statement} {n.table}",
            count(n.locks),
            f"{n.share:.1%}" if n.share is not None else "?",
        )
        for n in slots.needs[:LOCKS_SHOWN]
    ]
    classes = [
        "over" if (n.share or 0) > 1 else "near" if (n.share or 0) > 0.8 else ""
        for n in slots.needs
    ]
    return (
        f"<h2>Locks</h2><p>{have} lock slots on the entry instance, shared by all sessions; needs"
        " are derived by the cost model.</p>"
        + table(("statement", "locks", "of the slots"), rows, classes=classes)
        + f'<p class="source">{safe(slots.source)}</p>'
    )


def _tables(seen: Picture) -> str:
    if not seen.tables:
        return ""
    heads = (
        "table",
        "storage",
        "leaves",
        "empty",
        "pg_class rows",
        "pg_attribute rows",
        "files",
        "bytes",
    )

    def known(value: int | None) -> str:
        return count(value) if value is not None else "?"

    rows, used = [], 0
    for t in seen.tables:
        row = (
            f"{t.schema}.{t.name}", t.storage, count(t.leaves), known(t.empty), count(t.class_rows), count(t.attribute_rows),
            known(t.files), size(t.bytes) if t.bytes is not None else "?",
        )  # fmt: skip
        used += sum(len(safe(cell).encode()) + 4 for cell in row) + 12
        if used > TABLES_BYTES:
            break
        rows.append(row)
    rest = seen.tables[len(rows) :]
    foot: tuple[str, ...] = ()
    if rest:
        foot = (
            f"{plural(len(rest), 'smaller table')} together", "", count(sum(t.leaves for t in rest)), "",
            count(sum(t.class_rows for t in rest)), count(sum(t.attribute_rows for t in rest)), "", "",
        )  # fmt: skip
    return (
        f"<h2>Tables</h2><p>{plural(len(rows), 'table')}, those that own most catalog rows first;"
        " catalog rows are of each instance, files and bytes of all segments.</p>"
        + table(heads, rows, name="tables", left=2, foot=foot)
    )


def _files_table(report: Report) -> str:
    """Files as the directories (or the segment file lists) have them: where they are, and the
    tables with most of them.
    """
    found = report.files
    if found is None:
        return ""

    def known(value: int | None) -> str:
        return count(value) if value is not None else "?"

    said = [f"{plural(found.files, 'file')} on all segments"]
    if found.average_bytes is not None:
        said.append(f"{size(found.average_bytes)} on average")
    if found.empty is not None and found.files:
        said.append(f"{found.empty / found.files:.0%} of zero size")
    if found.when_filled is not None:
        said.append(f"{count(found.when_filled)} once every empty leaf has rows")
    if found.hollow_bytes:
        said.append(f"{size(found.hollow_bytes)} in indexes without an entry")
    basis = (
        "counted in the data directories"
        if found.basis == "directory"
        else "counted in segment file lists, without forks and sizes"
    )
    heads = ("table", "storage", "files", "filled", "as aoco", "as row", "as heap", "removable")
    rows = [
        (
            f"{t.schema}.{t.name}", t.storage, count(t.files), known(t.when_filled), known(t.as_ao_column), known(t.as_ao_row),
            known(t.as_heap), known(t.removable),
        )
        for t in found.tables
    ]  # fmt: skip
    hosts = [
        (h.host, count(h.primaries), count(h.mirrors), count(h.files), count(h.mirror_files))
        for h in found.hosts
    ]
    return (
        f"<h2>Files</h2><p>{safe(', '.join(said))}; {basis}. Filled: every empty leaf has rows; as"
        " …: all leaves filled by one writer in that storage; removable: files that rows instead"
        " of columns would save today (cost model).</p>"
        + table(heads, rows, name="files", left=2, budget=60_000)
        + (
            table(
                ("host", "primaries", "mirrors", "their files", "mirrors' files"),
                hosts,
                budget=20_000,
            )
            if hosts
            else ""
        )
    )


def _catalog_table(report: Report) -> str:
    rows = [
        (
            s.relation,
            count(s.coordinator_rows) if s.coordinator_rows is not None else "?",
            size(s.coordinator_bytes),
            size(s.median_bytes),
            size(s.worst_bytes),
            str(s.worst_content),
            size(s.worst_reclaimable) if s.worst_reclaimable is not None else "?",
            f"{s.worst_bloat:.1f}" if s.worst_bloat is not None else "?",
        )
        for s in report.catalog_summary
    ]
    heads = (
        "catalog",
        "live rows",
        "coordinator",
        "median segment",
        "worst",
        "its content id",
        "reclaimable there",
        "bloat there",
    )
    return "<h2>Catalogs</h2>" + table(heads, rows, name="catalogs", budget=60_000) if rows else ""


def _not_read(report: Report) -> str:
    lost = [c for c in report.coverage if c.status != "read"]
    if not lost:
        return ""
    rows = [(c.probe, c.status, short(c.reason, 200), c.needs) for c in lost]
    return "<h2>Not read</h2>" + table(
        ("probe", "status", "reason", "needs"), rows, left=4, budget=20_000
    )


def page(
    report: Report,
    growth: Growth | None,
    points: Sequence[Point],
    seen: Picture,
    slots: Slots,
    planned: Outlook,
) -> str:
    """The whole page as text: under 500 KB whatever the cluster's size, no reference to anything
    outside.

    growth: None where the snapshot's tables could not be read
    """
    here = Path(__file__).parent
    style = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    server = report.server
    where = f"{server.database} on {server.host or 'local'}:{server.port}"
    title = f"{where} · gpcatalog"
    cluster = (
        f"coordinator and {plural(server.segments, 'segment')} on {plural(server.hosts, 'host')}, "
        if server.segments
        else ""
    )
    subtitle = (
        f"{server.product} {server.version}, {cluster}{report.taken.taken_at:%Y-%m-%d %H:%M} UTC,"
        f" read in {duration(report.taken.seconds)} as {server.role}"
    )
    charts = "".join(
        (
            _catalogs_chart(report),
            _instances_chart(report),
            segments_chart(points),
            forecast_chart(growth, points) if growth else "",
            _grains_chart(seen),
            _files_chart(seen),
            _sizes_chart(report, seen),
            latency_chart(growth) if growth else "",
        )
    )
    body = "".join(
        (
            f"<h1>{safe(where)}</h1><p class=dim>{safe(subtitle)}</p>",
            _verdict(report),
            _facts(report),
            _limits(report),
            f"<h2>Charts</h2><div class=charts>{charts}</div>",
            _findings(report),
            section(planned),
            growth_section(growth) if growth else "",
            _timings(report),
            _locks(slots),
            _tables(seen),
            _files_table(report),
            _catalog_table(report),
            _not_read(report),
            (
                f"<footer>gpcatalog {safe(__version__)}, snapshot {safe(report.taken.snapshot_id)}."
                " What is called an estimate is one; published figures are one vendor's"
                " stand.</footer>"
            ),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{safe(title)}</title><style>{style}</style></head><body>{body}<script>{script}</script></body></html>\n"
    )
