"""The input and the reports of a worker process: one line of JSON each."""

from __future__ import annotations

import msgspec

from gpcatalog.model.file_choice import FileChoice
from gpcatalog.model.scope import Scope


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that a worker reads. It is sent on standard input, because arguments are visible
    to other users.

    folder: folder for the snapshots; empty: each is stored in the series of its database
    """

    conninfo: str
    databases: list[str]
    exclude: list[str]
    folder: str
    statement_ms: int
    lock_ms: int
    files: FileChoice
    scope: Scope = Scope.STORED


class DatabaseList(msgspec.Struct, frozen=True, tag="listed"):
    """The databases that will be read."""

    databases: list[str]


class ReadProgress(msgspec.Struct, frozen=True, tag="reading"):
    """The part of a database that is being read now."""

    database: str
    what: str


class NewSnapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """A snapshot that was taken."""

    database: str
    path: str


class Failure(msgspec.Struct, frozen=True, tag="failed"):
    """A database that could not be read; with an empty database name, the whole cluster."""

    database: str
    reason: str
    exit_code: int


Message = DatabaseList | ReadProgress | NewSnapshot | Failure
