"""What VACUUM FULL of a catalog can damage, by server version, and how a script prevents it.

A session without a valid pg_internal.init reads pg_attribute from the front until it has the rows
of eleven relations, which initdb wrote first. VACUUM FULL may begin where another scan is (a
synchronized scan). Then these rows come last in the new file, and every such session start reads
the whole catalog eleven times (PostgreSQL 15: 28,411 pages instead of 400, of 4,963).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpcatalog.audit.report import ServerFacts
from gpcatalog.capacity import limits, session_start
from gpcatalog.model import generations

_DISPLACED = int(limits.BOOTSTRAP_ROWS_DISPLACED.value)
_BLOCK = "pg_catalog.current_setting('block_size')::bigint"
_LAST = "pg_catalog.max((a.ctid::text::point)[0])::bigint + 1"
_ROWS = f"a.attrelid IN ({session_start.OIDS}) AND a.attnum > 0"
_INDEX = "pg_attribute_relid_attnum_index"


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """A problem of VACUUM FULL on catalogs. before: the first version without it; None: no
    version.
    """

    generations: tuple[str, ...]
    before: tuple[int, int] | None
    text: str
    source: str


HAZARDS = (
    Hazard(
        generations=("gp6",),
        before=(6, 11),
        text="an interrupted VACUUM FULL can leave a wrong relfrozenxid in pg_class",
        source="gpdb issues 10933, 12400; fixed in 6.11",
    ),
    Hazard(
        generations=("gp6",),
        before=None,
        text="external tables can return to an older definition",
        source="gpdb issue 10848, reported for 6.7.1; the release that fixes it is not known",
    ),
    Hazard(
        generations=("gp6",),
        before=(6, 24),
        text=(
            "it can move the first rows of pg_attribute to the end, which slows session starts;"
            " this script prevents it"
        ),
        source="gpdb issue 13453; fixed in 6.24",
    ),
    Hazard(
        generations=("pg12", "pg13", "pg14"),
        before=None,
        text=(
            "VACUUM FULL of pg_class during DDL can crash the server and leave duplicate rows: let"
            " no DDL run"
        ),
        source="timescaledb issues 3188, 3924, reported for PostgreSQL 12.4, 12.5 and 14.1",
    ),
    Hazard(
        generations=tuple(
            f"pg{major}" for major in range(generations.OLDEST, generations.NEWEST + 1)
        ),
        before=None,
        text=(
            "it can move the first rows of pg_attribute to the end, which slows session starts;"
            " this script prevents it"
        ),
        source="measured on PostgreSQL 15, 18 and 19",
    ),
)


def hazards(server: ServerFacts) -> list[Hazard]:
    """The known problems of this server's version; all of its generation if the version has no
    number.
    """
    number = re.match(r"(\d+)\.(\d+)", server.version)
    version = (int(number[1]), int(number[2])) if number else (0, 0)
    return [
        h
        for h in HAZARDS
        if server.generation in h.generations and (h.before is None or version < h.before)
    ]


def settings() -> list[str]:
    """Settings that keep VACUUM FULL from moving rows."""
    return [
        "-- a VACUUM FULL that begins in the middle of a catalog would move its first rows to the end",
        "SET synchronize_seqscans = off;",
    ]


def row_order(server: ServerFacts) -> tuple[list[str], str]:
    """Return comments, and a statement that checks the position of the rows that sessions need
    first and moves them back; without its semicolon.

    On PostgreSQL, CLUSTER moves them if the role is a superuser; otherwise, a warning contains the
    command. Greenplum cannot dispatch this CLUSTER: warnings contain the command for each instance.
    """
    found = generations.find(server.generation)
    lines = (
        _on_one_server()
        if found is None or not found.greenplum
        else _on_instances("gp_session_role" if found.classic else "gp_role")
    )
    begin = lines.index("DO $gpcatalog$")
    return lines[:begin], "\n".join(lines[begin:]).removesuffix(";")


def _on_one_server() -> list[str]:
    cluster = f"CLUSTER pg_catalog.pg_attribute USING {_INDEX}"
    return [
        "-- CLUSTER locks pg_attribute in mode AccessExclusive for about as long as VACUUM FULL of it",
        "DO $gpcatalog$",
        "DECLARE",
        "    pages_read bigint;",
        "BEGIN",
        "    SELECT pg_catalog.sum(r.pages) INTO pages_read",
        f"      FROM (SELECT {_LAST} AS pages FROM pg_catalog.pg_attribute a",
        f"             WHERE {_ROWS}",
        "             GROUP BY a.attrelid) r;",
        f"    IF pages_read * {_BLOCK} >= {_DISPLACED} THEN",
        "        IF pg_catalog.current_setting('is_superuser') = 'on' THEN",
        f"            EXECUTE '{cluster}';",
        "        ELSE",
        (
            "            RAISE WARNING 'sessions start slowly: each start reads % pages of"
            f" pg_attribute. Run as superuser: SET lock_timeout = ''60s''; {cluster}', pages_read;"
        ),
        "        END IF;",
        "    END IF;",
        "END",
        "$gpcatalog$;",
    ]


def _on_instances(role_setting: str) -> list[str]:
    return [
        (
            "-- Greenplum cannot dispatch CLUSTER of pg_attribute. A warning shows the command for"
            " each instance that needs it;"
        ),
        "-- it locks pg_attribute of that instance in mode AccessExclusive, as VACUUM FULL does",
        "DO $gpcatalog$",
        "DECLARE",
        "    found record;",
        "BEGIN",
        "    FOR found IN",
        "        SELECT i.content, i.hostname, i.port, o.pages",
        "          FROM (SELECT r.content, pg_catalog.sum(r.pages)::bigint AS pages",
        f"                  FROM (SELECT -1 AS content, {_LAST} AS pages",
        "                          FROM pg_catalog.pg_attribute a",
        f"                         WHERE {_ROWS}",
        "                         GROUP BY a.attrelid",
        "                        UNION ALL",
        f"                        SELECT a.gp_segment_id, {_LAST}",
        "                          FROM gp_dist_random('pg_catalog.pg_attribute') a",
        f"                         WHERE {_ROWS}",
        "                         GROUP BY a.gp_segment_id, a.attrelid) r",
        "                 GROUP BY r.content) o",
        "          JOIN pg_catalog.gp_segment_configuration i",
        "            ON i.content = o.content AND i.role = 'p'",
        f"         WHERE o.pages * {_BLOCK} >= {_DISPLACED}",
        "         ORDER BY i.content",
        "    LOOP",
        (
            "        RAISE WARNING 'sessions start slowly on content %: each start reads % pages of"
            f" pg_attribute. Run: PGOPTIONS=''-c {role_setting}=utility -c lock_timeout=60s'' psql -h %"
            " -p % -d DATABASE"
            f" -c ''CLUSTER pg_catalog.pg_attribute USING {_INDEX}''',"
        ),
        "            found.content, found.pages, found.hostname, found.port;",
        "    END LOOP;",
        "END",
        "$gpcatalog$;",
    ]
