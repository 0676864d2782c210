"""Tables of one snapshot for the page: limits, latency, locks, tables, files and catalogs."""

from __future__ import annotations

from gpcatalog.audit.report import Report, Verdict
from gpcatalog.emit.catalog_rows import live_rows
from gpcatalog.emit.catalog_rows import note as note_of_rows
from gpcatalog.emit.cover_text import COVER_HEADS, cover_line, cover_row, upkeep_line
from gpcatalog.emit.files_text import (
    auxiliary_line,
    counted_from,
    files_of,
    removable_of,
    sample_line,
)
from gpcatalog.emit.growth_text import amount
from gpcatalog.emit.html_parts import Cell, Prose, ended, prose, short, table
from gpcatalog.emit.svg import safe
from gpcatalog.growth.chart_data import Picture, TableLine
from gpcatalog.latency.locks import Slots
from gpcatalog.model.quantity import count, duration, plural, size

# bytes of the page for the list of tables: about 25,000 tables with names of usual length; the last
# row is the sum of the tables that are left out
TABLES_BYTES = 3_000_000
LOCKS_SHOWN = 12
FAILURES_SHOWN = 20  # steps of an upkeep run


def _known(value: int | None) -> str:
    return count(value) if value is not None else "?"


def _bytes(value: int | None) -> str:
    return size(value) if value is not None else "?"


def _of_limit(value: float | None, unit: str) -> str:
    if value is not None and unit == "x":
        return f"{value:.1f} ×"
    return amount(value, unit)


def _share(v: Verdict) -> str:
    """The value as a share of the limit; the share of a verdict on a minimum is the inverse."""
    if v.share is None:
        return "?"
    share = 1 / v.share if v.minimum else v.share
    if share >= 10:
        return f"{share:,.0f} ×"
    return f"{share:.0%}" if share >= 0.005 or not share else "<1%"


def limits_table(report: Report) -> str:
    """All limits: the current value, the limit, the share, the state and the source."""
    rows: list[tuple[Cell, ...]] = []
    classes = []
    for v in report.verdicts:
        note = v.source + (f"; {v.note}" if v.note else "")
        rows.append(
            (
                (v.what, note),
                _of_limit(v.value, v.unit),
                ("at least " if v.minimum else "") + _of_limit(v.limit, v.unit),
                _share(v),
                v.word,
            )
        )
        classes.append(v.state if v.state in ("over", "near") else "")
    if not rows:
        return ""
    heads = ("limit of", "now", "limit", "share", "state")
    return table(heads, rows, label="Limits and current values", classes=classes)


def timings_table(report: Report) -> str:
    """Measured durations: minimum, median and 95th percentile."""
    rows: list[tuple[Cell, ...]] = []
    few = False
    for t in report.timings:
        known = t.median_ms if t.median_ms is not None else t.mean_ms
        if known is None:
            continue
        mean = "" if t.median_ms is not None else "mean instead of median"
        few = few or t.n < 20
        rows.append(
            (
                (f"{t.what} {t.subject}".strip(), mean),
                count(t.n),
                _ms(t.min_ms),
                _ms(known),
                _ms(t.p95_ms),
                _known(t.leaves) if t.leaves is not None else "",
            )
        )
    if not rows:
        return ""
    heads = ("measured", "times", "minimum", "median", "p95", "leaves")
    note = (
        "<p>p95 is the 95th percentile. With fewer than 20 measurements it is the maximum.</p>"
        if few
        else "<p>p95 is the 95th percentile.</p>"
    )
    return note + table(heads, rows, label="Latency", name="timings", budget=30_000)


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 1000 else duration(value / 1000)


def locks_table(slots: Slots, *, segments: bool) -> str:
    """Lock slots of the server, and the statements that need the most of them."""
    if not slots.needs:
        return ""
    where = "the coordinator" if segments else "this server"
    have = (
        f"{plural(slots.slots, 'lock slot')} on {where}, shared by all sessions."
        if slots.slots is not None
        else f"The number of lock slots on {where} was not read."
    )
    shown = slots.needs[:LOCKS_SHOWN]
    rows = [
        (
            f"{n.statement} {n.table}",
            count(n.locks),
            "?" if n.share is None else "<0.1%" if n.share < 0.0005 else f"{n.share:.1%}",
        )
        for n in shown
    ]
    classes = [
        "over" if (n.share or 0) > 1 else "near" if (n.share or 0) > 0.8 else "" for n in shown
    ]
    return (
        f"<p>{have} Locks of a statement are derived from the leaves and indexes of its tables"
        " (cost model).</p>"
        + table(
            ("statement", "locks", "share of the slots"),
            rows,
            label="Lock slots that statements need",
            classes=classes,
        )
        + f'<p class="source">Lock slots: {prose(slots.source)}.</p>'
    )


