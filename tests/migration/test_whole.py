"""A table loses its partitions, or a level of them: rows, owner, grants, indexes and sequences are kept.

Steps that would lose other objects are refused.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made, zoo
from tests.recorded import FIXTURES

PLAIN = made.EAGER + 'unpartition_below = "1GB"\n'
FLAT = made.EAGER + "flatten = true\n"


def plain_table(dsn: str, greenplum: bool) -> None:
    made.roles(dsn, "mig_owner", "mig_reader")
    if greenplum:
        made.execute(
            dsn,
            "CREATE TABLE t (gone int, id serial, d date, v text ENCODING (compresstype=zlib, compresslevel=7), k int DEFAULT 3)"
            " WITH (appendonly=true, orientation=column) DISTRIBUTED BY (d) PARTITION BY RANGE (d)"
            " (START (date '2020-01-01') END (date '2020-01-11') EVERY (interval '1 day'), DEFAULT PARTITION other)",
        )
    else:
        made.execute(
            dsn,
            "CREATE TABLE t (gone int, id serial, d date NOT NULL, v text, k int DEFAULT 3, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
            *zoo._pg_days("t", first="2020-01-01", number=10),
            "CREATE TABLE t_other PARTITION OF t DEFAULT",
        )
    made.execute(
        dsn,
        "ALTER TABLE t DROP COLUMN gone",
        "CREATE INDEX t_v ON t (v)",
        "COMMENT ON INDEX t_v IS 'by value'",
        "ALTER TABLE t ADD CONSTRAINT positive CHECK (k > 0)",
        "COMMENT ON TABLE t IS 'small'",
        "COMMENT ON COLUMN t.v IS 'what'",
        "INSERT INTO t (d, v) SELECT date '2020-01-01' + i % 12, 'x' || i FROM generate_series(1, 200) i",
        "GRANT SELECT ON t TO mig_reader",
        "GRANT INSERT ON t TO mig_reader WITH GRANT OPTION",
        "ALTER TABLE t OWNER TO mig_owner",
        "ANALYZE t",
    )


def shown(dsn: str, generation: str) -> list[tuple[object, ...]]:
    """Properties of the root that must not change."""
    return made.fetch(
        dsn,
        """SELECT pg_get_userbyid(c.relowner)::text, ARRAY(SELECT unnest(c.relacl)::text ORDER BY 1), obj_description(c.oid, 'pg_class'),
                  ARRAY(SELECT i.relname || x.indisprimary || coalesce(obj_description(i.oid, 'pg_class'), '') FROM pg_index x
                        JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid ORDER BY 1),
                  ARRAY(SELECT k.conname || pg_get_constraintdef(k.oid) FROM pg_constraint k
                        WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'c') ORDER BY 1),
                  ARRAY(SELECT a.attname || format_type(a.atttypid, a.atttypmod) || a.attnotnull || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
                               || coalesce(col_description(c.oid, a.attnum), '')
                        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
                  pg_get_serial_sequence('t', 'id')
             FROM pg_class c WHERE c.oid = 't'::regclass""",
    )


@pytest.mark.parametrize("fixture", FIXTURES)
def test_unpartition(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = FIXTURES[fixture]
    greenplum = generation.startswith("gp")
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_plain")
    plain_table(dsn, greenplum)
    before, rows, picture = (
        shown(dsn, generation),
        made.rows_of(dsn, "t"),
        zoo.picture(dsn, generation),
    )
    plan = made.plan_of(dsn, PLAIN)
    assert [s.__struct_config__.tag for s in plan.tables[0].steps] == ["unpartition"]
    # a view cannot be moved to another table: the step is refused, and the reason names the view
    made.execute(dsn, "CREATE VIEW seen AS SELECT v FROM t")
    refused = made.written(dsn, tmp_path / "no", plan)
    assert refused.steps == 0
    assert "view public.seen" in refused.refused[0].reason
    made.execute(dsn, "DROP VIEW seen")
    files = made.written(dsn, tmp_path / "sql", plan, count=True)
    assert (files.steps, files.refused) == (1, [])
    # a view that was created after migrate stops the step before it changes anything
    files.run("0000_prepare.sql")
    made.execute(dsn, "CREATE VIEW seen AS SELECT v FROM t")
    assert "depend" in files.run("0001_public_t.sql", check=False).stderr
    made.execute(dsn, "DROP VIEW seen")
    assert made.rows_of(dsn, "t") == rows
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert shown(dsn, generation) == before
    assert made.fetch(
        dsn,
        "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname = 't'",
    ) == [(0,)]
    assert made.fetch(
        dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\_%' AND relkind = 'r'"
    ) == [(0,)]
    if greenplum:
        storage = (
            "relstorage = 'c'"
            if generation == "gp6"
            else "relam = (SELECT oid FROM pg_am WHERE amname = 'ao_column')"
        )
        assert made.fetch(dsn, f"SELECT {storage} FROM pg_class WHERE relname = 't'") == [(True,)]
        encoding = "SELECT attoptions::text FROM pg_attribute_encoding WHERE attrelid = 't'::regclass AND attoptions::text LIKE '%compresslevel=7%'"
        assert len(made.fetch(dsn, encoding)) == 1
    made.execute(dsn, "INSERT INTO t (d, v) VALUES ('2020-01-01', 'new')")
    assert made.fetch(dsn, "SELECT id FROM t WHERE v = 'new'") == [(201,)]
    files.run("0001_public_t.sql")
    # the rollback restores every partition with its storage, grants and indexes; the new row is kept
    rows = made.rows_of(dsn, "t")
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert shown(dsn, generation) == before
    assert zoo.changed(picture, zoo.picture(dsn, generation)) == []
    made.execute(dsn, "INSERT INTO t (d, v) VALUES ('2020-01-02', 'newer')")
    assert made.fetch(dsn, "SELECT id > 201 FROM t WHERE v = 'newer'") == [(True,)]
    files.run("rollback/0001_public_t.sql")  # already done
    made.execute(dsn, "DELETE FROM t WHERE v LIKE 'new%'")  # migrate counted two hundred rows
    files.run("0001_public_t.sql")
    assert made.fetch(
        dsn,
        "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname = 't'",
    ) == [(0,)]
    files.run("cleanup.sql")
    assert (
        made.fetch(
            dsn, "SELECT relname FROM pg_class WHERE relname LIKE 'gpc%' OR relname LIKE 'gpr%'"
        )
        == []
    )


@pytest.mark.parametrize("fixture", FIXTURES)
def test_unpartition_of_two_levels_and_back(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    generation = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_deep")
    if generation.startswith("gp"):
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, v text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
            " PARTITION BY RANGE (d) SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE (SUBPARTITION \"a b\" VALUES ('a', 'b')"
            " WITH (appendonly=true, orientation=row), DEFAULT SUBPARTITION o WITH (appendonly=true, orientation=column))"
            " (START (date '2020-01-01') END (date '2020-01-04') EVERY (interval '1 day'))",
        )
    else:
        made.execute(dsn, "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d)")
        for n in range(1, 4):
            made.execute(
                dsn,
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}') PARTITION BY LIST (v)",
                f"CREATE TABLE t_{n}_ab PARTITION OF t_{n} FOR VALUES IN ('a', 'b')",
                f"CREATE TABLE t_{n}_o PARTITION OF t_{n} DEFAULT",
            )
    made.execute(
        dsn,
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 3, CASE i % 3 WHEN 0 THEN 'a' ELSE 'x' END FROM generate_series(1, 200) i",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, generation)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, PLAIN))
    assert (files.steps, files.refused) == (1, [])
    files.all()
    made.execute(dsn, "INSERT INTO t VALUES (1, '2021-01-01', 'late')")
    stopped = files.run("rollback/0001_public_t.sql", check=False)  # no partition accepts that row
    assert stopped.returncode != 0
    made.execute(dsn, "DELETE FROM t WHERE v = 'late'")
    assert made.rows_of(dsn, "t") == rows
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.changed(picture, zoo.picture(dsn, generation)) == []
    if generation.startswith("gp"):
        made.execute(
            dsn, "ALTER TABLE t ADD PARTITION new START (date '2020-01-04') END (date '2020-01-05')"
        )
        assert made.fetch(
            dsn,
            "SELECT count(*) FROM pg_class WHERE relname LIKE 't_1_prt_new_2_prt_%' AND relkind = 'r'",
        ) == [(2,)]
    files.run("cleanup.sql")


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_templates_of_two_levels_come_back(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Two of three levels have a template: the rollback restores both, and a new partition uses both."""
    generation = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_deeper")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text, n int) WITH (appendonly=true) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        " SUBPARTITION BY LIST (v) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION o)"
        " SUBPARTITION BY RANGE (n) SUBPARTITION TEMPLATE (SUBPARTITION low START (0) END (5) WITH (appendonly=true),"
        " SUBPARTITION mid START (5) END (9), DEFAULT SUBPARTITION high)"
        " (START (date '2020-01-01') END (date '2020-01-03') EVERY (interval '1 day'))",
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 2, CASE i % 3 WHEN 0 THEN 'a' ELSE 'x' END, i % 12 FROM generate_series(1, 200) i",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, generation)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, PLAIN))
    assert (files.steps, files.refused) == (1, [])
    files.all()
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.changed(picture, zoo.picture(dsn, generation)) == []
    made.execute(
        dsn, "ALTER TABLE t ADD PARTITION new START (date '2020-01-04') END (date '2020-01-05')"
    )
    assert made.fetch(
        dsn,
        "SELECT count(*) FROM pg_class WHERE relname LIKE 't_1_prt_new_2_prt_%_3_prt_%' AND relkind = 'r'",
    ) == [(6,)]
    files.run("cleanup.sql")


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_flatten(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_flat")
    tail = " DISTRIBUTED BY (id)" if generation.startswith("gp") else ""
    made.execute(dsn, f"CREATE TABLE t (id int, d date, v text){tail} PARTITION BY RANGE (d)" if not tail else
                 "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d) DISTRIBUTED BY (id)")  # fmt: skip
    for n in range(1, 6):
        made.execute(
            dsn,
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}') PARTITION BY LIST (v)",
            f"CREATE TABLE t_{n}_all PARTITION OF t_{n} "
            + ("DEFAULT" if n % 2 else "FOR VALUES IN ('x', 'y')"),
        )
    made.execute(
        dsn,
        "CREATE INDEX t_i ON t (id)",
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 5, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END FROM generate_series(1, 200) i",
        "ANALYZE t",
    )
    picture, rows = zoo.picture(dsn, generation), made.rows_of(dsn, "t")
    plan = made.plan_of(dsn, FLAT)
    files = made.written(dsn, tmp_path / "sql", plan)
    assert (files.steps, files.refused) == (5, [])
    files.all()
    assert made.rows_of(dsn, "t") == rows
    flat = zoo.picture(dsn, generation)
    assert not [n for n in flat if n.endswith("_all")]
    assert made.fetch(
        dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\__' AND relkind = 'r'"
    ) == [(5,)]
    made.execute(dsn, "DROP INDEX t_i")  # the indexes of all leaves belong to this index
    assert made.fetch(dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\__%id_idx'") == [
        (0,)
    ]
    made.execute(dsn, "CREATE INDEX t_i ON t (id)")
    files.run("0001_public_t.sql")
    # a row that the removed level rejected: the rollback stops before it changes anything
    made.execute(dsn, "INSERT INTO t VALUES (1, '2020-01-02', 'z')")
    stopped = files.run("rollback/0001_public_t.sql", check=False)
    assert stopped.returncode == 3
    assert (
        "t_2 contains rows that do not belong to t_2_all FOR VALUES IN ('x', 'y')" in stopped.stderr
    )
    made.execute(
        dsn,
        "INSERT INTO t VALUES (1, '2020-01-02', 'zz')",
        "DELETE FROM t WHERE v IN ('z', 'zz')",
    )
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    back = zoo.picture(dsn, generation)
    assert back.keys() == picture.keys()
    assert {n: v[:2] + v[3:] for n, v in back.items()} == {
        n: v[:2] + v[3:] for n, v in picture.items()
    }
    files.run("cleanup.sql")
    assert (
        made.fetch(dsn, "SELECT conname FROM pg_constraint WHERE conname LIKE 'gpcatalog%'") == []
    )


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn"])
def test_flatten_over_a_hash(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The only partition of a hash accepts every row: its bound has no condition that a row must satisfy."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_flat_hash")
    tail = " DISTRIBUTED BY (id)" if fixture == "gp7_dsn" else ""
    made.execute(dsn, f"CREATE TABLE t (id int, d date) PARTITION BY RANGE (d){tail}")
    for n in range(1, 4):
        made.execute(
            dsn,
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}') PARTITION BY HASH (id)",
            f"CREATE TABLE t_{n}_all PARTITION OF t_{n} FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        )
    made.execute(
        dsn, "INSERT INTO t SELECT i, date '2020-01-01' + i % 3 FROM generate_series(1, 90) i"
    )
    picture, rows = zoo.picture(dsn, FIXTURES[fixture]), made.rows_of(dsn, "t")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, FLAT))
    assert (files.steps, files.refused) == (3, [])
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert not [n for n in zoo.picture(dsn, FIXTURES[fixture]) if n.endswith("_all")]
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.picture(dsn, FIXTURES[fixture]).keys() == picture.keys()
    files.run("cleanup.sql")


