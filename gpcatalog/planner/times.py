"""Time of statements before and after a plan: by the time model, and for queries of clients by
measurements before the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gpcatalog.audit.pace import measured_plans, pace
from gpcatalog.audit.query_locks import plain_tables, shape_of
from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action
from gpcatalog.model.clients import BY_TITLE, CLIENT, Reads
from gpcatalog.planner.plan import StatementTime, TablePlan, Totals, changed
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.totals import SessionBytes
from gpcatalog.store import largest

# for the table with the most leaves among those whose number of leaves changes; a change of only
# the storage is not considered
_OF_TABLE = (
    Action.ADD_COLUMN,
    Action.CREATE_INDEX,
    Action.TRUNCATE,
    Action.DROP,
    Action.PLAN_FIRST,
    Action.PRUNED_FIRST,
)


def times(
    reader: Reader,
    tables: Sequence[TablePlan],
    kept: SessionBytes,
    before: Totals,
    after: Totals,
) -> list[StatementTime]:
    """Seconds of statements before and after the plan.

    kept: contains the shapes of the tables; before, after: of the database
    """
    server = reader.generation.name
    speed = pace(reader.snapshot)
    found = []
    some = [t for t in changed(tables) if t.leaves != t.leaves_after and t.oid in kept.tables]
    if some:
        largest = max(some, key=lambda t: (t.leaves, t.schema, t.table))
        row = kept.tables[largest.oid]
        shape = shape_of(server, row)
        filled = int(row["leaves"]) - int(row["empty"])
        plans = measured_plans(reader.snapshot)
        for action in _OF_TABLE:
            took, takes = (
                durations.seconds(server, shape, action, n, filled=min(filled, n), pace=speed)
                for n in (largest.leaves, largest.leaves_after)
            )
            if took is None or takes is None:
                continue
            subject = f"{largest.schema}.{largest.table}"
            seen = plans.get(subject) if action is Action.PLAN_FIRST else None
            found.append(
                StatementTime(
                    what=action.value,
                    subject=subject,
                    before=round(seen or took, 4),
                    after=round(takes * (seen / took if seen else 1), 4),
                    measured=seen is not None,
                )
            )
        backups = [
            durations.backup(
                server,
                [
                    (shape_of(server, kept.tables[t.oid]), n)
                    for t in tables
                    if t.oid in kept.tables
                    for n in [t.leaves if now else t.leaves_after]
                ]
                + plain_tables(reader.snapshot),
                pace=speed,
            )
            for now in (True, False)
        ]
        found.append(
            StatementTime(
                what=Action.BACKUP.value,
                subject="",
                before=round(backups[0], 4),
                after=round(backups[1], 4),
            )
        )
    return found + _clients(reader, tables, before, after)


def _clients(
    reader: Reader, tables: Iterable[TablePlan], before: Totals, after: Totals
) -> list[StatementTime]:
    """Queries of clients that the snapshot timed; their time afterwards is proportional to what
    they read.
    """
    measured = {
        row["subject"]: row
        for row in reader.snapshot.rows(
            "SELECT subject, min(median_ms) AS median_ms FROM timing WHERE what = ? AND median_ms > 0"
            " GROUP BY subject ORDER BY subject",
            [CLIENT],
        )
        if row["subject"] in BY_TITLE
    }
    if not measured:
        return []
    answer = reader.snapshot.one("SELECT min(median_ms) AS ms FROM timing WHERE what = 'answer'")
    row_share = _share_of_rows(reader, before, after)
    shares = {
        Reads.TABLE: _share_of_table(reader, tables),
        # these clients also scan whole catalogs
        Reads.SCHEMA: max(row_share, _share_of_schema(reader, tables)),
        Reads.DATABASE: row_share,
    }
    found = []
    for title, client in BY_TITLE.items():
        if title in measured:
            took = measured[title]["median_ms"]
            rest = min(answer["ms"] or 0.0, took)
            takes = rest + (took - rest) * shares[client.reads]
            found.append(
                StatementTime(
                    what=CLIENT,
                    subject=title,
                    before=round(took / 1000, 4),
                    after=round(takes / 1000, 4),
                    measured=True,
                )
            )
    return found


def _share_of_rows(reader: Reader, before: Totals, after: Totals) -> float:
    """Rows of all catalogs of the entry instance after the plan, as a share of those before."""
    counted = reader.snapshot.one(
        "SELECT sum(\"rows\") AS n FROM catalog WHERE content = -1 AND relation NOT LIKE '%\\_index'"
        " ESCAPE '\\'"
    )["n"]
    rows = max(int(counted or 0), before.rows)
    return 1.0 if not rows else max(0.0, rows - (before.rows - after.rows)) / rows


def _share_of_table(reader: Reader, tables: Iterable[TablePlan]) -> float:
    """Leaves after the plan, as a share of those before, of the table that contains the
    partition with the most partitions.
    """
    widest = reader.snapshot.rows(largest.PARENT)
    found = next((t for t in tables if widest and t.oid == widest[0]["root"]), None)
    return 1.0 if found is None or not found.leaves else found.leaves_after / found.leaves


def _share_of_schema(reader: Reader, tables: Iterable[TablePlan]) -> float:
    """Tables and partitions of the largest schema after the plan, as a share of those before."""
    fullest = reader.snapshot.rows(largest.SCHEMA)
    if not fullest:
        return 1.0
    gone: dict[str, int] = defaultdict(int)
    for table in tables:
        gone[table.schema] += table.leaves - table.leaves_after
    n = int(fullest[0]["n"])
    return max(0, n - gone[fullest[0]["schema"]]) / n
