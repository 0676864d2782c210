"""The ages of the oldest transaction or multixact at which a server warns and refuses new ones.

Both numbers have 32 bits; a server works as long as the age of the oldest one in any database is
less than 2³¹. VACUUM (FREEZE) lowers the age of a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpcatalog.capacity.limits import whole_number
from gpcatalog.model import generations

WRAP = 2**31 - 1
_SOURCE = "PostgreSQL source"
# limits of gpcatalog: multiple of the age at which autovacuum freezes, from which autovacuum is too
# slow; share of the age of the server's warning, if nothing freezes automatically
FORCED_TIMES = 2
SHARE_OF_WARNING = 0.5
_SETTINGS = "xid_stop_limit and xid_warn_limit of this server"


@dataclass(frozen=True, kw_only=True)
class AgeLimits:
    """Ages, in transactions or multixacts.

    warn: from this age the server logs a warning for each new one; stop: from this age it refuses
          new ones
    forced: from this age autovacuum freezes a table even if it is disabled; None if not read
    freezes: whether the server freezes automatically in all databases
    """

    warn: int
    stop: int
    forced: int | None
    freezes: bool
    source: str

    @property
    def finding(self) -> int:
        """Age from which a finding is reported: before the server itself warns."""
        if self.freezes and self.forced is not None:
            return min(FORCED_TIMES * self.forced, self.warn)
        return int(SHARE_OF_WARNING * self.warn)


def _freezes(generation: str, settings: Mapping[str, object]) -> bool:
    # PostgreSQL freezes old tables even if autovacuum is off
    if not generations.is_greenplum(generation):
        return True
    return not generations.is_classic(generation) and settings.get("autovacuum") == "on"


def transactions(generation: str, settings: Mapping[str, object]) -> AgeLimits:
    """The limits of transactions for a server generation with these settings.

    >>> transactions("pg18", {}).stop, transactions("pg13", {}).stop, transactions("gp6", {}).stop
    (2144483647, 2146483647, 2047483647)
    """
    forced = whole_number(settings.get("autovacuum_freeze_max_age"))
    found = generations.known(generation)
    if found.greenplum:
        before_wrap = whole_number(settings.get("xid_stop_limit"))
        before_stop = whole_number(settings.get("xid_warn_limit"))
        read = before_wrap is not None and before_stop is not None
        stop = WRAP - (100_000_000 if before_wrap is None else before_wrap)
        warn = stop - (500_000_000 if before_stop is None else before_stop)
        source = _SETTINGS if read else "Greenplum source, default of xid_stop_limit"
        return AgeLimits(
            warn=max(0, warn),
            stop=max(0, stop),
            forced=forced,
            freezes=_freezes(generation, settings),
            source=source,
        )
    return _postgresql(found.base, forced, stop_before_14=1_000_000, freezes=True)


def multixacts(generation: str, settings: Mapping[str, object]) -> AgeLimits:
    """The limits of multixacts; Greenplum has those of the PostgreSQL release that it is based on.

    >>> multixacts("pg18", {}).stop, multixacts("gp7", {}).stop
    (2144483647, 2147483547)
    """
    forced = whole_number(settings.get("autovacuum_multixact_freeze_max_age"))
    return _postgresql(
        generations.known(generation).base,
        forced,
        stop_before_14=100,
        freezes=_freezes(generation, settings),
    )


def _postgresql(base: int, forced: int | None, *, stop_before_14: int, freezes: bool) -> AgeLimits:
    if base < 14:
        stop = WRAP - stop_before_14
        warn = stop - 10_000_000
    else:
        stop = WRAP - 3_000_000
        warn = WRAP - (100_000_000 if base >= 19 else 40_000_000)
    return AgeLimits(warn=warn, stop=stop, forced=forced, freezes=freezes, source=_SOURCE)