def test_leaves_that_changed_places_stay(pg_dsn: str, tmp_path: Path) -> None:
    """Two leaves were swapped since the plan: each has the other's parent, and is its only partition, as before."""
    dsn = fresh_database(pg_dsn, "mig_flat_moved")
    made.execute(dsn, "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d)")
    for n in range(1, 6):
        made.execute(
            dsn,
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}') PARTITION BY LIST (v)",
            f"CREATE TABLE t_{n}_all PARTITION OF t_{n} FOR VALUES IN ('x', 'y')",
        )
    made.execute(dsn, "ANALYZE t")
    plan = made.plan_of(dsn, FLAT)
    made.execute(
        dsn,
        "ALTER TABLE t_2 DETACH PARTITION t_2_all",
        "ALTER TABLE t_4 DETACH PARTITION t_4_all",
        "ALTER TABLE t_2 ATTACH PARTITION t_4_all FOR VALUES IN ('x', 'y')",
        "ALTER TABLE t_4 ATTACH PARTITION t_2_all FOR VALUES IN ('x', 'y')",
    )
    files = made.written(dsn, tmp_path / "sql", plan)
    assert files.steps == 0
    assert "t_2 has different partitions now" in str(files.refused)


def test_greenplum_6_keeps_its_levels(gp6_dsn: str) -> None:
    dsn = fresh_database(gp6_dsn, "mig_flat")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY RANGE (d) SUBPARTITION BY LIST (v)"
        " SUBPARTITION TEMPLATE (DEFAULT SUBPARTITION o) (START (date '2020-01-01') END (date '2020-01-04') EVERY (interval '1 day'))",
        "INSERT INTO t VALUES (1, '2020-01-01', 'a')",
    )
    plan = made.plan_of(dsn, FLAT)
    assert {type(step).__name__ for table in plan.tables for step in table.steps} == {
        "Merge",
        "Reconfigure",
    }  # the days are merged instead
    assert any(
        "flatten: Greenplum 6 cannot remove a level of a table" in note for note in plan.notes
    )


