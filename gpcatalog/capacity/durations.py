"""Duration of DDL, planning and a metadata backup: an estimate from the number of leaves.

The figures of `duration_figures` are milliseconds on test servers with empty tables. A statement
takes

    fixed + leaves × (leaf + column × columns + index × indexes) + square × leaves²

The square is the work of the server that processes the whole list of leaves for every leaf; for
CREATE, the list of its parent's partitions. `Pace` is the factor for a server that is slower or
faster than the test servers. It is computed from the time of counting numbers (not of scanning
pg_class, which depends on bloat), or from the DDL of `gpcatalog latency --allow-ddl`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gpcatalog.capacity.duration_figures import FIGURES, SPEED, Figures
from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.model import Shape
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage

SOURCE = (
    "measured: Greenplum 6.25.3 and 7.0.0, PostgreSQL 15, 18 and 19 beta 1, on 2 cores; 1 to 20,000"
    " empty leaves, 5 to 60 columns, 0 to 2 indexes, Postgres planner"
)


class Action(StrEnum):
    """Actions with an estimated duration; the names are those of the recorded measurements.

    CREATE:         CREATE TABLE with its leaves; on PostgreSQL, one statement for the root and one
                    for each leaf
    CREATE_INDEX:   one index on the root
    ADD_COLUMN:     a column without a rewrite; row-oriented append-optimized tables of Greenplum 6
                    are always rewritten
    ADD, DROP_PARTITION, SPLIT: one partition of a table with the given number of leaves; SPLIT of
                    an empty default partition
    BACKUP:         the catalog queries of pg_dump and its output
    PLAN, PLAN_FIRST: planning a query over all leaves with the Postgres planner; PLAN_FIRST: the
                      first one in a session
    PRUNED, PRUNED_FIRST: the same for a query on one leaf
    """

    CREATE = "create"
    CREATE_INDEX = "create index"
    ADD_COLUMN = "add column"
    ADD = "add"
    DROP_PARTITION = "drop partition"
    SPLIT = "split"
    TRUNCATE = "truncate"
    DROP = "drop"
    BACKUP = "backup"
    PLAN_FIRST = "plan all, first"
    PLAN = "plan all, again"
    PRUNED_FIRST = "plan pruned, first"
    PRUNED = "plan pruned, again"


# actions that do not exist for a table without partitions
OF_PARTITIONS = frozenset(
    {Action.ADD, Action.DROP_PARTITION, Action.SPLIT, Action.PRUNED, Action.PRUNED_FIRST}
)

# actions on one partition
OF_PARENT = frozenset({Action.ADD, Action.DROP_PARTITION, Action.SPLIT})


@dataclass(frozen=True)
class Pace:
    """The factor between durations on this server and on the test servers.

    basis: source of the factor: "speed" (counting numbers), "ddl" (the active probe), "" (unknown;
           the factor is 1)
    """

    factor: float = 1.0
    basis: str = ""

    @property
    def words(self) -> str:
        """Text for an estimate: the factor and its source, or that it is unknown."""
        if not self.basis:
            return "the speed of the test servers; that of this server is not known"
        how = "counting numbers" if self.basis == "speed" else "DDL of gpcatalog"
        return f"{self.factor:.1f} × the time of the test servers, by {how}"


REFERENCE = Pace()
# milliseconds for the files of a new column in each filled leaf: 0.37 ms with data in memory
# (Greenplum 6.25.3), 1.1 ms on a disk (7.0.0)
NEW_FILE_MS = 0.65
# factors outside this range are probably caused by a temporary load, not by the server
LEAST, MOST = 0.25, 8.0


def measured(server: Generation | str) -> str:
    """The generation whose measurements are used for a server: "gp6", "gp7", "pg15", "pg18",
    "pg19".
    """
    name = server.name if isinstance(server, Generation) else server
    found = generations.known(name)
    if found.greenplum:
        return "gp6" if generations.is_classic(name) else "gp7"
    return "pg19" if found.base >= 19 else "pg18" if found.base >= 16 else "pg15"


def figures(server: Generation | str, storage: Storage, action: Action) -> Figures | None:
    """The figures of an action; None if the server has no such statement. Relations without storage
    count as heap.
    """
    key = measured(server)
    stored = storage.value if (key, storage.value) in FIGURES else Storage.HEAP.value
    return FIGURES[key, stored].get(action.value)


def seconds(
    server: Generation | str,
    shape: Shape,
    action: Action,
    leaves: int,
    *,
    widest: int = 0,
    filled: int = 0,
    pace: Pace = REFERENCE,
) -> float | None:
    """Estimated seconds of one action on a table with this number of leaves, without the time to
    copy rows; a plain table counts as one leaf.

    widest: most partitions of one parent, 0 if all leaves have the same parent. CREATE, and
            statements on one partition, read the list of one parent, except on Greenplum 6
    filled: leaves with rows: a new column gets a file in each of them if they are column-oriented

    None if the server has no such statement.

    >>> from gpcatalog.capacity.model import Shape
    >>> seconds("pg15", Shape(Storage.HEAP, 20), Action.SPLIT, 100) is None
    True
    """
    found = figures(server, shape.storage, action)
    if found is None:
        return None
    n = max(leaves, 1)
    parent = n
    if widest and measured(server) != "gp6":
        parent = min(n, widest)
        if action in OF_PARENT:
            n = parent
    columns, indexes = shape.columns + shape.dropped, len(shape.indexes)
    each = found.leaf + found.column * columns + found.index * indexes
    if action is Action.ADD_COLUMN and shape.storage is Storage.AO_COLUMN:
        each += NEW_FILE_MS * filled / n
    siblings = parent if action is Action.CREATE else n
    return (found.fixed + each * n + found.square * n * siblings) * pace.factor / 1000


def next_leaf(
    server: Generation | str, shape: Shape, siblings: int, *, pace: Pace = REFERENCE
) -> float:
    """Seconds of creating one more leaf in the session that created the others. In a new session,
    which must read their list first, use ADD. siblings: partitions that the parent already has.

    >>> first = sum(next_leaf("pg15", Shape(Storage.HEAP, 20), n) for n in range(5000))
    >>> whole = seconds("pg15", Shape(Storage.HEAP, 20), Action.CREATE, 5000)
    >>> abs(first - whole) < 0.1
    True
    """
    of = figures(server, shape.storage, Action.CREATE)
    if of is None:
        return 0.0
    each = of.leaf + of.column * (shape.columns + shape.dropped) + of.index * len(shape.indexes)
    return (each + of.square * (2 * siblings + 1)) * pace.factor / 1000


def backup(
    server: Generation | str, tables: Iterable[tuple[Shape, int]], *, pace: Pace = REFERENCE
) -> float:
    """Seconds that the catalog queries of a metadata backup take for all these tables and their
    leaves.
    """
    fixed = found = 0.0
    for shape, leaves in tables:
        of = figures(server, shape.storage, Action.BACKUP)
        backup_seconds = seconds(server, shape, Action.BACKUP, leaves, pace=pace)
        if of is not None and backup_seconds is not None:
            fixed = max(fixed, of.fixed * pace.factor / 1000)
            found += backup_seconds - of.fixed * pace.factor / 1000
    return fixed + found


def pace_of_speed(
    server: str, milliseconds: float, dispatched: float | None, answer: float
) -> Pace:
    """The factor of a server that takes this many milliseconds to count 25,000 numbers.

    dispatched: the same on all segments at once; None on PostgreSQL or if it was not measured
    answer: milliseconds of a query that reads nothing
    """
    here, there = SPEED[measured(server)]
    factors = [(milliseconds - answer) / here]
    if there is not None and dispatched is not None:
        factors.append((dispatched - answer) / there)
    factor = sum(factors) / len(factors)
    return Pace(min(MOST, max(LEAST, factor)), "speed") if factor > 0 else REFERENCE
