"""Memory of sessions that query whole tables, compared with the limits of the server.

A session keeps what it has read from the catalogs for each relation until the session ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.query_locks import shape_of, widest
from gpcatalog.capacity import memory

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables in a report


class TableMemory(msgspec.Struct, kw_only=True, frozen=True):
    """Estimated lower bound of the bytes that a session keeps after a query over all leaves and
    columns of a table.

    bytes:         of the process on the coordinator or server
    segment_bytes: of the processes on each segment; None on PostgreSQL
    statement_mem: bytes that the Postgres planner needs for a plan over all leaves; None if the
                   server has no such limit
    """

    schema: str
    name: str
    leaves: int
    bytes: int
    segment_bytes: int | None
    statement_mem: int | None

    @property
    def most(self) -> int:
        """Bytes on the instance where the session keeps the most."""
        return max(self.bytes, self.segment_bytes or 0)


class SessionMemory(msgspec.Struct, kw_only=True, frozen=True):
    """Memory of sessions, and the two limits of Greenplum for this memory.

    vmem:          bytes that all sessions of an instance may use (gp_vmem_protect_limit); None if
                   the server has no such setting or it was not read
    statement_mem: bytes that a statement may use; None if this does not limit plans
    beyond:        number of tables whose plan over all leaves needs more; None if statement_mem is
                   None
    most:          tables that cost the most memory
    widest:        the table with the most leaves; None without partitioned tables
    """

    vmem: int | None
    statement_mem: int | None
    beyond: int | None
    most: tuple[TableMemory, ...]
    widest: TableMemory | None


def session_memory(snapshot: Snapshot) -> SessionMemory | None:
    """Memory of sessions that query the tables of a snapshot.

    None for a pruned snapshot, or if the tables were not read.
    """
    header = snapshot.header
    server = header["generation"]
    if header["grain"] != "leaf" or snapshot.unread("relations"):
        return None
    settings = {
        row["name"]: row["setting"] for row in snapshot.rows("SELECT name, setting FROM setting")
    }
    allowed = memory.statement_mem(server, settings)
    tables = []
    for row in widest(snapshot, None):
        leaves = int(row["leaves"])
        sizes = memory.kept_bytes(
            server, shape_of(server, row), leaves, memory.Touch.SELECT, empty=int(row["empty"])
        )
        tables.append(
            TableMemory(
                schema=row["schema"],
                name=row["name"],
                leaves=leaves,
                bytes=sizes.coordinator,
                segment_bytes=sizes.segment,
                statement_mem=None if allowed is None else memory.plan_bytes(leaves),
            )
        )
    beyond = None
    if allowed is not None:
        beyond = sum(1 for t in tables if (t.statement_mem or 0) > allowed)
    most = sorted(tables, key=lambda t: (-t.most, t.schema, t.name))[:TOP]
    return SessionMemory(
        vmem=memory.vmem(server, settings),
        statement_mem=allowed,
        beyond=beyond,
        most=tuple(most),
        widest=tables[0] if tables else None,
    )
