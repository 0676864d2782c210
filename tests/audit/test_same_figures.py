"""The same figure in several places of a report, and figures that are not known."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb

from gpcatalog.model.timing import summed_up
from gpcatalog.services.audits import audit_snapshot
from tests.program import run

SNAPSHOT = Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog"


def test_files_of_a_table() -> None:
    report = audit_snapshot(SNAPSHOT)
    assert report.files is not None
    listed = {(t.schema, t.name): (t.files, t.bytes) for t in report.files.tables}
    both = [t for t in report.tables if (t.schema, t.name) in listed]
    assert len(both) > 2
    for t in both:
        assert (t.files, t.bytes) == listed[t.schema, t.name], t.name


def test_unknown_bytes_of_the_catalog(tmp_path: Path) -> None:
    """Without the sizes of the catalogs, the share of a table is not 0."""
    path = tmp_path / "unread.gpcatalog"
    shutil.copy(SNAPSHOT, path)
    with duckdb.connect(str(path)) as db:
        db.execute("DELETE FROM catalog")
    report = audit_snapshot(path)
    assert {o.catalog_bytes for o in (*report.tables, *report.schemas)} == {None}
    shown = run("audit", "--snapshot", str(path), "--verbose").stdout
    assert re.search(r"sales\.orders .* \?$", shown, re.M), shown


def test_unknown_reclaimable_bytes_in_the_page(tmp_path: Path) -> None:
    """A catalog that was not counted has "?" in the chart, as in the text."""
    report = audit_snapshot(SNAPSHOT)
    unknown = {row.relation for row in report.catalogs if row.reclaimable_bytes is None}
    assert "pg_proc" in unknown
    page = tmp_path / "page.html"
    assert run("report", "--snapshot", str(SNAPSHOT), "--html", str(page)).returncode == 0
    labels = re.findall(r"(\? of|0 B of) [\d.]+ [KMG]B", page.read_text())
    assert "? of" in labels


def test_median_of_an_even_number() -> None:
    assert summed_up("x", [1.0, 4.0]).median_ms == 2.5


def test_files_counted_from_the_catalogs(tmp_path: Path) -> None:
    """Text and metrics call their numbers lower bounds."""
    path = tmp_path / "counted.gpcatalog"
    shutil.copy(SNAPSHOT, path)
    listed = run("audit", "--snapshot", str(path), "--metrics", str(tmp_path / "a")).stdout
    with duckdb.connect(str(path)) as db:
        db.execute("DELETE FROM file_total WHERE basis = 'directory'")
        db.execute("DELETE FROM file_bucket")
    counted = run("audit", "--snapshot", str(path), "--metrics", str(tmp_path / "b")).stdout
    files = r"^Files +(at least )?[\d,]+ files on all segments"
    assert [re.search(files, text, re.M)[1] for text in (listed, counted)] == [None, "at least "]
    values = [
        re.search(r"^gpcatalog_files_listed\{.*\} (\d)$", (tmp_path / name).read_text(), re.M)[1]
        for name in "ab"
    ]
    assert values == ["1", "0"]
