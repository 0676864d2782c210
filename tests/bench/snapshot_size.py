"""Bytes per leaf of snapshots with these numbers of leaves, and the size of each column: python -m tests.bench.snapshot_size [LEAVES…]."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from gpcatalog.lab.synthetic import published, write
from gpcatalog.store.snapshot import Snapshot

GOAL = 25.0  # bytes per leaf


def main(leaves: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for generation in ("gp6", "gp7"):
            begun = time.perf_counter()
            path = write(
                Path(folder) / f"{generation}.gpcatalog", published(leaves), generation=generation
            )
            took = time.perf_counter() - begun
            with Snapshot(path) as snapshot:
                count = snapshot.one("SELECT count(*) AS n FROM relation")["n"]
                size = path.stat().st_size
                each = size / count
                verdict = "meets" if each <= GOAL else "misses"
                print(
                    f"{generation}: {count:,} rows, {size:,} bytes, {each:.1f} a row ({verdict} {GOAL:.0f}), {took:.1f} s"
                )
                block = (
                    "(SELECT block_size FROM pragma_database_size() WHERE database_name = 'file')"
                )
                columns = snapshot.rows(
                    f"SELECT column_name AS name, count(DISTINCT block_id) * any_value({block}) AS bytes,"
                    " string_agg(DISTINCT compression) AS how FROM pragma_storage_info('file.main.relation_packed')"
                    " WHERE segment_type <> 'VALIDITY' GROUP BY 1 ORDER BY 2 DESC"
                )
                for column in columns[:12]:
                    print(
                        f"  {column['name']:18} {column['bytes'] / count:6.1f} bytes a row  {column['how']}"
                    )


if __name__ == "__main__":
    for words in sys.argv[1:] or ["1000000"]:
        main(int(words))
