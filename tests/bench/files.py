"""The cost of the file section of an audit: time in pairs against floors measured in the same run, and memory of segment processes.

    python -m tests.bench.files "host=… port=… dbname=…" [pairs]

Floor: psql's COPY of the name and size of every file and of pg_class on every instance (the rivals are in tests.bench.audit). Memory
is read from /proc, so the cluster must run on this machine. VmHWM includes the shared buffers that a process has ever used; RssAnon
(sampled) is only the memory of the process itself.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from gpcatalog.probes.collect import Collector
from gpcatalog.probes.connection import Session, Timeouts, connect
from gpcatalog.probes.files import FileSection
from gpcatalog.store.snapshot import Writer
from tests.bench import floors
from tests.bench.table import Line, seconds, show


class Memory(threading.Thread):
    """Samples the largest VmHWM and RssAnon (KB) of the segment processes of some Greenplum sessions."""

    def __init__(self, sessions: list[str]) -> None:
        super().__init__(daemon=True)
        self.sessions = sessions
        self.seen: dict[str, int] = defaultdict(int)
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02):
            pattern = re.compile(
                r"\b(" + "|".join(f"con{n}" for n in self.sessions) + r")\b.*\bseg\d+\b"
            )
            for place in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if pattern.search((place / "cmdline").read_text()):
                        status = (place / "status").read_text()
                        for name in ("VmHWM", "RssAnon"):
                            found = re.search(rf"^{name}:\s+(\d+) kB", status, re.M)
                            self.seen[name] = max(self.seen[name], int(found[1]) if found else 0)


@contextlib.contextmanager
def prepared(session: Session, folder: Path) -> Iterator[Collector]:
    """A collector that has read the relations, ready for its file section."""
    with Writer(folder / "section.gpcatalog") as writer:
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        collector._relations()
        yield collector
        writer.abandon()


def section(collector: Collector) -> dict[str, float]:
    """Run only the file section and return the seconds of its probes."""
    before = len(collector.coverage)
    begun = time.perf_counter()
    files = FileSection(collector.session, collector.writer, collector._covered, collector.contents)
    collector._filled(files, files.begin())
    found = {"all": time.perf_counter() - begun}
    for note in collector.coverage[before:]:
        if note["status"] != "read":
            print(f"  {note['probe']}: {note['status']}: {note['reason']}")
        found[note["probe"]] = note["seconds"]
    found["listing"] = sum(
        found.get(p, 0.0) for p in ("relation_files", "orphan_files", "file_map")
    )
    return found


def measure(dsn: str, many: int, folder: Path) -> list[Line]:
    """The list of files, and the whole section, against the floor."""
    both: list[tuple[float, float, float]] = []
    for n in range(many + 1):
        with (
            connect(dsn, timeouts=Timeouts(statement_ms=600_000)) as session,
            prepared(session, folder) as collector,
        ):
            raw = floors.listing(session)
            floors.copied(dsn, raw)
            found, least = section(collector), seconds(lambda r=raw: floors.copied(dsn, r))
            if n:  # the first run is a warm-up
                both.append((found["listing"], found["all"], least))
    lines = []
    for what, at, goal in (
        ("file listing by table and part", 0, None),
        ("whole file section, lists compared", 1, 1.5),
    ):
        ratios = [one[at] / one[2] for one in both]
        ms = [statistics.median(one[k] for one in both) * 1000 for k in (at, 2)]
        detail = f"{ms[0]:,.0f} : {ms[1]:,.0f} ms, {min(ratios):.2f} to {max(ratios):.2f} in {many} pairs"
        lines.append(
            Line(
                what,
                "psql COPY of files and pg_class",
                statistics.median(ratios),
                goal,
                detail=detail,
            )
        )
    return lines


def memory(dsn: str, folder: Path) -> str:
    """Memory of the largest segment process while the section runs, as text."""
    with (
        connect(dsn, timeouts=Timeouts(statement_ms=600_000)) as session,
        prepared(session, folder) as collector,
    ):
        sessions = [session.query("SHOW gp_session_id")[0]["gp_session_id"]]
        again = Session.fresh

        def remembered(self: Session) -> Session:
            fresh = again(self)
            sessions.append(fresh.query("SHOW gp_session_id")[0]["gp_session_id"])
            return fresh

        Session.fresh = remembered  # type: ignore[method-assign]
        try:
            watch = Memory(sessions)
            watch.start()
            section(collector)
            watch.done.set()
            watch.join()
        finally:
            Session.fresh = again  # type: ignore[method-assign]
        return ", ".join(f"{name} {kb / 1024:,.0f} MB" for name, kb in sorted(watch.seen.items()))


def main() -> None:
    dsn = sys.argv[1]
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as name:
        with connect(dsn) as session:
            greenplum = session.server.greenplum
            title = f"{session.server.product} {session.server.version}"
        lines = measure(dsn, many, Path(name))
        if greenplum:
            lines.append(
                Line("largest process of a segment", "", None, detail=memory(dsn, Path(name)))
            )
        show(title, lines)


if __name__ == "__main__":
    main()
