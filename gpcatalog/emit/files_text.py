"""The files section of an audit: number of files by place, size and table."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from gpcatalog.audit.auxiliary import Auxiliary
from gpcatalog.audit.files import Files, Sample, TableFiles
from gpcatalog.capacity.limits import FILE_BUCKETS, REMOVE_XFS, REMOVE_ZFS_LOW
from gpcatalog.emit.terminal import table, text
from gpcatalog.model.auxiliary import LARGE
from gpcatalog.model.file_choice import ALWAYS
from gpcatalog.model.quantity import count, duration, plural, size

TABLES_SHOWN = 6


def _amount(value: int | None) -> str:
    return "?" if value is None else count(value)


def bytes_of(files: Files) -> str:
    """Bytes and average size as text after the number of files; empty if they are unknown."""
    if files.bytes is None or not files.average_bytes:
        return ""
    shown, average = size(files.bytes), size(files.average_bytes)
    if files.sample:
        error = files.sample.bytes_error
        shown = f"about {shown}" if error is None else f"{shown} ± {size(error)}"
        average = f"about {average}"
    return f", {shown}, {average} on average"


def files_of(table: TableFiles, sample: Sample | None) -> str:
    """The files of a table, with the error if they are estimated and the error is known."""
    if table.files_error is None:
        return f"about {count(table.files)}" if sample else count(table.files)
    return f"{count(table.files)} ± {count(table.files_error)}"


def removable_of(table: TableFiles) -> str:
    """The files of a table that ao_row would save, marked if they are an estimate."""
    about = "about " if table.removable and table.removable_estimated else ""
    return about + _amount(table.removable)


def show_files(files: Files | None, out: Console) -> None:
    """Print the section; nothing if files were not counted."""
    if files is None or not files.files:
        return
    out.print()
    out.print(Text("Files", style="bold"))
    _amounts(files, out)
    out.print(
        text("by kind: " + ", ".join(f"{p.part} {count(p.files)}" for p in files.parts), "dim")
    )
    if len(files.hosts) > 1:
        hosts = ", ".join(
            f"{h.host} {count(h.files + h.mirror_files)}"
            for h in sorted(files.hosts, key=lambda h: -h.files)[:5]
        )
        out.print(text(f"by host, with mirrors: {hosts}", "dim"))
    if files.buckets:
        _histogram(files, out)
    _tables(files, out)
    for t in files.orphan_totals:
        if t.kind != "missing":
            out.print(
                text(
                    f"not in pg_class, {t.kind}: {plural(t.files, 'file')} with forks,"
                    f" {size(t.bytes)}",
                    "dim",
                )
            )


def show_auxiliary(found: Auxiliary | None, out: Console) -> None:
    """Print the auxiliary relations with the most reclaimable bytes; nothing if none is large."""
    if found is None or not found.large:
        return
    rows = [
        (
            f"{a.kind} of {a.schema}.{a.name}",
            str(a.worst_content),
            size(a.worst_bytes),
            _amount(a.worst_rows),
            "?" if a.worst_reclaimable is None else size(a.worst_reclaimable),
            "?" if a.bloat is None else f"{a.bloat:.1f} ×",
        )
        for a in found.relations[:TABLES_SHOWN]
    ]
    heads = ("Auxiliary relation", "segment", "bytes", "rows", "reclaimable", "bloat")
    out.print()
    out.print(table("", heads, rows))
    out.print(text(auxiliary_line(found), "dim"))


def auxiliary_line(found: Auxiliary) -> str:
    """The total size of the large auxiliary relations, and the number of those with uncounted
    rows.
    """
    line = (
        f"{plural(found.large, 'auxiliary relation')} of {size(LARGE)} or more on a segment:"
        f" {size(found.bytes)} on all segments"
    )
    if found.reclaimable is not None:
        line += f", {size(found.reclaimable)} reclaimable"
    if found.uncounted:
        line += f"; reclaimable bytes of {count(found.uncounted)} are unknown"
    return line


def _amounts(files: Files, out: Console) -> None:
    """Print the number and sizes of files, and what was not counted."""
    where = (
        f"on {plural(len(files.instances), 'segment')}"
        if any(i.content >= 0 for i in files.instances)
        else "on this server"
    )
    line = f"{plural(files.files, 'file')} {where}"
    line += bytes_of(files)
    if files.when_filled is not None and files.when_filled > files.files:
        line += f"; {count(files.when_filled)} when every empty leaf has rows"
    out.print(text(line))
    if files.sample:
        out.print(text(sample_line(files.sample), "dim"))
    elif files.basis != "directory":
        out.print(
            text(
                f"At least: {counted_from(segments=where != 'on this server')}",
                "dim",
            )
        )
    if files.empty is not None and files.small is not None:
        errors = files.sample or Sample(1, 0, 0, 0)
        empty, small = (
            _share(n, error, files)
            for n, error in ((files.empty, errors.empty_error), (files.small, errors.small_error))
        )
        share = f"{empty} are empty, {small} have at most 1 MB"
        slow = (
            f"; scans are about {files.slowdown:.1f} × slower than with files of 128 MB (estimate,"
            f" {files.slowdown_source})"
            if files.slowdown
            else ""
        )
        out.print(text(share + slow))
        about = "about " if files.sample else ""
        hollow = size(files.hollow_bytes or 0)
        out.print(text(f"indexes without entries take {about}{hollow}", "dim"))


def counted_from(*, segments: bool) -> str:
    """A sentence about what was counted if the directories were not listed."""
    lists = "segment file lists and catalogs" if segments else "the catalogs"
    return (
        f"counted from {lists}, without files of system catalogs, forks, sizes and additional files"
        " of relations larger than 1 GB."
    )


def sample_line(sample: Sample) -> str:
    """A sentence about which figures are counted and which are estimated from a sample."""
    large = (
        "Bytes may be far off: the sample may lack the few largest files."
        if sample.bytes_error is None
        else "All files of system catalogs and of relations with"
        f" {size(ALWAYS)} or more on an instance at the last VACUUM or ANALYZE are read; large tables"
        " that were never analyzed can make the error of bytes too small."
    )
    return (
        f"Files of each instance are counted; the rest is estimated from 1 in {sample.one_in} file"
        f" numbers. ±: half of the 95 % interval. {large} Files without a relation were not looked"
        " for. `--files all` reads all."
    )


def _share(n: int, error: int, files: Files) -> str:
    """A share of all files, with its error if it is estimated."""
    share = f"{n / files.files:.0%}"
    return f"about {share} (± {error / files.files:.1%})" if files.sample else share


def _histogram(files: Files, out: Console) -> None:
    """Print a table of files by size."""
    by: Counter[str] = Counter()
    for b in files.buckets:
        by[b.label] += b.files
    rows = [
        (b.label, count(by[b.label]), f"{by[b.label] / files.files:.1%}")
        for b in FILE_BUCKETS
        if by[b.label]
    ]
    out.print()
    out.print(table("", ("File size", "files", "share"), rows))


def _tables(files: Files, out: Console) -> None:
    if not files.tables:
        return
    rows: list[tuple[str, ...]] = [
        (
            f"{t.schema}.{t.name}",
            files_of(t, files.sample),
            _amount(t.when_filled),
            _amount(t.as_ao_column),
            _amount(t.as_ao_row),
            _amount(t.as_heap),
            removable_of(t),
        )
        for t in files.tables[:TABLES_SHOWN]
    ]
    out.print()
    if any(t.as_ao_row is not None for t in files.tables):
        heads: tuple[str, ...] = (
            "Most files",
            "files",
            "filled",
            "ao_column",
            "ao_row",
            "heap",
            "removable",
        )
        note = (
            "filled: files when every empty leaf has rows. ao_column, ao_row, heap: the same"
            " with all leaves in that storage and one writer. removable: files that ao_row would"
            " save today."
        )
        if files.removable and files.removable_estimated:
            note += " about: estimate for rows on every segment."
    else:
        heads, rows = ("Most files", "files", "filled"), [row[:3] for row in rows]
        note = "filled: files when every empty leaf has rows."
    out.print(table("", heads, rows))
    first = files.tables[0]
    removal = (
        f"Dropping {first.schema}.{first.name} would take {duration(first.removal_fastest)} to"
        f" {duration(first.removal_slowest)} to remove its files ({count(REMOVE_XFS.value)} to"
        f" {count(REMOVE_ZFS_LOW.value)} files/s, published)"
    )
    out.print(text(f"{note} {removal}.", "dim"))
