"""The file section of an audit: one listing of the data directories, or the segment file lists if
the role may not list directories.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpcatalog.capacity.limits import FILE_BUCKETS
from gpcatalog.model.file_choice import ALWAYS, MOST_FILES, FileChoice, FileSelection
from gpcatalog.model.quantity import duration, plural
from gpcatalog.probes import file_sums
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.probes.free_session import FreeSession
from gpcatalog.probes.listing import EVERYWHERE, MOST_ROWS, Listing
from gpcatalog.store.snapshot import Writer

Covered = Callable[..., contextlib.AbstractContextManager[dict[str, Any]]]

BATCH = 2_000  # tables whose segment file lists are read by one statement
COMPARED_BATCH = 250  # the same for a comparison: the time limit is checked after each
# a segment process keeps memory for every table that it opened: use a new session after this many
BATCHES_A_SESSION = 5
# share of the time of the listing: time limit for comparing segment file lists after the first
# batch
RECONCILE_SHARE = 0.05
LIST_SECONDS = (
    0.001  # minimum seconds to read the lists of one table, on all segments together (measured)
)
ATTRIBUTE_ROW = (
    140  # minimum bytes of a row of pg_attribute (any server); at most one file per row is expected
)
COUNTED_FROM = 20_000_000  # expected files on a host from which their names are counted first
# files of one segment up to which it sends their names: it puts them into one text of about 15 bytes
# each, and then has 60 MB of them
MOST_NAMES = 4_000_000
FEWEST = 200_000  # with fewer files a sample is inaccurate, and all are listed in 1 or 2 s
SHARE = 16  # a sample contains one in this many file numbers
MOST_ALWAYS = 5_000  # maximum number of large relations: a statement has three lists of them
# time to list and sum all files, divided by the time to count their names (Greenplum 6, 1.7 million
# files: 22)
LISTING_FACTOR = 20.0
CLOCK_MARGIN = 60.0  # maximum difference in seconds between the clocks of hosts

# part codes of the probes relation_files and file_owners; 11 and above are tables, by storage
PARTS = {
    2: "auxiliary",
    3: "toast",
    4: "index",
    5: "auxiliary",
    6: "toast",
    7: "sequence",
    8: "catalog",
}
STORAGES = {11: "heap", 12: "ao_row", 13: "ao_column", 14: "other"}

_SEGMENT_FILES = {
    "content": "INTEGER",
    "oid": "UINTEGER",
    "files": "BIGINT",
    "filled": "BIGINT",
    "bytes": "BIGINT",
}


def _case(column: str, words: dict[int, str], default: str) -> str:
    return (
        f"CASE {column} "
        + " ".join(f"WHEN {code} THEN '{word}'" for code, word in words.items())
        + f" ELSE {default} END"
    )


_PART = _case(
    "part",
    PARTS,
    "CASE WHEN part IS NULL THEN 'unowned' WHEN part > 10 THEN 'main' ELSE 'other' END",
)
_STORAGE = _case("part", STORAGES | PARTS, "'unowned'")


@dataclass
class FileSection:
    """Collects the data about files for the audit.

    session, writer, covered, progress: those of the Collector; contents: content ids of all
        primaries, -1 for the coordinator or the only server
    choice: which files are read
    next_probe: what the separate session of the listing executes afterwards
    database_bytes: bytes of all listed files, None if nothing was listed
    counts: files by instance, if they were counted by name; too_slow: whether the listing timed out
    """

    session: Session
    writer: Writer
    covered: Covered
    contents: Sequence[int]
    choice: FileChoice = field(default_factory=FileChoice)
    progress: Callable[[str], None] = field(default=lambda _: None)
    next_probe: FreeSession | None = None
    database_bytes: int | None = field(default=None, init=False)
    counts: dict[int, int] = field(default_factory=dict, init=False)
    too_slow: bool = field(default=False, init=False)
    # maximum of files per instance, None if unknown
    _expected: float | None = field(default=None, init=False)

    @property
    def _holders(self) -> list[int]:
        """Content ids of the instances whose files are read: the segments, or the only server."""
        return [c for c in self.contents if c >= 0] if self.session.server.greenplum else [-1]

    # -- if directories may be listed --------------------------------------------------------------

    def begin(self, attribute_bytes: int | None = None) -> Listing | None:
        """Start to list the directories, in a separate session if possible. None, with the reason
        in the coverage, if they are not listed.

        attribute_bytes: of pg_attribute on the largest segment or the only server, None if unknown
        """
        if self.choice.files is FileSelection.NONE:
            with self.covered("relation_files"):
                raise ProbeFailed("not applicable", "--files none: the directories were not listed")
            return None
        if attribute_bytes is not None:
            self._expected = attribute_bytes / ATTRIBUTE_ROW
        share = self._share()
        if not share:
            with self.covered("relation_files"):
                raise ProbeFailed("timed out", "the names of the files alone took too long")
            return None
        listing = self._listing(share, self.next_probe)
        separate_session = None
        with contextlib.suppress(ProbeFailed):
            separate_session = self.session.fresh()
        listing.begin(separate_session)
        return listing

    def sample(self) -> Listing | None:
        """List a sample after listing all files took too long; None if no sample is taken."""
        if self.choice.files is not FileSelection.AUTO or not self.too_slow:
            return None
        if not self.counts:
            with self.covered("file_counts"):
                self.counts = self._counts()
        total = sum(self.counts.values())
        if total < FEWEST:
            return None
        self.progress(f"files: a sample of {plural(total, 'file')}")
        listing = self._listing(SHARE)
        listing.begin(None)
        return listing

    def _listing(self, share: int, next_probe: FreeSession | None = None) -> Listing:
        now: dict[str, float | None] = {}
        with self.covered("oldest_transaction"):
            now = self.session.rows("oldest_transaction")[0]
        return Listing(
            self.session,
            self.writer,
            now,
            summed=share > 1 or self._summed(),
            share=share,
            always=self._always() if share > 1 else (),
            batches=self._batches(),
            next_probe=next_probe,
        )

    def _always(self) -> list[int]:
        """File numbers of relations whose files are too large for random sampling."""
        with self.covered("large_relations") as note:
            found = self.session.rows(
                "large_relations",
                pages=str(ALWAYS // self.session.facts["block_size"]),
                segments=str(len(self._holders) or 1),
                most=str(MOST_ALWAYS),
            )
            if len(found) == MOST_ALWAYS:
                note["reason"] = f"only the {MOST_ALWAYS:,} largest were taken into the sample"
            return [row["node"] for row in found]
        return []

    def _batches(self) -> list[str]:
        """Content ids, comma-separated, of the segments that list at the same time: at most
        `choice.parallel` of each host.
        """
        if not self.choice.parallel or not self.session.server.greenplum:
            return [EVERYWHERE]
        found = self.writer.execute(
            "SELECT string_agg(content, ', ' ORDER BY content) FROM (SELECT content, row_number()"
            " OVER (PARTITION BY hostname ORDER BY content) - 1 AS n FROM instance WHERE role = 'p'"
            " AND content >= 0) GROUP BY n // ? ORDER BY min(n)",
            [self.choice.parallel],
        )
        # without the list of instances, all segments are listed
        return [contents for (contents,) in found] or [EVERYWHERE]

    def _on_a_host(self, counts: Mapping[int, int] | None = None) -> int:
        """Largest number of files on a host, without mirrors; without counts, largest number of
        instances.
        """
        counts = counts or dict.fromkeys(self._holders or [-1], 1)
        values = ", ".join(f"({content}, {n})" for content, n in counts.items())
        found = self.writer.execute(
            f"SELECT max(n) FROM (SELECT sum(files) AS n FROM (VALUES {values}) v (content, files)"
            " LEFT JOIN instance i ON i.content = v.content AND i.role = 'p' GROUP BY i.hostname)"
        )
        return int(found[0][0])

    def _share(self) -> int:
        """1 to list all files, n for a sample of 1 in n file numbers, 0 if not even the names can
        be read in time. Counts the names if there are many, and shows the expected duration of the
        listing.
        """
        which = self.choice.files
        expected = None if self._expected is None else self._expected * self._on_a_host()
        if which is not FileSelection.SAMPLE and expected is not None and expected <= COUNTED_FROM:
            return 1
        failed, begun = False, time.perf_counter()
        with self.covered("file_counts") as note:
            try:
                counts = self.counts = self._counts()
            except ProbeFailed as e:
                failed = e.status == "timed out"
                if failed:
                    self._expected = math.inf
                raise
            seconds = (time.perf_counter() - begun) * LISTING_FACTOR
            total = f"{plural(sum(counts.values()), 'file')}"
            if sum(counts.values()) < FEWEST:
                if which is FileSelection.SAMPLE:
                    note["reason"] = f"too few files for a sample: all {total} were read"
                return 1
            limit = self.session.timeouts.statement_ms / 1000 * len(self._batches()) / 2
            if which is FileSelection.SAMPLE or (
                which is FileSelection.AUTO
                and (self._on_a_host(counts) > MOST_FILES or seconds > limit)
            ):
                note["reason"] = (
                    f"{total}; the sizes of a sample of 1 in {SHARE} file numbers were read; all"
                    f" would take about {duration(seconds)}"
                )
                self.progress(f"files: a sample of {total}; all would take {duration(seconds)}")
                return SHARE
            self.progress(f"files: {total}, about {duration(seconds)}")
        return 0 if failed and which is not FileSelection.ALL else 1

    def _counts(self) -> dict[int, int]:
        """Count the files by instance, by their names. Raises ProbeFailed."""
        found = Counter[int]()
        for place in self.session.rows("tablespaces"):
            for contents in self._batches():
                for row in self.session.rows(
                    "file_counts", folder=place["folder"], contents=contents
                ):
                    found[row["content"]] += row["files"]
        return dict(found)

    def _summed(self) -> bool:
        """Whether the server sums the files: if there are too many names, or relations."""
        # without a number, the role may not list the directories, in either way
        if max(self.counts.values(), default=self._expected or 0) > MOST_NAMES:
            return True
        with self.covered("catalog_rows", "catalog_rows pg_class"):
            found = self.session.rows("catalog_rows", source="pg_catalog.pg_class")
            return int(found[0]["rows"]) * len(self.contents) > MOST_ROWS
        return True

    def from_directories(self, listing: Listing) -> bool:
        """Store the files of all tablespaces; False, with the reason in the coverage, if the role
        may not list the directories.
        """
        read = False
        label = "relation_files" if listing.share == 1 else "relation_files of a sample"
        with self.covered(listing.probe, label) as note:
            try:
                listing.end()
            except ProbeFailed as e:
                self.too_slow = e.status == "timed out"
                raise
            begun = time.perf_counter()
            listing.load()
            if listing.share > 1:
                file_sums.project(
                    self.writer, listing.share, self.counts, large=bool(listing.always)
                )
                self._keep_totals("sample")
                self._keep_counts()
            else:
                self._keep_relations()
                self._keep_totals("directory")
            note["seconds"] = round(listing.seconds + time.perf_counter() - begun, 6)
            read = True
        if read and listing.share == 1:
            if not listing.summed:
                self._recheck_orphans(listing)
            self._keep_orphans(listing.now)
        return read

    def _recheck_orphans(self, listing: Listing) -> None:
        """Check files again whose relation was created, dropped or changed during the listing."""
        if not listing.find_orphans():
            return
        with self.covered("orphan_files"):
            listing.recheck_orphans()
        if not listing.with_rows():
            return
        with self.covered("file_map"):
            # a rewritten table left an empty file, but is not empty
            moved = ", ".join(map(str, listing.rewritten())) or "NULL"
            self.writer.execute(
                "UPDATE relation SET files = NULL, bytes = NULL, max_segment_bytes = NULL, filled ="
                f" NULL WHERE oid IN ({moved})"
            )

    def _keep_relations(self) -> None:
        stored = (
            "storage IN ('heap', 'ao_row', 'ao_column', 'other') AND kind NOT IN ('root',"
            " 'intermediate')"
        )
        # every relation with storage has a file: a table that is not in the listing was created
        # later or lost its file, and is not reported as empty
        self.writer.execute(
            "UPDATE relation SET files = 0, bytes = 0, max_segment_bytes = 0, filled = false WHERE"
            f" {stored} AND storage = 'other'"
        )
        self.writer.execute(
            "UPDATE relation SET files = f.files - f.forks, bytes = f.bytes -"
            " coalesce(f.fork_bytes, 0), max_segment_bytes = f.most, filled = f.bytes >"
            " coalesce(f.fork_bytes, 0) FROM (SELECT oid, sum(files) AS files, sum(bytes) AS bytes,"
            " max(most) AS most, sum(forks) AS forks, sum(fork_bytes) AS fork_bytes FROM listed"
            # DuckDB takes ten times as long for an update in another order than that of the rows
            f" WHERE what = 1 GROUP BY oid ORDER BY oid) f WHERE f.oid = relation.oid AND {stored}"
        )
        found = self.writer.execute("SELECT sum(bytes) FROM listed WHERE what = 2")
        self.database_bytes = None if found[0][0] is None else int(found[0][0])

    def _keep_totals(self, basis: str) -> None:
        """Store totals by root, part and instance, with the forks as a separate part; files that
        belong to no table have root 0.
        """
        known = file_sums.KNOWN_ROOT
        part = (
            "CASE WHEN part IS NOT NULL AND part <> 8 AND oid NOT IN (SELECT root FROM relation)"
            f" THEN 'other' ELSE {_PART} END"
        )
        self.writer.execute(f"""
            INSERT INTO file_total
            SELECT content, root, part, '{basis}', sum(files), sum(bytes), sum(empty), sum(small), sum(hollow)
              FROM (SELECT content, {known} AS root, {part} AS part, files - forks AS files, bytes - coalesce(fork_bytes, 0) AS bytes,
                           n0 - fork_empty AS empty, n0 + n1 + n2 - fork_small AS small, coalesce(hollow, 0) AS hollow
                      FROM listed WHERE what = 2
                    UNION ALL
                    SELECT content, {known}, 'fork', forks, coalesce(fork_bytes, 0), fork_empty, fork_small, 0
                      FROM listed WHERE what = 2 AND forks > 0)
             WHERE files > 0
             GROUP BY 1, 2, 3 ORDER BY 2, 3, 1
        """)
        buckets = " UNION ALL ".join(
            f"SELECT content, {_STORAGE} AS storage, {n} AS n, '{bucket.label}' AS bucket, n{n} AS"
            f" files, {f'b{n}' if n else '0'} AS bytes FROM listed WHERE what = 2 AND n{n} > 0"
            for n, bucket in enumerate(FILE_BUCKETS)
        )
        self.writer.execute(
            "INSERT INTO file_bucket SELECT content, storage, bucket, sum(files),"
            f" coalesce(sum(bytes), 0) FROM ({buckets}) GROUP BY content, storage, n, bucket ORDER"
            " BY content, storage, n"
        )

    def _keep_counts(self) -> None:
        """Make the estimates of an instance add up to its counted files: the rounding difference is
        added to its largest part.
        """
        for content, counted in self.counts.items():
            self.writer.execute(
                "UPDATE file_total SET files = files + ? - (SELECT sum(files) FROM file_total WHERE"
                " content = ?) WHERE rowid = (SELECT arg_max(rowid, files) FROM file_total WHERE"
                " content = ?)",
                [counted, content, content],
            )

    def _keep_orphans(self, now: dict[str, float | None]) -> None:
        """Store files without a row and rows without a file. Files that a running transaction may
        explain have a separate kind.

        The first file of a dropped relation remains, empty, until the next checkpoint; files of a
        prepared transaction can be empty, and older than the oldest active transaction.
        """
        clock, oldest = now.get("clock"), now.get("oldest")
        sure = clock is not None and not now.get("hidden")
        before = (oldest or clock or 0.0) - CLOCK_MARGIN if sure else 0.0
        self.writer.execute(f"""
            INSERT INTO orphan
            SELECT content, node, folder, files, bytes, {clock or "NULL"} - mtime,
                   CASE WHEN mtime IS NULL OR mtime >= {before} THEN 'may be in use'
                        WHEN {int(now.get("prepared") or 0)} > 0 THEN 'may be of a prepared transaction'
                        WHEN bytes = 0 AND files = 1 THEN 'awaits a checkpoint'
                        ELSE 'candidate' END, NULL
              FROM listed WHERE what = 3 ORDER BY bytes DESC, content, node
        """)
        self._keep_missing()

    def _keep_missing(self) -> None:
        """Store rows without a file after a second check: tables that were dropped or rewritten
        between the two checks are left out.
        """
        oids = self.writer.execute(
            "SELECT DISTINCT oid FROM listed WHERE what = 4 ORDER BY oid LIMIT 1000"
        )
        if not oids:
            return
        with self.covered("missing_files"):
            found = self.session.rows("missing_files", oids=", ".join(str(oid) for (oid,) in oids))
            again = {(row["content"], row["oid"], row["node"]): row["relation"] for row in found}
            lost = self.writer.execute(
                "SELECT content, oid, node, folder FROM listed WHERE what = 4 ORDER BY content,"
                " node"
            )
            self.writer.insert(
                "orphan",
                [
                    {
                        "content": content,
                        "node": node,
                        "folder": folder,
                        "files": 0,
                        "bytes": 0,
                        "age_seconds": None,
                        "kind": "missing",
                        "relation": again[content, oid, node],
                    }
                    for content, oid, node, folder in lost
                    if (content, oid, node) in again
                ],
            )

    # -- the segment file lists --------------------------------------------------------------------

    def from_catalogs(self, busy: str, *, seconds: float | None = None) -> None:
        """Count files by the segment file lists of append-optimized tables, and by relations.

        busy: oids, comma-separated, of relations that must not be opened; seconds: time limit, or
              None. With a time limit (directories were listed), only the main files of complete
              roots are stored, for comparison. Otherwise everything in the catalogs is stored: a
              heap table counts as at least one file, forks are unknown, and bytes are known only
              from lists. The files of each append-optimized table are stored, too.
        """
        compare = seconds is not None
        columns = ", ".join(f"{name} {kind}" for name, kind in _SEGMENT_FILES.items())
        self.writer.execute(f"CREATE TEMP TABLE segment_files_now ({columns})")
        done = self._lists(busy, seconds) if self.session.server.greenplum else ""
        here = ", ".join(f"({content})" for content in self._holders)
        everywhere = (
            self.session.server.classic_partitions
        )  # there, roots and intermediates have files like leaves
        stored = "r.storage IN ('heap', 'ao_row', 'ao_column', 'other')" + (
            "" if everywhere else " AND r.kind NOT IN ('root', 'intermediate')"
        )
        ao = "r.storage IN ('ao_row', 'ao_column')"
        parts = f"""
            SELECT c.content, r.root, 'main' AS part, count(*) + coalesce(sum(s.files), 0) AS files, sum(s.bytes) AS bytes,
                   CASE WHEN bool_and({ao}) THEN count(*) + coalesce(sum(s.files - s.filled), 0) END AS empty
              FROM relation r CROSS JOIN (VALUES {here}) c (content)
              LEFT JOIN segment_files_now s ON s.oid = r.oid AND s.content = c.content
             WHERE {stored} GROUP BY 1, 2
        """
        if compare:
            if not done:
                return
            # files of a heap are known only from the directory, and files of a busy table are
            # unknown
            roots = f"""SELECT r.root FROM relation r WHERE {stored} AND r.root NOT IN (SELECT root FROM relation WHERE oid IN ({busy}))
                         GROUP BY r.root HAVING bool_and({ao})"""
            parts = f"SELECT * FROM ({parts}) WHERE root IN ({roots}) AND root IN ({done})"
        else:
            for part, files in (
                (
                    "auxiliary",
                    (
                        f"CASE WHEN {ao} THEN 3 + CASE WHEN r.block_directory THEN 2 ELSE 0 END"
                        " ELSE 0 END"
                    ),
                ),
                ("toast", "CASE WHEN r.toast THEN 2 ELSE 0 END"),
                ("index", "r.indexes"),
            ):
                parts += f""" UNION ALL SELECT c.content, r.root, '{part}', sum({files}), NULL, NULL
                                FROM relation r CROSS JOIN (VALUES {here}) c (content) WHERE {stored} GROUP BY 1, 2"""
            if done:
                self._keep_listed(f"{stored} AND {ao} AND r.oid NOT IN ({busy})", done)
        self.writer.execute(
            "INSERT INTO file_total SELECT content, root, part, 'catalog', files, bytes, empty,"
            f" NULL, NULL FROM ({parts}) WHERE files > 0 ORDER BY root, part, content"
        )

    def _keep_listed(self, tables: str, done: str) -> None:
        """Store the files of tables by their lists: one on each segment, and those of the list.

        tables: SQL condition on the relation r; done: SQL for the roots whose lists were all read
        """
        one_each = len(self._holders)
        self.writer.execute(
            f"UPDATE relation SET files = {one_each} WHERE oid IN (SELECT r.oid FROM relation r"
            f" WHERE {tables} AND NOT r.filled)"
        )
        self.writer.execute(
            f"UPDATE relation SET files = {one_each} + s.files FROM (SELECT oid, sum(files) AS files"
            " FROM segment_files_now GROUP BY oid ORDER BY oid) s WHERE s.oid = relation.oid AND"
            f" relation.oid IN (SELECT r.oid FROM relation r WHERE {tables} AND r.filled AND r.root"
            f" IN ({done}))"
        )

    def _lists(self, busy: str, seconds: float | None) -> str:
        """Read the lists in batches, in separate sessions; return SQL for the roots whose lists
        were all read.
        """
        batch = BATCH if seconds is None else COMPARED_BATCH
        self.writer.execute(f"""
            CREATE TEMP TABLE list_batch AS
            SELECT oid, root, (row_number() OVER (ORDER BY tables, root, oid) - 1) // {batch} AS batch
              FROM (SELECT oid, root, count(*) OVER (PARTITION BY root) AS tables FROM relation
                     WHERE storage IN ('ao_row', 'ao_column') AND filled AND oid NOT IN ({busy}))
        """)  # small roots first: only a complete root can be compared
        batches = self.writer.execute(
            "SELECT batch, string_agg(oid, ', ') FROM list_batch GROUP BY batch ORDER BY batch"
        )
        read, begun = 0, time.perf_counter()
        with self.covered("segment_files"):
            smallest = self.writer.execute(
                "SELECT count(*) FROM list_batch GROUP BY root ORDER BY 1 LIMIT 1"
            )
            if (
                seconds is not None
                and smallest
                and int(smallest[0][0]) > max(batch, seconds / LIST_SECONDS)
            ):
                # no root would be read completely, and a part of one cannot be compared
                raise ProbeFailed(
                    "not applicable",
                    "not compared with the directories: even the smallest append-optimized table"
                    f" has {smallest[0][0]:,} leaves with rows, which would take more than"
                    f" {RECONCILE_SHARE:.0%} of the time for the directories",
                )
            while read < len(batches) and (
                seconds is None or time.perf_counter() - begun < seconds
            ):
                with self.session.fresh() as session:
                    for _, oids in batches[read : read + BATCHES_A_SESSION]:
                        if read and seconds is not None and time.perf_counter() - begun >= seconds:
                            break
                        file = self.writer.scratch("segment_files.csv")
                        statement = session.statement("segment_files", oids=oids)
                        with self.writer.appending(file) as out:
                            for block in session.stream(statement):
                                out.write(block)
                        self.writer.load_csv(
                            "INSERT INTO segment_files_now SELECT * FROM {csv}",
                            file,
                            _SEGMENT_FILES,
                        )
                        file.unlink(missing_ok=True)
                        read += 1
        return (
            "SELECT root FROM relation WHERE root NOT IN (SELECT root FROM list_batch WHERE batch"
            f" >= {read})"
        )
