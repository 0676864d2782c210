"""Session settings that must be in force on every connection, and the check of these settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SEARCH_PATH = "pg_catalog, pg_temp"
"""No other role can create an object on this path: pg_temp is last, and it is not searched for
functions and operators.
"""

EVENT_TRIGGERS_OFF = "-c event_triggers=off"
"""PostgreSQL 17 and later, for superusers: a login event trigger runs before the first statement,
therefore this is set in the startup packet.
"""


@dataclass(frozen=True, kw_only=True)
class Guard:
    """One setting and the value that a session depends on.

    since: server_version_num of the first version with this setting; 0 means all supported
           versions. Settings with since = 0 are part of every startup packet. The others are set
           after the version is known: a server refuses a startup packet with an unknown setting.
    """

    name: str
    value: str
    since: int = 0


def guards(*, statement_ms: int, lock_ms: int, read_only: bool = True) -> tuple[Guard, ...]:
    """Return the settings of a session whose statements may take `statement_ms` and wait `lock_ms`
    milliseconds for a lock.
    """
    mode = "on" if read_only else "off"
    return (
        # name resolution
        Guard(name="search_path", value=SEARCH_PATH),
        # what a statement may do, and how long
        Guard(name="default_transaction_read_only", value=mode),
        Guard(name="default_transaction_isolation", value="read committed"),
        Guard(name="default_transaction_deferrable", value="off"),
        Guard(name="statement_timeout", value=f"{statement_ms}ms"),
        Guard(name="lock_timeout", value=f"{lock_ms}ms"),
        # interpretation of the text of a statement and of its result
        Guard(name="standard_conforming_strings", value="on"),
        Guard(name="quote_all_identifiers", value="off"),
        Guard(name="transform_null_equals", value="off"),
        Guard(name="bytea_output", value="hex"),
        Guard(name="DateStyle", value="ISO, MDY"),
        Guard(name="IntervalStyle", value="postgres"),
        Guard(name="TimeZone", value="UTC"),
        # bounds of a float key must have the same precision as in scripts, which use the same
        # setting
        Guard(name="extra_float_digits", value="3"),
        Guard(name="client_min_messages", value="warning"),
        # with Greenplum's default of 100, a whole catalog is read for a few of its rows
        Guard(name="random_page_cost", value="1.1"),
        # the planner does not know how many partitions a recursive query returns, and would sort
        # whole catalogs to merge them. Off is Greenplum's default
        Guard(name="enable_mergejoin", value="off"),
        # settings of later versions
        Guard(name="row_security", value="off", since=90500),
        Guard(name="idle_in_transaction_session_timeout", value="1min", since=90600),
        Guard(name="jit", value="off", since=110000),
        # hash tables of some hundred thousand partitions fit; what a server allows its own sessions
        # can be much more. Greenplum has statement_mem for this
        Guard(name="work_mem", value="32MB", since=130000),
        Guard(name="idle_session_timeout", value="0", since=140000),
        Guard(name="transaction_timeout", value="0", since=170000),
    )


def startup_options(settings: tuple[Guard, ...], version_num: int = 0) -> str:
    """Return the value of the connection parameter `options` that sets all settings that this
    version is known to have.

    >>> wanted = (Guard(name="search_path", value="pg_catalog, pg_temp"), Guard(name="jit", value="off", since=110000))
    >>> startup_options(wanted)
    '-c search_path=pg_catalog,\\\\ pg_temp'
    >>> startup_options(wanted, 120000)
    '-c search_path=pg_catalog,\\\\ pg_temp -c jit=off'
    """
    return " ".join(
        f"-c {g.name}=" + re.sub(r"([\\\s])", r"\\\1", g.value)
        for g in settings
        if g.since <= version_num
    )


def check_statement(settings: tuple[Guard, ...], version_num: int = 0) -> str:
    """Return the first statement of a session: it reads the settings that this version is known to
    have, and the process id.

    It contains no operator and no relation, so its meaning does not depend on search_path.
    """
    names = [g.name for g in settings if g.since <= version_num]
    values = ", ".join(
        f"pg_catalog.current_setting('{n}') AS \"{n}\"" for n in [*names, "client_encoding"]
    )
    return f"/* gpcatalog:guards */ SELECT pg_catalog.pg_backend_pid() AS pid, {values}"


def later_statement(settings: tuple[Guard, ...], version_num: int) -> str:
    """Return the statement that sets the settings that only this version of PostgreSQL has.

    Not for Greenplum: it sends every setting to all segments, and fails if one is down.
    """
    pairs = [(g.name, g.value) for g in settings if g.since and version_num >= g.since]
    if version_num >= 140000:
        # during execution the server detects that its client was killed, and ends the statement
        pairs.append(("client_connection_check_interval", "2s"))
    calls = ", ".join(f"pg_catalog.set_config('{n}', '{v}', false) AS \"{n}\"" for n, v in pairs)
    return f"/* gpcatalog:guards */ SELECT {calls or '1'}"


_UNITS = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _normal(value: str) -> str:
    """Normalize values with the same meaning: times in milliseconds, lists without spaces.

    >>> _normal("2min") == _normal("120000ms"), _normal("ISO, MDY") == _normal("iso,mdy"), _normal("0")
    (True, True, '0')
    """
    time = re.fullmatch(r"(\d+)(us|ms|s|min|h|d)", value)
    if time:
        return f"{int(time[1]) * _UNITS[time[2]]:g}"
    return re.sub(r"\s*,\s*", ",", value.strip()).lower()


def not_in_force(
    settings: tuple[Guard, ...], found: Mapping[str, object], version_num: int = 0
) -> list[str]:
    """Return the names of settings of this version whose value differs from the required one.

    >>> wanted = guards(statement_ms=60_000, lock_ms=1000)
    >>> found = {g.name: g.value for g in wanted} | {"statement_timeout": "1min", "lock_timeout": "0", "client_encoding": "UTF8"}
    >>> not_in_force(wanted, found)
    ['lock_timeout']
    """
    wrong = [
        g.name
        for g in settings
        if g.since <= version_num and _normal(str(found.get(g.name))) != _normal(g.value)
    ]
    return wrong + (["client_encoding"] if found.get("client_encoding") != "UTF8" else [])