def _table_row(t: TableLine) -> tuple[str, ...]:
    return (
        f"{t.schema}.{t.name}", t.storage, count(t.leaves), _known(t.empty), count(t.class_rows), count(t.attribute_rows),
        _known(t.files), _bytes(t.bytes),
    )  # fmt: skip


def tables_table(seen: Picture, *, segments: bool) -> str:
    """All tables by catalog rows; tables beyond TABLES_BYTES are summed in the last row."""
    if not seen.tables:
        return ""
    rows, used = [], 0
    for t in seen.tables:
        row = _table_row(t)
        used += sum(len(safe(cell).encode()) + 4 for cell in row) + 25
        if used > TABLES_BYTES:
            break
        rows.append(row)
    rest = seen.tables[len(rows) :]
    foot: tuple[str, ...] = ()
    more = ""
    if rest:
        more = f" {plural(len(rest), 'table')} with fewer catalog rows are left out."
        foot = (
            f"{plural(len(rest), 'more table')} together", "", count(sum(t.leaves for t in rest)), "",
            count(sum(t.class_rows for t in rest)), count(sum(t.attribute_rows for t in rest)), "", "",
        )  # fmt: skip
    basis = (
        " Catalog rows are of one instance; files and bytes are of all segments, without those of"
        " indexes and TOAST relations."
        if segments
        else " Files and bytes are without those of indexes and TOAST relations."
    )
    heads = (
        "table",
        "storage",
        "leaves",
        "empty leaves",
        "pg_class rows",
        "pg_attribute rows",
        "files",
        "bytes",
    )
    return (
        f"<p>{plural(len(rows), 'table')} in descending order of catalog rows.{basis}{more}</p>"
        + table(heads, rows, label="Tables", name="tables", left=2, foot=foot, budget=1 << 24)
    )


def _files_text(report: Report, *, rewritable: bool) -> str:
    """Totals of the files, and the meaning of the columns of their table."""
    found = report.files
    if found is None:
        return ""
    where = "on all segments" if report.server.segments else "on this server"
    about = "about " if found.sample else ""
    text = f"{plural(found.files, 'file')} {where}"
    if found.average_bytes is not None:
        text += f", {about}{size(found.average_bytes)} on average"
    parts = [text]
    if found.empty is not None and found.files:
        parts.append(f"{about}{found.empty / found.files:.0%} of the files are empty")
    if found.when_filled is not None and found.when_filled > found.files:
        parts.append(f"{count(found.when_filled)} files when every empty leaf has rows")
    if found.hollow_bytes:
        parts.append(f"indexes without entries take {about}{size(found.hollow_bytes)}")
    basis = (
        "Counted in the data directories."
        if found.basis == "directory"
        else prose(sample_line(found.sample))
        if found.sample
        else f"At least: {counted_from(segments=bool(report.server.segments))}"
    )
    columns = "The column <b>filled</b> counts files when every empty leaf has rows."
    if rewritable:
        columns += (
            " The columns <b>ao_column</b>, <b>ao_row</b> and <b>heap</b> count the same with all"
            " leaves in that storage and one writer. <b>Removable</b> files would disappear with"
            " ao_row today (derived from the files of each leaf; about: estimate for rows on every"
            " segment)."
        )
    return f"<p>{safe('; '.join(parts))}. {basis} {columns}</p>"


def files_table(report: Report) -> str:
    """Files by table and by host; columns of other storage types only if the server has them."""
    found = report.files
    if found is None or not found.files:
        return ""
    rewritable = any(t.as_ao_row is not None for t in found.tables)
    heads: tuple[str, ...] = ("table", "storage", "files", "filled")
    if rewritable:
        heads += ("ao_column", "ao_row", "heap", "removable")
    rows = [
        (
            f"{t.schema}.{t.name}", t.storage, files_of(t, found.sample), _known(t.when_filled), _known(t.as_ao_column),
            _known(t.as_ao_row), _known(t.as_heap), removable_of(t),
        )[:len(heads)]
        for t in found.tables
    ]  # fmt: skip
    out = [_files_text(report, rewritable=rewritable)]
    if rows:
        title = "Tables with the most files"
        out.append(f"<h3>{title}</h3>")
        out.append(table(heads, rows, label=title, name="files", left=2, budget=60_000))
    if found.hosts and report.server.segments:
        hosts = [
            (h.host, count(h.primaries), count(h.mirrors), count(h.files), count(h.mirror_files))
            for h in found.hosts
        ]
        heads = ("host", "primaries", "mirrors", "files of primaries", "files of mirrors")
        out.append("<h3>Files by host</h3>")
        out.append(table(heads, hosts, label="Files by host", budget=20_000))
    return "".join(out)


