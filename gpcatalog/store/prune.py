"""Prune a series: keep all snapshots of the last days, then one per week, then only totals per
root.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from gpcatalog.errors import CatalogError
from gpcatalog.store.schema import TABLES, columns_of
from gpcatalog.store.series import StoredSnapshot
from gpcatalog.store.snapshot import Snapshot, Writer


class Fate(StrEnum):
    """The action of pruning for one snapshot."""

    KEEP = "keep"
    TOTALS = "totals only"
    REMOVE = "remove"


@dataclass(frozen=True)
class Decision:
    """One snapshot and its action. bytes: size of the file before pruning."""

    stored: StoredSnapshot
    fate: Fate
    bytes: int


@dataclass(frozen=True)
class Policy:
    """all_days: all younger snapshots are kept, and of older ones one per week; totals_days: older
    snapshots are reduced to totals.
    """

    all_days: int = 30
    totals_days: int = 180

    def __post_init__(self) -> None:
        if not 0 <= self.all_days <= self.totals_days:
            raise CatalogError(
                (
                    f"--keep-all {self.all_days} and --keep-leaves {self.totals_days} are"
                    " inconsistent"
                ),
                hint=(
                    "neither may be negative, and --keep-all may not be larger than --keep-leaves"
                ),
            )


def decide(stored: Iterable[StoredSnapshot], now: datetime, policy: Policy) -> list[Decision]:
    """Return the action for every snapshot of one series.

    The newest snapshot is always kept completely; of a week, the first snapshot is kept.
    """
    ordered = sorted(stored, key=lambda s: (s.taken_at, s.path.name))
    weeks: set[tuple[int, int]] = set()
    out = []
    for one in ordered:
        age = now - one.taken_at
        week = one.taken_at.isocalendar()[:2]
        if one is ordered[-1] or age <= timedelta(days=policy.all_days):
            fate = Fate.KEEP
        elif week in weeks:
            fate = Fate.REMOVE
        else:
            fate = Fate.TOTALS if age > timedelta(days=policy.totals_days) else Fate.KEEP
        weeks.add(week)
        out.append(Decision(one, fate, one.bytes))
    return out


def totals_only(path: Path) -> bool:
    """Rewrite a snapshot without its leaves, atomically; totals per root are kept.

    Returns False if it was already reduced, or has no totals.

    Raises CatalogError if it cannot be read or written; the file is then unchanged.
    """
    with Snapshot(path) as old:
        if (
            old.header["grain"] == "root"
            or not old.one("SELECT count(*) AS n FROM root_total")["n"]
        ):
            return False
        with Writer(path) as writer:
            for table in TABLES:
                if table == "relation":
                    continue
                rows = old.rows(f"SELECT * FROM {table}")
                if table == "snapshot":
                    rows = [row | {"grain": "root"} for row in rows]
                writer.insert(
                    table, [{column: row[column] for column in columns_of(table)} for row in rows]
                )
            writer.finish()
    return True


def prune(decisions: Iterable[Decision]) -> tuple[int, list[tuple[Path, str]]]:
    """Apply decisions; return the freed bytes, and the files that could not be pruned, with the
    reasons. Safe to interrupt and to repeat.
    """
    freed, failed = 0, []
    for decision in decisions:
        path = decision.stored.path
        try:
            if decision.fate is Fate.REMOVE:
                path.unlink(missing_ok=True)
                freed += decision.bytes
            elif decision.fate is Fate.TOTALS and totals_only(path):
                freed += decision.bytes - path.stat().st_size
        except (CatalogError, OSError) as e:
            failed.append((path, e.message if isinstance(e, CatalogError) else str(e.strerror)))
    return freed, failed