def test_a_rollback_that_cannot_be_written_fails(gp6_dsn: str, tmp_path: Path) -> None:
    """Greenplum 6 does not accept the definition of such a table. The file states it beforehand, and its rollback fails."""
    dsn = fresh_database(gp6_dsn, "mig_no_way_back")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text ENCODING (compresstype=zlib, compresslevel=7)) WITH (appendonly=true, orientation=column)"
        " DISTRIBUTED BY (id) PARTITION BY RANGE (d) SUBPARTITION BY LIST (v)"
        " (PARTITION a START (date '2020-01-01') END (date '2020-01-02') (SUBPARTITION x VALUES ('x') WITH (appendonly=false)))",
        "INSERT INTO t VALUES (1, '2020-01-01', 'x')",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, PLAIN))
    assert (
        "There is no rollback for unpartition" in (files.folder / "0001_public_t.sql").read_text()
    )
    files.run("0000_prepare.sql")
    assert files.run("rollback/0001_public_t.sql").returncode == 0  # nothing was done yet
    files.run("0001_public_t.sql")
    back = files.run("rollback/0001_public_t.sql", check=False)
    assert back.returncode == 3
    assert "these steps have no rollback and were not rolled back: unpartition" in back.stderr
    assert made.rows_of(dsn, "t")[0] == 1
    files.run("verify.sql")  # the table is as the step left it
    files.run("cleanup.sql")


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn"])
def test_a_check_of_one_leaf_is_refused(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_check")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)",
        "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')",
        "CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2020-01-02') TO ('2020-01-03')",
        "INSERT INTO t VALUES (1, '2020-01-01'), (2, '2020-01-02')",
    )
    plan = made.plan_of(dsn)
    made.execute(dsn, "ALTER TABLE t_1 ADD CONSTRAINT odd CHECK (id % 2 = 1)")
    assert [t.steps for t in made.plan_of(dsn).tables] == [[]], "a plan goes around it"
    files = made.written(dsn, tmp_path / "sql", plan)
    assert files.steps == 0
    assert (
        "it has its own CHECK, which the other rows may violate: t_1 (odd)"
        in files.refused[0].reason
    )


