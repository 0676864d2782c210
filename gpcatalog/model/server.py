"""Identity of a server: product, generation and version, read from the banner and confirmed by
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

# end of the reason why objects of another role are not read; no privilege changes that
OF_OTHERS = "reading it could run code of that role"


@dataclass(frozen=True)
class Server:
    """A server's identity.

    product:      the vendor's name, as in the banner
    version:      the product's own version, as in the banner
    generation:   key of the probes and the cost model: "gp6", "gp7", "cb2" or "pgNN"
    version_num:  server_version_num of the PostgreSQL release that it is based on (90426, 120012,
                  150018, …)
    """

    product: str
    version: str
    generation: str
    version_num: int

    @property
    def greenplum(self) -> bool:
        """True for Greenplum and products based on it: segments, gp_dist_random and
        distribution exist.
        """
        return generations.is_greenplum(self.generation)

    @property
    def classic_partitions(self) -> bool:
        """True if partitions are stored in pg_partition and pg_partition_rule (Greenplum 6)."""
        return generations.is_classic(self.generation)

    @property
    def coordinator_word(self) -> str:
        """What the documentation of this product's catalogs calls the entry instance."""
        return "coordinator" if self.greenplum else "server"


class UnsupportedServer(ValueError):
    """The banner belongs to a server for which there are no probes."""


def identify(banner: str, version_num: int, *, has_segments: bool) -> Server:
    """Server for `version()`, `server_version_num` and whether pg_catalog.gp_segment_configuration
    exists.

    server_version_num alone does not identify the product: it is 90426 on Greenplum 6, and 1200xx
    on Greenplum 7.

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
        # the PostgreSQL release that it is based on determines the catalogs, not the vendor's
        # version
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
    """The server that a user names; None for any other word.

    >>> named("greenplum7").generation, named("pg15").generation, named("postgres9"), named("sales")
    ('gp7', 'pg15', None, None)
    """
    found = generations.named(name)
    return Server(found.product, found.version, found.name, found.version_num) if found else None
