"""Floors that do not use gpcatalog: psql with the simplest statements that every audit needs."""

from __future__ import annotations

import os
import subprocess

from gpcatalog.probes.connection import Session


def listing(session: Session) -> list[str]:
    """Statements that return the names and sizes of all files, and pg_class of every instance, row by row."""
    found = []
    for place in session.rows("tablespaces"):
        folder = place["folder"]
        listed = (
            f"SELECT gp_segment_id, pg_catalog.pg_ls_dir('{folder}') AS file FROM gp_dist_random('gp_id')"
            if session.server.greenplum
            else f"SELECT -1 AS gp_segment_id, file FROM pg_catalog.pg_ls_dir('{folder}') AS file"
        )
        found.append(
            f"SELECT gp_segment_id, file, (pg_catalog.pg_stat_file('{folder}/' || file, true)).size FROM ({listed}) l"
        )
    where = "gp_dist_random('pg_catalog.pg_class')" if session.server.greenplum else "pg_class"
    content = "gp_segment_id" if session.server.greenplum else "-1"
    return [*found, f"SELECT {content}, oid, relfilenode, relkind FROM {where}"]


def counts(session: Session, catalogs: list[str]) -> list[str]:
    """Statements that count the rows of these catalogs by instance, without pg_attribute, which the audit does not count."""
    selected = [name for name in catalogs if name != "pg_attribute"]
    if session.server.greenplum:
        return [
            f"SELECT gp_segment_id, count(*) FROM gp_dist_random('pg_catalog.{name}') GROUP BY 1"
            for name in selected
        ]
    return [f"SELECT count(*) FROM pg_catalog.{name}" for name in selected]


def leaves(session: Session) -> str:
    """A statement that returns a plain list of the leaves."""
    tree = (
        "pg_partition_rule r ON r.parchildrelid = c.oid JOIN pg_partition p ON p.oid = r.paroid"
        if session.server.classic_partitions
        else "pg_inherits p ON p.inhrelid = c.oid"
    )
    root = "parrelid" if session.server.classic_partitions else "inhparent"
    return f"SELECT c.oid, n.nspname, c.relname, p.{root} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN {tree}"


def copied(dsn: str, statements: list[str]) -> None:
    """Run psql's COPY of these statements in one process, and discard the output."""
    words = [w for s in statements for w in ("-c", f"COPY ({s}) TO STDOUT")]
    env = {**os.environ, "PGOPTIONS": "-c random_page_cost=1.1"}
    subprocess.run(
        ["psql", "-X", "-d", dsn, *words], stdout=subprocess.DEVNULL, check=True, env=env
    )