def auxiliary_table(report: Report) -> str:
    """Large auxiliary relations of append-optimized tables; empty if there are none."""
    found = report.auxiliary
    if found is None or not found.large:
        return ""
    rows = [
        (
            f"{a.schema}.{a.name}", a.kind, a.relation, str(a.worst_content), size(a.worst_bytes), _known(a.worst_rows),
            _bytes(a.worst_reclaimable), "?" if a.bloat is None else f"{a.bloat:.1f} ×",
        )
        for a in found.relations
    ]  # fmt: skip
    left_out = found.large - len(rows)
    note = safe(auxiliary_line(found)) + (
        f"; {count(left_out)} with fewer reclaimable bytes are not listed" if left_out else ""
    )
    heads = ("table", "kind", "relation", "content ID", "bytes", "rows", "reclaimable", "bloat")
    title = "Auxiliary relations"
    return f"<h3>{title}</h3><p>{note}.</p>" + table(
        heads, rows, label=title, name="auxiliary", left=3, budget=20_000
    )


def cover_section(report: Report) -> str:
    """Tables with the least cover, tables with gaps, and the last run of upkeep; empty without
    these.
    """
    cover, state = report.partition_cover, report.upkeep
    out = []
    if state is not None:
        out.append(f"<p>{prose(upkeep_line(state))}</p>")
        if state.failures:
            rest = len(state.failures) - FAILURES_SHOWN
            more = f"<li>and {count(rest)} more" if rest > 0 else ""
            shown = "".join(f"<li>{safe(f)}" for f in state.failures[:FAILURES_SHOWN])
            out.append(f"<ul>{shown}{more}</ul>")
    if cover is not None and (cover.tables or cover.unknown):
        rows = [cover_row(t) for t in cover.least]
        classes = ["over" if t.low and not t.has_default else "" for t in cover.least]
        out.append(f"<p>{prose(cover_line(cover))}</p>")
        if rows:
            out.append(table(COVER_HEADS, rows, label="Partitions ahead", classes=classes))
    if cover is not None and cover.gapped:
        gaps = [(f"{t.schema}.{t.name}", t.first_gap, str(t.gaps)) for t in cover.gaps]
        heads = ("gaps between partitions of", "first", "gaps")
        out.append(table(heads, gaps, label="Gaps between partitions", left=2))
    return "".join(out)


def catalogs_table(report: Report) -> str:
    """All catalogs: rows, bytes, reclaimable bytes and bloat factor."""
    if not report.catalog_summary:
        return ""
    segments = bool(report.server.segments)
    live = live_rows(report, report.catalog_summary)
    rows = []
    for s in report.catalog_summary:
        reclaimable = _bytes(s.worst_reclaimable)
        bloat = f"{s.worst_bloat:.1f} ×" if s.worst_bloat is not None else "?"
        middle: tuple[str, ...] = (size(s.worst_bytes),)
        if segments:
            worst = str(s.worst_content)
            middle = (size(s.coordinator_bytes), size(s.median_bytes), *middle, worst)
        rows.append((s.relation, live[s.relation], *middle, reclaimable, bloat))
    heads: tuple[str, ...] = ("catalog", "live rows", "bytes", "reclaimable", "bloat")
    note = "Bytes of heap, TOAST and indexes. Reclaimable bytes and bloat are estimates."
    if estimates := note_of_rows(live):
        note += f" Live rows are counted; {estimates}"
    if segments:
        heads = (
            "catalog",
            "live rows",
            "coordinator",
            "median segment",
            "largest segment",
            "content ID",
            "reclaimable",
            "bloat",
        )
        note += " Content ID, reclaimable bytes and bloat are of the largest segment."
    return f"<p>{note}</p>" + table(heads, rows, label="Catalogs", name="catalogs", budget=60_000)


def not_read_table(report: Report) -> str:
    """Probes that could not be read, with the privilege that each one needs."""
    lost = [c for c in report.coverage if c.status != "read"]
    if not lost:
        return ""
    rows = [(c.probe, c.status, Prose(short(ended(c.reason), 200)), Prose(c.needs)) for c in lost]
    heads = ("probe", "state", "reason", "needed privilege")
    return table(heads, rows, label="Probes that could not be read", left=4, budget=20_000)
