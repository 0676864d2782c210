"""What an audit costs, as ratios against floors measured in the same run, in pairs.

    python -m tests.bench.audit "host=… port=… dbname=…" [pairs]

Floors: the sum of the dispatched count(*) by segment of the very catalogs that the catalog section counts (pg_attribute, derived,
not among them); gp_toolkit.gp_bloat_diag; psql's COPY of the leaf queries (one row a leaf, and its files and bytes) to nowhere.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gpcatalog.probes import library
from gpcatalog.probes.catalogs import CatalogSection
from gpcatalog.probes.collect import Collector, collect
from gpcatalog.probes.connection import Session, connect
from gpcatalog.store.snapshot import Snapshot, Writer


def seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def section(session: Session, folder: Path) -> list[str]:
    """Run the catalog section alone; returns the catalogs that it counted on the segments."""
    with Writer(folder / "section.gpcatalog") as writer:
        collector = Collector(session, writer, lambda _: None)
        CatalogSection(session, writer, collector._covered, [-1]).run()
        writer.abandon()
    probe = "segment_catalog_rows " if session.server.greenplum else "catalog_"
    return sorted({n["probe"].split()[1] for n in collector.coverage if n["probe"].startswith(probe) and " " in n["probe"]} | {"pg_class"})


def counts(session: Session, catalogs: list[str]) -> None:
    for name in catalogs:
        if name == "pg_attribute":
            continue
        if session.server.greenplum:
            session.query(f"SELECT gp_segment_id, count(*) FROM gp_dist_random('pg_catalog.{name}') GROUP BY 1")
        else:
            session.query(f"SELECT count(*) FROM pg_catalog.{name}")


def copies(session: Session, dsn: str) -> None:
    """psql's COPY of what the audit reads a row a leaf of, in one process."""
    statements = [library.probe("relations", session.server).statement()]
    for place in session.rows("tablespaces"):
        probe = library.probe("relation_files", session.server)
        block = str(session.facts["block_size"])
        statements.append(probe.statement(folder=place["folder"], tablespace=str(place["tablespace"]), block=block))
    words = [w for s in statements for w in ("-c", f"COPY ({s}) TO STDOUT")]
    env = {**os.environ, "PGOPTIONS": "-c random_page_cost=1.1"}
    subprocess.run(["psql", "-X", "-d", dsn, *words], stdout=subprocess.DEVNULL, check=True, env=env)


def audit(dsn: str) -> None:
    words = [sys.executable, "-m", "gpcatalog", "audit", dsn, "--no-store", "--format", "json"]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def pairs(name: str, ours: Callable[[], object], floor: Callable[[], object], many: int, goal: float) -> None:
    ours(), floor()  # warm
    both = [(seconds(ours), seconds(floor)) for _ in range(many)]
    ratios = [a / b for a, b in both]
    ms = [statistics.median(x) * 1000 for x in zip(*both, strict=True)]
    print(
        f"{name:<58} {statistics.median(ratios):6.2f} × ({min(ratios):.2f} to {max(ratios):.2f}), goal ≤ {goal:.2f}"
        f"   [{ms[0]:,.0f} ms against {ms[1]:,.0f} ms]"
    )


def main() -> None:
    dsn = sys.argv[1]
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with connect(dsn) as session:
            with Snapshot(collect(session, folder / "s.gpcatalog")) as snapshot:
                leaves = snapshot.one("SELECT count(*) AS n FROM relation WHERE kind = 'leaf'")["n"]
            catalogs = section(session, folder)
            print(f"{session.server.product} {session.server.version}: {leaves:,} leaves, {len(catalogs)} catalogs counted, {many} pairs")

        def fresh_section() -> None:
            with connect(dsn) as session:
                section(session, folder)

        def fresh_counts() -> None:
            with connect(dsn) as session:
                counts(session, catalogs)

        pairs("catalog section : sum of dispatched count(*)", fresh_section, fresh_counts, many, 1.5)
        with connect(dsn) as session:
            if session.server.greenplum:

                def diag() -> None:
                    with connect(dsn) as session:
                        session.query("SELECT count(*) FROM gp_toolkit.gp_bloat_diag")

                pairs("catalog section : gp_toolkit.gp_bloat_diag", fresh_section, diag, many, 1 / 3)
            pairs("whole audit, a process : psql COPY of the leaf queries", lambda: audit(dsn), lambda: copies(session, dsn), many, 1.5)


if __name__ == "__main__":
    main()
