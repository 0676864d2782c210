"""One listing of the data directories: the files of each relation, and files without a relation.

With few relations, names and sizes are returned and summed in this process, because the server
takes several times as long for the same sums. With many relations or segments, the server sums
them: sending all rows would take longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from gpcatalog.model import auxiliary
from gpcatalog.model.names import quote_literal
from gpcatalog.probes import file_sums
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.probes.free_session import FreeSession, cancel_until
from gpcatalog.store.snapshot import Writer

MOST_ROWS = 2_000_000  # rows of pg_class on all instances up to which this process sums files
NAMES_PER_RECHECK = 2_000  # files without a row that one statement checks again
RECHECK_SECONDS = 10.0  # time limit after which no more of them are checked


EVERYWHERE = "c.gp_segment_id"  # in place of content ids: selects all segments


def keep(writer: Writer, session: Session, probe: str, file: Path, **values: str) -> None:
    """Append the rows of a probe to a CSV file. Raises ProbeFailed."""
    statement = session.statement(probe, **values)
    with writer.appending(file) as out:
        for block in session.stream(statement):
            out.write(block)


# characters of file names that have a meaning in CSV; the format text of COPY escapes line breaks.
# Names of relations' files have none of them
_PLAIN = bytes.maketrans(b',"', b"??")


def keep_lines(writer: Writer, session: Session, probe: str, file: Path, **values: str) -> None:
    """Append the texts of a probe to a CSV file. Each text contains many records, separated by two
    slashes, of fields that are separated by one: receiving a row takes longer than reading a line
    of it. Raises ProbeFailed.
    """
    statement = session.statement(probe, **values)
    with writer.appending(file) as out:
        for block in session.stream(statement, "text"):
            out.write(block.translate(_PLAIN).replace(b"//", b"\n").replace(b"/", b","))


class Listing:
    """One listing of the directories into CSV files, at the same time as other probes if it has a
    separate session.

    If names are returned, relations and files are read at almost the same time, in any order. A
    relation that is created, rewritten or dropped in between appears as a file without a relation
    or the reverse, and is checked again.

    now:     result of the probe oldest_transaction before the start of the listing: a transaction
            that begins later cannot have created an older file
    summed:  whether the server sums the files
    share:   1 for all files, n for those of 1 in n file numbers, which the server sums
    always:  file numbers that are in every sample
    batches: content ids, comma-separated, of segments that list at the same time
    next_probe: what the separate session executes after it has read the files
    """

    def __init__(
        self,
        session: Session,
        writer: Writer,
        now: dict[str, float | None],
        *,
        summed: bool,
        share: int = 1,
        always: Sequence[int] = (),
        batches: Sequence[str] = (EVERYWHERE,),
        next_probe: FreeSession | None = None,
    ) -> None:
        self.session, self.writer, self.now, self.summed = session, writer, now, summed
        self.share, self.always, self.batches = share, always, batches
        self._next_probe = next_probe
        self.folders: list[file_sums.Folder] = []
        self.seconds = 0.0  # duration from the first to the last statement
        self._begun = time.perf_counter()
        self._map = writer.scratch("file_map.csv")
        self._owners = writer.scratch("file_owners.csv")
        self._session: Session | None = None
        self._ended = threading.Event()  # of the separate session and the join
        self._failed: Exception | None = None
        self._loading = writer.another()
        self._relations_read = threading.Event()
        self._stopped = False

    @property
    def probe(self) -> str:
        """The name of the probe that lists files."""
        return "relation_files" if self.summed else "file_names"

    def begin(self, separate_session: Session | None) -> None:
        """List in the separate session, which then executes `next_probe` and is closed; without it,
        return after all files are read.

        Errors are raised by `end`.
        """
        self._session = separate_session
        if separate_session is not None:
            threading.Thread(target=self._run, args=(separate_session,), daemon=True).start()
        try:
            if not self.summed and (separate_session is None or self._both_at_once):
                self.read_relations(self.session)
            if separate_session is None:
                self.read_files(self.session)
                self.join()
        except ProbeFailed as e:
            self._failed = e
        except BaseException:
            self.stop()
            raise
        finally:
            self._relations_read.set()

    def _run(self, session: Session) -> None:
        closes = False  # whether the next probe closes the session
        try:
            if not self.summed and not self._both_at_once:
                self.read_relations(session)
            self.read_files(session)
            if self._next_probe is not None and not self._stopped:
                closes = self._next_probe.start(session)
            if not closes:
                session.close()
            self._relations_read.wait()
            if self._failed is None and not self._stopped:
                self.join()
        # any error is raised by `end`: an incomplete listing is not used
        except Exception as e:
            self._failed = e
        finally:
            if not closes:
                session.close()
            self._ended.set()

    @property
    def _both_at_once(self) -> bool:
        """Whether the relations are read during the listing, in the session of the other probes: on
        segments, the listing takes longer than these.
        """
        return self.session.server.greenplum

    def read_relations(self, session: Session) -> None:
        """Read which relation each file number belongs to. Raises ProbeFailed."""
        self._read_map(session)
        keep_lines(self.writer, session, "file_owners", self._owners)
        self.seconds = time.perf_counter() - self._begun

    def _read_map(self, session: Session) -> None:
        keep_lines(self.writer, session, "file_map", self._map, contents=EVERYWHERE)

    def read_files(self, session: Session) -> None:
        """Read the files of all tablespaces. Raises ProbeFailed."""
        for place in session.rows("tablespaces"):
            file = self.writer.scratch(f"files{len(self.folders)}.csv")
            values = {"folder": place["folder"]}
            if self.summed:
                values |= {
                    "tablespace": str(place["tablespace"]),
                    "block": str(session.facts["block_size"]),
                    "large": str(auxiliary.LARGE),
                    "share": str(self.share),
                    "always": ", ".join(f"({node})" for node in self.always or (0,)),
                }
            append = keep if self.summed else keep_lines
            for contents in self.batches:
                append(self.writer, session, self.probe, file, contents=contents, **values)
            self.folders.append(file_sums.Folder(place["folder"], int(place["tablespace"]), file))
        self.seconds = time.perf_counter() - self._begun

    def join(self) -> None:
        """Join the files and their relations, if names were returned. Raises CatalogError if the
        disk is full.
        """
        if not self.summed:
            file_sums.load(self._loading, self.folders, self._map, self._owners)
            self.seconds = time.perf_counter() - self._begun

    @property
    def ended(self) -> bool:
        """Whether `end` would not wait."""
        return self._session is None or self._ended.is_set()

    def end(self) -> None:
        """Wait for the end of the listing. Raises its errors."""
        if self._session is not None:
            self._ended.wait()
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """Ask the server to cancel the listing, and wait up to 2 seconds; never raises."""
        self._stopped = True
        self._relations_read.set()
        if self._session is not None and not self._ended.is_set():
            self._loading.interrupt()
            cancel_until(self._session, self._ended)
        if self._next_probe is not None:
            self._next_probe.stop()

    def load(self) -> None:
        """Fill the temporary table `listed` (file_sums.LISTED). Files without a relation are not
        included if names were returned: `recheck_orphans` adds these.
        """
        if self.summed:
            file_sums.load_sums(self.writer, self.folders)
        else:
            file_sums.name_roots(self.writer)
            file_sums.add_up(self.writer, self.session.facts["block_size"])

    def find_orphans(self) -> bool:
        """Whether files without a relation were listed; used if names were returned."""
        file_sums.find_orphans(self.writer, self.folders)
        return self._any_orphan()

    def with_rows(self) -> bool:
        """Whether some of these files still exist and are not empty."""
        return self._any_orphan("WHERE size > 0")

    def _any_orphan(self, where: str = "") -> bool:
        return bool(self.writer.execute(f"SELECT 1 FROM orphan_now {where} LIMIT 1"))

    def recheck_orphans(self) -> None:
        """Add the files without a relation that still exist, with their times.

        Raises ProbeFailed if some were not checked; they are added without a time.
        """
        try:
            self._read_orphan_times()
        finally:
            file_sums.add_orphans(self.writer)

    def _read_orphan_times(self) -> None:
        begun, checked = time.perf_counter(), 0
        names = {
            folder.tablespace: [
                name
                for (name,) in self.writer.execute(
                    "SELECT DISTINCT file FROM orphan_now WHERE tablespace = ? ORDER BY file",
                    [folder.tablespace],
                )
            ]
            for folder in self.folders
        }
        total = sum(map(len, names.values()))
        for folder in self.folders:
            of = names[folder.tablespace]
            for start in range(0, len(of), NAMES_PER_RECHECK):
                if time.perf_counter() - begun > RECHECK_SECONDS:
                    raise ProbeFailed(
                        "timed out",
                        f"{total - checked:,} of {total:,} names of files without a row in pg_class"
                        f" were not read again within {RECHECK_SECONDS:g} seconds: their age is"
                        " unknown",
                    )
                some = of[start : start + NAMES_PER_RECHECK]
                names_sql = ", ".join(map(quote_literal, some))
                file = self.writer.scratch("orphans.csv")
                keep(
                    self.writer,
                    self.session,
                    "orphan_files",
                    file,
                    folder=folder.name,
                    files=names_sql,
                )
                file_sums.update_orphans(self.writer, folder.tablespace, names_sql, file)
                checked += len(some)

    def rewritten(self) -> list[int]:
        """Relations whose file number changed since they were read: the files listed under the old
        number no longer belong to them. Their new files have no relation, so this is only called if
        such a file has rows.

        Raises ProbeFailed.
        """
        self._read_map(self.session)
        return file_sums.moved(self.writer, self._map)
