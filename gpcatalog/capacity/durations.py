"""Time that DDL, planning and a metadata backup take: an estimate from the number of leaves.

The figures of `duration_figures` are milliseconds on test servers whose tables were empty. A
statement takes

    fixed + leaves × (leaf + column × columns + index × indexes) + square × leaves²

The square is what the server does for every leaf with the whole list of leaves; for CREATE, with
the list of its parent's partitions. A server that is
slower than the test servers takes longer: `Pace` is its factor, from the time of counting numbers
(a scan of pg_class depends on its bloat), or from the DDL of `gpcatalog latency --allow-ddl`.
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
    """What takes the time; the names are those of the recorded measurements.

    CREATE:         CREATE TABLE with its leaves; on PostgreSQL, the root and a statement for each
                    leaf
    CREATE_INDEX:   one index on the root
    ADD_COLUMN:     a column without a rewrite; row-oriented append-optimized tables of Greenplum 6
                    are always rewritten
    ADD, DROP_PARTITION, SPLIT: one partition of a table with so many leaves; SPLIT of an empty
                    default partition
    BACKUP:         the catalog queries of pg_dump and its output
    PLAN, PLAN_FIRST: a query over all leaves by the Postgres planner; the first one in a session
    PRUNED, PRUNED_FIRST: a query on one leaf
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


# actions that a table without partitions does not have
OF_PARTITIONS = frozenset(
    {Action.ADD, Action.DROP_PARTITION, Action.SPLIT, Action.PRUNED, Action.PRUNED_FIRST}
)

# actions on one partition
OF_PARENT = frozenset({Action.ADD, Action.DROP_PARTITION, Action.SPLIT})


@dataclass(frozen=True)
class Pace:
    """How much longer this server takes than the test servers.

    basis: what it was computed from: "speed" (counting numbers), "ddl" (the active probe), "" (not
           known; the factor is 1)
    """

    factor: float = 1.0
    basis: str = ""

    @property
    def words(self) -> str:
        """What an estimate rests on: the factor and where it comes from, or that it is not known."""
        if not self.basis:
            return "the speed of the test servers; that of this server is not known"
        how = "counting numbers" if self.basis == "speed" else "DDL of gpcatalog"
        return f"{self.factor:.1f} × the time of the test servers, by {how}"


REFERENCE = Pace()
# for each filled leaf, the files of a new column: 0.37 ms with data in memory (Greenplum 6.25.3),
# 1.1 ms on a disk (7.0.0)
NEW_FILE_MS = 0.65
# factors beyond these say more about the moment than about the server
LEAST, MOST = 0.25, 8.0


def measured(server: Generation | str) -> str:
    """The generation whose measurements stand for a server's: "gp6", "gp7", "pg15", "pg18",
    "pg19".
    """
    name = server.name if isinstance(server, Generation) else server
    found = generations.known(name)
    if found.greenplum:
        return "gp6" if generations.is_classic(name) else "gp7"
    return "pg19" if found.base >= 19 else "pg18" if found.base >= 16 else "pg15"


def figures(server: Generation | str, storage: Storage, action: Action) -> Figures | None:
    """The figures of an action; None where the server has no such statement. What has no storage of
    its own counts as heap.
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
    """Seconds of one action on a table with so many leaves, an estimate; a plain table counts as
    one leaf. Copying rows comes on top.

    widest: most partitions of one parent, 0 where all leaves have one parent. CREATE, and statements
            on one partition, read the list of one parent, except on Greenplum 6
    filled: leaves with rows: a new column gets a file in each column-oriented one

    None where the server has no such statement.

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
    """Seconds of one more leaf in the session that created the others; a new session reads their
    list first, which is ADD. siblings: partitions that the parent has already

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
    """Seconds of the catalog queries of a metadata backup of all these tables with their leaves."""
    fixed = found = 0.0
    for shape, leaves in tables:
        of = figures(server, shape.storage, Action.BACKUP)
        whole = seconds(server, shape, Action.BACKUP, leaves, pace=pace)
        if of is not None and whole is not None:
            fixed = max(fixed, of.fixed * pace.factor / 1000)
            found += whole - of.fixed * pace.factor / 1000
    return fixed + found


def pace_of_speed(
    server: str, milliseconds: float, dispatched: float | None, answer: float
) -> Pace:
    """The factor of a server that counts 25,000 numbers in so many milliseconds.

    dispatched: the same on all segments at once; None on PostgreSQL and where it was not measured
    answer: of a query that reads nothing
    """
    here, there = SPEED[measured(server)]
    factors = [(milliseconds - answer) / here]
    if there is not None and dispatched is not None:
        factors.append((dispatched - answer) / there)
    factor = sum(factors) / len(factors)
    return Pace(min(MOST, max(LEAST, factor)), "speed") if factor > 0 else REFERENCE
