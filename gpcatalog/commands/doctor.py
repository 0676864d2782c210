"""The command `doctor`: what this role can see of a server, and what to grant."""

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
from gpcatalog.model.names import quote_ident

if TYPE_CHECKING:
    from gpcatalog.doctor.result import Doctor, Facts
    from gpcatalog.probes.connection import Session


def _why(session: Session, probe: str, **values: str) -> str:
    """Why a probe does not answer; "" when it does."""
    from gpcatalog.probes.connection import ProbeFailed

    try:
        session.rows(probe, **values)
    except ProbeFailed as e:
        return e.reason
    return ""


def facts(session: Session) -> Facts:
    """Ask the server what the sections need to know.

    Raises ProbeFailed where even that is denied.
    """
    from gpcatalog.doctor.result import Facts

    greenplum = session.server.greenplum
    homes = session.rows("statements_schema")
    partman = [] if session.server.classic_partitions else session.rows("partman_home")
    utility: bool | None = None
    if greenplum:
        beside = session.utility()
        utility = beside is not None
        if beside is not None:
            beside.close()
    return Facts(
        privileges=session.rows("privileges")[0],
        statements=(
            bool(homes),
            (
                _why(
                    session,
                    "statements",
                    schema=quote_ident(homes[0]["schema"]),
                    schema_name=homes[0]["schema"],
                )
                if homes
                else ""
            ),
        ),
        partman=(
            (
                partman[0]["schema"],
                _why(
                    session,
                    "partman",
                    schema=partman[0]["schema"],
                    schema_name=partman[0]["schema_name"],
                ),
            )
            if partman
            else ("", "")
        ),
        utility=utility,
        lists=_why(session, "segment_files", oids="0") if greenplum else "",
        monitored=session.monitored,
        down=(
            sorted(r["content"] for r in session.rows("instances") if r["status"] != "u")
            if greenplum
            else ()
        ),
    )


def examine(session: Session) -> Doctor:
    """The examination of one session's role. Raises ProbeFailed."""
    from gpcatalog.doctor.result import Doctor, notes, sections

    found = facts(session)
    role, superuser = session.facts["role"], session.facts["superuser"]
    return Doctor(
        product=session.server.product,
        version=session.server.version,
        host=session.target["host"] or "",
        port=int(session.target["port"]),
        database=session.facts["database"],
        role=role,
        superuser=superuser,
        sections=sections(session.server, role, superuser, found),
        notes=notes(session.server, session.facts["standby"], superuser, found),
    )


def doctor(
    conninfo: Conninfo = "",
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 30.0,
    lock_timeout: LockTimeout = 1.0,
    create_role: Annotated[
        str,
        typer.Option(
            "--create-role",
            metavar="ROLE",
            help="Print the SQL of a role that is enough for audits of this server.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """What this role can see of a server, what reports would lack, and what to grant.

    Asks for privileges and settings only, in a read-only session; it grants nothing and writes
    nothing. The exit code is 0 where an audit can run, closed sections or not.

    --create-role prints SQL for a superuser to run: a role without superuser that sees all an audit
    needs. Nothing is run here.

    Example: gpcatalog doctor "host=mdw dbname=sales user=monitor"
    """
    from gpcatalog.probes.connection import ProbeFailed, connect

    with connect(conninfo, timeouts=options.timeouts(statement_timeout, lock_timeout)) as session:
        if create_role:
            from gpcatalog.doctor.result import create_role as sql_of
            from gpcatalog.probes import library

            body = library.part("monitor_role", session.server)
            streams.out(sql_of(session.server, session.facts["database"], create_role, body))
            return
        try:
            result = examine(session)
        except ProbeFailed as e:
            raise CatalogError(
                f"the server does not say what this role may read: {e.reason}",
                exit_code=Exit.UNREACHABLE,
            ) from None
    if format is Format.JSON:
        streams.as_json(result)
        return
    from gpcatalog.emit import doctor_text

    doctor_text.show(result, streams.console(color))
