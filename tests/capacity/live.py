"""Count on a live server what a statement adds: rows of every catalog and files, separately on each instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gpcatalog.model.server import identify

Connection = psycopg.Connection[tuple[object, ...]]

# conditions that exclude rows of other sessions: statistics and operations of the catalogs, and other databases in shared catalogs
_OURS = {
    "pg_statistic": "starelid >= 16384",
    "pg_stat_last_operation": "objid >= 16384",
    "pg_shdepend": "dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())",
}
# catalogs of the cluster, not of relations
_NOT_COUNTED = {
    "gp_segment_configuration",
    "gp_configuration_history",
    "gp_id",
    "gp_version_at_initdb",
}
_SHARED_TABLESPACE = 1664
# catalogs in which a relation can have rows; the others are compared once, after all cases
RELATION_CATALOGS = frozenset(
    """
    gp_distribution_policy gp_fastsequence gp_partition_template pg_appendonly pg_attrdef pg_attribute pg_attribute_encoding pg_class
    pg_constraint pg_depend pg_description pg_foreign_table pg_index pg_inherits pg_partition pg_partition_encoding pg_partition_rule
    pg_partitioned_table pg_rewrite pg_sequence pg_shdepend pg_stat_last_operation pg_statistic pg_trigger pg_type pg_type_encoding
    """.split()
)


class Live:
    """One database of a live server: a connection for statements, and a direct connection to every instance.

    instances: content ID → connection; -1 is the coordinator or the PostgreSQL server, connections to primaries are in utility mode
    """

    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self.dsn = dsn
        self.stack = stack
        self.schema = ""
        self.work = self.connect()
        banner, number, segments = self.rows(
            "SELECT version(), current_setting('server_version_num')::int, "
            "EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'gp_segment_configuration')"
        )[0]
        self.server = identify(str(banner), int(str(number)), has_segments=bool(segments))
        self.banner = str(banner)
        self.generation = self.server.generation
        if self.server.greenplum:
            # no automatic statistics
            self.dsn = make_conninfo(dsn, options="-c gp_autostats_mode=none")
            self.work.execute("SET gp_autostats_mode = none")
        self.instances: dict[int, Connection] = {}
        for content, host, port in self._primaries():
            self.instances[content] = (
                self.connect(host=host, port=port, options=self._utility())
                if content >= 0
                else self.connect()
            )
        self.catalogs = self._catalogs()

    def connect(self, **other: object) -> Connection:
        conn = psycopg.connect(make_conninfo(self.dsn, **other), autocommit=True)
        return self.stack.enter_context(conn)

    def session(self) -> Connection:
        """Another session with its own transactions; the caller closes it."""
        session = psycopg.connect(self.dsn)
        if self.schema:
            session.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self.schema)))
            session.commit()
        return session

    def rows(self, query: LiteralString) -> list[tuple[object, ...]]:
        return self.work.execute(query).fetchall()

    def _utility(self) -> str:
        return "-c gp_session_role=utility" if self.generation == "gp6" else "-c gp_role=utility"

    def _primaries(self) -> list[tuple[int, str, int]]:
        if not self.server.greenplum:
            return [(-1, "", 0)]
        found = self.rows(
            "SELECT content, address, port FROM pg_catalog.gp_segment_configuration WHERE role = 'p' ORDER BY content"
        )
        return [
            (int(str(content)), str(address), int(str(port))) for content, address, port in found
        ]

    def _catalogs(self) -> list[str]:
        # shared catalogs belong to all databases: only pg_shdepend among them has rows of relations
        found = self.work.execute(
            "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = 11 AND relkind = 'r' "
            "AND (reltablespace <> %s OR relname = 'pg_shdepend') ORDER BY relname",
            [_SHARED_TABLESPACE],
        )
        return [str(name) for (name,) in found if name not in _NOT_COUNTED]

    def count(self, *, everything: bool = False) -> dict[int, Counter[str]]:
        """Rows of the catalogs of relations (or of all catalogs), and as "files" the files that belong to no catalog; by content ID."""
        query = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {}, count(*) FROM {}").format(
                sql.Literal(name), sql.Identifier("pg_catalog", name)
            )
            + sql.SQL(" WHERE " + _OURS[name] if name in _OURS else "")
            for name in self.catalogs
            if everything or name in RELATION_CATALOGS
        )
        files = (
            "SELECT count(*) FROM pg_catalog.pg_ls_dir('base/' || (SELECT oid FROM pg_catalog.pg_database "
            "WHERE datname = current_database())) AS f WHERE f ~ '^[0-9]+(_[a-z]+)?([.][0-9]+)?$' "
            "AND substring(f FROM '^[0-9]+')::oid NOT IN (SELECT pg_catalog.pg_relation_filenode(oid) FROM pg_catalog.pg_class "
            "WHERE oid < 16384 AND relkind IN ('r', 'i', 't', 'S', 'm') AND pg_catalog.pg_relation_filenode(oid) IS NOT NULL)"
        )
        found = {}
        for content, conn in self.instances.items():
            counted = Counter({str(name): int(str(n)) for name, n in conn.execute(query)})
            (number,) = conn.execute(files).fetchone() or (0,)
            counted["files"] = int(str(number))
            found[content] = counted
        return found


def added(
    before: dict[int, Counter[str]], after: dict[int, Counter[str]]
) -> dict[int, dict[str, int]]:
    """Added rows and files on each instance, by catalog; unchanged catalogs are left out."""
    return {
        content: {
            name: after[content][name] - n
            for name, n in counts.items()
            if after[content][name] != n
        }
        for content, counts in before.items()
    }


@contextmanager
def own_database(dsn: str, name: str) -> Iterator[Live]:
    """A new database on the server of `dsn`, dropped afterwards: no other session changes its catalogs."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    here = make_conninfo("", **{**conninfo_to_dict(dsn), "dbname": name})
    try:
        with ExitStack() as stack:
            yield Live(here, stack)
    finally:
        # prepared transactions remain after their session
        with psycopg.connect(here, autocommit=True) as conn:
            for (gid,) in conn.execute(
                "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
            ).fetchall():
                conn.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
