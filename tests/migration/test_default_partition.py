"""Greenplum 6 removes a default partition and creates it again: all its properties are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fresh_database
from tests.migration import made

DAYS = "START (date '2020-01-01') END (date '2020-01-08') EVERY (interval '1 day')"
LATER = "START (date '2030-01-01') END (date '2040-01-01')"
BELOW = "SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION o)"
COLUMNS = "(id int, d date, v text, k text)"
# name → clauses after the columns; of `all` and `deep_all` all partitions but the default one are replaced
TABLES = {
    "dp_all": f"DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({DAYS}, DEFAULT PARTITION other)",
    "dp_some": f"DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({DAYS}, {LATER}, DEFAULT PARTITION other)",
    "dp_deep": f"DISTRIBUTED BY (id) PARTITION BY RANGE (d) {BELOW} ({DAYS}, {LATER}, DEFAULT PARTITION other)",
    "dp_deep_all": f"DISTRIBUTED BY (id) PARTITION BY RANGE (d) {BELOW} ({DAYS}, DEFAULT PARTITION other)",
}
# {n}: name of the table
MARKS = (
    "GRANT SELECT ON {n} TO PUBLIC",
    "GRANT INSERT ON {n} TO mig_writer WITH GRANT OPTION",
    "REVOKE ALL ON {n}_1_prt_other FROM PUBLIC",
    "REVOKE ALL ON {n}_1_prt_other FROM mig_writer CASCADE",
    "GRANT UPDATE ON {n}_1_prt_other TO mig_reader",
    "COMMENT ON TABLE {n}_1_prt_other IS 'the others'",
    "COMMENT ON COLUMN {n}_1_prt_other.v IS 'other values'",
    "ALTER TABLE ONLY {n}_1_prt_other ALTER COLUMN v SET STATISTICS 7",
    "ALTER TABLE ONLY {n}_1_prt_other ALTER COLUMN v SET (n_distinct = 5)",
    "ALTER TABLE ONLY {n}_1_prt_other ALTER COLUMN v SET STORAGE EXTERNAL",
)
DEEP = (
    "REVOKE ALL ON {n}_1_prt_other_2_prt_a FROM mig_reader",
    "GRANT DELETE ON {n}_1_prt_other_2_prt_o TO mig_writer",
    "COMMENT ON TABLE {n}_1_prt_other_2_prt_o IS 'the others of the others'",
    "ALTER TABLE {n}_1_prt_other_2_prt_o ALTER COLUMN v SET STATISTICS 9",
    # of the partitions that are merged
    *(
        statement.format(n="{n}", day=day)
        for day in range(2, 9)
        for statement in (
            "REVOKE ALL ON {n}_1_prt_{day} FROM PUBLIC",
            "ALTER TABLE ONLY {n}_1_prt_{day} ALTER COLUMN v SET STATISTICS 8",
            "GRANT SELECT ON {n}_1_prt_{day}_2_prt_a TO PUBLIC",
        )
    ),
)
PROPERTIES = """
SELECT c.relname, c.relacl::text, pg_catalog.obj_description(c.oid, 'pg_class'),
       (SELECT array_agg((a.attname, a.attstattarget, a.attoptions, a.attstorage, a.attacl, pg_catalog.col_description(c.oid, a.attnum))::text
                         ORDER BY a.attnum)
          FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
       (SELECT array_agg(DISTINCT r.rolname || ' ' || s.deptype) FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
         WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND s.classid = 1259 AND s.objid = c.oid)
  FROM pg_class c WHERE c.relname LIKE 'dp\\_%' AND c.relkind = 'r'
"""


def properties(dsn: str) -> dict[str, Any]:
    """Properties of all partitions, by name; an ACL is a set of entries."""
    return {
        name: ({*str(acl).strip("{}").split(",")}, *more)
        for name, acl, *more in made.fetch(dsn, PROPERTIES)
    }


def filled(request: pytest.FixtureRequest, database: str) -> str:
    """A database of Greenplum 6 with all tables."""
    dsn = fresh_database(request.getfixturevalue("gp6_dsn"), database)
    made.roles(dsn, "mig_reader", "mig_writer")
    for name, rest in TABLES.items():
        made.execute(
            dsn,
            f"CREATE TABLE {name} {COLUMNS} {rest}",
            *(m.format(n=name) for m in (*MARKS, *(DEEP if "deep" in name else ()))),
            f"INSERT INTO {name} SELECT i, date '2020-01-01' + i % 7, 'v', 'a' FROM generate_series(1, 70) i",
            f"INSERT INTO {name} VALUES (1, '2025-01-01', 'v', 'a')",
            f"ANALYZE {name}",
        )
    return dsn


def test_all_properties_are_kept(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = filled(request, "mig_default")
    before = properties(dsn)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert (files.steps, files.refused) == (len(TABLES), [])
    assert [o.lost for w in files.work for o in w.forward] == [()] * len(TABLES)
    files.all()
    after = properties(dsn)
    assert {n: v for n, v in after.items() if n in before} == {
        n: v for n, v in before.items() if n in after
    }
    for name in ("dp_deep", "dp_deep_all"):  # like all partitions that it replaces
        for tail in ("", "_2_prt_a", "_2_prt_o"):
            merged, old = (
                after[f"{name}_1_prt_p2020m01{tail}"],
                before[f"{name}_1_prt_3{tail}"],
            )
            assert merged == old, (name, tail)
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert properties(dsn) == before


def test_all_properties_come_back(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The rollback of a table that lost its partitions; what it loses until then is announced."""
    dsn = filled(request, "mig_default_again")
    before = properties(dsn)
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn, made.EAGER + 'unpartition_below = "10GB"\n')
    )
    assert (files.steps, files.refused) == (len(TABLES), [])
    lost = [o.lost for w in files.work for o in w.forward if o.lost]
    assert len(lost) == 2  # the others keep their partitions, which have properties of their own
    for name in ("comment on column v", "options of column v", "statistics target of column v"):
        assert all(any(line.startswith(name) for line in lines) for lines in lost), name
    files.all()
    assert not [n for n in properties(dsn) if "_prt_" in n and "deep" not in n]
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert properties(dsn) == before


