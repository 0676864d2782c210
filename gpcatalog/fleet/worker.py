"""Read one cluster: a snapshot of each chosen database, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpcatalog.errors import CatalogError, Exit, raise_if_interrupted
from gpcatalog.fleet.messages import DatabaseList, Failure, Job, Message, NewSnapshot, ReadProgress
from gpcatalog.fleet.patterns import choose

if TYPE_CHECKING:
    from gpcatalog.probes.timeouts import Timeouts

MAINTENANCE = "postgres"  # the database to list the others, if the connection string names none


def _databases(job: Job, base: str, timeouts: Timeouts) -> list[str]:
    """Databases of the cluster that accept connections. Raises CatalogError (3)."""
    from gpcatalog.probes.connection import ProbeFailed, connect

    with connect(base, timeouts=timeouts) as session:
        try:
            return [row["database"] for row in session.rows("databases")]
        except ProbeFailed as e:
            raise CatalogError(
                f"cannot list the databases: {e.reason}", exit_code=Exit.UNREACHABLE
            ) from None


def _take_snapshot(job: Job, conninfo: str, name: str, send: Callable[[Message], None]) -> str:
    """Take the snapshot of one database and return its path. Raises CatalogError."""
    from gpcatalog.probes.collect import collect
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.timeouts import Timeouts
    from gpcatalog.services.series import place_for
    from gpcatalog.store.series import safe_name
    from gpcatalog.store.snapshot import SUFFIX

    save = str(Path(job.folder) / f"{safe_name(name)}{SUFFIX}") if job.folder else ""
    limits = Timeouts(statement_ms=job.statement_ms, lock_ms=job.lock_ms)
    with (
        connect(conninfo, timeouts=limits) as session,
        place_for(session, store=True, save=save) as path,
    ):
        collect(
            session,
            path,
            lambda what: send(ReadProgress(name, what)),
            scope=job.scope,
            files=job.files,
        )
    return str(path)


def read_cluster(job: Job, send: Callable[[Message], None]) -> None:
    """Take the snapshots of a job and report each; the others are taken even if one database
    fails.
    """
    from gpcatalog.probes.target import of_database, parameters
    from gpcatalog.probes.timeouts import Timeouts

    limits = Timeouts(statement_ms=job.statement_ms, lock_ms=job.lock_ms)
    try:
        entry = parameters(job.conninfo).get("dbname") or MAINTENANCE
        existing = _databases(job, of_database(job.conninfo, entry), limits)
    except CatalogError as e:
        send(Failure("", e.reason, int(e.exit_code)))
        return
    databases, absent = choose(existing, job.databases, job.exclude)
    send(DatabaseList(databases))
    for name in absent:
        send(
            Failure(
                name,
                "there is no such database, or it does not accept connections of this role",
                int(Exit.UNREACHABLE),
            )
        )
    if not databases and not absent:
        send(Failure("", "no database matches the patterns", int(Exit.USAGE)))
    for name in databases:
        try:
            path = _take_snapshot(job, of_database(job.conninfo, name), name, send)
        except CatalogError as e:
            raise_if_interrupted()
            send(Failure(name, e.reason, int(e.exit_code)))
        except Exception as e:  # a bug in one database must not hide the others
            raise_if_interrupted()
            text = " ".join(str(e).split())[:300]
            send(Failure(name, f"internal error: {type(e).__name__}: {text}", int(Exit.INTERNAL)))
        else:
            send(NewSnapshot(name, path))
