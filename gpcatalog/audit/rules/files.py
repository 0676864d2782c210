"""Rules about files: how many, how small, whose they are, and what no relation owns."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.files import Files, OrphanTotal, TableFiles
from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import rule
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration, plural, size

MANY = 10_000  # files below which their size is nobody's problem
FACTOR = 3.0  # files as ao_column to files as ao_row from which on a table is told
EMPTY_SHARE = 0.25  # share of zero-size files from which on they are told
SMALL_COLUMN = 8 * limits.MIB  # average bytes of a column's file below which rows would do as well


def _names(files: Files) -> tuple[str, ...]:
    return tuple(f"{t.schema}.{t.name}" for t in files.tables[:10])


def _sure(files: Files) -> Confidence:
    return Confidence.HIGH if files.basis == "directory" else Confidence.MEDIUM


def _basis(files: Files) -> str:
    return "counted" if files.basis == "directory" else "derived"


@rule("files-per-host-over-guideline")
def files_per_host_over_guideline(report: Report) -> Iterator[Finding]:
    """A segment host holds more files than Greenplum's documentation advises.

    What it finds: hosts that hold, or nearly hold, 100,000 files of this database, mirrors' files
    included, and those that will once every empty leaf has rows.
    Why it matters: every file costs an inode, a directory entry and time: recovery, backup, DROP
    and the copying of a segment all work file by file.
    How sure it is: counted in the directories, or from the lists of segment files; a mirror is
    taken to have its primary's number; other databases on the host come on top. The guideline is
    the documentation's.
    What to do: merge fine partitions, and turn column-oriented tables with small files into
    row-oriented ones: `gpcatalog plan`.
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
        confidence=_sure(files),
        title=(
            f"{count(now)} files of this database on host {host.host}, the guideline is"
            f" {count(limit.value)}"
        ),
        detail=(
            f"once every empty leaf has rows: about {count(later)};"
            f" {plural(len(files.hosts), 'host')} in all."
        ),
        remedy=(
            "merge fine partitions and turn small column-oriented leaves into row-oriented ones:"
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


@rule("average-file-too-small")
def average_file_too_small(report: Report) -> Iterator[Finding]:
    """The average file of the database is far smaller than scans like.

    What it finds: Greenplum databases of at least 10,000 files whose bytes / files is below 10 MB;
    the target is 30 to 40 MB.
    Why it matters: files of 2 MB were scanned 1.8 times slower than files of 128 MB, files of 0.25
    MB 2.5 times, on one published stand.
    How sure it is: bytes and files are measured; the slowdown is interpolated between three
    published points: low.
    What to do: fewer, larger leaves, and row orientation where a column's share of a leaf is small:
    `gpcatalog plan`.
    """
    files, target = report.files, limits.AVERAGE_FILE_TARGET_LOW
    if files is None or not files.average_bytes or not report.server.segments or files.files < MANY:
        return
    if files.average_bytes >= limits.AVERAGE_FILE_TOLERABLE_LOW.value:
        return
    share = f", {(files.small or 0) / files.files:.0%} of them of at most 1 MB"
    slow = (
        f"scans about {files.slowdown:.1f} × slower than with files of 128 MB"
        f" ({files.slowdown_note or 'published'})"
    )
    yield Finding(
        rule="average-file-too-small",
        severity=Severity.WARNING,
        confidence=Confidence.LOW,
        title=(
            f"the average of {count(files.files)} files is {size(files.average_bytes)}, the target"
            f" {size(target.value)} or more"
        ),
        detail=f"{plural(files.empty or 0, 'file')} of zero size{share}; {slow}.",
        remedy=(
            "make leaves larger: `gpcatalog plan`; choose row orientation where columns are small"
        ),
        relations=_names(files),
        relations_total=len(files.tables),
        figures=(
            Figure("average", files.average_bytes, "bytes", "measured"),
            Figure("target", target.value, "bytes", "published"),
            Figure("slowdown", files.slowdown or 1.0, "x", "estimate"),
        ),
        source=files.slowdown_source or target.source,
    )


@rule("column-files-multiply")
def column_files_multiply(report: Report) -> Iterator[Finding]:
    """Column orientation multiplies the files of a table that row orientation would hold in a
    few.

    What it finds: column-oriented tables that, with every leaf filled, have at least three times
    the files and at least 10,000 more than row-oriented ones, and whose files average less than 8
    MB, so that a column read alone saves little.
    Why it matters: a column-oriented leaf has a file for every column, segment and concurrent
    writer; a row-oriented one a file for every segment and writer.
    How sure it is: files are counted by a model that was held against live servers, for one writer;
    whether queries read few of many columns is not known here: medium.
    What to do: convert the older leaves: `gpcatalog plan`; measure a query before and after on one
    of them.
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
    names = [f"{t.schema}.{t.name}" for t in found]
    who = f"{names[0]} has" if len(found) == 1 else f"{count(len(found))} tables have"
    pronoun = "it" if len(found) == 1 else "they"
    most = ", ".join(
        f"{name} {count(t.as_ao_column or 0)}" for t, name in zip(found[:3], names, strict=False)
    )
    yield Finding(
        rule="column-files-multiply",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        title=(
            f"{who} {column / row:.1f} × the files as ao_column that {pronoun} would have as ao_row"
        ),
        detail=(
            f"filled: {count(column)} (ao_column) : {count(row)} (ao_row)"
            + (f" : {count(heap)} (heap)" if heap is not None else "")
            + f"; now {count(sum(t.files for t in found))}"
            + (
                f"; a conversion would remove {plural(removable, 'file')} today"
                if removable is not None
                else ""
            )
            + (f". Most: {most}" if len(found) > 1 else "")
            + "."
        ),
        remedy="convert leaves with small columns to row orientation: `gpcatalog plan`",
        relations=tuple(names[:10]),
        relations_total=len(names),
        figures=(
            Figure("files as ao_column", column, "files", "derived"),
            Figure("files as ao_row", row, "files", "derived"),
            *(
                (Figure("removable now", removable, "files", "derived"),)
                if removable is not None
                else ()
            ),
        ),
        source="cost model, counted on live servers",
    )


def _multiplied(table: TableFiles) -> bool:
    """Whether column orientation multiplies the files of a table whose column files are small."""
    column, row = table.as_ao_column, table.as_ao_row
    return (
        column is not None
        and bool(row)
        and "ao_column" in table.storage
        and column >= FACTOR * (row or 1)
        and column - (row or 0) >= MANY
        and (table.bytes is None or table.bytes < SMALL_COLUMN * table.main)
    )


@rule("zero-size-files")
def zero_size_files(report: Report) -> Iterator[Finding]:
    """Many files of the database are empty.

    What it finds: databases of at least 10,000 files of which a quarter or more have zero size, and
    the bytes of index pages without entries.
    Why it matters: an empty file costs an inode and its share of recovery, backup and DROP as a
    full one does; empty leaves have at least four of them on every segment, and VACUUM leaves
    emptied segment files behind.
    How sure it is: counted in the directories: high. A filled append-optimized table keeps its
    first file empty too, which is normal.
    What to do: drop leaves that nothing will fill: `gpcatalog plan`.
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
        confidence=Confidence.HIGH,
        title=(
            f"{count(files.empty)} of {count(files.files)} files have zero size"
            f" ({files.empty / files.files:.0%})"
        ),
        detail=f"indexes without any entry take another {size(files.hollow_bytes or 0)}.",
        remedy="drop empty leaves that nothing will fill and premake fewer: `gpcatalog plan`",
        relations=tuple(
            f"{t.schema}.{t.name}" for t in sorted(files.tables, key=lambda t: -(t.empty or 0))[:10]
        ),
        relations_total=len(files.tables),
        figures=(
            Figure("zero-size files", files.empty, "files", "counted"),
            Figure("files", files.files, "files", "counted"),
            Figure("bytes without entries", files.hollow_bytes or 0, "bytes", "measured"),
        ),
        source="counted in the data directories",
    )


