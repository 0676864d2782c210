"""Programs whose catalog queries `gpcatalog latency --clients` times."""

from __future__ import annotations

from enum import StrEnum

import msgspec

CLIENT = "client"
"""Name of the timings; their subject is `Client.title`, and their n the number of measurements."""


class Reads(StrEnum):
    """What of the database a client's queries read."""

    TABLE = "table"  # that with the most partitions
    SCHEMA = "schema"  # that with the most tables and partitions
    DATABASE = "database"


class Client(msgspec.Struct, frozen=True):
    """A program: probe that reads what it reads, its name for people, and how much it reads."""

    probe: str
    title: str
    reads: Reads


CLIENTS = (
    Client("client_psql", r"psql \d TABLE", Reads.TABLE),
    Client("client_pg_dump", "pg_dump", Reads.DATABASE),
    Client("client_gpbackup", "gpbackup", Reads.DATABASE),
    Client("client_dbeaver", "DBeaver", Reads.SCHEMA),
    Client("client_pgadmin", "pgAdmin", Reads.SCHEMA),
    Client("client_jdbc", "JDBC", Reads.DATABASE),
    Client("client_odbc", "ODBC", Reads.DATABASE),
)
BY_TITLE = {client.title: client for client in CLIENTS}
