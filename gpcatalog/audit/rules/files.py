"""Rules about files: their number, their size and files without a relation."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.files import LISTED, MANY, Files, OrphanTotal, TableFiles
from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration, plural, size

FACTOR = 3.0  # lowest ratio of files as ao_column to files as ao_row that is reported
EMPTY_SHARE = 0.25  # lowest share of zero-size files that is reported
SMALL_COLUMN = 8 * limits.MIB  # average bytes of a column file; smaller ones favor row orientation


def _names(files: Files) -> tuple[str, ...]:
    return tuple(f"{t.schema}.{t.name}" for t in files.tables[:10])


def _confidence(files: Files) -> Confidence:
    return Confidence.HIGH if files.basis == "directory" else Confidence.MEDIUM


def _basis(files: Files) -> str:
    # the files of each instance are counted in a sample, too
    return "counted" if files.basis in LISTED else "derived"


def _measured(files: Files, figure: str) -> str:
    """The basis of a figure that is computed from file sizes."""
    return "estimate" if files.sample else figure


@rule("files-per-host-over-guideline", Harm.SPACE)
def files_per_host_over_guideline(report: Report) -> Iterator[Finding]:
    """A segment host has more files than Greenplum's documentation recommends.

    What it finds: hosts with at least 80 % of 100,000 files of this database, mirror files
    included, now or when every empty leaf has rows.
    Why it matters: every file costs an inode, a directory entry and time. Recovery, backup, DROP
    and segment rebuilds work file by file.
    How sure it is: files are counted in the data directories or derived from the lists of segment
    files. A mirror is assumed to have as many files as its primary. Other databases on the host
    are not included. The guideline comes from the documentation.
    What to do: merge small partitions and convert column-oriented tables with small files to row
    orientation: `gpcatalog plan`.
    """
    files, limit = report.files, limits.FILES_PER_HOST
    if files is None or not report.server.segments or not files.hosts:
        return
    host = max(files.hosts, key=lambda h: (h.files + h.mirror_files, h.host))
    now = host.files + host.mirror_files
    later = (
        now * files.when_filled / files.files
        if files.when_filled is not None and files.files
        else now
    )
    if later < 0.8 * limit.value:
        return
    over = now > limit.value
    yield Finding(
        rule="files-per-host-over-guideline",
        severity=Severity.WARNING if over else Severity.NOTICE,
        confidence=_confidence(files),
        title=(
            f"host {host.host} has {count(now)} files of this database,"
            f" {now / limit.value:.0%} of the guideline of {count(limit.value)}"
        ),
        detail=(
            f"About {count(later)} files when every empty leaf has rows."
            f" The cluster has {plural(len(files.hosts), 'host')}."
        ),
        remedy=(
            "merge small partitions and convert small column-oriented leaves to row orientation:"
            " `gpcatalog plan`"
        ),
        relations=_names(files),
        relations_total=len(files.tables),
        figures=(
            Figure("files now", now, "files", _basis(files)),
            Figure("files when filled", round(later), "files", "derived"),
            Figure("guideline", limit.value, "files", "limit"),
        ),
        source=limit.source,
    )


@rule("average-file-too-small", Harm.SLOW)
def average_file_too_small(report: Report) -> Iterator[Finding]:
    """The average file of the database is too small for fast scans.

    What it finds: Greenplum databases with at least 10,000 files whose average size is below
    10 MB. The recommended average is 30 to 40 MB.
    Why it matters: in a published test, scans of 2 MB files were 1.8 times slower than scans of
    128 MB files, and scans of 0.25 MB files 2.5 times.
    How sure it is: low: bytes and files are measured, the slowdown is interpolated between three
    published points.
    What to do: make leaves larger, and use row orientation where each column of a leaf is small:
    `gpcatalog plan`.
    """
    files, target = report.files, limits.AVERAGE_FILE_TARGET_LOW
    if files is None or not files.average_bytes or not report.server.segments or files.files < MANY:
        return
    if files.average_bytes >= limits.AVERAGE_FILE_TOLERABLE_LOW.value:
        return
    share = f"{(files.small or 0) / files.files:.0%} of the files have at most 1 MB."
    slow = (
        f" Scans are about {files.slowdown:.1f} × slower than with 128 MB files"
        f" ({files.slowdown_note or 'published'})."
        if files.slowdown
        else ""
    )
    yield Finding(
        rule="average-file-too-small",
        severity=Severity.WARNING,
        confidence=Confidence.LOW,
        title=(
            f"{count(files.files)} files have an average size of {size(files.average_bytes)}"
            f" (recommended: {size(target.value)} or more)"
        ),
        detail=f"{plural(files.empty or 0, 'file')} of zero size; {share}{slow}",
        remedy="make leaves larger, and use row orientation where columns are small: `gpcatalog plan`",
        relations=_names(files),
        relations_total=len(files.tables),
        figures=(
            Figure("average", files.average_bytes, "bytes", _measured(files, "measured")),
            Figure("target", target.value, "bytes", "published"),
            *((Figure("slowdown", files.slowdown, "x", "estimate"),) if files.slowdown else ()),
        ),
        source=files.slowdown_source or target.source,
    )


@rule("column-files-multiply", Harm.SPACE)
def column_files_multiply(report: Report) -> Iterator[Finding]:
    """Column orientation multiplies the number of files of a table.

    What it finds: column-oriented tables that, with all leaves filled, have at least three times
    and at least 10,000 more files than with row orientation, and whose files are smaller than 8 MB
    on average.
    Why it matters: a column-oriented leaf has one file per column, segment and concurrent writer. A
    row-oriented leaf has one file per segment and writer.
    How sure it is: medium: the number of files comes from a cost model that was checked on live
    servers, for one writer. Whether queries read only a few of many columns is not known.
    What to do: convert the older leaves: `gpcatalog plan`. Compare a query before and after on one
    leaf.
    """
    files = report.files
    found = sorted(
        filter(_multiplied, files.tables if files is not None else ()),
        key=lambda t: ((t.as_ao_row or 0) - (t.as_ao_column or 0), t.schema, t.name),
    )
    if not found:
        return
    column, row = sum(t.as_ao_column or 0 for t in found), sum(t.as_ao_row or 0 for t in found)
    heap = None if any(t.as_heap is None for t in found) else sum(t.as_heap or 0 for t in found)
    removable = (
        None if any(t.removable is None for t in found) else sum(t.removable or 0 for t in found)
    )
    about = any(t.removable_estimated for t in found)
    names = [f"{t.schema}.{t.name}" for t in found]
    who = (
        f"{names[0]} has" if len(found) == 1 else f"{count(len(found))} column-oriented tables have"
    )
    pronoun = "it" if len(found) == 1 else "they"
    most = ", ".join(
        f"{name} {count(t.as_ao_column or 0)}" for t, name in zip(found[:3], names, strict=False)
    )
    yield Finding(
        rule="column-files-multiply",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        title=(
            f"{who} {column / row:.1f} × as many files as {pronoun} would have with row orientation"
        ),
        detail=(
            f"Files with all leaves filled: {count(column)} as ao_column, {count(row)} as ao_row"
            + (f", {count(heap)} as heap" if heap is not None else "")
            + f"; {count(sum(t.files for t in found))} now."
            + (
                f" A conversion would remove {'about ' if about else ''}"
                f"{plural(removable, 'file')} today."
                if removable is not None
                else ""
            )
            + (f" Largest: {most}." if len(found) > 1 else "")
        ),
        remedy="convert leaves with small columns to row orientation: `gpcatalog plan`",
        relations=tuple(names[:10]),
        relations_total=len(names),
        figures=(
            Figure("files as ao_column", column, "files", "derived"),
            Figure("files as ao_row", row, "files", "derived"),
            *(
                (Figure("removable now", removable, "files", "estimate" if about else "derived"),)
                if removable is not None
                else ()
            ),
        ),
        source="cost model, counted on live servers",
    )


def _multiplied(table: TableFiles) -> bool:
    """Whether a table has many small column files that row orientation would avoid."""
    column, row = table.as_ao_column, table.as_ao_row
    return (
        column is not None
        and bool(row)
        and "ao_column" in table.storage
        and column >= FACTOR * (row or 1)
        and column - (row or 0) >= MANY
        and (table.bytes is None or table.bytes < SMALL_COLUMN * table.main)
    )


@rule("zero-size-files", Harm.SPACE)
def zero_size_files(report: Report) -> Iterator[Finding]:
    """Many files of the database are empty.

    What it finds: databases with at least 10,000 files of which a quarter or more have zero size.
    The bytes of indexes without entries are reported too.
    Why it matters: an empty file costs an inode and takes part in recovery, backup and DROP. An
    empty append-optimized leaf has at least four files on every segment, and VACUUM keeps emptied
    segment files.
    How sure it is: high: files are counted in the data directories; medium if only a sample of the
    files was read. The first file of a filled append-optimized table is always empty, which is
    normal.
    What to do: drop leaves that will stay empty: `gpcatalog plan`.
    """
    files = report.files
    if (
        files is None
        or files.empty is None
        or files.files < MANY
        or files.empty < EMPTY_SHARE * files.files
    ):
        return
    yield Finding(
        rule="zero-size-files",
        severity=Severity.NOTICE,
        confidence=_confidence(files),
        title=(
            f"{'about ' if files.sample else ''}{count(files.empty)} of {count(files.files)} files"
            f" have zero size ({files.empty / files.files:.0%})"
        ),
        detail=(
            f"Empty indexes take another {'about ' if files.sample else ''}"
            f"{size(files.hollow_bytes or 0)}."
        ),
        remedy="drop leaves that will stay empty and create fewer in advance: `gpcatalog plan`",
        relations=tuple(
            f"{t.schema}.{t.name}" for t in sorted(files.tables, key=lambda t: -(t.empty or 0))[:10]
        ),
        relations_total=len(files.tables),
        figures=(
            Figure("zero-size files", files.empty, "files", _measured(files, "counted")),
            Figure("files", files.files, "files", "counted"),
            Figure(
                "bytes without entries",
                files.hollow_bytes or 0,
                "bytes",
                _measured(files, "measured"),
            ),
        ),
        source=(
            f"estimated from 1 in {files.sample.one_in} file numbers"
            if files.sample
            else "counted in the data directories"
        ),
    )


def _orphans(files: Files | None, kind: str) -> OrphanTotal | None:
    return (
        next((t for t in files.orphan_totals if t.kind == kind), None)
        if files is not None
        else None
    )


@rule("orphan-file-candidates", Harm.SPACE)
def orphan_file_candidates(report: Report) -> Iterator[Finding]:
    """The data directories contain files without a row in pg_class.

    What it finds: files whose relfilenode is not in pg_class of their segment and that were last
    changed before the oldest active transaction began (one minute is allowed for clock
    differences). Files that may be in use, single empty files that wait for a checkpoint and files
    of prepared transactions are listed separately.
    Why it matters: a crash during a load or CREATE TABLE leaves such files. The server never
    removes or reuses them.
    How sure it is: medium: these are candidates, because no lock was taken and no checkpoint forced.
    What to do: audit again after a checkpoint and after a restart. Remove a file only after the
    vendor's own check and with a backup.
    """
    files = report.files
    total = _orphans(files, "candidate")
    if files is None or total is None:
        return
    largest = [o for o in files.orphans if o.kind == "candidate"][:5]
    listed = ", ".join(
        f"{o.folder}/{o.node} on {f'segment {o.content}' if o.content >= 0 else 'this server'}"
        f" ({size(o.bytes)}, {duration(o.age_seconds)} old)"
        for o in largest
    )
    yield Finding(
        rule="orphan-file-candidates",
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        title=(
            f"{plural(total.files, 'file')} ({size(total.bytes)}) may be orphaned: no row in"
            " pg_class"
        ),
        detail=f"{plural(total.relations, 'relfilenode')}; largest: {listed}.",
        remedy=(
            "audit again after a checkpoint and a restart; do not remove a file because of this"
            " finding alone"
        ),
        figures=(
            Figure("files", total.files, "files", "counted"),
            Figure("bytes", total.bytes, "bytes", "measured"),
        ),
        source="data directories compared with pg_class of the same instance",
        content=largest[0].content if largest else None,
    )


@rule("missing-files", Harm.OUTAGE)
def missing_files(report: Report) -> Iterator[Finding]:
    """A relation has no data file.

    What it finds: rows of pg_class whose file was not in the data directory, checked twice.
    Why it matters: every query that reads the relation on that instance fails.
    How sure it is: medium: both checks were made without a lock; a table dropped between them is
    reported too.
    What to do: audit again. If the file is still missing, find out what removed it, and restore the
    relation from a backup or, on Greenplum, from the mirror.
    """
    files = report.files
    total = _orphans(files, "missing")
    if files is None or total is None:
        return
    lost = [o for o in files.orphans if o.kind == "missing"]
    names = tuple(dict.fromkeys(o.relation for o in lost if o.relation is not None))
    yield Finding(
        rule="missing-files",
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        title=f"{plural(total.relations, 'relation has', 'relations have')} no data file",
        detail="".join(
            f"{f'{o.relation}: ' if o.relation else ''}{o.folder}/{o.node}"
            f"{f' on segment {o.content}' if o.content >= 0 else ''}; "
            for o in lost[:5]
        ).rstrip("; ")
        + ".",
        remedy=(
            "audit again; if the files are still missing, restore from"
            f" {'the mirror or ' if report.server.mirrors else ''}a backup"
        ),
        relations=names[:10],
        relations_total=len(names),
        figures=(Figure("relations", total.relations, "files", "counted"),),
        source="pg_class compared with the data directory of the same instance",
        content=lost[0].content if lost else None,
    )


@rule("files-differ-from-catalog", Harm.OUTAGE)
def files_differ_from_catalog(report: Report) -> Iterator[Finding]:
    """The segment files of a table differ from its catalog entries.

    What it finds: append-optimized tables where the number of files with bytes on a segment differs
    from the number that the segment file list gives rows to.
    Why it matters: a rolled-back transaction leaves bytes beyond the list; this is normal until
    VACUUM. Fewer files than listed mean lost data.
    How sure it is: both were read without a lock, so loads in progress are reported: low for extra
    files, medium for missing files.
    What to do: audit again when no load runs. VACUUM the table if there are extra files; read the
    segment's log if files are missing.
    """
    files = report.files
    if files is None or not files.differences_total:
        return
    fewer = [d for d in files.differences if d.files < d.listed]
    worst = (fewer or list(files.differences))[0]
    yield Finding(
        rule="files-differ-from-catalog",
        severity=Severity.WARNING if fewer else Severity.INFO,
        confidence=Confidence.MEDIUM if fewer else Confidence.LOW,
        title=(
            f"{worst.schema}.{worst.name} has {plural(worst.files, 'file')} with data on segment"
            f" {worst.content}, but {count(worst.listed)} in its segment file list"
        ),
        detail=(
            f"{plural(files.differences_total, 'table/segment combination')} affected;"
            f" {plural(files.compared, 'table')} compared."
        ),
        remedy=(
            "audit again when no load runs; then VACUUM the table, or read the segment's log if"
            " files are missing"
        ),
        relations=tuple(dict.fromkeys(f"{d.schema}.{d.name}" for d in files.differences)),
        relations_total=len({(d.schema, d.name) for d in files.differences}),
        figures=(
            Figure("files", worst.files, "files", "counted"),
            Figure("listed", worst.listed, "files", "counted"),
        ),
        source="data directory compared with the segment file lists",
        content=worst.content,
    )