def _orphans(files: Files | None, kind: str) -> OrphanTotal | None:
    return (
        next((t for t in files.orphan_totals if t.kind == kind), None)
        if files is not None
        else None
    )


@rule("orphan-file-candidates")
def orphan_file_candidates(report: Report) -> Iterator[Finding]:
    """Files lie in the data directories that no row of pg_class owns.

    What it finds: files whose relfilenode no row of pg_class on their segment names and that were
    last changed before the oldest transaction under way began, a minute allowed for clocks. Told
    apart, and no candidates: files that may be in use, lone empty files that wait for a checkpoint,
    files that may belong to a prepared transaction.
    Why it matters: a crash in the middle of a load or of CREATE TABLE leaves them; nothing will
    ever remove or reuse them.
    How sure it is: candidates, never a verdict: nothing was locked and no checkpoint forced:
    medium.
    What to do: look again after a checkpoint and after a restart; remove a file only with the
    vendor's check and a backup at hand.
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
            f"{plural(total.files, 'file')} of {size(total.bytes)} without a row in pg_class:"
            " candidates for orphans"
        ),
        detail=f"{plural(total.relations, 'relfilenode')}; the largest: {listed}.",
        remedy=(
            "look again after a checkpoint and a restart; never remove a file on this word alone"
        ),
        figures=(
            Figure("files", total.files, "files", "counted"),
            Figure("bytes", total.bytes, "bytes", "measured"),
        ),
        source="data directories against pg_class of the same instance",
        content=largest[0].content if largest else None,
    )


@rule("missing-files")
def missing_files(report: Report) -> Iterator[Finding]:
    """A relation has no file.

    What it finds: rows of pg_class that name a file which is not in the data directory, asked
    twice.
    Why it matters: the relation cannot be read on that instance: an error for every query that
    reaches it.
    How sure it is: looked for twice, a moment apart, without a lock: a table dropped in just that
    moment would show: medium.
    What to do: run the audit again; if it stays, look for what removed the file, and restore the
    relation from its mirror or a backup.
    """
    files = report.files
    total = _orphans(files, "missing")
    if files is None or total is None:
        return
    lost = [o for o in files.orphans if o.kind == "missing"]
    yield Finding(
        rule="missing-files",
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        title=f"{plural(total.relations, 'relation')} without a file",
        detail="".join(
            f"{o.folder}/{o.node}{f' on segment {o.content}' if o.content >= 0 else ''}; "
            for o in lost[:5]
        ).rstrip("; ")
        + ".",
        remedy="run the audit again; if they stay missing, restore from the mirror or a backup",
        figures=(Figure("relations", total.relations, "files", "counted"),),
        source="pg_class against the data directory of the same instance",
        content=lost[0].content if lost else None,
    )


@rule("files-differ-from-catalog")
def files_differ_from_catalog(report: Report) -> Iterator[Finding]:
    """A table's own list of segment files and its directory do not agree.

    What it finds: append-optimized tables of which a segment has another number of files with bytes
    than the lists name with rows.
    Why it matters: a transaction that was rolled back leaves bytes beyond what the list says, which
    is normal until VACUUM; files fewer than listed mean lost data.
    How sure it is: both were read without a lock, a moment apart: loads under way show: low where
    there are more, medium where fewer.
    What to do: run the audit again in a quiet moment; VACUUM the table where there are more files;
    look into the log where fewer.
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
            f"{worst.schema}.{worst.name} has {count(worst.files)} files with bytes on segment"
            f" {worst.content}, its lists name {count(worst.listed)}"
        ),
        detail=(
            f"{plural(files.differences_total, 'pair')} of table and segment differ;"
            f" {plural(files.compared, 'table')} compared."
        ),
        remedy=(
            "run the audit again in a quiet moment; then VACUUM the table, or look into the"
            " segment's log where files are fewer"
        ),
        relations=tuple(dict.fromkeys(f"{d.schema}.{d.name}" for d in files.differences)),
        relations_total=len({(d.schema, d.name) for d in files.differences}),
        figures=(
            Figure("files", worst.files, "files", "counted"),
            Figure("listed", worst.listed, "files", "counted"),
        ),
        source="data directory against the lists of segment files",
        content=worst.content,
    )
