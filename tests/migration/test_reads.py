"""The cost of a step does not depend on other tables: it reads no more catalog rows if other tables have partitions, too.

The server counts the rows that a transaction reads: pg_stat_get_xact_tuples_returned of a catalog (by scans) and of its indexes.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import msgspec
import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ("gp6_dsn", "gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn")
# for tables of another role, all code that they could run is looked up
CASES = ((Mode.LOCKED, ""), (Mode.LOCKED, "mig_reads_owner"), (Mode.ONLINE, "mig_reads_owner"))
DAYS = 45
# partitions of another table, all without indexes; Greenplum takes half a minute to create a thousand
OTHERS, OTHERS_GREENPLUM = 2_000, 1_000
# share of these partitions: reading all of them once in one catalog is too much; dead index entries are read until they are removed
MORE = 0.8
# the catalogs of a test are so small that Greenplum, whose random_page_cost is 100, would scan them
CHEAP = "-c random_page_cost=1.1"

_CLASSIC = """CREATE TABLE {name} (day date, id int) DISTRIBUTED BY (id) PARTITION BY RANGE (day)
    (START (date '2020-01-01') END (date '{end}') EVERY (interval '1 day'))"""
_DECLARATIVE = (
    "CREATE TABLE {name} (day date, id int) PARTITION BY RANGE (day)",
    "DO $$ BEGIN FOR n IN 0..{days} - 1 LOOP EXECUTE format('CREATE TABLE {name}_%s PARTITION OF {name} FOR VALUES FROM (%L) TO (%L)',"
    " n, date '2020-01-01' + n, date '2020-01-01' + n + 1); END LOOP; END $$",
)
# each catalog with the OIDs whose reads are counted: its own and those of its indexes
_CATALOGS = """SELECT c.relname, array_agg(i.indexrelid::int8 ORDER BY i.indexrelid) || c.oid::int8
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE c.relnamespace = 11 AND c.relkind = 'r' GROUP BY c.oid, c.relname ORDER BY 1"""

# the tables of the journal; Greenplum counts nothing here, because their rows are on a segment
_TABLES = """SELECT c.relname, array_agg(i.indexrelid::int8 ORDER BY i.indexrelid) || c.oid::int8
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'gpcatalog_journal') GROUP BY c.oid, c.relname
    ORDER BY 1"""
# rows that other tables of the plan have in the journal
_JOURNAL = (
    "INSERT INTO gpcatalog_journal.tree (plan, relation, part, bound, change)"
    " SELECT '{plan}', 'public.other', 'p' || g, 'b' || g, 1 FROM generate_series(1, {others}) g",
    "INSERT INTO gpcatalog_journal.step (plan, step, state, relation)"
    " SELECT '{plan}', 's' || g, 'done', 'public.other' FROM generate_series(1, {others}) g",
    "INSERT INTO gpcatalog_journal.tally (plan, step, side, relation, rows, hash, columns)"
    " SELECT '{plan}', 's' || g, 'old', 'p' || g, 1, 1, 'id' FROM generate_series(1, {others}) g",
    "INSERT INTO gpcatalog_journal.planned (plan, relation, step, n, title, seconds)"
    " SELECT '{plan}', 'public.other', 's' || g, g, 't', 1 FROM generate_series(1, {others}) g",
)


def _create(dsn: str, name: str, days: int) -> None:
    classic = "Greenplum Database 6" in made.fetch(dsn, "SELECT version()")[0][0]
    for text in (_CLASSIC,) if classic else _DECLARATIVE:
        made.execute(dsn, text.format(name=name, days=days, end=date(2020, 1, 1) + timedelta(days)))


@cache
def _database(server: str, name: str, others: int) -> str:
    """A database in which another table has this number of partitions, created once."""
    dsn = fresh_database(server, name)
    if others:
        _create(dsn, "other", others)
    return dsn


def _counting(text: str, catalogs: dict[str, list[int]]) -> str:
    """The file, with statements that print the reads of these catalogs at the start and end of each transaction."""

    def look(when: str) -> str:
        read = [
            f"(SELECT sum(pg_stat_get_xact_tuples_returned(o)) FROM unnest(ARRAY{oids}) o)"
            for oids in catalogs.values()
        ]
        return f"SELECT concat_ws(' ', 'gpcatalog-test:', '{when}', {', '.join(read)});\n"

    text = re.sub(r"^(BEGIN\b[^;\n]*;\n)", lambda m: m[1] + look("begin"), text, flags=re.M)
    return re.sub(r"^COMMIT;", lambda m: look("end") + m[0], text, flags=re.M)


def _read(printed: str, catalogs: dict[str, list[int]]) -> list[dict[str, int]]:
    """Rows of each catalog that each transaction read."""
    found, was = [], [0] * len(catalogs)
    for line in printed.splitlines():
        if "gpcatalog-test:" in line:
            when, *numbers = line.split("gpcatalog-test:")[1].split()
            now = [int(n) for n in numbers]
            if when == "begin":
                was = now
            else:
                found.append(dict(zip(catalogs, (n - w for n, w in zip(now, was, strict=True)), strict=True)))  # fmt: skip
    return found


def _reads(dsn: str, folder: Path, mode: Mode, others: int) -> dict[str, list[dict[str, int]]]:
    """Rows that each transaction of each file reads, by file."""
    plan = made.plan_of(dsn)
    plan = msgspec.structs.replace(plan, tables=[t for t in plan.tables if t.table == "small"])
    files = made.written(dsn, folder, plan, request=Request(mode=mode))
    assert files.steps == 2
    catalogs = dict(made.fetch(dsn, _CATALOGS))
    files.run("0000_prepare.sql")
    if others:
        made.execute(dsn, *(text.format(plan=plan.id, others=others) for text in _JOURNAL))
    catalogs |= dict(made.fetch(dsn, _TABLES))
    (name,) = files.forward()
    found = {}
    for one in (name, f"rollback/{name}", "verify.sql"):
        text = _counting((files.folder / one).read_text(), catalogs)
        printed = files.run(one, text=text, PGOPTIONS=CHEAP).stdout
        found[one] = _read(printed, catalogs)
        assert found[one]
    files.run("cleanup.sql")
    made.execute(dsn, "DROP TABLE small")
    return found


@pytest.mark.long
@pytest.mark.parametrize(("mode", "owner"), CASES)
@pytest.mark.parametrize("fixture", SERVERS)
def test_other_tables_cost_a_step_nothing(
    fixture: str, mode: Mode, owner: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    reads = []
    many = OTHERS_GREENPLUM if fixture.startswith("gp") else OTHERS
    for name, others in (("mig_reads_alone", 0), ("mig_reads_beside", many)):
        dsn = _database(request.getfixturevalue(fixture), name, others)
        _create(dsn, "small", DAYS)
        made.execute(
            dsn,
            "CREATE INDEX ON small (id)",
            f"INSERT INTO small SELECT date '2020-01-01' + g % {DAYS}, g FROM generate_series(1, 450) g",
        )
        if owner:
            made.roles(dsn, owner)
            made.execute(
                dsn, f"GRANT ALL ON SCHEMA public TO {owner}", f"ALTER TABLE small OWNER TO {owner}"
            )
        reads.append(_reads(dsn, tmp_path / name, mode, others))
    alone, with_others = reads
    more = [
        f"{file}, transaction {n}: {catalog}: {a[catalog]} rows alone, {b[catalog]} beside others"
        for file in alone
        for n, (a, b) in enumerate(zip(alone[file], with_others[file], strict=True), 1)
        for catalog in a
        if b[catalog] > a[catalog] + MORE * many
        # verify reads each journal table once, and opens so many tables that Greenplum reads about as much for its caches
        and (file != "verify.sql" or (catalog.startswith("pg_") and many == OTHERS))
    ]
    assert more == [], "\n".join(more)
