"""A property that a partition gets after `migrate`, or after the script, stops the step or rollback that would drop the property."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made

EVERYWHERE = {
    "indexed": "CREATE INDEX ON {l} (id)",
    "uniq": "CREATE UNIQUE INDEX ON {l} (id, v)",
    "granted": "GRANT SELECT ON {l} TO PUBLIC",
    "grant_column": "GRANT SELECT (v) ON {l} TO PUBLIC",
    "revoked": "REVOKE UPDATE ON {l} FROM {me}",
    "commented": "COMMENT ON TABLE {l} IS 'kept'",
    "comment_column": "COMMENT ON COLUMN {l}.v IS 'kept'",
    "fallback": "ALTER TABLE {l} ALTER v SET DEFAULT 'x'",
    "statistics_target": "ALTER TABLE {l} ALTER v SET STATISTICS 77",
    "storage": "ALTER TABLE {l} ALTER v SET STORAGE EXTERNAL",
    "optioned": "ALTER TABLE {l} ALTER v SET (n_distinct = 5)",
    "fill": "ALTER TABLE {l} SET (fillfactor = 70)",
    "ruled": "CREATE RULE kept AS ON INSERT TO {l} DO ALSO SELECT 1",
    "sequence": "CREATE SEQUENCE {l}_s OWNED BY {l}.id",
    "owner": "ALTER TABLE {l} OWNER TO mig_other",
    "identity": "ALTER TABLE {l} REPLICA IDENTITY FULL",
    "triggered": "CREATE TRIGGER kept BEFORE UPDATE ON {l} FOR EACH ROW EXECUTE PROCEDURE suppress_redundant_updates_trigger()",
}
SINCE_12 = {
    "checked": "ALTER TABLE {l} ADD CONSTRAINT kept CHECK (id > -1)",
    "required": "ALTER TABLE {l} ALTER id SET NOT NULL",
    "policed": "CREATE POLICY kept ON {l} USING (id > 3)",
    "row_security": "ALTER TABLE {l} ENABLE ROW LEVEL SECURITY",
    "forced": "ALTER TABLE {l} FORCE ROW LEVEL SECURITY",
    "statistics": "CREATE STATISTICS {l}_st ON id, v FROM {l}",
}
POSTGRESQL = {
    "publication": "CREATE PUBLICATION {l}_p FOR TABLE {l}",
    "unlogged": "ALTER TABLE {l} SET UNLOGGED",
    "reference": "ALTER TABLE {l} ADD FOREIGN KEY (id) REFERENCES referenced",
}
OPTIONS = "storage options, tablespace, persistence, replica identity or row security"
# the kinds of properties that the message names; "columns" and "indexes" where a default or a constraint needs them
KINDS = {
    "indexed": "indexes",
    "uniq": "indexes",
    "granted": "privileges",
    "grant_column": "columns (their settings or privileges)",
    "revoked": "privileges",
    "commented": "comments",
    "comment_column": "comments",
    "fallback": "defaults",
    "statistics_target": "columns (their settings or privileges)",
    "storage": "columns (their settings or privileges)",
    "optioned": "columns (their settings or privileges)",
    "fill": OPTIONS,
    "ruled": "rules",
    "sequence": "sequences",
    "owner": "owner",
    "identity": OPTIONS,
    "triggered": "triggers",
    "checked": "constraints",
    "required": "columns (their settings or privileges)",
    "policed": "policies",
    "row_security": OPTIONS,
    "forced": OPTIONS,
    "statistics": "statistics objects",
    "publication": "publications",
    "unlogged": OPTIONS,
    "reference": "constraints",
}


def _make(dsn: str, names: list[str], *, classic: bool, default: bool = False) -> None:
    """Create tables of five days each, with 20 rows."""
    for name in names:
        if classic:
            other = ", DEFAULT PARTITION other" if default else ""
            made.execute(
                dsn,
                f'CREATE TABLE "{name}" (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY'
                " RANGE (d) (START (date '2020-01-01') END (date '2020-01-06') EVERY"
                f" (interval '1 day'){other})",
            )
        else:
            made.execute(
                dsn,
                f'CREATE TABLE "{name}" (id int, d date, v text) PARTITION BY RANGE (d)',
                *(
                    f'CREATE TABLE "{name}_1_prt_{n}" PARTITION OF "{name}" FOR VALUES FROM'
                    f" ('2020-01-0{n}') TO ('2020-01-0{n + 1}')"
                    for n in range(1, 6)
                ),
            )
        made.execute(
            dsn,
            f"INSERT INTO \"{name}\" SELECT i, date '2020-01-01' + i % 5, 'x'"
            " FROM generate_series(1, 20) i",
        )


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_properties_since_migrate(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each property stops its step, which changes nothing and names the partition. Unchanged tables are migrated."""
    classic = fixture == "gp6_dsn"
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_properties")
    made.roles(dsn, "mig_other")
    ((me,),) = made.fetch(dsn, "SELECT quote_ident(current_user)")
    changes = EVERYWHERE | ({} if classic else SINCE_12)
    if fixture.startswith("pg"):
        changes |= POSTGRESQL
        made.execute(dsn, "CREATE TABLE referenced (id int PRIMARY KEY)")
        made.execute(dsn, "INSERT INTO referenced SELECT generate_series(0, 99)")
    _make(dsn, ["same", *changes], classic=classic)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    files.run("0000_prepare.sql")
    by_table = {n.split("_", 2)[2].removesuffix(".sql"): n for n in files.forward()}
    wrong, refused = [], []
    for name, change in changes.items():
        leaf = f"{name}_1_prt_2"
        try:
            made.execute(dsn, change.format(l=leaf, me=me))
        except psycopg.Error:
            refused.append(name)
            continue
        done = files.run(by_table[name], check=False)
        _, changed, message = done.stderr.replace('"', "").partition("changed in the meantime: ")
        kinds, _, rest = message.partition(f" of public.{leaf}\n")
        reported = bool(changed and rest) and f", {KINDS[name]}, " in f", {kinds}, "
        if name == "indexed":  # nothing that has not changed
            reported = kinds == "indexes"
        if done.returncode != 3 or not reported:
            wrong.append((name, done.returncode, done.stderr[-300:]))
        if not made.fetch(dsn, f"SELECT 1 FROM pg_class WHERE relname = '{leaf}'"):
            wrong.append((name, "the leaf is gone"))
    assert wrong == []
    # on Greenplum 6, only complete tables can have these properties
    assert refused == (["fallback", "owner"] if classic else [])
    files.run(by_table["same"])
    ((merged,),) = made.fetch(
        dsn,
        "SELECT relname FROM pg_class WHERE relname IN ('same_p2020m01', 'same_1_prt_p2020m01')",
    )
    # also a property of the merged partition
    made.execute(dsn, f"COMMENT ON TABLE {merged} IS 'since then'")
    back = f"rollback/{by_table['same']}"
    done = files.run(back, check=False)
    assert (done.returncode, "changed in the meantime" in done.stderr) == (3, True), done.stderr
    database = "ALTER DATABASE mig_properties SET gpcatalog_journal.changed_properties = 'drop'"
    made.execute(dsn, database)
    done = files.run(back)
    assert done.stderr.count("got in the meantime are lost") == 1  # although a step checks twice
    count = "SELECT count(*) FROM pg_class WHERE relname LIKE 'same!_1!_prt!__' ESCAPE '!'"
    assert made.fetch(dsn, count) == [(5,)]
    made.execute(dsn, database.partition(" SET ")[0] + " RESET ALL")
    # the journal knows the partitions that the rollback created: the plan can be run again
    files.run(by_table["same"])
    assert made.fetch(dsn, count) == [(0,)]


