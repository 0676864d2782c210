"""Which server is it: product, generation and version, read from the banner and confirmed by
features.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORK = re.compile(
    r"\((?P<product>Greenplum Database|Greengage Database|Greengage|WarehousePG|Apache"
    r" Cloudberry|Cloudberry Database)"
    r"\s+(?P<version>\d+(?:\.\d+)*\S*)"
)
_POSTGRES = re.compile(r"^(?:PostgreSQL|EnterpriseDB)\s+(?P<version>\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Server:
    """A server's identity.

    product:      the vendor's name for it, as in the banner
    version:      the product's own version, as in the banner
    generation:   what the probes and the cost model key on: "gp6", "gp7", "cb2" or "pgNN"
    version_num:  server_version_num of the PostgreSQL underneath (90426, 120012, 150018, …)
    """

    product: str
    version: str
    generation: str
    version_num: int

    @property
    def greenplum(self) -> bool:
        """True for Greenplum and its kin: there are segments, gp_dist_random and distribution."""
        return not self.generation.startswith("pg")

    @property
    def classic_partitions(self) -> bool:
        """True where partitions live in pg_partition and pg_partition_rule (Greenplum 6)."""
        return self.generation == "gp6"

    @property
    def coordinator_word(self) -> str:
        """What this product calls the entry instance in its own catalogs' documentation."""
        return "coordinator" if self.greenplum else "server"


class UnsupportedServer(ValueError):
    """The banner is of a server that no probe was written for."""


def identify(banner: str, version_num: int, *, has_segments: bool) -> Server:
    """Server for `version()`, `server_version_num` and whether pg_catalog.gp_segment_configuration
    exists.

    server_version_num alone never tells the product: Greenplum 6 says 90426, Greenplum 7 says
    1200xx.

    >>> identify("PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build x) on x86_64", 90426, has_segments=True).generation
    'gp6'
    >>> identify("PostgreSQL 12.12 (Greenplum Database 7.0.0 build dev) on x86_64", 120012, has_segments=True).generation
    'gp7'
    >>> identify("PostgreSQL 14.4 (Apache Cloudberry 2.0.0-incubating build 1) on x", 140004, has_segments=True).generation
    'cb2'
    >>> identify("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", 150018, has_segments=False).generation
    'pg15'
    """
    fork = _FORK.search(banner)
    if fork or has_segments:
        product = fork["product"] if fork else "Greenplum kin"
        version = fork["version"] if fork else ""
        # the PostgreSQL underneath decides which catalogs there are, whatever the vendor counts
        base = version_num // 10000 if version_num >= 100000 else version_num // 100
        generation = {904: "gp6", 12: "gp7", 14: "cb2"}.get(base)
        if generation is None or not has_segments:
            raise UnsupportedServer(
                f"{product} {version} on PostgreSQL {version_num}"
                + ("" if has_segments else " without segments")
            )
        return Server(product, version, generation, version_num)
    plain = _POSTGRES.match(banner)
    major = version_num // 10000
    if plain is None or major < 12:
        raise UnsupportedServer(banner.split(" on ")[0][:80])
    return Server("PostgreSQL", plain["version"], f"pg{major}", version_num)


_PRODUCTS = {
    "gp6": Server("Greenplum Database", "6", "gp6", 90426),
    "gp7": Server("Greenplum Database", "7", "gp7", 120012),
    "cb2": Server("Cloudberry Database", "2", "cb2", 140004),
}
_WORDS = {
    **{f"{word}{n}": f"gp{n}" for word in ("gp", "greenplum", "greengage") for n in (6, 7)},
    "warehousepg7": "gp7",
    "cb2": "cb2",
    "cloudberry": "cb2",
    "cloudberry2": "cb2",
}


def generation_named(name: str) -> str | None:
    """The generation ("gp6", "gp7", "cb2", "pgNN") that a user's word means, in any case, with or
    without blanks; None if it is none.

    >>> [generation_named(name) for name in ("Greenplum 6", "gp7", "cloudberry", "PostgreSQL_19", "pg12", "postgres9", "sales")]
    ['gp6', 'gp7', 'cb2', 'pg19', 'pg12', None, None]
    """
    word = name.lower().replace(" ", "").replace("_", "")
    major = re.fullmatch(r"(?:pg|postgres(?:ql)?)([0-9]{2})", word)
    if major:
        return f"pg{major[1]}" if int(major[1]) >= 12 else None
    return _WORDS.get(word)


def named(name: str) -> Server | None:
    """The server that a user means by a word; None for any other word.

    >>> named("greenplum7").generation, named("pg15").generation, named("postgres9"), named("sales")
    ('gp7', 'pg15', None, None)
    """
    generation = generation_named(name)
    if generation is None or generation in _PRODUCTS:
        return _PRODUCTS.get(generation or "")
    major = generation.removeprefix("pg")
    return Server("PostgreSQL", major, generation, int(major) * 10000)
