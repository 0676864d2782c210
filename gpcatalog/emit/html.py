"""One self-contained HTML page: the verdict, findings, limits, charts, and tables that can be
sorted and searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpcatalog import __version__
from gpcatalog.audit.report import Census, Report
from gpcatalog.emit.audit_text import tally, verdict_lines
from gpcatalog.emit.html_charts import (
    catalogs_chart,
    files_chart,
    grains_chart,
    instances_chart,
    sizes_chart,
)
from gpcatalog.emit.html_frame import contents, document, part
from gpcatalog.emit.html_growth import (
    forecast_chart,
    growth_section,
    latency_chart,
    segments_chart,
    skipped_note,
)
from gpcatalog.emit.html_parts import Section, ended, prose, short
from gpcatalog.emit.html_plan import Outlook
from gpcatalog.emit.html_plan import section as plan_section
from gpcatalog.emit.html_sessions import sessions_section
from gpcatalog.emit.html_tables import (
    auxiliary_table,
    catalogs_table,
    cover_section,
    files_table,
    limits_table,
    locks_table,
    not_read_table,
    tables_table,
    timings_table,
)
from gpcatalog.emit.svg import safe
from gpcatalog.growth.chart_data import Picture
from gpcatalog.growth.points import Point
from gpcatalog.growth.result import Growth
from gpcatalog.latency.locks import Slots
from gpcatalog.model.finding import Finding
from gpcatalog.model.quantity import count, duration, plural, size

FINDINGS_SHOWN = 60


# --- verdict --------------------------------------------------------------------------------------


def _verdict(report: Report) -> str:
    """The state, the worst figure and the next step, with the text of the text audit."""
    first, following = (line.plain for line in verdict_lines(report))
    state, _, rest = first.partition(": ")
    level = report.findings[0].severity.word if report.findings else ""
    counted = f"<p class=dim>Findings: {safe(tally(report.findings))}</p>" if level else ""
    return (
        f'<div class="verdict {level}"><p class=headline><span class=tag>{safe(state)}:</span>'
        f" {prose(short(rest, 400))}</p>"
        f"<p>{prose(short(following, 500))}</p>{counted}</div>"
    )


def _census_cells(census: Census | None) -> list[tuple[str, str]]:
    """Numbers of tables and partitions with their meaning; "?" if they were not read."""
    if census is None:
        return [("?", "tables and leaf partitions: not read")]
    found = [
        (count(census.partitions_metric), "tables and leaf partitions"),
        (
            count(census.leaves),
            f"leaf partitions of {plural(census.partitioned_tables, 'partitioned table')}",
        ),
    ]
    empty = census.empty_leaves
    if census.leaves:
        share = f"{empty / census.leaves:.0%}" if empty is not None else "?"
        found.append((share, "of the leaf partitions are empty"))
    return found


def _facts(report: Report) -> str:
    everywhere = ", all instances" if report.server.segments else ""
    cells = _census_cells(report.census)
    if report.instance_totals:
        total = sum(t.bytes for t in report.instance_totals)
        reclaimable = sum(t.reclaimable_bytes for t in report.instance_totals)
        cells.append((size(total), f"catalog size{everywhere}"))
        cells.append((size(reclaimable), "reclaimable in the catalogs (estimate)"))
    if report.server.database_bytes is not None:
        where = " on the segments" if report.server.segments else ""
        cells.append((size(report.server.database_bytes), f"database size{where}"))
    return (
        "<dl class=facts>"
        + "".join(f"<div><dt>{safe(what)}<dd>{safe(value)}</div>" for value, what in cells)
        + "</dl>"
    )


# --- findings -------------------------------------------------------------------------------------


def _finding(f: Finding) -> str:
    relations = ", ".join(f.relations[:5]) + (
        f" and {count(f.relations_total - 5)} more" if f.relations_total > 5 else ""
    )
    parts = [
        f"<h3><span class=tag>{f.severity.word}</span> {prose(short(f.title, 300))}</h3>",
    ]
    if f.detail:
        parts.append(f"<p>{prose(short(f.detail, 600))}</p>")
    parts.append(f"<p><b>Next:</b> {prose(ended(short(f.remedy, 600)))}</p>")
    if relations:
        parts.append(f"<p class=dim>Relations: {safe(short(relations, 400))}</p>")
    source = f"; source: {f.source}" if f.source else ""
    parts.append(
        f'<p class="source">{safe(f"rule {f.rule}; confidence: {f.confidence.value}{source}")}</p>'
    )
    return f'<article class="finding {f.severity.word}">{"".join(parts)}</article>'


def _findings(report: Report) -> str:
    shown = "".join(_finding(f) for f in report.findings[:FINDINGS_SHOWN])
    rest = len(report.findings) - FINDINGS_SHOWN
    more = (
        f"<p class=dim>{plural(rest, 'less severe finding')} left out:"
        " <code>gpcatalog audit --verbose</code> prints all of them.</p>"
        if rest > 0
        else ""
    )
    return shown + more


# --- page -----------------------------------------------------------------------------------------


def _sections(
    report: Report,
    growth: Growth | None,
    points: Sequence[Point],
    seen: Picture,
    slots: Slots,
    planned: Outlook,
) -> list[Section]:
    """All sections in order; the body of a section without contents is empty."""
    segments = bool(report.server.segments)
    charts = "".join(
        (
            catalogs_chart(report),
            instances_chart(report),
            segments_chart(points),
            forecast_chart(growth, points) if growth else "",
            grains_chart(seen),
            files_chart(report, seen),
            sizes_chart(report, seen),
            latency_chart(growth) if growth else "",
        )
    )
    return [
        Section("findings", "Findings", _findings(report)),
        Section("limits", "Limits", limits_table(report)),
        Section("charts", "Charts", f"<div class=charts>{charts}</div>" if charts else ""),
        Section("plan", "Plan", plan_section(planned)),
        Section(
            "growth", "Growth", growth_section(growth) + skipped_note(growth) if growth else ""
        ),
        Section("latency", "Latency", timings_table(report)),
        Section("locks", "Lock slots", locks_table(slots, segments=segments)),
        Section("sessions", "Sessions", sessions_section(report)),
        Section("upkeep", "Upkeep", cover_section(report)),
        Section("all-tables", "Tables", tables_table(seen, segments=segments)),
        Section("all-files", "Files", files_table(report) + auxiliary_table(report)),
        Section("all-catalogs", "Catalogs", catalogs_table(report)),
        Section("not-read", "Not read", not_read_table(report)),
    ]


def _subtitle(report: Report) -> str:
    server = report.server
    cluster = (
        f"coordinator and {plural(server.segments, 'segment')} on {plural(server.hosts, 'host')}, "
        if server.segments
        else ""
    )
    return (
        f"{server.product} {server.version}, {'standby, ' if server.standby else ''}{cluster}{report.taken.taken_at:%Y-%m-%d %H:%M} UTC,"
        f" read in {duration(report.taken.seconds)} as {server.role}"
    )


def page(
    report: Report,
    growth: Growth | None,
    points: Sequence[Point],
    seen: Picture,
    slots: Slots,
    planned: Outlook,
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the whole page as text, without references to external resources.

    The size grows with the number of tables up to about 4 MB; further tables are summed.

    growth: None if the tables of the snapshot could not be read
    links:  other pages of the site that contains the page, as (text, relative address)
    """
    where = f"{report.server.database} on {report.server.host or 'local'}:{report.server.port}"
    sections = [s for s in _sections(report, growth, points, seen, slots, planned) if s.body]
    anchors = [(s.title, f"#{s.anchor}") for s in sections]
    body = (
        '<a class=skip href="#main">Skip to the verdict</a>'
        f"<header>{contents(links, 'Site')}<h1>Database {safe(where)}</h1>"
        f"<p class=dim>{safe(_subtitle(report))}</p>{contents(anchors, 'Contents')}</header>"
        f"<main id=main tabindex=-1>{_verdict(report)}{_facts(report)}"
        f"{''.join(s.html() for s in sections)}</main>"
        f"<footer>gpcatalog {safe(__version__)}, snapshot {safe(report.taken.snapshot_id)}."
        " Figures marked as estimates are calculated, not measured. Published figures come from"
        " the named source and were not measured on this server.</footer>"
    )
    return document(f"{where} · gpcatalog", body, part("page.js"))
