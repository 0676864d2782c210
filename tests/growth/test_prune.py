"""Pruning: which snapshots are kept, reduced to totals or removed; concurrent readers and a second pruning are not affected."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import pytest

from gpcatalog.audit.build import build as audit
from gpcatalog.errors import CatalogError
from gpcatalog.growth.build import build
from gpcatalog.growth.series import points
from gpcatalog.store import prune as pruning
from gpcatalog.store import series
from gpcatalog.store.prune import Fate, Policy
from gpcatalog.store.snapshot import Snapshot
from tests.growth import made

POLICY = Policy(all_days=5, totals_days=14)


def stored(folder: Path) -> list[series.StoredSnapshot]:
    return list(series.snapshots(folder))


def test_policy(tmp_path: Path) -> None:
    made.series(tmp_path, 25, each=2)
    now = (made.START + timedelta(days=24)).replace(tzinfo=UTC)
    fates = [d.fate for d in pruning.decide(stored(tmp_path), now, POLICY)]
    assert fates[-6:] == [Fate.KEEP] * 6
    assert fates.count(Fate.KEEP) == 6 + 2  # one each of the weeks of 12 and 19 January
    assert fates.count(Fate.TOTALS) == 2  # one each of the weeks of 1 and 5 January
    assert fates[0] is Fate.TOTALS
    with pytest.raises(CatalogError):
        Policy(all_days=10, totals_days=3)


def test_prune_keeps_growth(tmp_path: Path) -> None:
    made.series(tmp_path, 25, each=40)
    now = (made.START + timedelta(days=24)).replace(tzinfo=UTC)
    before = sum(s.bytes for s in stored(tmp_path))
    last = build(points([s.path for s in stored(tmp_path)])[0])
    decisions = pruning.decide(stored(tmp_path), now, POLICY)
    thinned = [d.stored.path for d in decisions if d.fate is Fate.TOTALS]
    with Snapshot(thinned[0]) as reader:  # read at the same time
        rows = reader.one("SELECT count(*) AS n FROM relation")["n"]
        freed, failed = pruning.prune(decisions)
        assert reader.one("SELECT count(*) AS n FROM relation")["n"] == rows
    assert not failed
    assert sum(s.bytes for s in stored(tmp_path)) == before - freed
    for path in thinned:
        with Snapshot(path) as snapshot:
            assert snapshot.header["grain"] == "root"
            assert snapshot.one("SELECT count(*) AS n FROM relation")["n"] == 0
            assert audit(snapshot).census.leaves > 0
    again = build(points([s.path for s in stored(tmp_path)])[0])
    assert again.taken_at[0] == last.taken_at[0]
    assert again.leaves_added - again.leaves_dropped == last.leaves_added - last.leaves_dropped
    assert [s.now for s in again.series] == [s.now for s in last.series]
    assert pruning.prune(decisions) == (
        sum(d.bytes for d in decisions if d.fate is Fate.REMOVE),
        [],
    )  # nothing else to do
    assert not list(tmp_path.glob(".*"))


def test_damaged_file_is_reported_and_left(tmp_path: Path) -> None:
    paths = made.series(tmp_path, 25, each=1)
    paths[0].write_bytes(b"damaged")
    now = (made.START + timedelta(days=24)).replace(tzinfo=UTC)
    _, failed = pruning.prune(pruning.decide(stored(tmp_path), now, POLICY))
    assert [path for path, _ in failed] == [paths[0]]
    assert paths[0].read_bytes() == b"damaged"
