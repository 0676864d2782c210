"""What a worker process receives and reports: one JSON line each."""

from __future__ import annotations

import msgspec

from gpcatalog.model.file_choice import FileChoice


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that a worker reads. It comes on standard input: arguments are public.

    folder: folder for the snapshots; empty: each goes to the series of its database
    """

    conninfo: str
    databases: list[str]
    exclude: list[str]
    folder: str
    statement_ms: int
    lock_ms: int
    files: FileChoice


class Listed(msgspec.Struct, frozen=True, tag="listed"):
    """The databases that will be read."""

    databases: list[str]


class Reading(msgspec.Struct, frozen=True, tag="reading"):
    """What is being read now."""

    database: str
    what: str


class Taken(msgspec.Struct, frozen=True, tag="snapshot"):
    """A snapshot that was taken."""

    database: str
    path: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A database that could not be read, or the whole cluster (database is empty)."""

    database: str
    reason: str
    exit_code: int


Message = Listed | Reading | Taken | Failed
