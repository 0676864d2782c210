"""Charts of one snapshot for the page: catalogs, instances, leaf partitions and files."""

from __future__ import annotations

from collections import Counter, defaultdict

from gpcatalog.audit.files import LISTED
from gpcatalog.audit.report import Report
from gpcatalog.capacity.limits import FILE_BUCKETS
from gpcatalog.emit.html_parts import Data, figure
from gpcatalog.emit.svg import Bar, bars, legend
from gpcatalog.growth.chart_data import Picture
from gpcatalog.model.quantity import count, plural, size

CATALOGS_DRAWN = 10
INSTANCES_DRAWN = 12
_PARTS = (("needed", "a"), ("reclaimable", "b"))


def catalogs_chart(report: Report) -> str:
    """Draw needed and reclaimable bytes of the largest catalogs."""
    sums: dict[str, int] = defaultdict(int)
    freed: dict[str, int] = defaultdict(int)
    unknown = set()  # not counted on an instance
    for row in report.catalogs:
        sums[row.relation] += row.heap_bytes + row.toast_bytes + row.index_bytes
        freed[row.relation] += row.reclaimable_bytes or 0
        if row.reclaimable_bytes is None:
            unknown.add(row.relation)

    def reclaimable(name: str) -> str:
        return "?" if name in unknown else size(freed[name])

    def needed(name: str) -> str:
        return "?" if name in unknown else size(sums[name] - freed[name])

    names = sorted((r for r in sums if sums[r]), key=lambda r: (-sums[r], r))[:CATALOGS_DRAWN]
    title = "Reclaimable space by catalog"
    chart = bars(
        title,
        [
            Bar(
                r,
                ((sums[r] - freed[r], "a"), (freed[r], "b")),
                f"{reclaimable(r)} of {size(sums[r])}",
            )
            for r in names
        ],
        label_letters=21,
    )
    where = ", all instances together" if report.server.segments else ""
    left_out = f" The {len(names)} largest catalogs." if len(sums) > len(names) else ""
    return figure(
        title,
        f"Bytes of heap, TOAST and indexes{where}. VACUUM FULL and REINDEX would free the"
        f" reclaimable bytes (estimate).{left_out}",
        chart and chart + legend(_PARTS),
        Data(
            ("catalog", "needed", "reclaimable", "total"),
            [(r, needed(r), reclaimable(r), size(sums[r])) for r in names],
        ),
    )


def instances_chart(report: Report) -> str:
    """Draw needed and reclaimable catalog bytes of each instance."""
    totals = report.instance_totals
    if len(totals) < 2:
        return ""
    shown = sorted(totals, key=lambda t: (-t.bytes, t.content))[:INSTANCES_DRAWN]

    def label(content: int) -> str:
        return "coordinator" if content == -1 else f"segment {content}"

    rows = [
        Bar(
            label(t.content),
            ((t.needed_bytes, "a"), (t.reclaimable_bytes, "b")),
            f"{size(t.bytes)}, {t.bloat:.1f} ×",
        )
        for t in shown
    ]
    left_out = f" The {len(shown)} largest of {len(totals)}." if len(totals) > len(shown) else ""
    title = "Catalog size by instance"
    return figure(
        title,
        f"Needed and reclaimable bytes of all catalogs, and the bloat factor.{left_out}",
        bars(title, rows) + legend(_PARTS),
        Data(
            ("instance", "needed", "reclaimable", "total", "bloat"),
            [
                (
                    label(t.content),
                    size(t.needed_bytes),
                    size(t.reclaimable_bytes),
                    size(t.bytes),
                    f"{t.bloat:.1f} ×",
                )
                for t in shown
            ],
        ),
    )


def files_chart(report: Report, seen: Picture) -> str:
    """Draw files by storage: now, with all leaves filled, and as ao_row; empty if there is only one
    number.
    """
    rows = []
    for f in seen.files:
        rows.append(Bar(f"{f.storage} now", ((f.now, "a"),), count(f.now)))
        if f.full != f.now:
            rows.append(Bar(f"{f.storage}, all filled", ((f.full, "b"),), count(f.full)))
        if f.storage == "ao_column":
            rows.append(Bar("stored as ao_row", ((f.as_row, "c"),), count(f.as_row)))
    if len(rows) < 2:
        return ""
    title = "Files per segment by storage" if report.server.segments else "Files by storage"
    return figure(
        title,
        "Now, with rows in every leaf, and with ao_row instead of ao_column. Derived from columns,"
        " indexes and auxiliary relations (estimate).",
        bars(title, rows, label_letters=21),
        Data(("storage", "files"), [(r.label, r.note) for r in rows]),
    )


def sizes_chart(report: Report, seen: Picture) -> str:
    """Draw shares of files by size: from the directories if they were listed, else from the average
    file size of each leaf.
    """
    listed = report.files is not None and report.files.basis in LISTED and report.files.buckets
    if report.files is not None and listed:
        found: Counter[str] = Counter()
        for one in report.files.buckets:
            found[one.label] += one.files
        sizes = [found[b.label] for b in FILE_BUCKETS]
        basis = (
            f"Estimated from 1 in {report.files.sample.one_in} file numbers."
            if report.files.sample
            else "Listed in the data directories: files of tables, indexes and catalogs."
        )
    else:
        sizes = list(seen.sizes)
        basis = "Each leaf counts with its average file size."
    total = sum(sizes)
    if not total:
        return ""
    shown = [
        Bar(b.label, ((n, "a"),), f"{n / total:.0%}" if n / total >= 0.005 or not n else "<1%")
        for b, n in zip(FILE_BUCKETS, sizes, strict=True)
    ]
    title = "Files by size"
    return figure(
        title,
        f"Share of {plural(total, 'file' if listed else 'data file')} in each range of sizes."
        f" {basis}",
        bars(title, shown),
        Data(
            ("file size", "files", "share"),
            [
                (b.label, count(n), f"{n / total:.1%}")
                for b, n in zip(FILE_BUCKETS, sizes, strict=True)
            ],
        ),
    )


def grains_chart(seen: Picture) -> str:
    """Draw leaf partitions by the interval of the first partition level; empty if all tables have
    the same interval.
    """
    if len(seen.grains) < 2:
        return ""
    rows = [
        Bar(
            g.grain,
            ((g.leaves, "a"),),
            f"{count(g.leaves)} in {plural(g.tables, 'table')}",
        )
        for g in seen.grains
    ]
    title = "Leaf partitions by partition interval"
    return figure(
        title,
        "Interval of the first partition level of each table.",
        bars(title, rows, label_letters=9),
        Data(
            ("interval", "tables", "leaves", "median of a table", "largest table"),
            [
                (g.grain, count(g.tables), count(g.leaves), count(g.median), count(g.most))
                for g in seen.grains
            ],
        ),
    )
