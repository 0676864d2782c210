"""The journal: a schema of its own on the server that has what was done, and the functions that
guard, lock and compare.

Its SQL is in sql/journal/, in folders of server generations like the probes; `prepare` is the whole
of it.
"""

from __future__ import annotations

import functools

from gpcatalog.model.server import Server
from gpcatalog.probes import library

SCHEMA = "gpcatalog_journal"
"""Schema of the journal, as the files in sql/journal/ spell it."""
TABLES = ("step", "planned", "initial", "tally", "tree", "stage", "property", "upkeep")
_AREA = "journal"


def _filled(text: str, *, whole: bool, **values: str) -> str:
    """Fill placeholders, those of `values` among them.

    whole: the proof looks at everything in the schema, else at its functions and at tables by name.
    """
    names = ", ".join(f"'{name}'" for name in TABLES)
    # each is looked up by itself: Greenplum 6 would scan pg_class for a list of names
    tables = (
        f"(SELECT pg_catalog.unnest(ARRAY[{names}]::name[]) AS name) w CROSS JOIN LATERAL (SELECT r.relnamespace,"
        " r.relowner, r.relhastriggers, r.relhasrules FROM pg_catalog.pg_class r WHERE r.relname = w.name OFFSET 0) c"
    )
    owned = tables
    if whole:
        owned = (
            "pg_catalog.pg_class c UNION ALL SELECT t.typnamespace, t.typowner FROM pg_catalog.pg_type t"
            " UNION ALL SELECT o.oprnamespace, o.oprowner FROM pg_catalog.pg_operator o"
        )
    return library.fill(text, tables=tables, owned=owned, ddl="true", oids="$1", **values)


@functools.cache
def proof() -> tuple[str, ...]:
    """Return PL/pgSQL that stops unless the journal belongs to the current role, and nobody else
    has rights in it.

    Every transaction begins with it: what follows calls functions of the journal with the rights of
    the current role. `prepare` looks at everything in the schema. Later only its owner can have
    added to it, so its functions and the tables by name are enough: pg_class and pg_type are not
    scanned.
    """
    text = (library.folder() / _AREA / "any" / "proof.part").read_text(
        encoding="utf-8"
    )  # the same on every server
    return tuple(_filled(text, whole=False).splitlines())


def prepare(server: Server) -> str:
    """Return SQL that creates the journal's schema, tables and functions in one transaction;
    running it again changes nothing.
    """
    return _filled(library.part("prepare", server, area=_AREA), whole=True)


def heartbeat(server: Server, **values: str) -> str:
    """Return SQL that records a run of upkeep with nothing to do, in one transaction; it stops on
    another day.

    values: plan (id of the run) and day as literals; maintained and cover: what the policy maintains
            and the days of cover that it asks for, as arrays; tag: a dollar quote that no name holds; waiting: partitions
            that are due and exceed the limits
    """
    return _filled(library.part("heartbeat", server, area=_AREA), whole=True, **values)
