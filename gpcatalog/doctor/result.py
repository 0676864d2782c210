"""The result of `gpcatalog doctor`, and the functions that compute sections with GRANTs from facts.

This module does not contact a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gpcatalog.errors import CatalogError
from gpcatalog.model.names import printable, quote_ident, quote_literal
from gpcatalog.model.quantity import plural
from gpcatalog.model.server import OF_OTHERS, Server

SCHEMA = "gpcatalog.doctor/1"
# catalogs whose rows an audit would count and measure; the other unreadable catalogs contain
# confidential data or almost no rows
_COUNTED = ("pg_statistic",)
_FEW = 5  # fewer free connections than this may not be enough for an audit, which uses up to three


class Section(msgspec.Struct, frozen=True):
    """One part of what the program reads.

    name:  of the part; open: whether this role can read all of it
    why:   the obstacle, or what makes it readable; lost: what is missing in reports without it, ""
           if open
    grant: SQL statements with which a superuser can make the part readable; empty if there are none
    """

    name: str
    open: bool
    why: str
    lost: str = ""
    grant: tuple[str, ...] = ()


class Doctor(msgspec.Struct, kw_only=True, frozen=True):
    """The server, the role, and every section.

    notes: additional information: current timeouts, free connections, segments that are down
    standby: whether the server is a standby; the GRANTs must then be run on its primary
    """

    product: str
    version: str
    host: str
    port: int
    database: str
    role: str
    superuser: bool
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    standby: bool = False
    schema: str = SCHEMA


class Facts(msgspec.Struct, kw_only=True, frozen=True):
    """The facts that were read from the server.

    privileges:  the row of the probe of that name
    statements:  whether pg_stat_statements is installed, and why it could not be read ("" if it was
                 read)
    upkeep:      whether there is a journal of upkeep, and why it could not be read
    partman:     schema of pg_partman ("" if it is not installed), and why its configuration could
                 not be read
    utility:     whether the entry instance accepts a session in utility mode; None on PostgreSQL
    lists:       why the segment file lists cannot be read, "" if they can
    down:        content ids of instances that are down
    monitored:   whether the role reads through schema gpcatalog_monitor
    """

    privileges: Mapping[str, Any]
    statements: tuple[bool, str] = (False, "")
    partman: tuple[str, str] = ("", "")
    upkeep: tuple[bool, str] = (False, "")
    utility: bool | None = None
    lists: str = ""
    down: Sequence[int] = ()
    monitored: bool = False


_LONGEST_NAME = 63  # bytes; the server cuts longer names
_RESERVED = ("public", "none")


class ExistingRole(msgspec.Struct, kw_only=True, frozen=True):
    """A role that the server already has.

    superuser:  whether it is a superuser
    superusers: superusers whose member it is, separated by commas; empty if there are none
    owned:      number of objects that it owns in all databases
    """

    superuser: bool
    superusers: str
    owned: int


def check_role_name(role: str) -> None:
    """Raise CatalogError (2) for a name that the script of create_role cannot contain."""
    if not role.strip() or "\x00" in role or "$gpcatalog$" in role:
        raise CatalogError(
            f"--create-role: {role!r} is not a valid role name",
            hint="use letters, digits and underscores",
        )
    if role in _RESERVED or role.startswith("pg_"):
        raise CatalogError(
            f"--create-role: the role name {printable(role)} is reserved",
            hint="choose another name; names that begin with pg_ belong to the server",
        )
    if len(role.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        raise CatalogError(
            f"--create-role: the role name is longer than {_LONGEST_NAME} bytes",
            hint="choose a shorter name",
        )


def _head_of_new(server: Server, role: str) -> list[str]:
    """Lines about a role that the script creates."""
    return [
        (
            f"Role {printable(role)} for gpcatalog on {server.product} {server.version}: it can"
            " read what an audit needs and is not a superuser."
        ),
        (
            "It can read system catalogs, statistics, and names, sizes and times of files. It"
            " cannot read user tables, query texts"
        ),
        "or sample values of columns.",
    ]


def _head_of_existing(server: Server, role: str, existing: ExistingRole) -> list[str]:
    """Lines about a role that exists already, with warnings about what it can do."""
    name = printable(role)
    lines = [
        (
            f"Privileges for gpcatalog on {server.product} {server.version}. Role {name} exists"
            " already and is not a superuser."
        ),
        "This file does not create the role. It changes the role as follows:",
        "- default_transaction_read_only = on: programs that write with this role fail",
        (
            "- it can also read system catalogs, statistics, and names, sizes and times of files,"
            " as granted below"
        ),
        "Its other settings, memberships and privileges do not change.",
    ]
    if existing.superusers:
        lines.append(
            f"WARNING: {name} is a member of a superuser ({printable(existing.superusers)}): with"
            " SET ROLE it can do everything."
        )
    if existing.owned:
        objects = plural(existing.owned, "object")
        lines.append(
            f"WARNING: {name} owns {objects}, so it can read and change what they contain. A role"
            " for gpcatalog alone is safer."
        )
    return lines


def create_role(
    server: Server,
    database: str,
    role: str,
    body: str,
    existing: ExistingRole | None = None,
    *,
    standby: bool = False,
) -> str:
    """Return the SQL that gives a role without superuser everything an audit of this server reads.
    It creates the role if it does not exist.

    body: the part monitor_role of the server's SQL; existing: the role, None if there is none of
    this name; standby: whether the server is a standby, which cannot run the script. Raises
    CatalogError (2) for a name that cannot be used in the script, and for a superuser.
    """
    check_role_name(role)
    if existing is not None and existing.superuser:
        raise CatalogError(
            f"--create-role: role {printable(role)} exists and is a superuser",
            hint="choose another name; the script would make the sessions of this role read-only",
        )
    lines = [
        *(
            _head_of_new(server, role)
            if existing is None
            else _head_of_existing(server, role, existing)
        ),
        "",
        *(["This server is a standby. Run this file on its primary."] if standby else []),
        (
            "Run this file as superuser in every database that you want to audit; this one is"
            f" for {printable(database)}:"
        ),
        "    psql -X -v ON_ERROR_STOP=1 -f FILE",
        (
            "Set a password for the role, or add a line to pg_hba.conf. Running the file again"
            " changes nothing."
        ),
        (
            "To remove the role: DROP SCHEMA gpcatalog_monitor CASCADE, then DROP OWNED BY and"
            " DROP ROLE."
        )
        if existing is None
        else (
            "To undo it: DROP SCHEMA gpcatalog_monitor CASCADE, ALTER ROLE with RESET"
            " default_transaction_read_only, and REVOKE for each GRANT."
        ),
    ]
    head = "".join(f"-- {line}".rstrip() + "\n" for line in lines)
    values = {
        "role": quote_ident(role),
        "role_literal": quote_literal(role),
        "database": quote_ident(database),
    }
    for name, value in values.items():
        body = body.replace("{" + name + "}", value)
    return f"{head}\n{body}"


def sections(server: Server, role: str, superuser: bool, facts: Facts) -> tuple[Section, ...]:
    """Return all sections of this server, with what this role can read of each.

    role: its name as in the catalog, unquoted
    """
    to = quote_ident(role)
    open_by = (
        "superuser"
        if superuser
        else "schema gpcatalog_monitor"
        if server.classic_partitions
        else "EXECUTE on pg_ls_dir and pg_stat_file"
    )
    found = [
        Section("catalogs, tables, partitions, keys, limits", True, "CONNECT is enough"),
        _file_sizes(server, to, open_by, facts),
        _statistic_size(to, facts),
        _sessions(server, to, facts, open_by=open_by, superuser=superuser),
    ]
    if server.greenplum:
        found += [
            _segment_file_lists(to, facts),
            _auxiliary_rows(superuser=superuser),
            _utility_mode(facts),
        ]
    found.append(_counted_statements(facts))
    if facts.partman[0]:
        found.append(_partman(to, facts))
    if facts.upkeep[0]:
        found.append(_upkeep(to, facts))
    return tuple(found)


def _file_sizes(server: Server, to: str, open_by: str, facts: Facts) -> Section:
    """Whether directories can be listed and their files measured.

    to: the role, quoted; open_by: what makes the files readable if they are
    """
    classic = server.classic_partitions
    functions = (
        ("pg_ls_dir(text)", facts.privileges["list_directories"]),
        ("pg_stat_file(text, boolean)", facts.privileges["stat_files"]),
    )
    missing = [] if classic and facts.monitored else [name for name, open in functions if not open]
    if not missing:
        return Section("files and their bytes", True, open_by)
    return Section(
        "files and their bytes",
        False,
        (
            "Greenplum 6 allows only superusers to list directories; see --create-role"
            if classic
            else f"no EXECUTE on {' and '.join(missing)}"
        ),
        "zero-size files, forks, orphaned files and the size of heap tables; "
        + (
            "empty leaves are determined from segment file lists"
            if server.greenplum
            else "empty leaves are estimated from statistics"
        ),
        (
            ()
            if classic
            else tuple(f"GRANT EXECUTE ON FUNCTION pg_catalog.{name} TO {to};" for name in missing)
        ),
    )


def _statistic_size(to: str, facts: Facts) -> Section:
    """Whether the rows of pg_statistic can be counted and measured."""
    denied = [
        name
        for name in str(facts.privileges["denied_catalogs"]).split()
        if name in _COUNTED and not facts.monitored
    ]
    return Section(
        "size of pg_statistic",
        not denied,
        (
            "no SELECT on pg_statistic"
            if denied
            else "schema gpcatalog_monitor"
            if facts.monitored
            else "SELECT on the catalog"
        ),
        "number of rows and reclaimable bytes of pg_statistic" if denied else "",
        tuple(
            (
                f"GRANT SELECT ON pg_catalog.{name} TO {to}; -- it contains sample values of"
                " every column"
            )
            for name in denied
        ),
    )


def _sessions(server: Server, to: str, facts: Facts, *, open_by: str, superuser: bool) -> Section:
    """Whether the sessions of other roles are visible."""
    classic = server.classic_partitions
    if facts.privileges["all_sessions"] or (classic and facts.monitored):
        return Section(
            "sessions of other roles",
            True,
            open_by if superuser or classic else "pg_read_all_stats",
        )
    return Section(
        "sessions of other roles",
        False,
        (
            "Greenplum 6 shows them only to superusers; see --create-role"
            if classic
            else "not a member of pg_read_all_stats"
        ),
        (
            "sessions with old transactions, and sessions that wait for DDL"
            if classic
            else "how long their transactions are open, and sessions that wait for DDL"
        ),
        () if classic else (f"GRANT pg_read_all_stats TO {to};",),
    )


def _segment_file_lists(to: str, facts: Facts) -> Section:
    """Whether gp_toolkit lists the segment files of append-optimized tables."""
    return Section(
        "segment file lists",
        not facts.lists,
        facts.lists or "gp_toolkit is readable",
        (
            "comparison of the files of append-optimized tables with their segment file lists"
            if facts.lists
            else ""
        ),
        (f"GRANT USAGE ON SCHEMA gp_toolkit TO {to};",) if "schema" in facts.lists else (),
    )


def _auxiliary_rows(*, superuser: bool) -> Section:
    """Whether the rows of auxiliary relations can be counted."""
    return Section(
        "rows of auxiliary relations",
        superuser,
        "superuser" if superuser else "only superusers can read schema pg_aoseg",
        ""
        if superuser
        else "reclaimable bytes of segment file lists, visibility maps and block directories",
    )


def _utility_mode(facts: Facts) -> Section:
    """Whether the coordinator accepts sessions in utility mode."""
    return Section(
        "statistics of the coordinator alone",
        bool(facts.utility),
        (
            "a session in utility mode is possible"
            if facts.utility
            else "the coordinator rejects sessions in utility mode"
        ),
        (
            ""
            if facts.utility
            else ("nothing, but dispatched statements read the coordinator, which takes longer")
        ),
    )


def _counted_statements(facts: Facts) -> Section:
    """Whether pg_stat_statements provides the duration of DDL."""
    installed, why = facts.statements
    return Section(
        "DDL counted by pg_stat_statements",
        installed and not why,
        why
        or (
            "the extension is readable"
            if installed
            else "the extension is not installed in this database"
        ),
        "" if installed and not why else "duration of past DDL",
        (
            ()
            if installed
            else (
                (
                    "CREATE EXTENSION pg_stat_statements; -- pg_stat_statements must be in"
                    " shared_preload_libraries"
                ),
            )
        ),
    )


def _readable(name: str, why: str, schema: str, table: str, lost: str, to: str) -> Section:
    """Whether a table of an extension or of the journal can be read.

    why: the reason why it could not be read, empty if it was read; lost: what is missing without it
    """
    grants = (
        f"GRANT USAGE ON SCHEMA {schema} TO {to};",
        f"GRANT SELECT ON {schema}.{table} TO {to};",
    )
    if not why:
        return Section(name, True, f"SELECT on {table}")
    if why.endswith(OF_OTHERS):  # no privilege helps
        return Section(name, False, f"{why}; only that role reads it", lost)
    return Section(name, False, why, lost, grants)


def _partman(to: str, facts: Facts) -> Section:
    """Whether the configuration of an installed pg_partman can be read."""
    schema, why = facts.partman
    lost = "plans that reconfigure pg_partman"
    return _readable("pg_partman's configuration", why, schema, "part_config", lost, to)


def _upkeep(to: str, facts: Facts) -> Section:
    """Whether the journal of upkeep can be read."""
    _, why = facts.upkeep
    lost = "runs of upkeep that failed or are overdue, and the cover that its policy asks for"
    return _readable("runs of upkeep", why, "gpcatalog_journal", "upkeep", lost, to)


def notes(server: Server, standby: bool, superuser: bool, facts: Facts) -> tuple[str, ...]:
    """Notes for an audit of this server."""
    has = facts.privileges
    free = (
        int(has["max_connections"])
        - int(has["sessions"])
        - (0 if superuser else int(has["reserved"]))
    )
    lines = [
        (
            f"session settings: statement_timeout {has['statement_timeout']}, lock_timeout"
            f" {has['lock_timeout']}, default_transaction_read_only {has['read_only']}"
        ),
        f"{free} of {has['max_connections']} connections are free for this role; an audit uses up"
        " to 3" + (", so there are too few" if free < _FEW else ""),
    ]
    if standby:
        lines.append(
            "this server is a standby: sizes are those of the standby, and active"
            " DDL (--allow-ddl) is not possible. Roles, privileges and extensions are created on"
            " the primary"
        )
    if facts.down:
        lines.append(
            f"segments down: {', '.join(str(c) for c in facts.down)}; an audit can read the"
            " segments only when all are up"
        )
    if superuser:
        lines.append(
            "an audit does not need a superuser: `gpcatalog doctor --create-role NAME` prints"
            " the SQL for a role with the necessary privileges"
            + (", to run on the primary" if standby else "")
        )
    return tuple(lines)
