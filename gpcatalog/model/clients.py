"""Programs whose catalog queries `gpcatalog latency --clients` times."""

from __future__ import annotations

from enum import StrEnum

import msgspec

CLIENT = "client"
"""Name of these timings. Their subject is `Client.title`, and their n the number of
measurements.
"""


class Reads(StrEnum):
    """The part of the database that a client's queries read."""

    TABLE = "table"  # the table with the most partitions
    SCHEMA = "schema"  # the schema with the most tables and partitions
    DATABASE = "database"


class Client(msgspec.Struct, frozen=True):
    """A program: the probe that runs its queries, its name for people, and what the queries
    read.
    """

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
