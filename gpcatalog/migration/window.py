"""A maintenance script in which no step begins that would not end within a time window.

The script works with the psql of Greenplum 6: a query selects the text of the next statement, and
psql runs this text. Finished steps are not recorded: the audit of the next night finds what is
left, in order of gain. Therefore, a script that is older than a night is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gpcatalog.model.names import printable, quote_literal
from gpcatalog.model.quantity import duration

LOCK = (1735420787, 1)
"""Key of the advisory lock of maintenance scripts: ASCII "gpcs", and 1."""
FRESH_HOURS = 20  # maximum age of the audit for which its order of gain is used
_NOW = "pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())"


def alone() -> list[str]:
    """Statements that end the script on a standby, and if another maintenance script runs in this
    database.
    """
    return [
        "\\set ON_ERROR_STOP on",
        "DO $gpcatalog$",
        "DECLARE",
        "    attempts int := 0;",
        "BEGIN",
        "    IF pg_catalog.pg_is_in_recovery() THEN",
        "        RAISE EXCEPTION 'this server is a standby; run this script on the primary';",
        "    END IF;",
        "    -- two scripts at once would wait for each other; a session that has just ended keeps its"
        " lock for a moment",
        f"    WHILE NOT pg_catalog.pg_try_advisory_lock({LOCK[0]}, {LOCK[1]}) LOOP",
        "        attempts := attempts + 1;",
        "        IF attempts > 20 THEN",
        "            RAISE EXCEPTION 'another maintenance script is running in this database';",
        "        END IF;",
        "        PERFORM pg_catalog.pg_sleep(0.1);",
        "    END LOOP;",
        "END",
        "$gpcatalog$;",
    ]


# prepared transactions, and sessions in a transaction of some seconds, that hold locks of DDL:
# REINDEX of a catalog may wait for their end, and blocks all DDL while it waits
_WAITED_FOR = (
    "(SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON"
    " a.pid = l.pid WHERE l.granted AND l.locktype IN ('relation', 'object') AND l.database = (SELECT"
    " d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) AND l.mode"
    " NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock') AND (l.pid IS NULL OR (a.pid <>"
    " pg_catalog.pg_backend_pid() AND a.backend_xid IS NOT NULL AND a.xact_start <"
    " pg_catalog.clock_timestamp() - interval '5 seconds')))"
)
WAIT_SECONDS = 10  # for the end of these transactions, without a lock
LOCK_SECONDS = 5  # lock_timeout of REINDEX


def without_open_ddl(statement: str, condition: str = "", otherwise: str = "") -> list[str]:
    """A statement that runs only if no transaction with DDL is open.

    condition: another condition; otherwise: the text that is printed if it is false
    """
    shown = printable(statement)
    words = f"not begun, it would wait for open or prepared transactions and block all DDL: {shown}"
    branches = [f"            WHEN {_WAITED_FOR} > 0 THEN {_printed(words)}"]
    if condition:
        branches.insert(0, f"            WHEN NOT ({condition}) THEN {_printed(otherwise)}")
    return [
        "DO $gpcatalog$",
        "BEGIN",
        f"    FOR i IN 1 .. {round(2 * WAIT_SECONDS)} LOOP",
        "        PERFORM pg_catalog.pg_stat_clear_snapshot();",
        f"        EXIT WHEN {_WAITED_FOR} = 0;",
        "        PERFORM pg_catalog.pg_sleep(0.5);",
        "    END LOOP;",
        "END",
        "$gpcatalog$;",
        f"SET lock_timeout = '{LOCK_SECONDS}s';",
        "SELECT CASE",
        *branches,
        f"            ELSE {quote_literal(statement)} END AS step \\gset",
        ":step;",
        "SET lock_timeout = '60s';",
    ]


def _printed(words: str) -> str:
    """The literal of a statement that prints a text."""
    return quote_literal(f"SELECT {quote_literal(words)} AS gpcatalog")


@dataclass(frozen=True)
class Window:
    """The time window of a script, in seconds from its start."""

    seconds: float

    def head(self) -> list[str]:
        """Lines on the window for the head of the script."""
        return [
            f"Window: {duration(self.seconds)}. A step begins only if its estimated duration, at the"
            " slow end of the range, fits into the rest of the window. Write and run a new script",
            "every night: it continues with what is left, in order of gain.",
        ]

    def begin(self, taken_at: datetime) -> list[str]:
        """Statements at the start: the time, and a check of the script's age.

        taken_at: time of the audit, in UTC
        """
        limit = f"'{taken_at:%Y-%m-%d %H:%M:%S}+00'::timestamptz + interval '{FRESH_HOURS} hours'"
        return [
            "DO $gpcatalog$",
            "BEGIN",
            f"    IF pg_catalog.clock_timestamp() > {limit} THEN",
            f"        RAISE EXCEPTION 'the audit of this script is older than {FRESH_HOURS} hours: write"
            " a new script';",
            "    END IF;",
            "END",
            "$gpcatalog$;",
            f"SELECT {_NOW} AS started \\gset",
        ]

    def reindex(self, statement: str, seconds: float) -> list[str]:
        """REINDEX, which runs only if it ends within the window and waits for nobody."""
        words = f"not begun, {duration(seconds)} (estimate) do not fit into the window: {statement}"
        return without_open_ddl(
            statement, f"{_NOW} - :started + {seconds:.3f} <= {self.seconds:.3f}", printable(words)
        )

    def gated(self, statement: str, seconds: float | None, name: str = "") -> list[str]:
        """A statement that runs only if it ends within the window.

        statement: one statement without the semicolon; seconds: its estimated duration; None:
                   unknown, then it does not run; name: its name in messages
        """
        shown = printable(name or statement)
        if seconds is None:
            return [f"-- not begun in a window, its duration is unknown: {shown}"]
        words = f"not begun, {duration(seconds)} (estimate) do not fit into the window: {shown}"
        return [
            f"SELECT CASE WHEN {_NOW} - :started + {seconds:.3f} <= {self.seconds:.3f}",
            f"            THEN {quote_literal(statement)}",
            f"            ELSE {_printed(words)} END AS step \\gset",
            ":step;",
        ]


class NoWindow(Window):
    """No window: every statement runs without a check."""

    def __init__(self) -> None:
        super().__init__(float("inf"))

    def head(self) -> list[str]:
        """No lines."""
        return []

    def begin(self, taken_at: datetime) -> list[str]:
        """No statements."""
        return []

    def reindex(self, statement: str, seconds: float) -> list[str]:
        """REINDEX, which runs only if it waits for nobody."""
        return without_open_ddl(statement)

    def gated(self, statement: str, seconds: float | None, name: str = "") -> list[str]:
        """The statement without a check."""
        return [f"{statement};"]
