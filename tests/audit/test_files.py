"""The sums of the file section against a slow count, its rules on generated figures, and no rule about fragmentation."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.files import Difference, Files, Orphan, OrphanTotal
from gpcatalog.audit.report import Report
from gpcatalog.capacity.limits import MIB
from gpcatalog.capacity.model import EMPTY, FILLED, Index, Place, Shape, relation_files
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.storage import Storage
from gpcatalog.store.snapshot import Snapshot

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
    def orphan(kind: str) -> Report:
        one = Orphan(
            content=1,
            node=4711,
            folder="base/5",
            files=2,
            bytes=5000,
            age_seconds=90000.0,
            kind=kind,
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
