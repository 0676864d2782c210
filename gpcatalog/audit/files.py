"""The file section of a report: files by part, instance, host and table, their future number, and
their number with another storage type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.capacity import limits
from gpcatalog.capacity.generation import Generation, generation
from gpcatalog.capacity.model import EMPTY, FILLED, Index, Place, Shape, relation_files
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables, orphans and differences in a report
LISTED = ("directory", "sample")  # bases that include file sizes
MANY = 10_000  # lowest number of files of a database for which the average file size is judged


class Part(msgspec.Struct, frozen=True):
    """Files of one part on all segments: main, auxiliary, toast, index, fork, sequence, catalog,
    other, unowned.

    bytes, empty, small: None if directories could not be listed; small: of at most 1 MB, including
                         empty files
    """

    part: str
    files: int
    bytes: int | None
    empty: int | None
    small: int | None


class OnInstance(msgspec.Struct, frozen=True):
    """Files of this database on one segment (or the only server)."""

    content: int
    host: str
    files: int
    bytes: int | None
    empty: int | None
    small: int | None


class OnHost(msgspec.Struct, frozen=True):
    """Files of this database on one host; a mirror is assumed to have as many as its primary."""

    host: str
    primaries: int
    mirrors: int
    files: int
    mirror_files: int


class Bucket(msgspec.Struct, frozen=True):
    """One bucket of the histogram of file sizes.

    storage: storage type of tables; for other files their part.
    """

    storage: str
    label: str
    files: int
    bytes: int


class TableFiles(msgspec.Struct, kw_only=True, frozen=True):
    """The files of a table and its leaves, on all segments.

    files:        of all parts; the next fields are the parts
    files_error:  error of files if they are estimated from a sample; None if they are counted, or
                  if too few files of the table are in the sample
    hollow_bytes: of indexes that have a single page and no entry: the cost of empty tables
    when_filled:  files once every empty leaf has rows from one writer (derived)
    as_ao_column, as_ao_row, as_heap: files with every leaf filled by one writer, in each storage;
        None if the server does not have this storage
    removable:    files that a conversion from ao_column to ao_row would remove today, of leaves
                  that contain rows (derived from the files of each leaf, for one writer; TOAST
                  tables that only ao_row has, as on Greenplum 7, are not deducted)
    removable_estimated: whether the files of a leaf are unknown: the estimate is for rows on every
                  segment, the most; None if removable is unknown
    removal_fastest, removal_slowest: seconds that removing all files takes at the published rates,
        on the segment with the most files
    """

    schema: str
    name: str
    storage: str
    leaves: int
    files: int
    files_error: int | None
    main: int
    auxiliary: int
    toast: int
    index: int
    fork: int
    bytes: int | None
    empty: int | None
    small: int | None
    hollow_bytes: int | None
    when_filled: int | None
    as_ao_column: int | None
    as_ao_row: int | None
    as_heap: int | None
    removable: int | None
    removable_estimated: bool | None
    removal_fastest: float
    removal_slowest: float


class Difference(msgspec.Struct, frozen=True):
    """A table whose segment file list and directory differ on one segment; only files with bytes
    are counted.
    """

    schema: str
    name: str
    content: int
    files: int
    listed: int


class Orphan(msgspec.Struct, kw_only=True, frozen=True):
    """Files of one relfilenode without a row in pg_class (kind missing: a row without its file).

    relation: schema and name of a relation whose file is missing; None for other kinds and in older
              snapshots
    """

    content: int
    node: int
    folder: str
    files: int
    bytes: int
    age_seconds: float | None
    kind: str
    relation: str | None = None


class OrphanTotal(msgspec.Struct, frozen=True):
    """All orphans of one kind: candidate, may be in use, awaits a checkpoint, may be of a prepared
    transaction, missing.
    """

    kind: str
    relations: int
    files: int
    bytes: int


class Sample(msgspec.Struct, frozen=True):
    """The sample from which all figures except the number of files are estimated, and the errors of
    the totals: half the width of a 95 % confidence interval.

    one_in:      one of this many file numbers is in the sample
    bytes_error: None if relations that are large by their pages in pg_class may be missing from the
                 sample
    """

    one_in: int
    empty_error: int
    small_error: int
    bytes_error: int | None


class Files(msgspec.Struct, kw_only=True, frozen=True):
    """All figures about the files of this database on the segments (or the only server); the
    coordinator stores no rows.

    basis:         "directory"; "sample": the files of each instance are counted, the rest is
                   estimated; or "catalog": segment file lists and relations are counted, forks and
                   sizes are unknown
    sample:        None unless basis is "sample"
    average_bytes: bytes / files of the database, None without bytes
    slowdown:      estimate for this average, a ratio; None without column-oriented tables, because
                   it was published only for them
    when_filled, removable, removable_estimated: over all tables, as in TableFiles
    compared:      number of tables whose segment file lists were compared with the directory;
                   differences: tables where they differ
    """

    basis: str
    sample: Sample | None
    files: int
    bytes: int | None
    empty: int | None
    small: int | None
    average_bytes: float | None
    slowdown: float | None
    slowdown_source: str
    slowdown_note: str
    hollow_bytes: int | None
    when_filled: int | None
    removable: int | None
    removable_estimated: bool | None
    parts: tuple[Part, ...]
    instances: tuple[OnInstance, ...]
    hosts: tuple[OnHost, ...]
    buckets: tuple[Bucket, ...]
    tables: tuple[TableFiles, ...]
    compared: int
    differences: tuple[Difference, ...]
    differences_total: int
    orphans: tuple[Orphan, ...]
    orphan_totals: tuple[OrphanTotal, ...]


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)


def _sample(snapshot: Snapshot) -> Sample | None:
    """The sample of a snapshot if its files are estimated from one, else None."""
    for row in snapshot.rows("SELECT * FROM file_sample WHERE root IS NULL"):
        return Sample(
            row["one_in"],
            round(row["empty_files"]),
            round(row["small_files"]),
            _rounded(row["bytes"]),
        )
    return None


def _model(server: Generation, row: dict[str, Any], segments: int) -> str | None:
    """One row of VALUES: the shape, and its files on all segments when empty, when filled, and when
    filled in each storage.
    """
    storage = Storage(row["storage"])
    if storage not in server.storages:
        return None

    def files(of: Storage, use: Any) -> str:
        if of not in server.storages:
            return "NULL"
        shape = Shape(
            of,
            row["columns"],
            toastable=row["toast"],
            indexes=(Index(),) * row["indexes"],
            place=Place.LEAF,
        )
        return str(relation_files(server, shape, use) * segments)

    figures = (
        files(storage, EMPTY),
        files(storage, FILLED),
        *(files(s, FILLED) for s in (Storage.AO_COLUMN, Storage.AO_ROW, Storage.HEAP)),
    )
    return (
        f"('{storage}', {row['columns']}, {row['toast']}, {row['indexes']}, {', '.join(figures)})"
    )


def _removable(segments: int) -> str:
    """SQL for the files that ao_row would save for a column-oriented leaf with rows.

    A leaf has one file on each segment, and on a segment with rows one for each column, or one less
    if its rows are in segment file 0, as after CREATE TABLE AS; with ao_row it has one there, or
    none. If its files are unknown: for rows on every segment.
    """
    more = f"greatest(r.files - {segments}, 0)"
    columns = 'greatest(r."columns", 1)'
    return (
        f'CASE WHEN r.files IS NULL THEN {segments} * greatest(r."columns" - 1, 0)'
        f" WHEN {more} % {columns} = 0 THEN {more} - least({more} // {columns}, {segments})"
        f" WHEN {more} % ({columns} - 1) = 0 THEN {more}"
        f" ELSE {more} - least(ceil({more} / {columns})::BIGINT, {segments}) END"
    )


def _files_when_filled(snapshot: Snapshot, segments: int) -> dict[int, dict[str, Any]]:
    """By root: files that are added when its empty leaves are filled, files in each storage, and
    files that a conversion would remove.

    The cost model is evaluated once for every shape; DuckDB adds up the leaves.
    """
    try:
        server = generation(snapshot.header["generation"])
    except CatalogError:
        return {}
    kinds = "kind IN ('leaf', 'table')"
    shapes = snapshot.rows(
        f'SELECT DISTINCT storage, "columns", toast, indexes FROM relation WHERE {kinds} ORDER'
        " BY ALL"
    )
    values = [v for v in (_model(server, row, segments) for row in shapes) if v is not None]
    if not values:
        return {}
    rows = snapshot.rows(f"""
        SELECT r.root, sum(CASE WHEN NOT r.filled THEN m.filled - m.bare ELSE 0 END) AS growth, bool_and(r.filled IS NOT NULL) AS known,
               sum(m.as_column) AS as_column, sum(m.as_row) AS as_row, sum(m.as_heap) AS as_heap,
               sum(CASE WHEN r.storage = 'ao_column' AND r.filled
                        THEN {_removable(segments)} ELSE 0 END) AS removable,
               coalesce(bool_or(r.storage = 'ao_column' AND r.filled AND r.files IS NULL), false) AS estimated
          FROM relation r
          JOIN (VALUES {", ".join(values)}) m (storage, "columns", toast, indexes, bare, filled, as_column, as_row, as_heap)
            ON m.storage = r.storage AND m."columns" = r."columns" AND m.toast = r.toast AND m.indexes = r.indexes
         WHERE r.{kinds} GROUP BY r.root
    """)
    return {row["root"]: row for row in rows}


def _tables(
    snapshot: Snapshot, basis: str, ahead: dict[int, dict[str, Any]]
) -> tuple[TableFiles, ...]:
    def part(name: str) -> str:
        return f"coalesce(sum(f.files) FILTER (f.part = '{name}'), 0) AS {name}"

    rows = snapshot.rows(
        f"""SELECT t.root, t."schema", t.name, t.storage, t.leaves, sum(f.files) AS files, {part("main")}, {part("auxiliary")},
                   {part("toast")}, {part("index")}, {part("fork")}, sum(f.bytes) AS bytes, sum(f.empty_files) AS empty_,
                   sum(f.small_files) AS small, sum(f.hollow_bytes) AS hollow,
                   (SELECT max(n) FROM (SELECT sum(files) AS n FROM file_total x WHERE x.root = t.root AND x.basis = ? GROUP BY x.content))
                       AS most
              FROM file_total f JOIN root_total t ON t.root = f.root
             WHERE f.basis = ? GROUP BY t.root, t."schema", t.name, t.storage, t.leaves
             ORDER BY files DESC, t."schema", t.name LIMIT ?""",
        [basis, basis, TOP],
    )
    errors = {
        row["root"]: row["files"]
        for row in snapshot.rows("SELECT root, files FROM file_sample WHERE root IS NOT NULL")
    }
    rates = [rate.value for rate in limits.REMOVAL_RATES]
    out = []
    for row in rows:
        more = ahead.get(row["root"], {})
        known = bool(more.get("known"))
        out.append(
            TableFiles(
                schema=row["schema"],
                name=row["name"],
                storage=row["storage"],
                leaves=int(row["leaves"]),
                files=int(row["files"]),
                files_error=_rounded(errors.get(row["root"])),
                main=int(row["main"]),
                auxiliary=int(row["auxiliary"]),
                toast=int(row["toast"]),
                index=int(row["index"]),
                fork=int(row["fork"]),
                bytes=_int(row["bytes"]) if basis in LISTED else None,
                empty=_int(row["empty_"]) if basis in LISTED else None,
                small=_int(row["small"]),
                hollow_bytes=_int(row["hollow"]),
                when_filled=int(row["files"]) + int(more["growth"]) if known else None,
                as_ao_column=_int(more.get("as_column")),
                as_ao_row=_int(more.get("as_row")),
                as_heap=_int(more.get("as_heap")),
                removable=_int(more.get("removable")) if known else None,
                removable_estimated=bool(more.get("estimated")) if known else None,
                removal_fastest=limits.removal_seconds(row["most"], max(rates)),
                removal_slowest=limits.removal_seconds(row["most"], min(rates)),
            )
        )
    return tuple(out)


# sums over the rows of file_total of one group
_SUMS = (
    "sum(files) AS files, sum(bytes) AS bytes, sum(empty_files) AS empty_, sum(small_files) AS"
    " small, sum(hollow_bytes) AS hollow"
)


def _figures(row: dict[str, Any], basis: str) -> tuple[int, int | None, int | None, int | None]:
    """Files, bytes, empty and small files of a row of _SUMS; the last three only if sizes were
    read.
    """
    if basis not in LISTED:
        return int(row["files"]), None, None, None
    return int(row["files"]), _int(row["bytes"]), _int(row["empty_"]), _int(row["small"])


def _parts(snapshot: Snapshot, basis: str) -> tuple[Part, ...]:
    """Files by part, the most files first."""
    return tuple(
        Part(row["part"], *_figures(row, basis))
        for row in snapshot.rows(
            f"SELECT part, {_SUMS} FROM file_total WHERE basis = ? GROUP BY part ORDER BY files"
            " DESC, part",
            [basis],
        )
    )


def _on_instances(snapshot: Snapshot, basis: str) -> tuple[OnInstance, ...]:
    """Files by instance, with the host of its primary."""
    rows = snapshot.rows(
        f"SELECT content, {_SUMS} FROM file_total WHERE basis = ? GROUP BY content ORDER BY"
        " content",
        [basis],
    )
    primary = {
        r["content"]: r["hostname"] or ""
        for r in snapshot.rows("SELECT content, hostname FROM instance WHERE role = 'p'")
    }
    return tuple(
        OnInstance(row["content"], primary.get(row["content"], ""), *_figures(row, basis))
        for row in rows
    )


def _buckets(snapshot: Snapshot) -> tuple[Bucket, ...]:
    """The histogram of file sizes, by storage and bucket."""
    order = [bucket.label for bucket in limits.FILE_BUCKETS]
    buckets = [
        Bucket(r["storage"], r["bucket"], int(r["files"]), int(r["bytes"]))
        for r in snapshot.rows(
            "SELECT storage, bucket, sum(files) AS files, sum(bytes) AS bytes FROM file_bucket"
            " GROUP BY storage, bucket"
        )
    ]
    return tuple(sorted(buckets, key=lambda b: (b.storage, order.index(b.label))))


def _differences(snapshot: Snapshot) -> tuple[tuple[Difference, ...], int]:
    """Tables whose segment file lists and directories differ, the largest differences first, and
    the number of all of them.
    """
    differing = """FROM file_total c JOIN root_total t ON t.root = c.root
                   LEFT JOIN file_total d ON d.basis = 'directory' AND d.root = c.root AND d.content = c.content AND d.part = c.part
                   WHERE c.basis = 'catalog' AND c.part = 'main' AND c.empty_files IS NOT NULL
                     AND coalesce(d.files - d.empty_files, 0) <> c.files - c.empty_files"""
    listed = tuple(
        Difference(r["schema"], r["name"], r["content"], int(r["files"]), int(r["listed"]))
        for r in snapshot.rows(
            f"""SELECT t."schema", t.name, c.content, coalesce(d.files - d.empty_files, 0) AS files, c.files - c.empty_files AS listed
                     {differing} ORDER BY abs(c.files - c.empty_files - coalesce(d.files - d.empty_files, 0)) DESC, 1, 2, 3 LIMIT {TOP}"""
        )
    )
    return listed, int(snapshot.one(f"SELECT count(*) AS n {differing}")["n"])


def _compared(snapshot: Snapshot) -> int:
    """Number of tables whose segment files were listed."""
    return int(
        snapshot.one(
            "SELECT count(DISTINCT root) AS n FROM file_total WHERE basis = 'catalog' AND part ="
            " 'main'"
        )["n"]
    )


def _orphans(snapshot: Snapshot) -> tuple[Orphan, ...]:
    """The largest orphans of each kind."""
    return tuple(
        Orphan(**row)
        for row in snapshot.rows(
            f"SELECT * FROM orphan ORDER BY kind, bytes DESC, files DESC, content, node LIMIT {TOP}"
        )
    )


def _orphan_totals(snapshot: Snapshot) -> tuple[OrphanTotal, ...]:
    """All orphans, by kind."""
    return tuple(
        OrphanTotal(row["kind"], int(row["n"]), int(row["files"]), int(row["bytes"]))
        for row in snapshot.rows(
            "SELECT kind, count(*) AS n, sum(files) AS files, sum(bytes) AS bytes FROM orphan"
            " GROUP BY kind ORDER BY bytes DESC, kind"
        )
    )


def build_files(snapshot: Snapshot) -> Files | None:
    """The file section of one snapshot; None if neither directories nor segment file lists were
    read.
    """
    basis = snapshot.files_basis
    if not basis:
        return None
    seen = basis == "directory"
    total = snapshot.one(f"SELECT {_SUMS} FROM file_total WHERE basis = ?", [basis])
    files, bytes_, empty, small = _figures(total, basis)
    average = bytes_ / files if bytes_ and files else None
    # a pruned snapshot contains no leaves
    columnar = snapshot.one(
        "SELECT (SELECT count(*) FROM relation WHERE storage = 'ao_column')"
        " + (SELECT count(*) FROM root_total WHERE storage = 'ao_column') AS n"
    )["n"]
    slow = limits.slowdown(average) if average and columnar else None
    instances = _on_instances(snapshot, basis)
    ahead = _files_when_filled(snapshot, len(instances))
    known = ahead and all(row["known"] for row in ahead.values())
    differences, differences_total = _differences(snapshot) if seen else ((), 0)
    return Files(
        basis=basis,
        sample=_sample(snapshot),
        files=files,
        bytes=bytes_,
        empty=empty,
        small=small,
        average_bytes=average,
        slowdown=slow.value if slow else None,
        slowdown_source=slow.source if slow else "",
        slowdown_note=slow.note if slow else "",
        hollow_bytes=_int(total["hollow"]) if basis in LISTED else None,
        when_filled=files + sum(int(row["growth"]) for row in ahead.values()) if known else None,
        removable=sum(int(row["removable"]) for row in ahead.values()) if known else None,
        removable_estimated=any(row["estimated"] for row in ahead.values()) if known else None,
        parts=_parts(snapshot, basis),
        instances=instances,
        hosts=tuple(OnHost(host, *n) for host, n in sorted(snapshot.files_on_hosts().items())),
        buckets=_buckets(snapshot),
        tables=_tables(snapshot, basis, ahead),
        compared=_compared(snapshot) if seen else 0,
        differences=differences,
        differences_total=differences_total,
        orphans=_orphans(snapshot),
        orphan_totals=_orphan_totals(snapshot),
    )