def test_unpartition_with_many_comments(pg_dsn: str, tmp_path: Path) -> None:
    """Each lost comment is listed, or counted."""
    dsn = fresh_database(pg_dsn, "mig_comments")
    days = zoo._pg_days("t", first="2020-01-01", number=23)
    made.execute(dsn, "CREATE TABLE t (d date, v text) PARTITION BY RANGE (d)", *days)
    leaves = [
        name for (name,) in made.fetch(dsn, "SELECT inhrelid::regclass::text FROM pg_inherits")
    ]
    made.execute(dsn, *(f"COMMENT ON TABLE {leaf} IS 'of its own'" for leaf in leaves))
    made.execute(
        dsn, "INSERT INTO t SELECT date '2020-01-01' + i % 23, 'x' FROM generate_series(1, 50) i"
    )
    for number, last in (
        (23, "comments on 3 other partitions"),
        (20, ""),
        (21, "comments on 1 other partition"),
    ):
        made.execute(dsn, *(f"COMMENT ON TABLE {leaf} IS NULL" for leaf in leaves[number:]))
        files = made.written(dsn, tmp_path / str(number), made.plan_of(dsn, PLAIN))
        text = (files.folder / "0001_public_t.sql").read_text()
        lost = re.findall(r"LOST: (comment.*)", text)
        assert len(lost) == (21 if last else 20), lost
        assert all(line.startswith("comment on ") for line in lost[:20])
        assert lost[20:] == ([last] if last else [])
        made.execute(dsn, *(f"COMMENT ON TABLE {leaf} IS 'of its own'" for leaf in leaves))


