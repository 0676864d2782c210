"""Size and time of the report page for a million leaves in thousands of tables.

python -m tests.bench.html_size [LEAVES] [TABLES] [FILE]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from gpcatalog.commands.report import report
from gpcatalog.lab.synthetic import published, write
from gpcatalog.probes.collect import attribution
from gpcatalog.store.snapshot import Writer

GOAL = 500_000  # bytes


def _with_totals(path: Path, specs: list[object], generation: str, segments: int) -> None:
    """Write a synthetic snapshot with other data of a collected one, too: totals per root and catalogs of every instance."""
    finish = Writer.finish
    rows, attributes = attribution(generation)

    def filled(writer: Writer) -> Path:
        writer.execute(f"""
            INSERT INTO root_total
            SELECT r.root, any_value(t."schema"), any_value(t.name), any_value(t.kind), any_value(r.storage),
                   count(*) FILTER (r.kind = 'leaf'), count(*) FILTER (r.kind = 'leaf' AND NOT r.filled),
                   sum({rows}), sum({attributes}), sum(r.files), sum(r.bytes)
              FROM relation r JOIN relation t ON t.oid = r.root GROUP BY r.root""")
        total = int(writer.execute("SELECT sum(class_rows) FROM root_total")[0][0])
        names = [
            f"pg_{n}"
            for n in (
                "class",
                "attribute",
                "type",
                "depend",
                "index",
                "attribute_encoding",
                "appendonly",
                "constraint",
            )
        ]
        writer.insert(
            "catalog",
            [
                {
                    "content": c,
                    "relation": name,
                    "shared": False,
                    "rows": total,
                    "rows_basis": "counted",
                    "heap_bytes": total * 250,
                }
                | {
                    "toast_bytes": 0,
                    "index_bytes": total * 90,
                    "heap_needed": total * 180,
                    "toast_needed": None,
                }
                | {"index_needed": total * 80, "dead_tuples": 0, "last_vacuum": None}
                for name in names
                for c in range(-1, segments)
            ],
        )
        writer.insert(
            "class_count",
            [
                {
                    "content": c,
                    "relkind": "r",
                    "storage": "ao_column",
                    "persistence": "p",
                    "relations": total,
                    "attributes": total * 9,
                }
                for c in range(-1, segments)
            ],
        )
        return finish(writer)

    Writer.finish = filled  # type: ignore[method-assign]
    try:
        write(path, specs, generation=generation, segments=segments)  # type: ignore[arg-type]
    finally:
        Writer.finish = finish  # type: ignore[method-assign]


def main(leaves: int, tables: int, html: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.gpcatalog"
        _with_totals(path, list(published(leaves, tables)), "gp6", 32)
        page = html or Path(folder) / "page.html"
        begun = time.perf_counter()
        report(snapshot=str(path), html=page)
        took = time.perf_counter() - begun
        size = page.stat().st_size
        verdict = "meets" if size <= GOAL else "misses"
        print(
            f"{leaves:,} leaves in {tables:,} tables: {size:,} bytes ({verdict} the goal of {GOAL:,}) in {took:.1f} s"
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    main(
        int(words[0]) if words else 1_000_000,
        int(words[1]) if len(words) > 1 else 3000,
        Path(words[2]) if len(words) > 2 else None,
    )
