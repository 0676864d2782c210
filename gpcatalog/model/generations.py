"""Server generations: one record for each, with the differences in names, probes, grammar, limits
and cost model.

For a new major release of PostgreSQL, increase `NEWEST`, add a folder of sql/ for the catalogs that
differ and the words of its grammar, and measure its costs for capacity/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServerGeneration:
    """Servers that have the same catalogs.

    name:        key of probes, grammar and cost model: "gp6", "gp7", "cb2", "pg12" …
    title:       for people; product: the vendor's name, as in the banner
    version:     its major version; base: major release of PostgreSQL that it is based on (9 for
                 9.4)
    version_num: server_version_num to assume if only the generation is known
    greenplum:   it has segments, distribution policies and pg_stat_last_operation
    classic:     partitions are rows of pg_partition and pg_partition_rule
    aliases:     other names that users use, in lower case without blanks
    folders:     of sql/, the most specific first
    bloat_factors: published factors that apply: "gp6", "gp7", or "docs" if the product publishes
                   none
    """

    name: str
    title: str
    product: str
    version: str
    base: int
    version_num: int
    greenplum: bool
    classic: bool
    aliases: tuple[str, ...]
    folders: tuple[str, ...]
    bloat_factors: str

    @property
    def merges_partitions(self) -> bool:
        """Whether the server has ALTER TABLE … MERGE PARTITIONS."""
        return not self.greenplum and self.base >= 19


OLDEST, NEWEST = 12, 19
"""Supported major releases of PostgreSQL. A newer release is probed with the newest folder of
sql/ that exists, and gets the costs of the newest measured release.
"""


def _postgresql(major: int) -> ServerGeneration:
    return ServerGeneration(
        name=f"pg{major}",
        title=f"PostgreSQL {major}",
        product="PostgreSQL",
        version=str(major),
        base=major,
        version_num=major * 10000,
        greenplum=False,
        classic=False,
        aliases=(f"postgres{major}", f"postgresql{major}"),
        folders=(*(f"pg{n}" for n in range(major, OLDEST - 1, -1)), "any"),
        bloat_factors="docs",
    )


GENERATIONS = (
    ServerGeneration(
        name="gp6",
        title="Greenplum 6",
        product="Greenplum Database",
        version="6",
        base=9,
        version_num=90426,
        greenplum=True,
        classic=True,
        aliases=("greenplum6", "greengage6"),
        folders=("gp6", "gp", "any"),
        bloat_factors="gp6",
    ),
    ServerGeneration(
        name="gp7",
        title="Greenplum 7",
        product="Greenplum Database",
        version="7",
        base=12,
        version_num=120012,
        greenplum=True,
        classic=False,
        aliases=("greenplum7", "greengage7", "warehousepg7"),
        folders=("gp7", "gp", "pg12", "any"),
        bloat_factors="gp7",
    ),
    ServerGeneration(
        name="cb2",
        title="Cloudberry 2",
        product="Cloudberry Database",
        version="2",
        base=14,
        version_num=140004,
        greenplum=True,
        classic=False,
        aliases=("cloudberry", "cloudberry2"),
        folders=("cb2", "gp7", "gp", "pg14", "pg13", "pg12", "any"),
        bloat_factors="gp7",
    ),
    *(_postgresql(major) for major in range(OLDEST, NEWEST + 1)),
)
_BY_NAME = {one.name: one for one in GENERATIONS}
_BY_ALIAS = {alias: one for one in GENERATIONS for alias in (one.name, *one.aliases)}


def known(name: str) -> ServerGeneration:
    """The record of a generation name from a snapshot or plan.

    A PostgreSQL release newer than all known ones gets a record of its own, with the newest
    folders. Raises KeyError for other names.

    >>> known("gp7").folders, known("pg31").title, known("pg31").folders[:2]
    (('gp7', 'gp', 'pg12', 'any'), 'PostgreSQL 31', ('pg31', 'pg30'))
    """
    found = _BY_NAME.get(name)
    if found is None:
        major = re.fullmatch(r"pg([0-9]{2})", name)
        if major is None or int(major[1]) < OLDEST:
            raise KeyError(name)
        found = _postgresql(int(major[1]))
    return found


def find(name: str) -> ServerGeneration | None:
    """The record of a generation name; None if this version does not know the name."""
    try:
        return known(name)
    except KeyError:
        return None


def spellings() -> list[str]:
    """The names of all generations, as in the documentation.

    >>> spellings()[:4]
    ['greenplum6', 'greenplum7', 'cloudberry2', 'postgresql12']
    """
    return [one.title.lower().replace(" ", "") for one in GENERATIONS]


def is_greenplum(name: str) -> bool:
    """Whether a generation is Greenplum or a product based on it. Unknown names count as such,
    unless they start with "pg".
    """
    found = find(name)
    return found.greenplum if found else not name.startswith("pg")


def is_classic(name: str) -> bool:
    """Whether partitions are rows of pg_partition and pg_partition_rule (Greenplum 6)."""
    found = find(name)
    return found is not None and found.classic


def of_base(base: int) -> ServerGeneration | None:
    """The Greenplum generation that is based on a major release of PostgreSQL; None if there is
    none.
    """
    return next((one for one in GENERATIONS if one.greenplum and one.base == base), None)


def named(word: str) -> ServerGeneration | None:
    """The generation that a user names, in upper or lower case, with or without blanks; None for
    any other word.

    >>> [one and one.name for one in map(named, ("Greenplum 6", "gp7", "cloudberry", "PostgreSQL_19"))]
    ['gp6', 'gp7', 'cb2', 'pg19']
    >>> [one and one.name for one in map(named, ("pg12", "pg25", "postgres9", "sales"))]
    ['pg12', 'pg25', None, None]
    """
    plain = word.lower().replace(" ", "").replace("_", "")
    found = _BY_ALIAS.get(plain)
    if found is None and (newer := re.fullmatch(r"(?:pg|postgres(?:ql)?)([0-9]{2})", plain)):
        major = int(newer[1])
        return known(f"pg{major}") if major >= OLDEST else None
    return found
