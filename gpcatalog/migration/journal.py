"""The journal: a separate schema on the server with the finished operations, and the functions that
check, lock and compare.

Its SQL is in sql/journal/, in folders of server generations like the probes; `prepare` contains all
of it.
"""

from __future__ import annotations

import functools

from gpcatalog.model.server import Server
from gpcatalog.probes import library

SCHEMA = "gpcatalog_journal"
"""Schema of the journal, as in the files in sql/journal/."""
TABLES = ("step", "planned", "initial", "tally", "tree", "stage", "property", "upkeep")
_AREA = "journal"


def _filled(text: str, *, complete: bool, **values: str) -> str:
    """Fill placeholders, including those of `values`.

    complete: the proof checks everything in the schema; otherwise, its functions, and tables by
              name
    """
    names = ", ".join(f"'{name}'" for name in TABLES)
    # each name is looked up separately: for a list of names, Greenplum 6 would scan pg_class
    tables = (
        f"(SELECT pg_catalog.unnest(ARRAY[{names}]::name[]) AS name) w CROSS JOIN LATERAL (SELECT r.relnamespace,"
        " r.relowner, r.relhastriggers, r.relhasrules FROM pg_catalog.pg_class r WHERE r.relname = w.name OFFSET 0) c"
    )
    owned = tables
    if complete:
        owned = (
            "pg_catalog.pg_class c UNION ALL SELECT t.typnamespace, t.typowner FROM pg_catalog.pg_type t"
            " UNION ALL SELECT o.oprnamespace, o.oprowner FROM pg_catalog.pg_operator o"
        )
    return library.fill(text, tables=tables, owned=owned, ddl="true", oids="$1", **values)


@functools.cache
def proof() -> tuple[str, ...]:
    """Return PL/pgSQL that stops unless the journal belongs to the current role, and nobody else
    has privileges in it.

    Every transaction begins with it, because its statements call functions of the journal with the
    privileges of the current role. `prepare` checks everything in the schema. Later, only its owner
    can have added objects, so checks of its functions and of the tables by name are enough:
    pg_class and pg_type are not scanned.
    """
    text = (library.folder() / _AREA / "any" / "proof.part").read_text(
        encoding="utf-8"
    )  # the same on every server
    return tuple(_filled(text, complete=False).splitlines())


def prepare(server: Server) -> str:
    """Return SQL that creates the journal's schema, tables and functions in one transaction;
    running it again changes nothing.
    """
    return _filled(library.part("prepare", server, area=_AREA), complete=True)


def heartbeat(server: Server, **values: str) -> str:
    """Return SQL that records a run of upkeep with nothing to do, in one transaction. It stops if
    it runs on another day.

    values: plan (ID of the run) and day as literals; maintained and cover: tables that the policy
            maintains, and the days of cover that it requires, as arrays; tag: a dollar quote that
            no name contains; waiting: partitions that are due and exceed the limits
    """
    return _filled(library.part("heartbeat", server, area=_AREA), complete=True, **values)
