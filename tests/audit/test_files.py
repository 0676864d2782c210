"""The sums of the file section against a slow count, its rules on generated figures, and no rule about fragmentation."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path

import duckdb
import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.files import Difference, Files, Orphan, OrphanTotal, _removable
from gpcatalog.audit.partition_cover import TableCover
from gpcatalog.audit.report import Report
from gpcatalog.audit.verdicts import verdicts
from gpcatalog.capacity.limits import MIB
from gpcatalog.capacity.model import EMPTY, FILLED, Index, Place, Shape, relation_files
from gpcatalog.emit.cover_text import cover_row
from gpcatalog.emit.files_text import counted_from, removable_of
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.storage import Storage
from gpcatalog.probes import file_sums
from gpcatalog.probes.files import FileSection
from gpcatalog.store.snapshot import Snapshot, Writer

FIXTURE = Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog"


@pytest.fixture(scope="module")
def report() -> Report:
    with Snapshot(FIXTURE) as snapshot:
        return build(snapshot)


def files_of(report: Report) -> Files:
    assert report.files is not None
    return report.files


def changed(report: Report, **what: object) -> Report:
    return msgspec.structs.replace(report, files=msgspec.structs.replace(files_of(report), **what))


def found(report: Report, id: str) -> list[Finding]:
    return list(rules.run(report, [id]))


def test_sums_agree(report: Report) -> None:
    files = files_of(report)
    assert (
        files.files
        == sum(p.files for p in files.parts)
        == sum(i.files for i in files.instances)
        == sum(b.files for b in files.buckets)
    )
    assert files.files == sum(h.files for h in files.hosts)
    assert (
        files.bytes == sum(p.bytes or 0 for p in files.parts) == sum(b.bytes for b in files.buckets)
    )
    assert files.empty == sum(b.files for b in files.buckets if b.label == "0")
    assert files.small == sum(
        b.files for b in files.buckets if b.label in ("0", "≤128 KB", "≤1 MB")
    )
    for t in files.tables:
        assert t.files == t.main + t.auxiliary + t.toast + t.index + t.fork


def test_looking_ahead_is_the_sum_over_the_leaves(report: Report) -> None:
    """The predicted number of files equals the sum over the leaves, computed leaf by leaf with the cost model."""
    growth: Counter[int] = Counter()
    as_row: Counter[int] = Counter()
    with Snapshot(FIXTURE) as snapshot:
        names = {
            f"{r['schema']}.{r['name']}": r["root"]
            for r in snapshot.rows('SELECT "schema", name, root FROM root_total')
        }
        for r in snapshot.rows(
            "SELECT * FROM relation WHERE kind IN ('leaf', 'table') AND storage IN ('heap', 'ao_row', 'ao_column')"
        ):
            shape = Shape(
                Storage(r["storage"]),
                r["columns"],
                toastable=r["toast"],
                indexes=(Index(),) * r["indexes"],
                place=Place.LEAF,
            )
            row = Shape(Storage.AO_ROW, r["columns"], toastable=r["toast"], indexes=shape.indexes)
            as_row[r["root"]] += 3 * relation_files("gp6", row, FILLED)
            if not r["filled"]:
                growth[r["root"]] += 3 * (
                    relation_files("gp6", shape, FILLED) - relation_files("gp6", shape, EMPTY)
                )
    files = files_of(report)
    assert files.when_filled == files.files + sum(growth.values())
    for t in files.tables:
        root = names[f"{t.schema}.{t.name}"]
        if t.as_ao_row is not None:
            assert (t.when_filled, t.as_ao_row) == (t.files + growth[root], as_row[root])


def test_over_the_guideline(report: Report) -> None:
    host = files_of(report).hosts[0]
    # near the guideline, because of future files
    assert found(report, "files-per-host-over-guideline")[0].severity is Severity.NOTICE
    over = changed(report, hosts=(msgspec.structs.replace(host, mirror_files=host.files),))
    assert found(over, "files-per-host-over-guideline")[0].severity is Severity.WARNING
    assert not found(
        changed(report, hosts=(msgspec.structs.replace(host, files=50_000),)),
        "files-per-host-over-guideline",
    )


def test_average(report: Report) -> None:
    one = found(report, "average-file-too-small")[0]
    assert next(f for f in one.figures if f.name == "slowdown").basis == "estimate"
    assert not found(changed(report, average_bytes=11.0 * MIB), "average-file-too-small")
    assert not found(changed(report, files=9_999), "average-file-too-small")
    verdict = {v.id: v for v in report.verdicts}
    assert verdict["average-file-target-low"].state == "over"
    assert verdict["files-per-host"].value == files_of(report).files


def test_columns_multiply(report: Report) -> None:
    first = files_of(report).tables[0]
    assert first.storage == "ao_column"
    wide = msgspec.structs.replace(first, as_ao_column=300_000, as_ao_row=9_000)
    assert "33.3 ×" in found(changed(report, tables=(wide,)), "column-files-multiply")[0].title
    # large files: column orientation is justified
    large = msgspec.structs.replace(wide, bytes=wide.main * 64 * MIB)
    assert not found(changed(report, tables=(large,)), "column-files-multiply")


def test_zero_size(report: Report) -> None:
    assert found(report, "zero-size-files")
    assert not found(changed(report, empty=100), "zero-size-files")
    assert not found(changed(report, empty=None), "zero-size-files")


def test_orphans_and_missing(report: Report) -> None:
    def orphan(kind: str, relation: str | None = None) -> Report:
        one = Orphan(
            content=1,
            node=4711,
            folder="base/5",
            files=2,
            bytes=5000,
            age_seconds=90000.0,
            kind=kind,
            relation=relation,
        )
        return changed(report, orphans=(one,), orphan_totals=(OrphanTotal(kind, 1, 2, 5000),))

    assert "base/4711" not in found(orphan("candidate"), "orphan-file-candidates")[0].title
    assert (
        "base/5/4711 on segment 1" in found(orphan("candidate"), "orphan-file-candidates")[0].detail
    )
    assert "may be orphaned" in found(orphan("candidate"), "orphan-file-candidates")[0].title
    for kind in ("may be in use", "awaits a checkpoint", "may be of a prepared transaction"):
        assert not found(orphan(kind), "orphan-file-candidates")
        assert not found(orphan(kind), "missing-files")
    assert found(orphan("missing"), "missing-files")[0].severity is Severity.CRITICAL
    # snapshots of earlier versions have no name
    assert found(orphan("missing"), "missing-files")[0].detail == "base/5/4711 on segment 1."
    named = found(orphan("missing", "s.t"), "missing-files")[0]
    assert named.detail == "s.t: base/5/4711 on segment 1."
    assert (named.relations, named.relations_total) == (("s.t",), 1)
    assert report.server.mirrors == 0
    assert "mirror" not in named.remedy
    server = msgspec.structs.replace(report.server, mirrors=3)
    mirrored = msgspec.structs.replace(orphan("missing", "s.t"), server=server)
    assert "from the mirror or a backup" in found(mirrored, "missing-files")[0].remedy


def test_removable_files_of_a_leaf(tmp_path: Path) -> None:
    """By the files of a column-oriented leaf of four columns on three segments; unknown files are an estimate."""
    cases = {
        3 + 4: 3,  # rows on one segment
        3 + 12: 9,  # on all
        3 + 24: 21,  # with two writers
        3 + 3: 3,  # in segment file 0 of one segment
        3 + 9: 9,  # of all segments
        3: 0,  # the files of a leaf whose rows were read from no list
        None: 9,
    }
    for files, removable in cases.items():
        value = "NULL" if files is None else files
        sql = f"SELECT {_removable(3)} FROM (SELECT {value}::BIGINT AS files, 4 AS columns) r"
        assert duckdb.sql(sql).fetchall() == [(removable,)], files
    # a table with a single column has one file on a segment with rows, as with ao_row
    for files in (3, 4, 6):
        sql = f"SELECT {_removable(3)} FROM (SELECT {files}::BIGINT AS files, 1 AS columns) r"
        assert duckdb.sql(sql).fetchall() == [(0,)]


def test_estimated_removable_files_are_marked(report: Report) -> None:
    first = msgspec.structs.replace(files_of(report).tables[0], removable=40)
    estimated = msgspec.structs.replace(first, removable_estimated=True)
    assert removable_of(first) == "40"
    assert removable_of(estimated) == "about 40"
    assert removable_of(msgspec.structs.replace(first, removable=None)) == "?"


def test_counts_without_directories_are_a_minimum(report: Report) -> None:
    """Without the directories, files of system catalogs and forks are not counted: the text and the limit state this."""
    for segments, lists in ((True, "segment file lists and catalogs"), (False, "the catalogs")):
        assert f"counted from {lists}, without files of system catalogs" in counted_from(
            segments=segments
        )
    names = {
        basis: {v.id: v.what for v in verdicts(changed(report, basis=basis)).verdicts}
        for basis in ("directory", "catalog")
    }
    assert names["directory"]["files-per-host"] == "files on the host with the most files"
    assert names["catalog"]["files-per-host"] == "files on the host with the most files, at least"


def test_an_empty_file_may_be_of_a_prepared_transaction(tmp_path: Path) -> None:
    """An empty new table in a prepared transaction has one empty file, as a dropped table until the next checkpoint."""
    for prepared, kind in ((0, "awaits a checkpoint"), (1, "may be of a prepared transaction")):
        with Writer(tmp_path / "s.gpcatalog") as writer:
            file_sums._create(writer)
            writer.execute(
                "INSERT INTO listed BY NAME SELECT 'base/1' AS folder, 3 AS what, -1 AS content, 4711 AS node,"
                " 1 AS files, 0 AS bytes, 1000 AS mtime"
            )
            section = FileSection(None, writer, None, [-1])
            section._keep_orphans(
                {"clock": 9000.0, "oldest": 9000.0, "hidden": 0, "prepared": prepared}
            )
            assert writer.execute("SELECT kind FROM orphan") == [(kind,)]


def test_a_table_without_an_end_has_no_rows_beyond() -> None:
    table = TableCover(
        schema="s",
        name="t",
        until=None,
        days=None,
        partition_days=None,
        wanted_days=None,
        has_default=False,
        gaps=0,
        first_gap="",
        gap_ahead=False,
    )
    assert cover_row(table)[-2] == "none"
    ends = msgspec.structs.replace(table, until="2026-01-01", days=1.0)
    assert cover_row(ends)[-2] == "fail"


def test_differences(report: Report) -> None:
    assert not found(report, "files-differ-from-catalog")
    more = changed(report, differences=(Difference("s", "t", 0, 12, 10),), differences_total=1)
    assert found(more, "files-differ-from-catalog")[0].severity is Severity.INFO
    fewer = changed(
        report,
        differences=(Difference("s", "t", 0, 12, 10), Difference("s", "u", 0, 8, 10)),
        differences_total=2,
    )
    assert found(fewer, "files-differ-from-catalog")[0].severity is Severity.WARNING
    assert found(fewer, "files-differ-from-catalog")[0].relations == ("s.t", "s.u")


def test_no_files_no_findings(report: Report) -> None:
    without = msgspec.structs.replace(report, files=None)
    ids = [
        id
        for id, check in rules.every().items()
        if check.__module__ == "gpcatalog.audit.rules.files"
    ]
    assert len(ids) == 7
    assert not rules.run(without, ids)


def test_fragmentation_is_a_reason_for_nothing() -> None:
    """Fragmentation of files costs at most 17 %, so no rule, and therefore no finding, remedy or plan, is based on it."""
    for id, check in rules.every().items():
        assert "fragment" not in inspect.getsource(inspect.getmodule(check)).lower(), id


def test_every_rule_has_its_page() -> None:
    for id in rules.every():
        page = rules.page(id)
        assert all(page[part] for part in ("", *rules.PARTS)), id
