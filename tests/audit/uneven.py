"""Snapshots in which all numbers differ: every table of the store has rows, every instance differs, and some values are unknown.

If all segments are equal, their median, maximum and first value are the same, and a wrong choice in a report would not be noticed.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from gpcatalog.capacity.limits import FILE_BUCKETS
from gpcatalog.lab.synthetic import TAKEN_AT, Spec
from tests.audit.test_rules import Given

Row = dict[str, Any]
MIB = 1 << 20
_CATALOGS = (
    "pg_class",
    "pg_attribute",
    "pg_type",
    "pg_depend",
    "pg_index",
    "pg_statistic",
    "pg_shdepend",
)
_PARTS = ("main", "auxiliary", "toast", "index", "fork", "sequence", "catalog", "other", "unowned")
_TIMED = (
    "connect",
    "scan",
    "describe",
    "plan",
    "statement",
    "create",
    "drop",
    "running ddl",
    "waiting ddl",
    "log lock wait",
)
_ORPHANS = (
    "candidate",
    "may be in use",
    "awaits a checkpoint",
    "may be of a prepared transaction",
    "missing",
)
SPECS = (
    Spec(
        name="sales",
        leaves=40,
        columns=12,
        storage="ao_column",
        filled=0.7,
        default=True,
        default_filled=True,
    ),
    Spec(
        name="events",
        schema="raw",
        leaves=9,
        lists=4,
        columns=7,
        storage="ao_row",
        toast=True,
        indexes=1,
    ),
    Spec(
        name="facts",
        schema="raw",
        leaves=25,
        columns=5,
        storage="heap",
        toast=True,
        indexes=2,
        bytes=300 * MIB,
        every_filled=3,
    ),
)


class _Maker:
    def __init__(self, seed: int, contents: list[int]) -> None:
        self.r = random.Random(seed)
        self.contents = contents

    def number(self, most: int) -> int:
        """A random number of any magnitude up to `most`."""
        return int(most ** self.r.random())

    def maybe(self, value: Any, chance: float = 0.15) -> Any:
        return None if self.r.random() < chance else value

    def catalogs(self) -> list[Row]:
        found = []
        for relation in _CATALOGS:
            basis = self.r.choice(("counted", "derived", "estimate"))
            for content in self.contents:
                row: Row = {
                    "relation": relation,
                    "content": content,
                    "shared": relation == "pg_shdepend",
                    "rows": self.maybe(self.number(10**6)),
                    "rows_basis": basis,
                }
                for part, most in (("heap", 400 * MIB), ("toast", 9 * MIB), ("index", 150 * MIB)):
                    size = 8192 * self.number(most // 8192)
                    row[f"{part}_bytes"] = size
                    row[f"{part}_needed"] = self.maybe(
                        int(size * self.r.choice((0.05, 0.3, 0.8, 1))), 0.1
                    )
                row["dead_tuples"] = self.maybe(self.number(10**6))
                row["last_vacuum"] = self.maybe(TAKEN_AT - timedelta(hours=self.number(3000)), 0.4)
                found.append(row)
        return found

    def classes(self) -> list[Row]:
        return [
            {
                "content": content,
                "relkind": kind,
                "storage": storage,
                "persistence": persistence,
                "relations": self.number(5000),
                "attributes": self.number(90_000),
            }
            for content in self.contents
            for kind, storage in (
                ("r", "heap"),
                ("r", "ao_column"),
                ("i", ""),
                ("t", ""),
                ("v", ""),
                ("S", ""),
            )
            for persistence in ("p", "t")[: 1 + (kind == "r")]
        ]

    def files(self, roots: list[int]) -> list[Row]:
        found = []
        for content in self.contents:
            for root in roots:
                for part in _PARTS[:4] if root else _PARTS:
                    number = self.number(40_000)
                    empty = int(number * self.r.random() ** 2)
                    row: Row = {
                        "content": content,
                        "root": root,
                        "part": part,
                        "basis": "directory",
                        "files": number,
                        "bytes": self.number(10**12),
                        "empty_files": empty,
                        "small_files": empty + self.number(number - empty + 1) - 1,
                        "hollow_bytes": self.number(10**8) if part == "index" else 0,
                    }
                    found.append(row)
                    if root and part == "main":
                        more = self.r.choice((0, 0, 3, -2))
                        found.append(
                            {
                                **row,
                                "basis": "catalog",
                                "files": max(0, number + more),
                                "bytes": None,
                                "empty_files": None,
                                "small_files": None,
                                "hollow_bytes": None,
                            }
                        )
        return found

    def buckets(self) -> list[Row]:
        names = [bucket.label for bucket in FILE_BUCKETS]
        return [
            {
                "content": content,
                "storage": storage,
                "bucket": bucket,
                "files": self.number(9000),
                "bytes": self.number(10**10),
            }
            for content in self.contents
            for storage in ("ao_column", "heap", "index")
            for bucket in names
        ]

    def orphans(self) -> list[Row]:
        return [
            {
                "content": self.r.choice(self.contents),
                "node": 70_000 + n,
                "folder": self.r.choice(("base/16384", "pg_tblspc/17000")),
                "files": self.number(30),
                "bytes": self.number(10**9),
                "age_seconds": self.maybe(float(self.number(10**6))),
                "kind": kind,
            }
            for n, kind in enumerate(_ORPHANS * 2)
        ]

    def holders(self) -> list[Row]:
        kinds = ("session", "prepared transaction", "replication slot")
        return [
            {
                "content": self.r.choice(self.contents),
                "holder": kind,
                "name": f"h{n}",
                "database": "d",
                "role": self.maybe("r"),
                "detail": self.maybe("idle in transaction"),
                "seconds": self.maybe(float(self.number(10**6)), 0.3),
                "xid_age": self.maybe(self.number(10**8), 0.3),
            }
            for n, kind in enumerate(kinds * 2)
        ]

    def timings(self) -> list[Row]:
        found = []
        for n, what in enumerate(_TIMED):
            least = self.r.random() * 4000
            found.append(
                {
                    "what": what,
                    "subject": self.r.choice(("", "raw.facts")),
                    "content": self.maybe(self.r.choice(self.contents)),
                    "n": 1 + n,
                    "min_ms": least,
                    "median_ms": least * 1.5,
                    "p95_ms": least * 7,
                    "mean_ms": self.maybe(least * 2),
                    "leaves": self.maybe(self.number(10**5)),
                }
            )
        return found

    def rest(self) -> dict[str, list[Row]]:
        days = [TAKEN_AT.date() - timedelta(days=n) for n in (0, 1, 2, 9, 40)]
        return {
            "temp_schema": [
                {"schema": f"pg_temp_{n}", "relations": n, "alive": alive}
                for n, alive in ((9, False), (4, False), (7, True), (2, None))
            ],
            "operation_day": [
                {"day": day, "action": action, "part": part, "relations": self.number(900)}
                for day in days
                for action in ("CREATE", "ALTER", "TRUNCATE")
                for part in ("relation", "leaf")
            ],
            "coverage": [
                {
                    "probe": f"{status} probe",
                    "status": status,
                    "reason": self.maybe("because"),
                    "needs": self.maybe("a right"),
                    "seconds": self.r.random(),
                }
                for status in (
                    "read",
                    "denied",
                    "timed out",
                    "busy",
                    "segment down",
                    "failed",
                    "not applicable",
                )
            ],
            "setting": [
                {"name": "autovacuum", "setting": "off"},
                {"name": "max_appendonly_tables", "setting": "200"},
            ],
        }


def uneven(generation: str, seed: int, specs: tuple[Spec, ...] = SPECS) -> Given:
    """A snapshot of this server generation; another seed returns other numbers."""
    segments = 0 if generation.startswith("pg") else 3
    make = _Maker(seed, [-1, *range(segments)])
    roots = [0, *_roots(specs)]
    rows = {
        "catalog": make.catalogs(),
        "class_count": make.classes(),
        "file_total": make.files(roots),
        "file_bucket": make.buckets(),
        "orphan": make.orphans(),
        "horizon": make.holders(),
        "timing": make.timings(),
        **make.rest(),
    }
    standbys = [
        f"INSERT INTO instance VALUES ({20 + n}, {n}, 'm', 'm', 's', '{'d' if n == 1 else 'u'}', {7000 + n}, 'host{n + 1}')"
        for n in range(segments)
    ]
    moved = f"UPDATE snapshot SET taken_at = taken_at + INTERVAL '{seed} days', seconds = 1, snapshot_id = '0123456789abcdef'"
    settings = {
        "max_locks_per_transaction": 128,
        "max_connections": 3,
        "max_prepared_transactions": 1,
    }
    return Given(rows, specs, generation, max(1, segments), settings, sql=(*standbys, moved))


def _roots(specs: tuple[Spec, ...]) -> list[int]:
    """The OIDs that `synthetic.write` assigns to the roots of these tables."""
    found, oid = [], 20_000
    for spec in specs:
        found.append(oid)
        oid += 2 + spec.leaves * (1 + spec.lists) + spec.default
    return found
