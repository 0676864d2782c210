"""Random tables (decorated.py), migrated and rolled back: no row is lost, and no property that was not reported before.

The seed also determines the policy and how rows are copied. GPCATALOG_TEST_SEEDS=100-120 runs other seeds.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made, odd, roundtrip
from tests.migration.decorated import TableMaker, fill
from tests.migration.test_roundtrip import BINARIES, POLICIES, chosen

TABLES = 8
# settings of the session that runs the scripts: new relations must not use them
SETTINGS = {
    "gp6_dsn": (
        "gp_default_storage_options = 'appendonly=true, orientation=column'",
        "default_with_oids = on",
        "gp_use_legacy_hashops = on",
    ),
    "gp7_dsn": (
        "default_table_access_method = ao_column",
        "gp_default_storage_options = 'compresstype=zstd, blocksize=65536'",
        "gp_use_legacy_hashops = on",
    ),
}


def seeds() -> list[int]:
    """One seed for each policy, or the requested range."""
    first, _, last = os.environ.get("GPCATALOG_TEST_SEEDS", "4-6").partition("-")
    return list(range(int(first), int(last or first) + 1))


def without_order(text: str, *, classic: bool) -> str:
    """Definitions that pg_dump prints, without the order of columns: the rollback may use the table's order, as the scripts state."""
    text = chosen(text, classic=classic)
    if classic:  # a rollback specifies the default compression level of zlib
        text = re.sub(r", compresslevel='1'", "", text)
        if "SUBPARTITION BY" in text:
            # partitions without rows that a rollback creates have the table's encodings, including those of columns that were added later
            text = re.sub(r"(?m)^ *COLUMN \S+ ENCODING \(.*$\n?", "", text)
    return "\n".join(sorted(line.strip(" ,") for line in text.splitlines()))


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("fixture", list(BINARIES))
def test_forward_and_back(
    fixture: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "decorated")
    binary, classic = BINARIES[fixture], fixture == "gp6_dsn"
    if not Path(binary).exists():
        pytest.skip(f"no {binary}")
    made.roles(dsn, *odd.ROLES)
    made.execute(dsn, *odd.SHARED)
    tables = fill(dsn, TableMaker(seed, greenplum=fixture.startswith("gp")), TABLES)
    assert len(tables) >= TABLES // 2
    name = made.fetch(dsn, "SELECT current_database()")[0][0]
    made.execute(dsn, *(f"ALTER DATABASE {name} SET {s}" for s in SETTINGS.get(fixture, ())))
    before, rows = roundtrip.dump(binary, dsn), roundtrip.contents(dsn, tables)
    policies = list(POLICIES.values())[: 3 if fixture.startswith("gp") else 2]
    plan = made.plan_of(dsn, policies[seed % len(policies)])
    mode = Mode.LOCKED if seed % 4 < 2 else Mode.ONLINE
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(mode=mode))
    roundtrip.expect_alike(plan, files)
    names = files.forward()
    assert len(names) >= 2 or "GPCATALOG_TEST_SEEDS" in os.environ
    if not names:  # no table of this seed is migrated
        return
    files.run("0000_prepare.sql")
    ok_message = f"OK: {len(names)} of {len(names)} tables"
    assert ok_message in files.run_together(*names, "verify.sql")
    assert roundtrip.contents(dsn, tables) == rows
    assert ok_message in files.run_together(*(f"rollback/{name}" for name in names), "verify.sql")
    assert roundtrip.contents(dsn, tables) == rows
    files.run("cleanup.sql")
    was, now = (
        {n: without_order(t, classic=classic) for n, t in d.items()}
        for d in (before, roundtrip.dump(binary, dsn))
    )
    differing = roundtrip.differences(was, now)
    assert differing == [], "\n".join(
        f"{n}\n{was.get(n)}\n---\n{now.get(n)}" for n in differing[:3]
    )
