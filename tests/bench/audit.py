"""The cost of an audit, as ratios to floors and rivals that are measured in the same run, in pairs.

    python -m tests.bench.audit "host=… port=… dbname=…" [pairs] [seconds a rival may take]

Floor of the catalog section: the sum of the dispatched count(*) by segment of the catalogs that it counts (without pg_attribute, which
is derived). Floor of the whole audit: these counts, and psql's COPY (output discarded) of the name and size of every file, of pg_class
of every instance and of a plain list of leaves. Rivals: views of gp_toolkit and Greenplum that report a part of the same; for a rival
that does not finish in time, its time limit is used.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpcatalog.probes.catalogs import CatalogSection
from gpcatalog.probes.collect import Collector, collect
from gpcatalog.probes.connection import ProbeFailed, Session, Timeouts, connect
from gpcatalog.store.snapshot import Snapshot, Writer
from tests.bench import floors
from tests.bench.table import Line, in_pairs, seconds, show

NULL = subprocess.DEVNULL


def section(session: Session, writer: Writer) -> list[str]:
    """Run only the catalog section, into an existing snapshot, and return the catalogs that it counted on the segments."""
    collector = Collector(session, writer, lambda _: None)
    CatalogSection(session, writer, collector._covered, [-1]).run()
    probes = (
        ("segment_catalog_rows ",)
        if session.server.greenplum
        else ("catalog_rows ", "catalog_widths ")
    )
    return sorted(
        {n["probe"].split()[1] for n in collector.coverage if n["probe"].startswith(probes)}
        | {"pg_class"}
    )


def audited(dsn: str) -> None:
    """Run a whole audit as a process."""
    subprocess.run(
        [sys.executable, "-m", "gpcatalog", "audit", dsn, "--no-store", "--format", "json"],
        stdout=NULL,
        check=True,
    )


def rivals(session: Session) -> list[tuple[str, str, tuple[str, ...]]]:
    """Views that report a part of the same: name, SQL, and the probes of the audit that report this part."""
    partitions = (
        "pg_catalog.pg_partitions"
        if session.server.classic_partitions
        else "gp_toolkit.gp_partitions"
    )
    return [
        (
            "gp_toolkit.gp_bloat_diag",
            "SELECT count(*) FROM gp_toolkit.gp_bloat_diag",
            ("catalogs",),
        ),
        (
            partitions,
            f"SELECT count(*), min(partitionboundary) FROM {partitions}",
            ("relations", "partition_keys"),
        ),
        (
            "gp_toolkit.gp_size_of_table_disk",
            "SELECT count(*), sum(sotdsize) FROM gp_toolkit.gp_size_of_table_disk",
            ("listing",),
        ),
        (
            "gp_toolkit.gp_size_of_partition_and_indexes_disk",
            "SELECT count(*), sum(sopaidpartitiontablesize) FROM gp_toolkit.gp_size_of_partition_and_indexes_disk",
            ("listing",),
        ),
    ]


def against_rivals(dsn: str, took: dict[str, float], patience: float) -> list[Line]:
    """How many times faster the probes of the audit are, run once each; the time limit counts for a rival that does not finish."""
    lines = []
    with connect(dsn, timeouts=Timeouts(statement_ms=int(patience * 1000))) as session:
        queries = rivals(session)
    for name, sql, probes in queries:
        ours = sum(took[p] for p in probes)
        with connect(dsn, timeouts=Timeouts(statement_ms=int(patience * 1000))) as session:
            begun, error = time.perf_counter(), ""
            try:
                session.query(sql)
            except ProbeFailed as e:
                error = f", {e.status}" if e.status == "timed out" else f", {e.status}: {e.reason}"
            theirs = time.perf_counter() - begun
        failed = bool(error) and "timed out" not in error
        what = f"{' + '.join(probes)}"
        ratio = None if failed else theirs / ours
        detail = f"{ours * 1000:,.0f} : {theirs * 1000:,.0f} ms{error}"
        lines.append(Line(what, name, ratio, 10.0, times_faster=True, detail=detail))
    return lines


def probes_of(dsn: str, folder: Path) -> tuple[str, dict[str, float]]:
    """A short description of the server and its leaves; and the seconds of each probe and section of an audit."""
    with connect(dsn, timeouts=Timeouts(statement_ms=600_000)) as session:
        path = collect(session, folder / "probes.gpcatalog")
        with Writer(folder / "section.gpcatalog") as writer:
            catalogs = seconds(lambda: section(session, writer))
            writer.abandon()
        server = session.server
    with Snapshot(path) as snapshot:
        leaves = snapshot.one("SELECT count(*) AS n FROM relation WHERE kind = 'leaf'")["n"]
        took = {
            r["probe"]: r["seconds"] or 0.0
            for r in snapshot.rows("SELECT probe, seconds FROM coverage")
        }
        total = snapshot.header["seconds"]
    path.unlink()
    planning = sum(v for k, v in took.items() if k.startswith("plan "))
    return f"{server.product} {server.version}, {leaves:,} leaves", took | {
        "catalogs": catalogs,
        "whole": total,
        "planning": planning,
        "listing": sum(took.get(p, 0.0) for p in ("relation_files", "orphan_files")),
    }


def measure(dsn: str, pairs: int, patience: float, folder: Path) -> tuple[str, list[Line]]:
    """All lines of the table for one server."""
    title, took = probes_of(dsn, folder)
    writer = Writer(folder / "sections.gpcatalog")
    with connect(dsn) as session:
        catalogs = section(session, writer)
        statements = [
            *floors.listing(session),
            *floors.counts(session, catalogs),
            floors.leaves(session),
        ]
        greenplum = session.server.greenplum

    def fresh_section() -> None:
        with connect(dsn) as session:
            section(session, writer)

    def fresh_counts() -> None:
        with connect(dsn) as session:
            for statement in floors.counts(session, catalogs):
                session.query(statement)

    lines = [
        in_pairs(
            "whole audit, a process",
            lambda: audited(dsn),
            "psql COPY of files, pg_class, counts, leaves",
            lambda: floors.copied(dsn, statements),
            pairs,
            1.5,
        ),
        in_pairs(
            "catalog section",
            fresh_section,
            f"count(*) of its {len(catalogs)} catalogs by instance",
            fresh_counts,
            pairs,
            1.5,
        ),
    ]
    writer.abandon()
    if greenplum:
        lines += against_rivals(dsn, took, patience)
    most = sorted(
        ((v, k) for k, v in took.items() if k not in ("whole", "catalogs", "planning", "listing")),
        reverse=True,
    )[:6]
    lines.append(
        Line(
            "slowest probes", "", None, detail=", ".join(f"{k} {v * 1000:,.0f} ms" for v, k in most)
        )
    )
    return title, lines


def main() -> None:
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    patience = float(sys.argv[3]) if len(sys.argv) > 3 else 120.0
    with tempfile.TemporaryDirectory() as name:
        show(*measure(sys.argv[1], pairs, patience, Path(name)))


if __name__ == "__main__":
    main()
