"""The snapshots of a command: a given file, a new one, or a stored series."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gpcatalog.commands.streams import advice, kept, progress, progress_done
from gpcatalog.errors import CatalogError
from gpcatalog.model.folders import listed
from gpcatalog.model.output_file import regular
from gpcatalog.model.scope import Scope
from gpcatalog.services.series import place_for

if TYPE_CHECKING:
    from gpcatalog.model.file_choice import FileChoice
    from gpcatalog.probes.connection import Session, Timeouts


def _name_a_lesser_role(session: Session) -> None:
    """Advise a superuser, after the command has succeeded, how to create a role with fewer
    privileges.
    """
    if session.facts["superuser"]:
        role = session.facts["role"]
        advice.append(
            f"connected as superuser {role}, which is not necessary: gpcatalog doctor"
            " --create-role NAME prints the SQL for a role with fewer privileges"
        )


@contextlib.contextmanager
def snapshot_of(
    conninfo: str,
    snapshot: str = "",
    demo: bool = False,
    *,
    save: str = "",
    store: bool = True,
    timeouts: Timeouts | None = None,
    files: FileChoice | None = None,
    scope: Scope = Scope.PLAN,
) -> Iterator[Path]:
    """Yield the snapshot file of a command: the given one, or a new one of a server or of the demo.

    scope: what is read for a new snapshot that is not kept.

    Raises CatalogError (2) if more than one source is given, (3) if the server cannot be read.
    """
    if sum((bool(conninfo), bool(snapshot), demo)) > 1:
        raise CatalogError("give only one of CONNINFO, --snapshot and --demo")
    if snapshot:
        from gpcatalog.store import series
        from gpcatalog.store.snapshot import file_errors

        if save:
            raise CatalogError("--save cannot be combined with --snapshot")
        with file_errors(series.find(snapshot)) as path:
            yield path
        return
    if save:
        regular(Path(save))  # reported before the work
    from gpcatalog.probes.collect import collect
    from gpcatalog.probes.connection import connect

    with contextlib.ExitStack() as stack:
        if demo:
            from gpcatalog.lab.demo import demo_server

            conninfo = stack.enter_context(demo_server(progress)).conninfo("shop")
            progress("reading the catalog of the demo server")
        with connect(conninfo, timeouts=timeouts) as session:
            if files is not None and files.parallel and not session.server.greenplum:
                raise CatalogError(
                    "--parallel is for the segments of Greenplum, and this server is"
                    f" {session.server.product} {session.server.version}"
                )
            path = stack.enter_context(place_for(session, store=store and not demo, save=save))
            try:
                collect(
                    session,
                    path,
                    progress,
                    scope=Scope.STORED if save or (store and not demo) else scope,
                    files=files,
                )
            finally:
                progress_done()
            if save or (store and not demo):
                kept.append(str(path))
            if not demo:
                _name_a_lesser_role(session)
        yield path


def files_of(conninfo: str, folder: Path | None) -> list[Path]:
    """Return the snapshot files of the chosen series: of a folder, of a connection, or of the only
    stored series.

    Raises CatalogError (2) if there is none, or if there are several and none is chosen.
    """
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import SUFFIX

    if folder is not None:
        if conninfo:
            raise CatalogError("give a connection or --folder, not both")
        found = listed(folder, f"*{SUFFIX}")
        if not found:
            raise CatalogError(
                f"there is no snapshot in {folder}",
                hint=(f"names of snapshot files end in {SUFFIX}"),
            )
        return found
    if conninfo:
        from gpcatalog.probes.target import target

        where = target(conninfo)
        place = series.folder(where.host or "local", where.port, where.database)
        found = [stored.path for stored in series.snapshots(place)]
        if not found:
            raise CatalogError(
                f"{place} has no snapshot of {where.database}",
                hint="`gpcatalog snapshot list` shows the stored snapshots",
            )
        return found
    places = {stored.path.parent for stored in series.snapshots()}
    if len(places) == 1:
        return [stored.path for stored in series.snapshots(places.pop())]
    if not places:
        raise CatalogError(
            "there is no stored snapshot",
            hint="take a snapshot every day: `gpcatalog snapshot take`",
        )
    names = ", ".join(sorted(f"{p.parent.name} {p.name}" for p in places)[:6])
    raise CatalogError(
        f"there are {len(places)} stored series: {names}",
        hint="choose one with CONNINFO or --folder",
    )
