"""Locks of DROP of a partitioned table of a snapshot: on its relations, and on row types, constraints,
defaults and triggers of each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from gpcatalog.audit.query_locks import shape_of, statement_locks, widest
from gpcatalog.capacity.locks import Statement, foreign_key_locks, locks
from gpcatalog.capacity.model import Index, Shape

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot


class _Columns(msgspec.Struct):
    columns: list[tuple[str, str, int, bool, bool, bool, str, bool, list[str]]] | None


_NOT_NULL, _DEFAULT = 3, 4  # positions in a row of _Columns


class _Index(msgspec.Struct):
    columns: Annotated[int, msgspec.Meta(ge=0, le=1600)]
    constraint: str


class MostLocks(msgspec.Struct, kw_only=True, frozen=True):
    """The statement over the table with the most leaves that holds the most locks, on the
    coordinator or server: "drop" or "truncate".
    """

    statement: str
    schema: str
    name: str
    locks: int


def most_locks(snapshot: Snapshot) -> MostLocks | None:
    """The statement with the most locks; None without partitioned tables, and for a pruned
    snapshot.
    """
    if snapshot.header["grain"] != "leaf" or snapshot.unread("relations"):
        return None
    for row in widest(snapshot, 1):
        needed = statement_locks(snapshot.header["generation"], row)
        both = {
            Statement.DROP: drop_locks(snapshot, row),
            Statement.TRUNCATE: needed[Statement.TRUNCATE],
        }
        statement = max(both, key=lambda s: both[s])
        return MostLocks(
            statement=statement.value, schema=row["schema"], name=row["name"], locks=both[statement]
        )
    return None


def drop_locks(snapshot: Snapshot, row: dict[str, Any]) -> int:
    """Number of locks of DROP of a table of `widest`, on the coordinator or server. Without the
    definition of the table in the snapshot, its constraints and defaults are not included.
    """
    server = snapshot.header["generation"]
    shape, foreign = _defined(snapshot, row, shape_of(server, row))
    leaves, intermediates = int(row["leaves"]), int(row["intermediates"])
    (found, _) = locks(server, shape, leaves, intermediates)[Statement.DROP]
    return found + foreign * foreign_key_locks(server, 1 + leaves + intermediates)


def _defined(snapshot: Snapshot, row: dict[str, Any], shape: Shape) -> tuple[Shape, int]:
    """The shape with the defaults and constraints of the table, and its number of foreign keys.
    Definitions in another form than that of this version are ignored.
    """
    facts = snapshot.rows("SELECT what, detail FROM definition WHERE oid = ?", [row["root"]])
    details: dict[str, list[str]] = {}
    for fact in facts:
        details.setdefault(fact["what"], []).append(fact["detail"])
    try:
        columns = [
            column
            for detail in details.get("columns", ())
            for column in msgspec.json.decode(detail, type=_Columns).columns or ()
        ]
        indexes = [msgspec.json.decode(detail, type=_Index) for detail in details.get("index", ())]
    except (msgspec.DecodeError, RecursionError):
        return shape, 0
    if len(indexes) == len(shape.indexes):
        shape = replace(
            shape, indexes=tuple(Index(i.columns, constraint=bool(i.constraint)) for i in indexes)
        )
    shape = replace(
        shape,
        not_null=sum(bool(c[_NOT_NULL]) for c in columns),
        defaults=sum(bool(c[_DEFAULT]) for c in columns),
        checks=len(details.get("check", ())),
    )
    return shape, len(details.get("foreign key", ()))
