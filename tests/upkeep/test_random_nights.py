"""Nights with random tables (migration/decorated.py): merges and retention lose no row and no property.

GPCATALOG_TEST_SEEDS=100-120 uses other tables.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.migration import made
from tests.migration.test_decorated import seeds
from tests.upkeep.test_live import night
from tests.upkeep.test_new_partitions import REFUSED, Portraits, differing, random_tables

DAYS_BEFORE = 50  # age of the first partition
KEEP = 47  # days: three of its partitions are past it, and the others are old enough for merges
POLICY = (
    '[default]\nautomatic_maintenance = true\ngrain = "day"\npremake = "3d"\nhot_days = 3\n'
    'grains = { week = "10d", month = "43d" }\n'
)
HOW = ("none", "detach", "drop")
OF_A_PARTITION = re.compile(r"att(islocal|inhcount|identity)|relispartition|trigger: ")
NAMED = re.compile(r"(?m)^--\s+LOST: (?:public\.)?(.*?): (?!all rows of)")
# ATTACH sets it for a partition, but not for partitions below it
NOT_BELOW = re.compile(r"below .*attidentity")
# Greenplum 6 cannot detach these partitions, and reports it
REFUSED_CLASSIC = re.compile(r"INFO:  (?:public\.)?(.*?): detach-\w+ FAILED: .*has subpartitions")


def without_parts(portrait: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in portrait.items() if not k.startswith("below")}


def of_merged(portrait: dict[str, Any], *, classic: bool) -> dict[str, Any]:
    """The catalog contents that a merged partition shares with its parts.

    Greenplum 6 prints bounds as CHECK constraints, and default options. It creates intermediates itself, and they contain no rows.
    """
    if not classic:
        return portrait
    found: dict[str, Any] = {}
    for k, v in portrait.items():
        if isinstance(v, dict):
            found[k] = of_merged(v, classic=True)
        elif k == "constraint":
            found[k] = [c for c in v if not c[0].endswith("_check")]
        elif k == "pg_class":
            options = {*(v[0].get("reloptions") or ())} - {"checksum=true", "compresslevel=0"}
            found[k] = [{**v[0], "reloptions": sorted(options)}]
        elif not any(n.startswith("below") for n in portrait):
            found[k] = v
        elif k == "pg_attribute":
            found[k] = [{a: b for a, b in r.items() if a != "attstattarget"} for r in v]
        elif k != "encoding":
            found[k] = v
    return found


class Tables:
    """Random tables of a database, and their state before the nights."""

    def __init__(self, dsn: str, look: Portraits, names: list[str]) -> None:
        self.dsn, self.look = dsn, look
        self.roots = {
            t: int(made.fetch(dsn, f"SELECT '{t}'::regclass::oid::int8")[0][0]) for t in names
        }
        self.parts = {
            t: {o: look.of(o, n) for o, n, _ in look.partitions(r)} for t, r in self.roots.items()
        }
        self.portraits = {t: look.of(r, t) for t, r in self.roots.items()}
        self.columns = {
            t: ", ".join(
                f'"{name}"'
                for (name,) in made.fetch(
                    dsn,
                    f"SELECT attname FROM pg_attribute WHERE attrelid = '{t}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1",
                )
            )
            for t in names
        }
        self.rows = {t: self.rows_of(t, [t]) for t in names}
        edge = datetime.now(UTC).date() - timedelta(KEEP)
        self.since = f"WHERE d >= '{edge}'"
        self.rows_since = {t: self.rows_of(t, [t], self.since) for t in names}

    def rows_of(self, table: str, places: list[str], where: str = "") -> tuple[int, str]:
        one = " UNION ALL ".join(f"SELECT {self.columns[table]} FROM {p} {where}" for p in places)
        return made.rows_of(self.dsn, f"({one})")

    def detached(self, table: str) -> dict[int, str]:
        """Former partitions of a table that are separate tables now, by OID."""
        there = {o for o, _, _ in self.look.partitions(self.roots[table])}
        found = self.look.conn.execute(
            "SELECT oid::int8, oid::regclass::text FROM pg_class WHERE oid = ANY(%s::int8[])",
            (sorted(self.parts[table].keys() - there),),
        )
        return {int(o): str(n) for o, n in found}

    def differences(self, table: str, *, named: bool) -> list[str]:
        """Differences of a table, its partitions and its detached partitions from their state before.

        named: whether the script reports losses of merged partitions
        """
        look, was = self.look, self.parts[table]
        found = [
            f"{table} {d}"
            for d in differing(
                without_parts(self.portraits[table]),
                without_parts(look.of(self.roots[table], table)),
            )
        ]
        for oid, name, _ in look.partitions(self.roots[table]):
            now = look.of(oid, name)
            if oid in was:
                found += [f"{name} {d}" for d in differing(was[oid], now)]
            elif not named and re.search(
                r"_p\d{4}[wm]\d\d", name
            ):  # merged from partitions with the same properties
                classic = self.look.classic
                now = of_merged(now, classic=classic)
                best = min(
                    (differing(of_merged(p, classic=classic), now) for p in was.values()), key=len
                )
                found += [f"{name} {d}" for d in best if not NOT_BELOW.match(d)]
        for oid, name in self.detached(table).items():
            plain = name.rpartition(".")[2].strip('"')
            found += [
                f"{name} {d}"
                for d in differing(without_parts(was[oid]), without_parts(look.of(oid, plain)))
                if not OF_A_PARTITION.search(d)
            ]
        return found


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_nothing_is_lost(fixture: str, seed: int, request: pytest.FixtureRequest) -> None:
    first = datetime.now(UTC).date() - timedelta(DAYS_BEFORE)
    dsn, look, names = random_tables(fixture, "random_nights", seed, first, request)
    tables = Tables(dsn, look, names)
    how = HOW[seed % len(HOW)]
    policy = POLICY + ("" if how == "none" else f'keep = "{KEEP}d"\nretention = "{how}"\n')
    moved, named = 0, set()
    for n in range(2):
        year, text = night(dsn, policy, allow_drop=True)
        named |= set(NAMED.findall(text))
        done = year.run(text)
        refused = {*REFUSED.findall(done.stderr), *REFUSED_CLASSIC.findall(done.stderr)}
        assert done.returncode == (3 if refused else 0), done.stderr
        if how == "drop" and n == 0:  # the drop is only announced
            assert {t: tables.rows_of(t, [t]) for t in names} == tables.rows
            made.execute(dsn, "UPDATE gpcatalog_journal.upkeep SET at = at - interval '7 days'")
    problems = []
    for t in names:
        detached = tables.detached(t)
        moved += len(detached)
        if how == "drop":
            assert not detached
            assert tables.rows_of(t, [t], tables.since) == tables.rows_since[t]
            moved += tables.rows_of(t, [t])[0] < tables.rows[t][0]
        else:
            assert tables.rows_of(t, [t, *detached.values()]) == tables.rows[t]
        problems += tables.differences(t, named=t in named)
    assert moved or how == "none"
    assert problems == [], "\n".join(problems[:40])
