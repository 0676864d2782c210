"""The examination of the privileges of a role on a server, which `doctor` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcatalog.model.names import quote_ident

if TYPE_CHECKING:
    from gpcatalog.doctor.result import Doctor, Facts
    from gpcatalog.probes.connection import Session


def _probe_failure(session: Session, probe: str, **values: str) -> str:
    """The reason why a probe fails; "" if it succeeds."""
    from gpcatalog.probes.connection import ProbeFailed

    try:
        session.rows(probe, **values)
    except ProbeFailed as e:
        return e.reason
    return ""


def facts(session: Session) -> Facts:
    """Read the facts that the sections need from the server.

    Raises ProbeFailed if even these queries are denied.
    """
    from gpcatalog.doctor.result import Facts

    greenplum = session.server.greenplum
    homes = session.rows("statements_schema")
    partman = [] if session.server.classic_partitions else session.rows("partman_home")
    utility: bool | None = None
    if greenplum:
        utility_session = session.utility()
        utility = utility_session is not None
        if utility_session is not None:
            utility_session.close()
    return Facts(
        privileges=session.rows("privileges")[0],
        statements=(
            bool(homes),
            (
                _probe_failure(
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
                _probe_failure(
                    session,
                    "partman",
                    schema=partman[0]["schema"],
                    schema_name=partman[0]["schema_name"],
                ),
            )
            if partman
            else ("", "")
        ),
        upkeep=(True, _probe_failure(session, "upkeep_runs"))
        if session.rows("upkeep_home")
        else (False, ""),
        utility=utility,
        lists=_probe_failure(session, "segment_files", oids="0") if greenplum else "",
        monitored=session.monitored,
        down=(
            sorted(r["content"] for r in session.rows("instances") if r["status"] != "u")
            if greenplum
            else ()
        ),
    )


def examine(session: Session) -> Doctor:
    """Examine the role of a session. Raises ProbeFailed."""
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
        standby=session.facts["standby"],
    )
