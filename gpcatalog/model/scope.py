"""For what a snapshot is used, and therefore how much of a database is read."""

from __future__ import annotations

from enum import IntEnum


class Scope(IntEnum):
    """How much is read; each value includes those before it."""

    REPORT = 1
    """What an audit reports."""
    PLAN = 2
    """Also what a plan and upkeep need: how partitions differ from their table, and what depends on
    them."""
    STORED = 3
    """Also the definitions of all tables, views, sequences and types, for `check --baseline`."""
