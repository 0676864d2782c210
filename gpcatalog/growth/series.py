"""The points of a series of snapshots, and the changes from each point to the next.

Reading a snapshot takes some hundredths of a second. The data is therefore cached in a file in the
folder of the stored snapshots, and the next call reads only new snapshots.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpcatalog.errors import CatalogError
from gpcatalog.growth import cache
from gpcatalog.growth.cache import Entry, Identity, identity_of
from gpcatalog.growth.points import (
    Changes,
    Figures,
    Moves,
    Point,
    Root,
    figures_of,
    leaves_of,
    roots_of,
)
from gpcatalog.growth.result import OlderSnapshots
from gpcatalog.model.quantity import plural
from gpcatalog.store.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np

# number of the newest snapshots whose leaves are compared one by one; older ones are compared by
# totals
LEAVES_COMPARED = 31
# and at most this many leaves in these snapshots together: 8 bytes each in memory
LEAVES_IN_MEMORY = 8_000_000
# a snapshot with at most this many leaves keeps them in memory after reading, until it is compared
LEAVES_AT_HAND = 50_000
# largest size in bytes of files that are read at the same time: 200,000 leaves take 3.5 MB
PARALLEL_BYTES = 4 << 20
# a snapshot that is further in the future of the clock was taken with a wrong clock
FUTURE = timedelta(days=1)
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Period:
    """The points of a period, and what is not in it.

    points:  oldest first, at least one
    skipped: files that are left out, with the reasons
    older:   snapshots of the same database before the period; None without any
    """

    points: list[Point]
    skipped: list[tuple[str, str]]
    older: OlderSnapshots | None


@dataclass(kw_only=True, eq=False)
class _Member:
    """A snapshot of the series: all its tables, or their changes to the snapshot before.

    entry:  its cached data; None if it was read now
    roots:  all tables; None if the entry has changes only
    leaves: oids and roots of its leaves, if they are in memory
    fresh:  its new entry for the cache; None if the entry is unchanged
    """

    path: Path
    identity: Identity
    figures: Figures
    entry: Entry | None = None
    roots: dict[int, Root] | None = None
    leaves: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None
    fresh: Entry | None = None


def _read(path: Path) -> _Member | str:
    """Read a snapshot, or return why it cannot be used."""
    try:
        identity = identity_of(path)
        with Snapshot(path) as snapshot:
            if unread := snapshot.unread("relations", "class_counts"):
                return f"its tables could not be read ({next(iter(unread.values()))})"
            roots = roots_of(snapshot)
            found = _Member(
                path=path, identity=identity, figures=figures_of(snapshot, roots), roots=roots
            )
            if found.figures.by_leaf and found.figures.leaves <= LEAVES_AT_HAND:
                found.leaves = leaves_of(snapshot)
            return found
    except CatalogError as e:
        return e.message
    except OSError as e:
        return f"cannot read {path}: {e.strerror or e}"


def _side_by_side(work: Callable[[Path], Result], paths: Sequence[Path]) -> list[Result]:
    """Results of a function of each file, in order; DuckDB reads several files at the same time."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, paths))


def _small(path: Path) -> bool:
    try:
        return path.stat().st_size <= PARALLEL_BYTES
    except OSError:
        return True


def _members(paths: Sequence[Path]) -> dict[Path, _Member | str]:
    """All snapshots from the cache, or read now. Large ones are read one at a time, because each
    may need hundreds of megabytes.
    """
    known = {place: cache.read(place) for place in {path.parent for path in paths}}
    found: dict[Path, _Member | str] = {}
    for path in paths:
        entry = known[path.parent].get(path)
        if entry is not None:
            full = None if entry.before is not None else dict(entry.present())
            found[path] = _Member(
                path=path,
                identity=entry.identity,
                figures=entry.figures,
                entry=entry,
                roots=full,
            )
    new = [path for path in paths if path not in found]
    small = [path for path in new if _small(path)]
    found.update(zip(small, _side_by_side(_read, small), strict=True))
    for path in new:
        if path not in found:
            found[path] = _read(path)
    return found


def _leaves(member: _Member) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    if member.leaves is not None:
        return member.leaves
    with Snapshot(member.path) as snapshot:
        return leaves_of(snapshot)


