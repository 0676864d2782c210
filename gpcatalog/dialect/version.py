"""Editions of the grammar: one per server generation."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property

from gpcatalog.dialect import keywords
from gpcatalog.model import generations


@dataclass(frozen=True)
class Edition:
    """The grammar of one generation; fields as in ServerGeneration."""

    name: str
    base: int
    greenplum: bool
    classic: bool

    @cached_property
    def classes(self) -> dict[str, str]:
        """Class letter of each keyword; all other words are treated as unreserved."""
        return keywords.classes(self._table)

    @cached_property
    def no_partition_name(self) -> frozenset[str]:
        """Labels that cannot be the name of a partition in ALTER TABLE without quotes."""
        return keywords.partition_names_refused(self._table)

    @property
    def complete(self) -> bool:
        """Whether the grammar is complete: it was compared with the server, statement by
        statement.
        """
        return self.name in ("gp6", "gp7")

    @property
    def _table(self) -> str:
        if self.greenplum:
            return "gp6" if self.classic else "gp7"
        return f"pg{min(max(self.base, 12), generations.NEWEST)}"

    def holds(self, guard: str) -> bool:
        """Whether the guard of a synopsis is true: gp, gp6 (classic partitions), gp7 (other
        Greenplum, also Cloudberry), pg, v14 (that release or later), !… (not).

        >>> edition("gp7").holds("gp7"), edition("gp7").holds("v13"), edition("pg17").holds("!gp")
        (True, False, True)
        """
        if guard.startswith("!"):
            return not self.holds(guard[1:])
        if guard[0] == "v":
            return self.base >= int(guard[1:])
        return {
            "gp": self.greenplum,
            "pg": not self.greenplum,
            "gp6": self.classic,
            "gp7": self.greenplum and not self.classic,
        }[guard]


@functools.cache
def edition(name: str) -> Edition:
    """The edition of the generation of this name. Raises KeyError for an unknown name."""
    found = generations.known(name)
    return Edition(found.name, found.base, found.greenplum, found.classic)


# Tried in this order if no generation is named; the first one that accepts a statement is used.
ANY = ("gp7", "gp6", f"pg{generations.NEWEST}")
