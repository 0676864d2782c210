"""The command `estimate`: options, a live table, text, JSON, and the rates of a file system."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.capacity import limits, unlink
from gpcatalog.capacity.cost import tree_cost
from gpcatalog.capacity.locks import locks
from gpcatalog.capacity.model import Index, Instance, Place, Shape, relation_rows, tree
from gpcatalog.commands.common import complete
from gpcatalog.commands.estimate import estimate, levels
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.names import split_name
from gpcatalog.model.storage import Storage

from .live import Live, added, own_database
from .test_locks import count_locks
from .test_matrix import Case, Keys, Table, generation

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(complete(estimate))
HUNDRED = (
    "--server",
    "greenplum6",
    "--storage",
    "ao_column",
    "--columns",
    "100",
    "--leaves",
    "1095",
    "--segments",
    "32",
)


def run(*words: str) -> str:
    found = CliRunner().invoke(app, words, env={"COLUMNS": "80", "NO_COLOR": "1"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


def as_json(*words: str) -> dict[str, object]:
    report = json.loads(run(*words, "--format", "json"))
    assert isinstance(report, dict)
    return report


def test_the_sentence_of_the_issue() -> None:
    output = " ".join(run(*HUNDRED).split())
    assert (
        "1 table, 1,095 leaves, 100 columns, ao_column on 32 segments: 6,576 pg_class and 158,920 pg_attribute rows per instance"
        in output
    )
    assert "(6,570 and 158,775 for the leaves only)" in output
    assert (
        "116,076 files per segment and 3,721,008 in total when filled; as ao_row: 6,576 pg_class"
        in output
    )


def test_text_fits_a_terminal_and_calls_estimates_estimates() -> None:
    output = run(*HUNDRED, "--hosts", "4", "--mirrors", "--index", "2", "--tables", "331")
    assert max(map(len, output.splitlines())) <= 80
    assert output.startswith("Estimate for Greenplum 6")
    assert "bytes are estimates" in output
    assert "guideline of 100,000 (Greenplum documentation)" in " ".join(output.split())


def test_json_agrees_with_the_model() -> None:
    report = as_json(*HUNDRED)
    cost = tree_cost("gp6", tree(Shape(Storage.AO_COLUMN, 100, toastable=True), (1095,)))
    assert report["schema"] == "gpcatalog.estimate/1"
    chosen, *others = report["storages"]  # type: ignore[misc]
    assert [chosen["storage"], *(x["storage"] for x in others)] == ["ao_column", "ao_row", "heap"]
    assert chosen["coordinator"] == cost.coordinator
    assert chosen["segment"] == cost.segment
    assert chosen["segment_files"]["filled"] == cost.filled
    assert chosen["cluster_files"]["filled"] == cost.filled * 32 + cost.files
    assert chosen["times_heap"] == pytest.approx(106 / 3)
    assert {x["source"] for x in chosen["removal"]} >= {
        "published: XFS on one 7200 rpm disk, the same objects"
    }


def test_tables_multiply_and_partitions_nest() -> None:
    one, ten = (as_json(*HUNDRED, "--tables", n)["storages"][0] for n in ("1", "10"))  # type: ignore[index]
    assert ten["segment"] == {c: n * 10 for c, n in one["segment"].items()}
    assert ten["locks"] == one["locks"]  # locks of a statement on one of the tables
    nested = as_json("--server", "pg18", "--columns", "5", "--partitions", "12x31", "--default")
    assert (nested["leaves"], nested["intermediates"]) == (12 * 32, 12)
    assert [x["storage"] for x in nested["storages"]] == ["heap"]  # type: ignore[union-attr, index]


def test_locks_are_those_of_one_table() -> None:
    words = ("--server", "gp7", "--storage", "heap", "--columns", "5", "--index", "1", "--no-toast")
    reported = as_json(*words, "--partitions", "3x4", "--tables", "5")["storages"][0]["locks"]  # type: ignore[index]
    shape = Shape(Storage.HEAP, 5, indexes=(Index(1),), place=Place.LEAF)
    expected = locks("gp7", shape, 12, 3)
    assert {one["statement"]: (one["coordinator"], one["segment"]) for one in reported} == {
        statement.value: counts for statement, counts in expected.items()
    }


def test_limits_are_reported_with_their_source() -> None:
    notes = " ".join(
        as_json("--server", "cb2", "--storage", "ao_row", "--leaves", "40000")["notes"]
    )  # type: ignore[arg-type]
    for text in (
        "40,000 leaves per table exceed 20,000",
        "exceed 32,767, the limit for one level of a table",
        "not measured; uses the figures of Greenplum 7",
    ):
        assert text in notes
    assert as_json("--server", "pg15")["notes"] == []


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (
            limits.LEAVES_CEILING_AOCO,
            ("--server", "gp6", "--storage", "ao_column", "--columns", "1"),
        ),
        (limits.LEAVES_CEILING_AO_ROW, ("--server", "gp7", "--storage", "ao_row")),
    ],
)
def test_a_limit_is_reported_from_the_first_leaf_over_it(
    limit: limits.Limit, words: tuple[str, ...]
) -> None:
    # many tables, so that no single table has too many leaves
    assert limit.value % 1000 == 0
    tables = str(limit.value // 1000)
    for leaves, over in ((1000, False), (1001, True), (500, False)):
        notes = as_json(*words, "--tables", tables, "--leaves", str(leaves))["notes"]
        assert any(limit.note in note for note in notes) is over  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--server is required"),
        (("--server", "oracle"), "unknown server: oracle"),
        (("--server", "gp6", "--storage", "parquet"), "unknown storage 'parquet'"),
        (
            ("--server", "pg15", "--storage", "ao_row"),
            "PostgreSQL 15 does not support ao_row tables",
        ),
        (("--server", "gp6", "--columns", "0"), "--columns must be 1 or more"),
        (("--server", "gp6", "--columns", "5000"), "1600 columns"),
        (
            ("--server", "gp6", "--columns", "3", "--index", "4"),
            "--index 4: an index of this table can have 1 to 3 columns",
        ),
        (
            ("--server", "gp6", "--storage", "ao_row", "--unique", "1"),
            "does not support unique indexes on ao_row",
        ),
        (("--server", "gp6", "--leaves", "3", "--partitions", "3"), "not both"),
        (("--server", "gp6", "--partitions", "3x"), "the form is 365 or 12x31"),
        (("--server", "gp6", "--partitions", "3x0"), "at least 1 partition"),
        (("--server", "gp6", "--default"), "--default needs"),
        (("--table", "a.b.c"), "is not a valid table name"),
        (("dbname=x",), "--table is required"),
        (
            ("--server", "gp6", "--unlink-rate", "/nowhere/at/all"),
            "cannot measure in /nowhere/at/all: No such file",
        ),
    ],
)
def test_wrong_calls_have_a_precise_message(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CatalogError, match=message) as caught:
        run(*words)
    assert caught.value.exit_code is Exit.USAGE


def test_a_storage_that_cannot_have_the_index_is_left_out() -> None:
    report = as_json("--server", "gp6", "--storage", "heap", "--unique", "1")
    assert [x["storage"] for x in report["storages"]] == ["heap"]  # type: ignore[union-attr, index]


def test_names_and_levels() -> None:
    assert split_name('"Odd.Schema".T') == ("Odd.Schema", "t")
    assert levels("2x3X4") == (2, 3, 4)


# --- the file system -----------------------------------------------------------------------------------------------------


def test_rates_are_measured_and_nothing_stays(tmp_path: Path) -> None:
    rates = unlink.measure(tmp_path, files=1234)
    assert rates.files == 1234
    assert rates.created_per_second > 0
    assert rates.removed_per_second > 0
    assert list(tmp_path.iterdir()) == []


def test_time_bounds_the_number_of_files(tmp_path: Path) -> None:
    assert unlink.measure(tmp_path, files=10**9, seconds=0).files == unlink.BATCH
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("when", ["making", "removing"])
def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    done = 0

    def interrupting(real):  # type: ignore[no-untyped-def]
        def both(*args: object, **names: object) -> object:
            nonlocal done
            done += 1
            if done == 50:
                raise KeyboardInterrupt
            return real(*args, **names)

        return both

    if when == "removing":
        monkeypatch.setattr(unlink.os, "unlink", interrupting(os.unlink))
    else:
        monkeypatch.setattr(unlink, "open", interrupting(open), raising=False)
    with pytest.raises(KeyboardInterrupt):
        unlink.measure(tmp_path, files=500)
    assert done >= 50
    assert list(tmp_path.iterdir()) == []


def test_a_measured_rate_replaces_the_published_ones(tmp_path: Path) -> None:
    report = as_json(*HUNDRED, "--unlink-rate", str(tmp_path))
    (removal,) = report["storages"][0]["removal"]  # type: ignore[index]
    rates = report["unlink_rate"]
    assert isinstance(rates, dict)
    assert removal["source"] == f"measured in {tmp_path}"
    assert removal["seconds"] == pytest.approx(116_076 / rates["removed_per_second"])


# --- a live table --------------------------------------------------------------------------------------------------------


def check(dsn: str) -> None:
    """The rows that the command reports for a live table are those that its creation added to the catalogs."""
    with own_database(dsn, "capacity_estimate") as live:
        gen = generation(live.generation)
        keys = Keys(live)
        storages = gen.storages[::-1]
        cases = [
            Case(
                Shape(
                    storages[0],
                    7,
                    toastable=True,
                    indexes=(Index(2),),
                    dropped=1,
                    not_null=1,
                    defaults=2,
                    checks=1,
                )
            ),
            Case(Shape(Storage.HEAP, 5, indexes=(Index(1, constraint=True), Index(2)))),
            Case(
                Shape(storages[0], 6, toastable=True, indexes=(Index(1),), not_null=2, checks=1),
                (2, 2),
                (True, False),
                declarative=not gen.greenplum,
            ),
            Case(
                Shape(Storage.HEAP, 6, toastable=True, indexes=(Index(3, constraint=True),)),
                (3,),
                (False,),
                declarative=not gen.greenplum,
            ),
        ]
        for number, case in enumerate(cases):
            before = live.count()
            for statement in Table(case, f"e{number}", gen, keys).create():
                live.work.execute(statement.encode())
            found = added(before, live.count())
            report = as_json(live.dsn, "--table", f"public.e{number}")
            _equal(live, case, report, found)
            assert not any("not counted" in note for note in report["notes"])  # type: ignore[attr-defined]
        _other_objects(live)
        live.work.execute("CREATE SCHEMA other; CREATE TABLE other.e0 (i int)")
        with pytest.raises(CatalogError, match="no table none in capacity_estimate"):
            run(live.dsn, "--table", "none")
        live.work.execute("CREATE VIEW seen AS SELECT 1 AS one")
        with pytest.raises(CatalogError, match=r"no table public\.seen"):
            run(live.dsn, "--table", "public.seen")
        with pytest.raises(CatalogError, match=r"pg_catalog\.pg_class is not counted"):
            run(live.dsn, "--table", "pg_catalog.pg_class")


def _other_objects(live: Live) -> None:
    """Bitmap indexes and unlogged tables are counted, and other objects named in a note."""
    by = " DISTRIBUTED BY (k)" if live.server.greenplum else ""
    kind = "" if live.generation == "gp6" else " UNLOGGED"
    live.work.execute(f"CREATE TABLE referenced (k int PRIMARY KEY){by}".encode())
    before = live.count()
    live.work.execute(f"CREATE{kind} TABLE o1 (k int, t text){by}".encode())
    if live.server.greenplum:
        live.work.execute(
            "CREATE INDEX ON o1 USING bitmap (k)" if not kind else "CREATE INDEX ON o1 (k)"
        )
    found = added(before, live.count())
    report = as_json(live.dsn, "--table", "public.o1")
    chosen = report["storages"][0]  # type: ignore[index]
    assert chosen["segment"]["pg_class"] == found[0 if live.server.greenplum else -1]["pg_class"]
    assert chosen["segment_files"]["empty"] == found[0 if live.server.greenplum else -1]["files"]
    live.work.execute(
        f"CREATE TABLE o2 (k serial, r int REFERENCES referenced, t text){by}; CREATE INDEX ON o2 (t) WHERE t > ''".encode()
    )
    live.work.execute("GRANT SELECT ON o2 TO PUBLIC")
    notes = as_json(live.dsn, "--table", "public.o2")["notes"]
    assert notes == [  # type: ignore[comparison-overlap]
        "rows and files not counted: 1 owned sequence, 1 foreign key, 1 index with an expression or predicate,"
        " of a deferrable or exclusion constraint, privileges"
    ]
    live.work.execute(f"CREATE TABLE o3 (k int, r int REFERENCES referenced){by}".encode())
    report = as_json(live.dsn, "--table", "public.o3")
    chosen = report["storages"][0]  # type: ignore[index]
    (drop,) = [x for x in chosen["locks"] if x["statement"] == "drop"]
    with live.work.transaction():
        live.work.execute("DROP TABLE o3")
        held = count_locks(live, live.work)
    assert drop["coordinator"] == held[-1]


def _equal(
    live: Live, case: Case, report: dict[str, object], found: dict[int, dict[str, int]]
) -> None:
    chosen = report["storages"][0]  # type: ignore[index]
    assert chosen["storage"] == case.shape.storage
    assert report["segments"] == (len(live.instances) - 1 if live.server.greenplum else 0)
    for content, rows in found.items():
        counted = {k: n for k, n in rows.items() if k != "files"}
        if case.shape.dropped and content < 0 and live.server.greenplum:
            counted["pg_stat_last_operation"] -= 1  # of the ALTER
        predicted = chosen[Instance.COORDINATOR if content < 0 else Instance.SEGMENT]
        assert predicted == counted, f"{case} on {content}"
        assert chosen["segment_files"]["empty"] == rows.get("files", 0)


def test_live_table_of_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn)


def test_live_table_of_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn)


def test_live_table_of_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn)


def test_live_table_of_the_newest_postgresql(pgnew_dsn: str) -> None:
    check(pgnew_dsn)


def test_live_table_of_postgresql_19(pg19_dsn: str) -> None:
    check(pg19_dsn)


def test_rows_by_hand_for_one_leaf() -> None:
    # the model is tested elsewhere; this checks that the command passes the TOAST option to it
    bare, toasted = (
        as_json("--server", "gp6", "--columns", "3", flag)["storages"][0]["segment"]
        for flag in ("--no-toast", "--toast")
    )  # type: ignore[index]
    assert bare == relation_rows("gp6", Shape(Storage.HEAP, 3))
    assert toasted == relation_rows("gp6", Shape(Storage.HEAP, 3, toastable=True))
