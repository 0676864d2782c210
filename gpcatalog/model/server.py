"""Which server is it: product, generation and version, read from the banner and confirmed by
features.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpcatalog.model import generations

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
        return generations.is_greenplum(self.generation)

    @property
    def classic_partitions(self) -> bool:
        """True where partitions live in pg_partition and pg_partition_rule (Greenplum 6)."""
        return generations.is_classic(self.generation)

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
        product = fork["product"] if fork else "Greenplum-based server"
        version = fork["version"] if fork else ""
        # the PostgreSQL underneath decides which catalogs there are, whatever the vendor counts
        found = generations.of_base(version_num // 10000)
        if found is None or not has_segments:
            raise UnsupportedServer(
                f"{product} {version} on PostgreSQL {version_num}"
                + ("" if has_segments else " without segments")
            )
        return Server(product, version, found.name, version_num)
    plain = _POSTGRES.match(banner)
    major = version_num // 10000
    if plain is None or major < generations.OLDEST:
        raise UnsupportedServer(banner.split(" on ")[0][:80])
    return Server("PostgreSQL", plain["version"], f"pg{major}", version_num)


def named(name: str) -> Server | None:
    """The server that a user means by a word; None for any other word.

    >>> named("greenplum7").generation, named("pg15").generation, named("postgres9"), named("sales")
    ('gp7', 'pg15', None, None)
    """
    found = generations.named(name)
    return Server(found.product, found.version, found.name, found.version_num) if found else None