def _compared(old: _Member, new: _Member) -> Moves:
    """Leaves that were added and dropped between two snapshots that list their leaves."""
    import numpy as np

    (oids, roots), (oids_before, roots_before) = _leaves(new), _leaves(old)

    def counts(
        some: np.ndarray[Any, Any], others: np.ndarray[Any, Any], of: np.ndarray[Any, Any]
    ) -> dict[int, int]:
        only = ~np.isin(some, others, assume_unique=True)
        tables, numbers = np.unique(of[only], return_counts=True)
        return dict(zip(tables.tolist(), numbers.tolist(), strict=True))

    return Moves(counts(oids, oids_before, roots), counts(oids_before, oids, roots_before))


def _changes(old: dict[int, Root], new: dict[int, Root]) -> Changes:
    """The tables that differ."""
    found: Changes = {}
    for oid in (*old, *(oid for oid in new if oid not in old)):
        was, now = old.get(oid), new.get(oid)
        if was != now:
            found[oid] = (was, now)
    return found


def _applied(member: _Member, tables: dict[int, Root]) -> tuple[dict[int, Root], Changes]:
    """The tables of a snapshot, and the differences to those of the snapshot before."""
    if member.roots is not None:
        return member.roots, _changes(tables, member.roots)
    assert member.entry is not None
    changes = {oid: (tables.get(oid), root) for oid, root in member.entry.roots}
    found = {**tables}
    for oid, (_, root) in changes.items():
        if root is None:
            found.pop(oid, None)
        else:
            found[oid] = root
    return found, changes


def _moves(old: _Member, new: _Member) -> Moves | None:
    """Compare leaves one by one, or return the cached result; None if one snapshot does not list
    them.
    """
    if new.entry is not None and new.entry.moves is not None:
        return new.entry.moves
    if not (old.figures.by_leaf and new.figures.by_leaf):
        return None
    return _compared(old, new)


def _chain(members: Sequence[_Member], compared: set[Path], ends: set[Path]) -> list[Point]:
    """The points of the snapshots of one database, oldest first.

    compared: snapshots whose leaves are compared with those of the snapshot before; ends: points
              with all tables. Members with new data for the cache get an entry. Raises CatalogError
              if a file can no longer be read.
    """
    out: list[Point] = []
    tables: dict[int, Root] = {}
    last: _Member | None = None
    for member in members:
        before = last.identity if last is not None else None
        if member.entry is not None and member.entry.before not in (None, before):
            # the snapshot before it was deleted, or another one was added between them
            fresh = _read(member.path)
            if isinstance(fresh, str):
                raise CatalogError(fresh)
            member.entry, member.roots, member.leaves = None, fresh.roots, fresh.leaves
        tables, changes = _applied(member, tables)
        moves = None
        if last is not None and last.path in compared and member.path in compared:
            moves = _moves(last, member)
        entry = member.entry
        if entry is None or (moves and entry.moves is None):
            member.fresh = Entry(
                identity=member.identity,
                figures=member.figures,
                before=before,
                roots=[(oid, now) for oid, (_, now) in changes.items()],
                moves=moves,
            )
        if last is not None:
            last.leaves = None
        out.append(
            Point(
                **{name: getattr(member.figures, name) for name in Figures.__struct_fields__},
                path=member.path,
                roots=tables if member.path in ends else {},
                changes=changes if last is not None else {},
                moves=moves,
            )
        )
        last = member
    return out


def _compared_ones(members: Sequence[_Member]) -> set[Path]:
    """The newest snapshots whose leaves fit into memory together."""
    found: set[Path] = set()
    leaves = 0
    for member in reversed(members[-LEAVES_COMPARED:]):
        leaves += member.figures.leaves
        if leaves > LEAVES_IN_MEMORY:
            break
        found.add(member.path)
    return found


def _keep(paths: Sequence[Path], members: Sequence[_Member]) -> None:
    """Write new data to the cache if the snapshots are complete series."""
    for place in {member.path.parent for member in members if member.fresh is not None}:
        if cache.is_complete_series(place, paths):
            entries = [m.fresh or m.entry for m in members if m.path.parent == place]
            cache.write(place, [entry for entry in entries if entry is not None])


