"""Whether the values of an expression differ between rows: volatile functions."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.keys import fold
from gpcatalog.effects.outer_dependencies import SERVER_FUNCTIONS

# volatile functions of the server and of its usual extensions (pg_proc.provolatile)
VOLATILE = frozenset(
    """array_sample array_shuffle clock_timestamp currval gen_random_bytes gen_random_uuid gen_salt lastval nextval pg_sleep random
    random_normal setval timeofday uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 uuidv4 uuidv7""".split()
)
UNSURE = frozenset(("pg_size_pretty", "timezone"))  # volatile on Greenplum, not on PostgreSQL


def volatile(element: exp.Expression) -> bool | None:
    """Whether an expression calls a volatile function; None if it calls an unknown function."""
    calls = {
        (call.this if isinstance(call.this, str) else fold(call.this)).lower()
        for call in element.find_all(exp.Anonymous, gx.FunctionCall)
    }
    if calls & VOLATILE:
        return True
    return None if calls - (SERVER_FUNCTIONS - UNSURE) else False


def either(*values: bool | None) -> bool | None:
    """True if one of the values is true, None if one of the others is unknown."""
    return True if True in values else None if None in values else False