def test_toast_options_that_all_leaves_have(pg_dsn: str, tmp_path: Path) -> None:
    """A partitioned table has no TOAST table: options that all leaves have are set on the new table, others are lost."""
    dsn = fresh_database(pg_dsn, "mig_toast")
    made.execute(
        dsn,
        "CREATE TABLE t (d date, v text) PARTITION BY RANGE (d)",
        *zoo._pg_days("t", first="2020-01-01", number=4),
    )
    leaves = [
        name for (name,) in made.fetch(dsn, "SELECT inhrelid::regclass::text FROM pg_inherits")
    ]
    made.execute(
        dsn,
        *(f"ALTER TABLE {leaf} SET (toast.autovacuum_enabled=false)" for leaf in leaves),
        "INSERT INTO t SELECT date '2020-01-01' + i % 4, 'x' FROM generate_series(1, 50) i",
    )
    plan = made.plan_of(dsn, PLAIN)
    files = made.written(dsn, tmp_path / "all", plan)
    assert [o.lost for o in files.work[0].forward] == [()]
    files.all()
    options = "SELECT x.reloptions FROM pg_class c JOIN pg_class x ON x.oid = c.reltoastrelid WHERE c.relname = 't'"
    assert made.fetch(dsn, options) == [(["autovacuum_enabled=false"],)]
    files.run("rollback/0001_public_t.sql")
    made.execute(dsn, f"ALTER TABLE {leaves[0]} RESET (toast.autovacuum_enabled)")
    some = made.written(dsn, tmp_path / "some", made.plan_of(dsn, PLAIN))
    ((lost,),) = [o.lost for o in some.work[0].forward]
    assert "options of the TOAST table" in lost
    assert "toast.autovacuum_enabled" not in (some.folder / some.forward()[0]).read_text()


def test_unpartition_with_an_identity_column(pgnew_dsn: str, tmp_path: Path) -> None:
    """If the column was created after the plan: its sequence cannot move to another table."""
    dsn = fresh_database(pgnew_dsn, "mig_identity")
    if made.fetch(dsn, "SELECT current_setting('server_version_num')::int < 170000") == [(True,)]:
        pytest.skip("no identity columns of partitioned tables before PostgreSQL 17")
    made.execute(
        dsn,
        "CREATE TABLE t (d date, n bigint NOT NULL, v text) PARTITION BY RANGE (d)",
        *zoo._pg_days("t", first="2020-01-01", number=5),
        "INSERT INTO t SELECT date '2020-01-01' + i % 5, i FROM generate_series(1, 50) i",
    )
    plan = made.plan_of(dsn, PLAIN)
    assert made.written(dsn, tmp_path / "before", plan).refused == []
    made.execute(dsn, "ALTER TABLE t ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY")
    refused = made.written(dsn, tmp_path / "after", plan).refused
    assert [r.reason for r in refused] == [
        "column n is an identity column, and its sequence would restart"
    ]