def _future(members: Sequence[_Member], until: Path | None) -> list[_Member]:
    """The snapshots whose time is more than a day after the clock of this machine, and more than a
    day after the snapshot `until`. members: oldest first
    """
    clock = max([datetime.now(UTC), *(m.figures.taken_at for m in members if m.path == until)])
    return [m for m in members if m.figures.taken_at - clock > FUTURE]


def _future_time(member: _Member) -> str:
    """The reason for leaving out a snapshot from the future."""
    return (
        f"its time, {member.figures.taken_at:%Y-%m-%d %H:%M} UTC, is more than a day in the future"
        " of the clock of this machine"
    )


def _no_points(future: Sequence[_Member], lost: Sequence[tuple[str, str]]) -> CatalogError:
    """The error for files of which none can be used."""
    if not future:
        reason = f": {lost[0][1]}" if lost else ""
        return CatalogError(
            f"there are no snapshots to compare{reason}",
            hint="take a snapshot every day: `gpcatalog snapshot take`",
        )
    others = [
        *([f"{plural(len(future) - 1, 'more snapshot')} from the future"] if future[1:] else []),
        *([f"{plural(len(lost), 'file')} that cannot be read"] if lost else []),
    ]
    more = f" ({'; '.join(others)})" if others else ""
    return CatalogError(
        f"there are no snapshots to compare; {future[0].path.name} is left out:"
        f" {_future_time(future[0])}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC{more}",
        hint="correct the clock of this machine, or delete the snapshots with a wrong time",
    )


def length(days: float) -> timedelta:
    """The length of a period; one that is longer than a timedelta can be is shortened to that."""
    return timedelta(days=min(days, timedelta.max.days))


def points(
    paths: Sequence[Path], *, since: timedelta | None = None, until: Path | None = None
) -> tuple[list[Point], list[tuple[str, str]]]:
    """The points and the skipped files of `period`, with the same arguments and errors."""
    found = period(paths, since=since, until=until)
    return found.points, found.skipped


def period(
    paths: Sequence[Path], *, since: timedelta | None = None, until: Path | None = None
) -> Period:
    """Points of the snapshots of one database, oldest first, the files that are left out, with the
    reasons, and the number of older snapshots.

    Files that cannot be read and snapshots of another database are left out: a database that was
    dropped and created again has another oid. Snapshots that are more than a day in the future of
    the clock of this machine are left out, too. since: the period before the newest snapshot;
    until: the snapshot of the last point; it is ignored if it is older than the period. Raises
    CatalogError if no file remains.
    """
    lost: list[tuple[str, str]] = []
    members: list[_Member] = []
    for path, found in _members(paths).items():
        if isinstance(found, str):
            lost.append((path.name, found))
        else:
            members.append(found)
    members.sort(key=lambda m: (m.figures.taken_at, m.path.name))
    future = _future(members, until)
    current = members[: len(members) - len(future)]
    if not current:
        raise _no_points(future, lost)
    newest = current[-1].figures
    databases: dict[tuple[int, str], list[_Member]] = {}
    for member in members:
        head = member.figures.head
        databases.setdefault((head.database_oid, head.generation), []).append(member)
    same_database = databases.pop((newest.head.database_oid, newest.head.generation))
    for others in databases.values():
        with contextlib.suppress(CatalogError):  # they are left out in any case
            _chain(others, set(), set())
    different = "its database differs from that of the newest snapshot: it was recreated, or it is on another server"
    lost += [(member.path.name, different) for member in current if member not in same_database]
    lost = [
        *((member.path.name, _future_time(member)) for member in future),
        *lost,
    ]
    usable = [m for m in same_database if m not in future]
    in_period = [
        m for m in usable if since is None or newest.taken_at - m.figures.taken_at <= since
    ]
    compared = _compared_ones(in_period)
    at = next((n for n, m in enumerate(in_period) if m.path == until), len(in_period) - 1)
    shown = in_period[: at + 1]
    found_points = _chain(same_database, compared, {shown[0].path, shown[-1].path})
    _keep(paths, members)
    first = len(usable) - len(in_period)
    chosen = found_points[first : first + len(shown)]
    chosen[0].changes, chosen[0].moves = {}, None
    older = None
    if first:
        days = math.ceil((newest.taken_at - usable[0].figures.taken_at) / timedelta(days=1))
        older = OlderSnapshots(first, days)
    return Period(points=chosen, skipped=lost, older=older)