def test_what_would_be_lost_is_refused_or_announced(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Objects that belong only to a default partition that has subpartitions."""
    dsn = fresh_database(request.getfixturevalue("gp6_dsn"), "mig_default_refused")
    made.roles(dsn, "mig_reader")
    own = {
        "dp_columns": ("GRANT SELECT (v) ON {n}_1_prt_other TO mig_reader",),
        "dp_sequence": ("CREATE SEQUENCE dp_numbers OWNED BY {n}_1_prt_other.id",),
        "dp_view": ("CREATE VIEW dp_seen AS SELECT v FROM {n}_1_prt_other",),
        "dp_rule": ("CREATE RULE r AS ON DELETE TO {n}_1_prt_other DO ALSO NOTHING",),
        "dp_index": (
            "CREATE INDEX dp_all_v ON {n} (v)",
            "COMMENT ON INDEX {n}_1_prt_other_v_idx IS 'of the others'",
            "CREATE INDEX dp_own ON {n}_1_prt_other (k)",
        ),
    }
    for name, statements in own.items():
        made.execute(
            dsn,
            f"CREATE TABLE {name} {COLUMNS} {TABLES['dp_deep']}",
            *(s.format(n=name) for s in statements),
            f"INSERT INTO {name} SELECT i, date '2020-01-01' + i % 7, 'v', 'a' FROM generate_series(1, 70) i",
            f"ANALYZE {name}",
        )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert {r.table.removeprefix("public."): r.reason.partition(":")[0] for r in files.refused} == {
        "dp_columns": "it has grants on columns",
        "dp_sequence": "it owns a sequence, which would be dropped too",
        "dp_view": "a view uses it",
        "dp_rule": "it has a rule",
    }
    (lost,) = [o.lost for w in files.work for o in w.forward]
    assert lost == (
        "comment on index dp_index_1_prt_other_v_idx of dp_index_1_prt_other",
        "index dp_own of dp_index_1_prt_other: a rollback does not create it again",
    )
