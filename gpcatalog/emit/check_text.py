"""Output of the check as text: each finding with its source line and a caret, then the totals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from gpcatalog.capacity.seconds import COPY_RATE
from gpcatalog.check.report import CheckReport, LocatedFinding
from gpcatalog.check.rules import page
from gpcatalog.model.finding import Severity
from gpcatalog.model.names import listed, printable
from gpcatalog.model.quantity import count, duration, plural, size

_COLOURS = {
    Severity.CRITICAL: "1;31",
    Severity.WARNING: "33",
    Severity.NOTICE: "36",
    Severity.INFO: "2",
}
_LONGEST = 100  # shown characters of a source line
_TABLES = 10  # tables in a list
_REASONS = 4  # reasons in the list of rows that are not counted


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def excerpt(found: LocatedFinding) -> list[str]:
    """The part of the source line around the place, and a line with the caret below it."""
    line = found.source_line.expandtabs(1)
    start = found.column - 1
    stop = found.end_column - 1 if found.end_line == found.line else len(line)
    first = max(0, start - 40) if len(line) > _LONGEST else 0
    shown = line[first : first + _LONGEST]
    before = ("…" if first else "") + printable(shown[: start - first])
    marked = printable(shown[start - first : max(stop - first, start - first + 1)])
    after = printable(shown[max(stop - first, start - first + 1) :]) + (
        "…" if first + _LONGEST < len(line) else ""
    )
    number = str(found.line)
    return [
        f"  {number} | {before}{marked}{after}",
        f"  {' ' * len(number)} | {' ' * _width(before)}{'^' * max(1, _width(marked))}",
    ]


def _tables(report: CheckReport) -> list[str]:
    """A table of what the change adds to each table; empty for a single table."""
    changed = [t for t in report.tables if t.rows or t.leaves or t.files_empty or t.exclusive]
    if len(changed) < 2:
        return []
    budget = report.budgets.get("table", {})
    head = ["table", "leaves", "catalog rows", "files, filled", "locks"]
    lines = [head]
    for t in changed[:_TABLES]:
        figures = (("leaves", t.leaves), ("rows", t.rows), ("files", t.files_filled))
        cells = [
            f"{value:+,d}" + (f" of {budget[name]:,d}" if name in budget else "")
            for name, value in figures
        ]
        lines.append(
            [
                printable(t.table) + ("" if t.complete else " (incomplete)"),
                *cells,
                f"{t.locked:,d}" + (", AccessExclusive" if t.exclusive else ""),
            ]
        )
    widths = [max(_width(line[n]) for line in lines) for n in range(len(head))]
    out = [
        "  ".join(
            cell + " " * (width - _width(cell)) if not n else " " * (width - _width(cell)) + cell
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    if len(changed) > _TABLES:
        out.append(f"… and {plural(len(changed) - _TABLES, 'table')} more")
    return [*out, ""]


def _locks(report: CheckReport) -> list[str]:
    """With a baseline: durations of locks on tables of the baseline."""
    out = []
    for t in sorted(
        (t for t in report.tables if t.held),
        key=lambda t: (-sum(h.seconds or 0 for h in t.held), t.table),
    ):
        first = t.held[0]
        known = [h.seconds for h in t.held if h.seconds is not None]
        total = size(first.bytes) if first.bytes is not None else "unknown size"
        time = (
            ("at least " if len(known) < len(t.held) else "about ") + duration(sum(known))
            if known
            else "an unknown time"
        )
        rewrites = (
            f", {count(n)} of them rewrite{'s' if n == 1 else ''} it"
            if (n := sum(h.rewritten for h in t.held))
            else ""
        )
        what = f"{plural(len(t.held), 'statement')}{rewrites}"
        out.append(
            f"  {printable(t.table)} ({plural(first.leaves, 'leaf', 'leaves')}, {total}): {what},"
            f" {time}"
        )
    if not out:
        return []
    more = [f"  … and {plural(len(out) - _TABLES, 'table')} more"] if len(out) > _TABLES else []
    rate = (
        f"  estimates: rows that are copied or read at {COPY_RATE >> 20} MiB/s per segment (assumed);"
        f" DDL at {report.pace.words}"
    )
    return ["AccessExclusiveLocks on tables of the baseline", *out[:_TABLES], *more, rate, ""]


def _finding(found: LocatedFinding, *, color: bool, explain: bool) -> list[str]:
    """The lines of one finding: its place, the source line, the reason, and the remedy."""

    def paint(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    finding = found.finding
    out = [
        f"{printable(found.file)}:{found.line}:{found.column}:"
        f" {paint(_COLOURS[finding.severity], finding.severity.word)}"
        f" {paint('1', finding.rule)}: {printable(finding.title)}",
        *excerpt(found),
        f"      why: {printable(finding.detail)}"
        + (f" ({finding.source})" if finding.source else ""),
        f"      do:  {printable(finding.remedy)}",
    ]
    if explain:
        out.append(
            f"      sure: {page(finding.rule).get('How sure it is', finding.confidence.value)}"
        )
    return out


def _left_out(report: CheckReport) -> str:
    """What the totals do not contain."""
    parts = []
    if report.rejected:
        parts.append(plural(report.rejected, "rejected statement"))
    if report.partly_unknown:
        parts.append(f"unknown effects of {plural(report.partly_unknown, 'statement')}")
    return f", without {' and '.join(parts)}" if parts else ""


def _totals(report: CheckReport) -> list[str]:
    """The totals of the whole change, with its budget and the baseline."""
    total = report.total
    left_out = _left_out(report)
    rows = max(sum(total.rows_segment.values()), sum(total.rows_coordinator.values()))
    out = [
        f"the change on {report.server}{left_out}: {plural(total.leaves, 'leaf', 'leaves')},"
        f" {plural(rows, 'catalog row')} per instance; {plural(total.files_empty, 'file')} per"
        f" segment when empty, {count(total.files_filled)} when filled"
    ]
    if report.not_counted:
        reasons = [f"{r} ({plural(n, 'statement')})" for r, n in report.not_counted.items()]
        out.append(f"not counted: {listed(reasons, _REASONS)}")
    if report.segments > 1 or report.hosts > 1:
        host = -(-report.segments // report.hosts)
        out.append(
            f"on {plural(report.segments, 'segment')} of {plural(report.hosts, 'host')}:"
            f" {count(total.files_empty * host)} files per host when empty,"
            f" {count(total.files_filled * host)} when filled"
        )
    if total.locks > 1:
        out.append(f"one statement holds up to {count(total.locks)} locks at once")
    if report.seconds >= 1:
        shortest = "" if report.seconds_complete else "at least "
        out.append(
            f"time of the DDL: {shortest}about {duration(report.seconds)}, without rows that are copied"
            f" or read (estimate; {report.pace.words})"
        )
    used = {"leaves": total.leaves, "files": total.files_filled, "rows": rows}
    for name, limit in report.budgets.get("change", {}).items():
        if name in used:
            incomplete = "" if total.complete else " (incomplete)"
            out.append(
                f"budget of the change{incomplete}: {count(used[name])} of {count(limit)} {name}"
            )
    for name, value in report.baseline.items():
        more = {
            "leaves": total.leaves,
            "files": total.files_filled if total.files_filled > 0 else total.files_empty,
            "rows": rows,
        }.get(name, 0)
        out.append(f"with the baseline: {count(value)} {name} before, {count(value + more)} after")
    return out


def _counts(report: CheckReport) -> str:
    """The number of findings, and the amount of input."""
    return (
        f"{plural(len(report.findings), 'finding')}, {count(report.ignored)} ignored,"
        f" {plural(len(report.files), 'file')},"
        f" {plural(report.typed + report.not_understood + report.errors, 'statement')}"
        f" ({count(report.typed)} parsed, {count(report.not_understood)} unknown,"
        f" {count(report.errors)} with errors)"
    )


def pieces(report: CheckReport, *, color: bool = False, explain: bool = False) -> Iterator[str]:
    """The whole report, as text in pieces."""
    for found in report.findings:
        yield "\n".join(_finding(found, color=color, explain=explain)) + "\n\n"
    yield "\n".join([*_tables(report), *_locks(report), *_totals(report), _counts(report)]) + "\n"


def render(report: CheckReport, *, color: bool = False, explain: bool = False) -> str:
    """The whole report."""
    return "".join(pieces(report, color=color, explain=explain))