@pytest.mark.greenplum
def test_properties_of_a_default_partition(gp6_dsn: str, tmp_path: Path) -> None:
    """Greenplum 6 recreates the default partition when another partition changes."""
    dsn = fresh_database(gp6_dsn, "mig_properties_default")
    _make(dsn, ["same", "changed"], classic=True, default=True)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    files.run("0000_prepare.sql")
    second, first = files.forward()
    assert (first.split("_")[2], second.split("_")[2]) == ("changed.sql", "same.sql")
    made.execute(dsn, "CREATE INDEX own ON changed_1_prt_other (v)")
    done = files.run(first, check=False)
    assert (done.returncode, "changed_1_prt_other" in done.stderr) == (3, True), done.stderr
    files.run(second)
    made.execute(dsn, "CREATE INDEX own_2 ON same_1_prt_other (v)")
    done = files.run(f"rollback/{second}", check=False)
    assert (done.returncode, "same_1_prt_other" in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_name_that_exists(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A step is refused if one of its new names belongs to another relation.

    Greenplum 6 would use another name without a message.
    """
    classic = fixture == "gp6_dsn"
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_names")
    tables = ("usual", "it's", "second")
    _make(dsn, list(tables), classic=classic)
    for name in tables:
        for n in range(1, 6):
            made.execute(dsn, f'CREATE INDEX "{name}_1_prt_{n}_k" ON "{name}_1_prt_{n}" (id)')
    plan = made.plan_of(dsn)
    usual, quoted, second = (f"{t}_1_prt_p2020m01" if classic else f"{t}_p2020m01" for t in tables)
    made.execute(dsn, f'CREATE TABLE "{quoted}" (i int)', f"CREATE SEQUENCE {second}_k")
    files = made.written(dsn, tmp_path / "sql", plan)
    assert sorted((r.table, r.reason) for r in files.refused) == [
        ('public."it\'s"', f'a relation named public."{quoted}" exists already: drop or rename it'),
        (
            "public.second",
            f"a relation named public.{second}_k exists already: drop or rename it",
        ),
    ]
    files.all()
    kinds = f"SELECT relkind::text FROM pg_class WHERE relname IN ('{usual}', '{usual}_k')"
    assert sorted(made.fetch(dsn, kinds)) == [("i",), ("r",)]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_name_that_came(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Another relation gets a name of a step after `migrate`, or of a rollback after the migration.

    The step or its rollback stops and changes nothing.
    """
    classic = fixture == "gp6_dsn"
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_names_later")
    _make(dsn, ["usual"], classic=classic)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (script,) = files.forward()
    merged = "usual_1_prt_p2020m01" if classic else "usual_p2020m01"
    files.run("0000_prepare.sql")
    for name, existing in ((script, merged), (f"rollback/{script}", "usual_1_prt_2")):
        made.execute(dsn, f"CREATE TABLE {existing} (i int)")
        was = made.rows_of(dsn, "usual"), _relations(dsn)
        done = files.run(name, check=False)
        assert done.returncode == 3
        assert f'names that this step gives: "public"."{existing}"' in done.stderr
        assert (made.rows_of(dsn, "usual"), _relations(dsn)) == was
        made.execute(dsn, f"DROP TABLE {existing}")
        files.run(name)


def _relations(dsn: str) -> list[tuple[str, str]]:
    return made.fetch(
        dsn,
        "SELECT c.oid::text, c.relname::text FROM pg_class c WHERE c.relname LIKE 'usual%' ORDER BY 1",
    )


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_losses_of_single_parts(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each property of one part that the merged partition does not have is reported."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_losses")
    made.roles(dsn, "mig_other")
    _make(dsn, ["parts"], classic=False)
    made.execute(
        dsn,
        "CREATE INDEX ON parts (v)",
        "ALTER TABLE parts_1_prt_1 ALTER v SET STATISTICS 77",
        "ALTER TABLE parts_1_prt_5 ALTER id SET STATISTICS 5",
        "ALTER TABLE parts_1_prt_2 REPLICA IDENTITY FULL",
        "ALTER TABLE parts_1_prt_3 CLUSTER ON parts_1_prt_3_v_idx",
        "ALTER TABLE parts_1_prt_4 ALTER v SET STATISTICS 78",
        "ALTER TABLE parts_1_prt_4 ALTER v SET (n_distinct = 5)",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert set(files.work[0].forward[0].lost) == {
        "options of column v on 1 of 5 partitions: the value of the newest partition applies",
        "statistics target of column v on 2 of 5 partitions: the new partition has none",
        "replica identity on 1 of 5 partitions: the new partition has none",
        "CLUSTER mark of index btree (v) on 1 of 5 partitions: the new partition has none",
    }
    plain = made.written(
        dsn, tmp_path / "plain", made.plan_of(dsn, made.EAGER + 'unpartition_below = "1GB"\n')
    )
    assert set(plain.work[0].forward[0].lost) >= {
        "statistics target of column v on 2 of 5 partitions: the table has none",
        "statistics target of column id on 1 of 5 partitions: the table has none",
        "replica identity on 1 of 5 partitions: the table has none",
        "CLUSTER mark of index btree (v) on 1 of 5 partitions: the table has none",
    }


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_publication_of_all_tables(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Such a publication rejects DELETE of tables without a replica identity, but not of the journal's tables."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_published")
    _make(dsn, ["usual"], classic=False)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    files.run("0000_prepare.sql")
    made.execute(dsn, "CREATE PUBLICATION everything FOR ALL TABLES")
    files.run("0000_prepare.sql")
    # the steps stop, because the copies would be published (see test_published_since_migrate)
    made.execute(dsn, "DROP PUBLICATION everything")
    files.all()
    files.run(f"rollback/{files.forward()[0]}")
    made.execute(dsn, "CREATE PUBLICATION everything FOR ALL TABLES")
    # the journal of an older version does not have this table
    made.execute(dsn, "DROP TABLE gpcatalog_journal.property")
    files.run("cleanup.sql")
    assert made.fetch(dsn, "SELECT 1 FROM pg_namespace WHERE nspname = 'gpcatalog_journal'") == []


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_published_since_migrate(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A publication that appears after `migrate` stops the step, or the rollback, in each way in
    which it can publish the table. Nothing is changed.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_published_since")
    _make(dsn, ["usual"], classic=False)
    made.execute(dsn, "CREATE SCHEMA apart", "ALTER TABLE usual_1_prt_2 SET SCHEMA apart")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (script,) = files.forward()
    files.run("0000_prepare.sql")
    ways = {
        "FOR TABLE usual": "publishes public.usual",
        "FOR TABLE usual WITH (publish_via_partition_root)": "publishes public.usual",
        "FOR TABLES IN SCHEMA public": "publishes schema public",
        "FOR TABLES IN SCHEMA apart": "publishes schema apart",
        "FOR ALL TABLES": "publishes all tables",
    }
    if fixture == "pg19_dsn":
        ways["FOR ALL TABLES EXCEPT (TABLE usual)"] = "publishes all tables"
    for name in (script, f"rollback/{script}"):
        was = made.rows_of(dsn, "usual"), _relations(dsn)
        for way, reason in ways.items():
            if name != script and "apart" in way:
                continue  # the merged partition is not there
            made.execute(dsn, f"CREATE PUBLICATION since {way}")
            done = files.run(name, check=False)
            assert done.returncode == 3, (name, way, done.stderr)
            assert f"is published: publication since {reason}" in done.stderr, (way, done.stderr)
            assert (made.rows_of(dsn, "usual"), _relations(dsn)) == was
            made.execute(dsn, "DROP PUBLICATION since")
        # a publication of another table is no reason
        made.execute(dsn, "CREATE TABLE IF NOT EXISTS other (i int)")
        made.execute(dsn, "CREATE PUBLICATION since FOR TABLE other")
        files.run(name)
        made.execute(dsn, "DROP PUBLICATION since")


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_published_since_staged(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In mode online, a publication between the transactions of a step stops it; afterwards, the
    file continues.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_published_staged")
    _make(dsn, ["usual"], classic=False)
    online = Request(mode=Mode.ONLINE)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn), request=online)
    (script,) = files.forward()
    files.run("0000_prepare.sql")
    first, between, rest = (files.folder / script).read_text().partition("COMMIT;\n\nBEGIN ISO")
    head, staged, swap = rest.partition("COMMIT;\n\nBEGIN ISO")
    was = made.rows_of(dsn, "usual")
    publish = "COMMIT;\nCREATE PUBLICATION since FOR TABLE public.usual;\n\nBEGIN ISO"
    assert staged
    done = files.run(script, check=False, text=first + between + head + publish + swap)
    assert done.returncode == 3
    assert "publication since publishes public.usual" in done.stderr
    assert made.rows_of(dsn, "usual") == was
    made.execute(dsn, "DROP PUBLICATION since")
    files.run(script)
    assert made.rows_of(dsn, "usual") == was


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_columns_since_the_migration(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A column that was added after the migration stops the rollback before it changes anything;
    the message states what to do.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_added_column")
    _make(dsn, ["usual"], classic=fixture == "gp6_dsn")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    files.all()
    made.execute(dsn, "ALTER TABLE usual ADD COLUMN n int DEFAULT 3")
    was = made.rows_of(dsn, "usual"), _relations(dsn)
    back = f"rollback/{files.forward()[0]}"
    done = files.run(back, check=False)
    assert done.returncode == 3
    assert '"n" integer' in done.stderr
    assert "DROP COLUMN after you have saved the values" in done.stderr
    assert (made.rows_of(dsn, "usual"), _relations(dsn)) == was
    made.execute(dsn, "ALTER TABLE usual DROP COLUMN n")
    files.run(back)
    ((number,),) = made.fetch(
        dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 'usual_1_prt__'"
    )
    assert number == 5


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_missing_privileges(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Each file names the missing privileges and how to grant them before it changes anything."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_missing_privileges")
    made.roles(dsn, "mig_other", options="LOGIN")
    _make(dsn, ["usual"], classic=fixture == "gp6_dsn")
    made.execute(
        dsn, "REVOKE ALL ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO mig_other"
    )
    # on Greenplum 6, the partitions get the owner of the table
    leaves = [] if fixture == "gp6_dsn" else [f"usual_1_prt_{n}" for n in range(1, 6)]
    made.execute(dsn, *(f"ALTER TABLE {name} OWNER TO mig_other" for name in ("usual", *leaves)))
    made.execute(dsn, "REVOKE SELECT ON usual_1_prt_1 FROM mig_other")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (script,) = files.forward()
    assert (
        "USAGE and CREATE on schema public, SELECT on public.usual_1_prt_1"
        in (files.folder / script).read_text()
    )
    was = made.rows_of(dsn, "usual"), _relations(dsn)
    become = "SET SESSION AUTHORIZATION mig_other;\n"

    def run_as_owner(name: str) -> str:
        done = files.run(name, check=False, text=become + (files.folder / name).read_text())
        assert (made.rows_of(dsn, "usual"), _relations(dsn)) == was or not done.returncode
        return done.stderr if done.returncode else ""

    database = "ON DATABASE mig_missing_privileges TO mig_other"
    assert f"GRANT CREATE {database};" in run_as_owner("0000_prepare.sql")
    made.execute(dsn, f"GRANT CREATE {database}")
    assert run_as_owner("0000_prepare.sql") == ""
    grant = "GRANT CREATE ON SCHEMA public TO mig_other"
    found = run_as_owner(script)
    assert "lacks privileges for the files of public.usual: CREATE on schema public" in found
    assert f"{grant};" in found
    assert "remain, about" not in found
    made.execute(dsn, grant)
    found = run_as_owner(script)
    assert "because SELECT was revoked from it: public.usual_1_prt_1" in found
    assert "remain, about" not in found
    # the migration that is written after the GRANT has other properties to restore
    made.execute(dsn, "GRANT SELECT ON usual_1_prt_1 TO mig_other")
    files = made.written(dsn, tmp_path / "again", made.plan_of(dsn))
    assert run_as_owner("0000_prepare.sql") == ""
    assert run_as_owner(script) == ""
    was = made.rows_of(dsn, "usual"), _relations(dsn)
    made.execute(dsn, "REVOKE CREATE ON SCHEMA public FROM mig_other")
    assert f"{grant};" in run_as_owner(f"rollback/{script}")
    made.execute(dsn, grant)
    assert run_as_owner(f"rollback/{script}") == ""
    # a role that is not a member of the owner
    made.roles(dsn, "mig_apart", options="LOGIN")
    made.execute(dsn, "DROP SCHEMA gpcatalog_journal CASCADE")
    made.execute(dsn, "GRANT CREATE ON DATABASE mig_missing_privileges TO mig_apart")
    made.execute(dsn, "GRANT ALL ON SCHEMA public TO mig_apart")
    become = "SET SESSION AUTHORIZATION mig_apart;\n"
    was = made.rows_of(dsn, "usual"), _relations(dsn)
    assert run_as_owner("0000_prepare.sql") == ""
    assert "membership in role mig_other" in run_as_owner(script)


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_a_published_parent(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A publication of a partition with partitions: `migrate` refuses to replace partitions below
    it, and the step stops if the publication appears afterwards.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_published_parent")
    made.execute(
        dsn,
        "CREATE TABLE deep (id int, k text, d date) PARTITION BY LIST (k)",
        *(
            f"CREATE TABLE deep_{k} PARTITION OF deep FOR VALUES IN ('{k}') PARTITION BY RANGE (d)"
            for k in "ab"
        ),
        *(
            f"CREATE TABLE deep_{k}_{n} PARTITION OF deep_{k} FOR VALUES FROM ('2020-01-0{n}')"
            f" TO ('2020-01-0{n + 1}')"
            for k in "ab"
            for n in range(1, 6)
        ),
        "INSERT INTO deep SELECT i, 'a', date '2020-01-01' + i % 5 FROM generate_series(1, 20) i",
        "INSERT INTO deep SELECT i, 'b', date '2020-01-01' + i % 5 FROM generate_series(1, 20) i",
    )
    plan = made.plan_of(dsn)
    files = made.written(dsn, tmp_path / "sql", plan)
    (script,) = files.forward()
    files.run("0000_prepare.sql")
    made.execute(dsn, "CREATE PUBLICATION since FOR TABLE deep_a")
    done = files.run(script, check=False)
    assert (done.returncode, "publication since publishes public.deep_a" in done.stderr) == (
        3,
        True,
    )
    again = made.written(dsn, tmp_path / "again", plan)
    assert [r.reason for r in again.refused] == [
        "publication since publishes deep_a; subscribers would not get the exchange"
    ]
    assert len(again.work[0].forward) == 1
    made.execute(dsn, "DROP PUBLICATION since")
    files.run(script)
