"""Partitions that differ from their table: which ones are read in detail, and what a snapshot contains about them."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from gpcatalog.model import properties
from gpcatalog.planner import losses
from gpcatalog.planner import operations as op
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ["gp6_dsn", "gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]
DEFAULT, PRIVILEGE = ("default", "v"), ("privilege", "SELECT of public")


@pytest.fixture(params=SERVERS)
def table(request: pytest.FixtureRequest) -> str:
    """A database with a table of four daily partitions, with its own default, check, privilege and comments."""
    dsn = fresh_database(request.getfixturevalue(request.param), "uneven")
    columns = "id int NOT NULL, d date, v text DEFAULT 'x', CHECK (id > 0)"
    if request.param == "gp6_dsn":
        made.execute(
            dsn,
            f"CREATE TABLE t ({columns}) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2022-01-01') END (date '2022-01-05') EVERY (interval '1 day'))",
        )
    else:
        made.execute(dsn, f"CREATE TABLE t ({columns}) PARTITION BY RANGE (d)")
        made.execute(
            dsn,
            *(
                f"CREATE TABLE t_1_prt_{n} PARTITION OF t FOR VALUES FROM ('2022-01-0{n}') TO ('2022-01-0{n + 1}')"
                for n in range(1, 5)
            ),
        )
    made.execute(
        dsn,
        "GRANT SELECT ON t TO PUBLIC",
        "COMMENT ON TABLE t IS 'of the table'",
        "COMMENT ON COLUMN t.v IS 'of the table'",
    )
    made.execute(dsn, "CREATE INDEX t_v ON t (v)")
    return dsn


def uneven(dsn: str) -> list[str]:
    with connect(dsn) as session:
        rows = [r for r in session.rows("uneven_partitions") if r["oid"] not in (0, r["root"])]
        oids = ", ".join(str(row["oid"]) for row in rows) or "0"
        names = session.query(
            f"SELECT c.relname::text AS name FROM pg_catalog.pg_class c WHERE c.oid IN ({oids}) ORDER BY 1"
        )
    return [row["name"] for row in names]


def test_no_difference_where_all_are_alike(table: str) -> None:
    assert uneven(table) == []


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t_1_prt_2 ALTER v SET DEFAULT 'y'",
        "ALTER TABLE t_1_prt_2 ALTER v DROP DEFAULT",
        "ALTER TABLE t_1_prt_2 ALTER v SET STORAGE EXTERNAL",
        "ALTER TABLE t_1_prt_2 ALTER v SET (n_distinct=7)",
        "ALTER TABLE t_1_prt_2 ALTER v SET NOT NULL",
        "ALTER TABLE t_1_prt_2 SET (toast.autovacuum_enabled=false)",
        "COMMENT ON TABLE t_1_prt_2 IS 'of the partition'",
        "COMMENT ON COLUMN t_1_prt_2.d IS 'of the partition'",
    ],
)
def test_one_that_differs_is_found(table: str, change: str) -> None:
    try:
        made.execute(table, change)
    except psycopg.errors.WrongObjectType:
        # Greenplum 6 does not support a default or NOT NULL of a single partition
        assert made.fetch(table, "SHOW server_version_num")[0][0].startswith("904")
        assert uneven(table) == []
        return
    assert uneven(table) == ["t_1_prt_2"]


def test_a_privilege_that_one_lacks_is_found(table: str, tmp_path: Path) -> None:
    """If no partition has privileges of its own, those of the table do not apply to partitions."""
    made.execute(
        table,
        *(f"GRANT SELECT ON t_1_prt_{n} TO PUBLIC" for n in (1, 2, 4)),
        "REVOKE ALL ON t_1_prt_3 FROM PUBLIC",
    )
    assert uneven(table) == ["t_1_prt_3"]
    with connect(table) as session:
        path = collect(session, tmp_path / "now.gpcatalog", lambda _: None)
    with Snapshot(path) as snapshot:
        found = [
            json.loads(r["detail"])
            for r in snapshot.rows("SELECT detail FROM partition_fact WHERE fact = 'property'")
        ]
    assert [f[:3] for f in found if f[0] == "privilege"] == [
        ["privilege", "SELECT of PUBLIC", ""],
        ["privilege", "SELECT of PUBLIC", None],
    ]


@pytest.mark.parametrize("more", ["", "GRANT DELETE ON t_1_prt_3 TO PUBLIC"])
def test_what_the_table_alone_has(table: str, tmp_path: Path, more: str) -> None:
    """Properties that only the table has.

    Its comments apply to no partition, not even to one that differs in something else. Its privileges apply if partitions have some.
    """
    made.execute(
        table,
        "ALTER TABLE t_1_prt_2 ALTER v SET (n_distinct=7)",
        "ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0)",
        "COMMENT ON CONSTRAINT positive ON t IS 'of the table'",
        *([more] if more else []),
    )
    with connect(table) as session:
        path = collect(session, tmp_path / "now.gpcatalog", lambda _: None)
    with Snapshot(path) as snapshot:
        facts = [
            r["detail"]
            for r in snapshot.rows("SELECT detail FROM partition_fact WHERE fact = 'property'")
        ]
    its = properties.Properties(facts)
    granted = made.fetch(
        table,
        "SELECT c.oid::bigint, EXISTS (SELECT 1 FROM aclexplode(c.relacl) x WHERE x.grantee = 0 AND x.privilege_type = 'SELECT')"
        " FROM pg_class c WHERE c.relname LIKE 't!_1!_prt!__' ESCAPE '!'",
    )
    assert len(granted) == 4
    all_alike = len({has for _, has in granted}) == 1
    for oid, has in granted:
        found = its.of(oid)
        assert not [key for key in found if "comment" in key[0]]
        assert all_alike or (("privilege", "SELECT of PUBLIC") in found) == has
    lost = losses.lost(its, merge(*(oid for oid, _ in granted)))
    expected = [
        "options of column v on 1 of 4 partitions: the value of the newest partition applies"
    ]
    expected += (
        ["DELETE of PUBLIC on 1 of 4 partitions: not granted on the new partition"] if more else []
    )
    assert list(lost) == expected


def merge(*leaves: int) -> op.Merge:
    return op.Merge(
        id="m", explanation="", gain=op.Gain(0, 0, 0, 0, 0), cost=op.Price(0, 0, 0, 0, 0), grain="month", partition="p", name="p", bound="",
        lower=None, upper=None, units=(), leaves=tuple(op.Leaf(oid=n, name=f"t_{n}") for n in leaves), new=(op.NewLeaf(name="p", like=leaves[-1]),),
    )  # fmt: skip


def test_what_a_merge_loses() -> None:
    own = {DEFAULT: "1", PRIVILEGE: ""}
    facts = properties.facts(own, {1: own, 2: {DEFAULT: "2", PRIVILEGE: ""}, 3: {DEFAULT: "1"}})
    its = properties.Properties(facts)
    assert its.of() == own
    assert its.of(1) == its.of(99) == own
    assert its.of(3) == {DEFAULT: "1"}
    assert losses.lost(its, merge(1, 99)) == ()
    assert losses.lost(its, merge(1, 2)) == (
        "default of column v on 1 of 2 partitions: the value of the table applies",
    )
    assert losses.lost(its, merge(1, 3)) == (
        "SELECT of public on 1 of 2 partitions: not granted on the new partition",
    )


def test_long_values_are_shortened() -> None:
    """A comment may have a megabyte; two different comments must still differ."""
    key = ("comment", "v")
    facts = properties.facts(
        {}, {1: {key: "x" * 100_000}, 2: {key: "x" * 99_999}, 3: {key: "x" * 100_000}}
    )
    assert all(len(f) < 200 for f in facts)
    its = properties.Properties(facts)
    assert its.of(1) == its.of(3) != its.of(2)
    check = {("check", "c"): "CHECK (" + "x" * 1000 + ") NOT VALID"}
    assert (
        properties.Properties(properties.facts({}, {1: check}))
        .of(1)["check", "c"]
        .endswith(" NOT VALID")
    )


def test_triggers_that_differ_keep_partitions_apart() -> None:
    key = ("trigger", "g")
    enabled, disabled = {key: "ENABLE"}, {key: "DISABLE"}
    some = properties.Properties(properties.facts(enabled, {1: disabled, 2: enabled}))
    assert some.uneven("trigger", 2) == [(1, "g")]
    every = properties.Properties(properties.facts(enabled, {1: disabled, 2: disabled}))
    assert every.uneven("trigger", 2) == []
    # only of the table, which is for statements
    other = properties.Properties(
        properties.facts(enabled, {1: {("options", "v"): "n_distinct=7"}})
    )
    assert other.uneven("trigger", 4) == []


def test_privileges_of_the_table_where_no_partition_has_any() -> None:
    own = {PRIVILEGE: "", ("privilege", "SELECT (v) of public"): ""}
    facts = properties.facts(own, {1: {DEFAULT: "2"}}, granted=False, columns_granted=False)
    its = properties.Properties(facts)
    assert its.of(1) == {DEFAULT: "2"}
    assert its.of(99) == {}
    facts = properties.facts(own, {1: {DEFAULT: "2"}}, granted=True, columns_granted=False)
    assert properties.Properties(facts).of(99) == {PRIVILEGE: ""}
