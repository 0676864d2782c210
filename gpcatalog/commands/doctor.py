"""The command `doctor`: the privileges of a role on a server, and the missing GRANTs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import options, streams
from gpcatalog.commands.options import (
    ColorChoice,
    Colour,
    Conninfo,
    Format,
    LockTimeout,
    OutputFormat,
    StatementTimeout,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.services.examination import examine

if TYPE_CHECKING:
    from gpcatalog.probes.connection import Session


def _role_script(session: Session, role: str) -> str:
    """The SQL of --create-role for this server. Raises CatalogError (2) for a superuser."""
    from gpcatalog.doctor.result import ExistingRole, create_role
    from gpcatalog.model.names import quote_literal
    from gpcatalog.probes import library

    found = session.rows("named_role", role_literal=quote_literal(role))
    existing = ExistingRole(**found[0]) if found else None
    body = library.part("monitor_role", session.server)
    database, standby = session.facts["database"], session.facts["standby"]
    return create_role(session.server, database, role, body, existing, standby=standby)


def doctor(
    conninfo: Conninfo = "",
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 30.0,
    lock_timeout: LockTimeout = 1.0,
    create_role: Annotated[
        str | None,
        typer.Option(
            "--create-role",
            metavar="ROLE",
            help="Print the SQL that creates a role for audits of this server.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check which privileges are missing, and print their GRANT.

    Runs in a read-only session and changes nothing. The exit code is 0 if an audit can run, even
    if parts of it cannot be read.

    --create-role prints SQL for a superuser to run. It creates a role without superuser that can
    read everything an audit needs.

    Example: gpcatalog doctor "host=mdw dbname=sales user=monitor"
    """
    from gpcatalog.doctor.result import check_role_name
    from gpcatalog.probes.connection import ProbeFailed, connect

    if create_role is not None:
        check_role_name(create_role)

    with connect(conninfo, timeouts=options.timeouts(statement_timeout, lock_timeout)) as session:
        if create_role is not None:
            streams.out(_role_script(session, create_role))
            return
        try:
            result = examine(session)
        except ProbeFailed as e:
            raise CatalogError(
                f"cannot read the privileges of this role: {e.reason}",
                exit_code=Exit.UNREACHABLE,
            ) from None
    if format is Format.JSON:
        streams.as_json(result)
        return
    from gpcatalog.emit import doctor_text

    doctor_text.show(result, streams.console(color))
