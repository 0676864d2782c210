"""New partitions of random tables (migration/decorated.py) have the same catalog rows as the newest partition before.

All columns of the catalogs are compared, except those that are particular to one relation. GPCATALOG_TEST_SEEDS=100-120 uses
other tables.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.migration import made, odd
from tests.migration.decorated import TableMaker, fill
from tests.migration.test_decorated import SETTINGS, seeds
from tests.upkeep.test_live import daily, night

TABLES = 8
DAYS_BEFORE = 5  # age of the first partition; the newest of six partitions is today's, the newest of fourteen is in a week
POLICY = '[default]\nautomatic_maintenance = true\ngrain = "day"\npremake = "14d"\nhot_days = 60\n'

# particular to one relation: its identity, its size and age, and its origin
PARTICULAR = {
    "pg_class": "oid relname relfilenode relchecks reltype reltoastrelid relpages reltuples relallvisible relallfrozen relfrozenxid relminmxid relnatts"
    " relpartbound relhassubclass",
    "pg_attribute": "attrelid attnum attndims attcacheoff atthasmissing attmissingval",
    "pg_appendonly": "relid segrelid segidxid blkdirrelid blkdiridxid visimaprelid visimapidxid segfilecount version",
    "pg_attribute_encoding": "attrelid attnum filenum lastrownums",
    "gp_distribution_policy": "localoid",
    "pg_index": "indexrelid indrelid indkey indexprs indpred",  # contain positions of columns
}
OF_RELATION = {
    "pg_class": "SELECT row_to_json(c) FROM pg_class c WHERE oid = {oid}",
    "pg_attribute": "SELECT row_to_json(a) FROM pg_attribute a WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attname",
    "pg_appendonly": "SELECT row_to_json(a) FROM pg_appendonly a WHERE relid = {oid}",
    "gp_distribution_policy": "SELECT row_to_json(p) FROM gp_distribution_policy p WHERE localoid = {oid}",
    "pg_index": "SELECT row_to_json(i) FROM pg_index i WHERE indrelid = {oid} ORDER BY pg_get_indexdef(indexrelid)",
}
WORDS = {
    "owner": "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = {oid}",
    "encoding": "SELECT attname, e.attoptions FROM pg_attribute_encoding e JOIN pg_attribute a USING (attrelid, attnum) WHERE attrelid = {oid}"
    " AND NOT attisdropped AND e.attoptions IS NOT NULL",
    "default": "SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef d JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum"
    " WHERE adrelid = {oid}",
    "constraint": "SELECT CASE WHEN contype IN ('c', 'f', 'n') THEN conname::text ELSE contype::text END, pg_get_constraintdef(oid),"
    " convalidated, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = {oid}",
    "index": "SELECT pg_get_indexdef(indexrelid), c.reloptions, c.reltablespace, obj_description(c.oid, 'pg_class') FROM pg_index i JOIN pg_class c"
    " ON c.oid = indexrelid WHERE indrelid = {oid}",
    "trigger": "SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal",
    "statistics": "SELECT pg_get_statisticsobjdef(oid), pg_get_userbyid(stxowner), obj_description(oid, 'pg_statistic_ext') FROM pg_statistic_ext"
    " WHERE stxrelid = {oid}",
    "policy": "SELECT polname, polcmd, polpermissive, polroles, pg_get_expr(polqual, polrelid) FROM pg_policy WHERE polrelid = {oid}",
    "publication": "SELECT pubname FROM pg_publication_rel r JOIN pg_publication p ON p.oid = prpubid WHERE prrelid = {oid}",
    "comment": "SELECT objsubid, description FROM pg_description WHERE objoid = {oid} AND classoid = 'pg_class'::regclass",
    "rule": "SELECT rulename FROM pg_rewrite WHERE ev_class = {oid}",
    "toast": "SELECT t.reloptions FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = {oid}",
}

# tables that upkeep reports and skips: a partition's own generated column, and properties that Greenplum 6 does not give new partitions
REFUSED = re.compile(
    r"INFO:  (?:public\.)?(.*?): create-\w+ FAILED: .*(?:own expression|is not valid; Greenplum 6|a foreign key|its own trigger) "
)


class Portraits:
    """Catalog contents of partitions."""

    def __init__(self, dsn: str) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.there = {
            r[0]
            for r in self.conn.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace"
                if self.conn.info.server_version >= 90500
                else "SELECT relname FROM pg_class WHERE relnamespace = 11"
            )
        }
        self.classic = "pg_partition_rule" in self.there

    def partitions(self, parent: int) -> list[tuple[int, str, str]]:
        """OID, name and bound of the partitions of a relation, ordered by bound."""
        sql = (
            "SELECT parchildrelid::int8, relname, coalesce(nullif(pg_get_expr(parrangestart, parchildrelid), ''),"
            " nullif(pg_get_expr(parlistvalues, parchildrelid), ''), '~')"
            " FROM pg_partition_rule r JOIN pg_class c ON c.oid = parchildrelid JOIN pg_inherits ON inhrelid = c.oid WHERE inhparent = {oid} ORDER BY 3"
            if self.classic
            else "SELECT c.oid::int8, relname, replace(pg_get_expr(relpartbound, c.oid), 'DEFAULT', '~') FROM pg_class c JOIN pg_inherits ON inhrelid ="
            " c.oid WHERE inhparent = {oid} AND c.relkind IN ('r', 'p') ORDER BY 3"
        )
        return [tuple(r) for r in self.conn.execute(sql.format(oid=parent).encode())]  # type: ignore[misc]

    def of(self, oid: int, name: str) -> dict[str, Any]:
        """Catalog contents of a partition and of the partitions below it; its own name is replaced."""
        found: dict[str, Any] = {}
        for table, sql in OF_RELATION.items():
            if table in self.there:
                left_out = PARTICULAR[table].split()
                rows = [r[0] for r in self.conn.execute(sql.format(oid=oid).encode())]
                rows = [json.loads(r) if isinstance(r, str) else r for r in rows]
                for r in rows:
                    if r.get("attoptions"):  # the server's own (PostgreSQL 15.20, Debian)
                        own = [o for o in r["attoptions"] if not o.startswith("pg_")]
                        r["attoptions"] = own or None
                    # explicit privileges that the owner has anyway
                    if re.fullmatch(
                        r"\[\"?(.*)=arwdDxtm?/\1\"?\]", str(r.get("relacl")).replace("'", "")
                    ):
                        r["relacl"] = None
                found[table] = [
                    {k: sorted(v) if k in ("relacl", "attacl") and v else v for k, v in r.items() if k not in left_out} for r in rows
                ]  # fmt: skip
        for what, sql in WORDS.items():
            tables = re.findall(r"(?:FROM|JOIN) (pg_\w+)", sql)
            if set(tables) <= self.there:
                rows = [
                    tuple(self.without(name, v) for v in r)
                    for r in self.conn.execute(sql.format(oid=oid).encode())
                ]
                found[what] = sorted(rows, key=repr)
        for child, below, bound in self.partitions(oid):
            found[f"below {bound}"] = self.of(child, below)
        return found

    @staticmethod
    def without(name: str, value: object) -> object:
        """A definition without the name of its relation, and without its own name if it is an index or statistics object."""
        if not isinstance(value, str):
            return value
        value = re.sub(r"^CREATE (UNIQUE )?INDEX (\"[^\"]*\"|\S+) ON", r"CREATE \1INDEX ON", value)
        value = re.sub(r"^CREATE STATISTICS (\"[^\"]*\"|\S+)", "CREATE STATISTICS", value)
        return value.replace(f'"{name}"', "PART").replace(name, "PART")


def differing(was: dict[str, Any], now: dict[str, Any], path: str = "") -> list[str]:
    """The differences as texts."""
    found = []
    for key in sorted(was.keys() | now.keys()):
        a, b = was.get(key), now.get(key)
        if a == b or (
            key == "toast" and not (a and b)
        ):  # a dropped column can be the reason for a TOAST table
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            found += differing(a, b, f"{path}{key} / ")
        elif isinstance(a, list) and isinstance(b, list) and key in PARTICULAR and len(a) == len(b):
            found += [
                f"{path}{key} {x.get('attname', '')} {k}: {x.get(k)} -> {y.get(k)}"
                for x, y in zip(a, b, strict=True)
                for k in x
                if x.get(k) != y.get(k)
            ]
        else:
            removed = [x for x in a or [] if x not in (b or [])]
            more = [x for x in b or [] if x not in (a or [])]
            found.append(f"{path}{key}: {removed} -> {more}")
    return found


def as_documented(
    portrait: dict[str, Any], root: dict[str, Any], *, classic: bool, below: bool = False
) -> dict[str, Any]:
    """The catalog contents of a new partition like this one, according to docs/upkeep.md."""
    found = dict(portrait)
    for trait in ("comment", "statistics", "publication", "policy"):
        found.pop(trait, None)
    tables = {words.split()[2] for words, _ in root.get("trigger", ())}
    names = {words[0] for words in root["constraint"]}
    found["constraint"] = [
        c for c in found["constraint"] if not c[1].startswith("CHECK") or c[0] in names
    ]
    # ATTACH sets it for a partition, but not for partitions below it
    left_out = {"attidentity"} if below else set()
    if classic and any(k.startswith("below") for k in found):
        # Greenplum 6 creates intermediates itself, and they contain no rows
        found.pop("encoding", None)
        left_out.add("attstattarget")
    # only the definition, not the state
    found["trigger"] = [w for w, _ in found.get("trigger", ()) if w.split()[2] in tables]
    return {
        k: [
            {a: b for a, b in x.items() if a not in left_out} if k == "pg_attribute" else x
            for x in v
        ]
        if isinstance(v, list)
        else as_documented(v, root, classic=classic, below=True)
        for k, v in found.items()
    }


def random_tables(
    fixture: str, name: str, seed: int, first: date, request: pytest.FixtureRequest
) -> tuple[str, Portraits, list[str]]:
    """Create random tables in a database, with partitions that start on a day; return DSN, catalog contents and names of the tables."""
    dsn = fresh_database(request.getfixturevalue(fixture), name)
    made.roles(dsn, *odd.ROLES)
    made.execute(dsn, *odd.SHARED)
    tables = fill(dsn, TableMaker(seed, greenplum=fixture.startswith("gp"), first=first), TABLES)
    database = made.fetch(dsn, "SELECT current_database()")[0][0]
    made.execute(dsn, *(f"ALTER DATABASE {database} SET {s}" for s in SETTINGS.get(fixture, ())))
    look = Portraits(dsn)
    request.addfinalizer(look.conn.close)
    return dsn, look, tables


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_they_equal_the_newest(fixture: str, seed: int, request: pytest.FixtureRequest) -> None:
    first = datetime.now(UTC).date() - timedelta(DAYS_BEFORE)
    dsn, look, tables = random_tables(fixture, "new_partitions", seed, first, request)
    roots = {t: int(made.fetch(dsn, f"SELECT '{t}'::regclass::oid::int8")[0][0]) for t in tables}
    of_roots = {t: look.of(oid, t) for t, oid in roots.items()}
    before = {t: look.partitions(oid) for t, oid in roots.items()}
    portraits = {(t, n): look.of(oid, n) for t, parts in before.items() for oid, n, _ in parts}
    year, text = night(dsn, POLICY)
    done = year.run(text)
    refused = set(REFUSED.findall(done.stderr))
    assert done.returncode == (3 if refused else 0), done.stderr
    problems, created = [], 0
    for table, root in roots.items():
        newest = [p for p in before[table] if not p[2].startswith("~")][-1]

        def documented(portrait: dict[str, Any], root: dict[str, Any] = of_roots[table]) -> Any:
            return as_documented(portrait, root, classic=look.classic)

        expected = documented(portraits[table, newest[1]])
        for oid, name, bound in look.partitions(root):
            now = look.of(oid, name)
            if (table, name) in portraits:  # existing partitions do not change
                problems += [f"{name} {d}" for d in differing(portraits[table, name], now)]
                continue
            created += 1
            assert bound > before[table][0][2]
            problems += [f"{name} {d}" for d in differing(expected, documented(now))]
        # Greenplum 6 creates several at once, when half of the cover is left
        assert look.classic or table in refused or len(look.partitions(root)) > len(before[table])
    assert created
    assert problems == [], "\n".join(problems[:40])


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_row_security_of_the_newest_is_there(fixture: str, request: pytest.FixtureRequest) -> None:
    """A role with the privileges of the newest partition sees no row of a new partition."""
    dsn = fresh_database(request.getfixturevalue(fixture), "new_closed")
    made.roles(dsn, "upkeep_reader")
    daily(dsn, "t", 5)
    look = Portraits(dsn)
    request.addfinalizer(look.conn.close)
    root = int(made.fetch(dsn, "SELECT 't'::regclass::oid::int8")[0][0])
    newest = look.partitions(root)[-1]
    made.execute(
        dsn,
        f"GRANT SELECT ON {newest[1]} TO upkeep_reader",
        f"ALTER TABLE {newest[1]} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY p ON {newest[1]} USING (v > 3)",
    )
    year, text = night(dsn, POLICY)
    assert f"row security is enabled as in {newest[1]}, but its policies are not" in text
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    _, new, bound = look.partitions(root)[-1]
    assert new != newest[1]
    made.execute(dsn, f"INSERT INTO t (d, v) VALUES ('{re.findall('[0-9-]{10}', bound)[0]}', 9)")
    count = f"SELECT count(*) FROM {new}"
    assert look.conn.execute(count.encode()).fetchone() == (1,)
    look.conn.execute("SET ROLE upkeep_reader")
    assert look.conn.execute(count.encode()).fetchone() == (0,)
