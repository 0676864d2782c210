"""Sums over the files of a listing, computed in the work file of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpcatalog.capacity.limits import FILE_BUCKETS, MIB
from gpcatalog.model.auxiliary import LARGE
from gpcatalog.probes.connection import ProbeFailed
from gpcatalog.store.snapshot import Writer
from gpcatalog.store.statements import Statements

LISTED = {
    "what": "UTINYINT",
    "content": "INTEGER",
    "oid": "BIGINT",
    "node": "BIGINT",
    "part": "UTINYINT",
    "chunk": "UTINYINT",
    "files": "BIGINT",
    "bytes": "BIGINT",
    "most": "BIGINT",
    **{f"n{n}": "BIGINT" for n in range(7)},
    **{f"b{n}": "BIGINT" for n in range(1, 7)},
    "hollow": "BIGINT",
    "forks": "BIGINT",
    "fork_bytes": "BIGINT",
    "fork_small": "BIGINT",
    "fork_empty": "BIGINT",
    "mtime": "DOUBLE",
}
"""Columns of the temporary table `listed` after the folder, as in the probe relation_files, which
documents them.
"""

KNOWN_ROOT = (
    "CASE WHEN part = 8 OR part IS NULL OR oid NOT IN (SELECT root FROM relation) THEN 0 ELSE oid"
    " END"
)
"""SQL expression for the table of a row of `listed` about the files of a root; 0 if there is
none.
"""
CHUNKS = 16  # number of parts of a sample, as in the probe relation_files
FEW_UNSEEN = 0.01  # largest share of the files of an instance that may be missing in a sample
# lowest expected number of file numbers of leaves in the sample for which the error of a table is
# stated: with fewer, the differences of the parts are too small too often (95 % intervals contained
# the true value in 85 % of simulated samples of 2 numbers, in 93 to 94 % of 10)
FEWEST_DRAWN = 10
T_VALUE = 2.131  # of Student's t-distribution with 15 degrees of freedom, for a 95 % interval

LINE = 1 << 16  # maximum bytes of a row with a file name: names have at most 255
_FILES = {"content": "SMALLINT", "file": "VARCHAR", "size": "BIGINT"}
_MAP = {
    "content": "SMALLINT",
    "temp": "UTINYINT",
    "node": "UINTEGER",
    "oid": "UINTEGER",
    "tablespace": "UINTEGER",
}
_OWNERS = {"oid": "UINTEGER", "owner": "UINTEGER", "part": "UTINYINT"}
_FIRST_USER_OID = 16384  # FirstNormalObjectId of access/transam.h

# a data file: t<backend>_ if the relation is temporary, the file number, the fork, and the segment
# number of a large file or the number of a column's file
_NAME = r"^(t[0-9]*_)?([0-9]+)(_fsm|_vm|_init)?(\.[0-9]+)?$"
READ = f"""
    SELECT content, CASE WHEN part.temp = '' THEN 0 ELSE 1 END AS temp, try_cast(part.node AS UINTEGER) AS node,
           part.fork <> '' AS fork, file, size
      FROM (SELECT *, regexp_extract(file, '{_NAME}', ['temp', 'node', 'fork']) AS part FROM {{csv}})
     WHERE try_cast(part.node AS UINTEGER) > 0"""
"""Selects the data files of a table of content, file (name) and size, for which {csv} is a
placeholder; other names are left out.
"""
_BUCKET = (
    "CASE "
    + " ".join(
        f"WHEN size <= {bucket.upper} THEN {n}"
        for n, bucket in enumerate(FILE_BUCKETS)
        if bucket.upper is not None
    )
    + f" ELSE {len(FILE_BUCKETS) - 1} END"
)
# buckets of files of at most 1 MB
_SMALL = ", ".join(
    str(n)
    for n, bucket in enumerate(FILE_BUCKETS)
    if bucket.upper is not None and bucket.upper <= MIB
)
_KEY = "tablespace, content, temp, node"


@dataclass(frozen=True)
class Folder:
    """A directory that was listed: its name on the server, its tablespace, and the file with its
    rows.
    """

    name: str
    tablespace: int
    file: Path


def _shape(columns: dict[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())


def _load(
    work: Statements, table: str, columns: dict[str, str], file: Path, temp: str = "TEMP"
) -> None:
    work.execute(f"CREATE {temp} TABLE {table} ({_shape(columns)})")
    work.load_csv(f"INSERT INTO {table} SELECT * FROM {{csv}}", file, columns, longest=LINE)
    file.unlink(missing_ok=True)


def _create(writer: Writer) -> None:
    writer.execute(f"CREATE TEMP TABLE listed (folder VARCHAR, {_shape(LISTED)})")


def load_sums(writer: Writer, folders: Sequence[Folder]) -> None:
    """Fill `listed` from the results of the probe relation_files."""
    _create(writer)
    for folder in folders:
        name = folder.name.replace("'", "''").replace("{", "{{").replace("}", "}}")
        writer.load_csv(f"INSERT INTO listed SELECT '{name}', * FROM {{csv}}", folder.file, LISTED)
        folder.file.unlink(missing_ok=True)


def project(writer: Writer, share: int, counts: dict[int, int], *, large: bool) -> None:
    """Convert the rows of `listed` from a sample to estimates for all files, and store their errors
    in the table file_sample.

    A file number is in the sample with all its files, or not at all. File numbers of large
    relations are always in the sample (no chunk): their figures are exact. Each other figure is
    multiplied by the ratio of all other files of its instance to those in the sample, so that the
    number of files is exact. The error is half the width of a 95 % interval, from the differences
    of 16 random parts of the sample (Wolter, Introduction to Variance Estimation, 2nd edition,
    2007, chapters 2 and 6).

    share:  the sample contains 1 in `share` file numbers; counts: all files by instance
    large:  whether the sample contains all large relations; else the error of bytes is unknown
    Raises ProbeFailed if an instance has other files than those of large relations, and the sample
    contains none of them.
    """
    do = writer.execute
    do("DELETE FROM listed WHERE what <> 2")
    values = ", ".join(f"({content}, {n})" for content, n in sorted(counts.items()))
    do(f"""
        CREATE TEMP TABLE sampled AS
        SELECT content, files, known, CASE WHEN files > 0 THEN greatest(n - known, files) / files END AS factor,
               CASE WHEN files > 0 THEN 1 ELSE n / known END AS known_factor
          FROM (SELECT content, any_value(n) AS n, coalesce(sum(files) FILTER (chunk IS NOT NULL), 0) AS files,
                       coalesce(sum(files) FILTER (chunk IS NULL), 0) AS known
                  FROM listed JOIN (VALUES {values}) c (content, n) USING (content) GROUP BY content)
    """)
    missed = set(counts) - {
        content
        for (content,) in do(
            f"SELECT content FROM sampled WHERE files > 0 OR known_factor < {1 + FEW_UNSEEN}"
        )
    }
    if missed:
        raise ProbeFailed(
            "failed",
            f"the sample has none of the files of the instance with content {min(missed)} but those"
            " of large relations; `--files all` reads all",
        )
    _keep_errors(writer, share, large=large)
    numbers = [
        name for name in LISTED if re.fullmatch("files|bytes|n[0-9]|b[0-9]|hollow|fork.*", name)
    ]
    do(
        "CREATE TEMP TABLE projected AS SELECT listed.* REPLACE ("
        + ", ".join(
            f"listed.{name} * CASE WHEN chunk IS NULL THEN known_factor ELSE factor END AS {name}"
            for name in numbers
        )
        + ") FROM listed JOIN sampled USING (content)"
    )
    do("DROP TABLE listed")
    do("ALTER TABLE projected RENAME TO listed")


def _keep_errors(writer: Writer, share: int, *, large: bool) -> None:
    """Fill the table file_sample from `listed` and the ratios in `sampled`; tables with few leaves
    have no row.
    """
    do = writer.execute
    small = "coalesce(n0, 0) + coalesce(n1, 0) + coalesce(n2, 0)"
    figures = {
        "files": "files",
        "empty_files": "n0",
        "small_files": small,
        "bytes": "coalesce(bytes, 0)",
    }
    sums = ", ".join(f"sum({of}) AS {name}" for name, of in figures.items())
    do(f"""
        CREATE TEMP TABLE sample_part AS
        SELECT CASE WHEN grouping(root) = 0 THEN root END AS root, content, chunk, {sums}
          FROM (SELECT *, {KNOWN_ROOT} AS root FROM listed WHERE chunk IS NOT NULL)
         GROUP BY GROUPING SETS ((root, content, chunk), (content, chunk))
    """)
    # differences between a part and the values that the ratios of the whole sample predict for it
    differences = ", ".join(
        f"sum(factor * (coalesce(p.{name}, 0) - r.{name} * n.files)) AS {name}" for name in figures
    )
    ratios = ", ".join(f"sum(p.{name}) / any_value(s.files) AS {name}" for name in figures)
    errors = ", ".join(
        f"round({T_VALUE} * sqrt({1 - 1 / share} * {CHUNKS / (CHUNKS - 1)} * sum({name} * {name})), 3)"
        if large or name != "bytes"
        else "NULL"
        for name in figures
    )
    many = f"SELECT root FROM relation GROUP BY root HAVING count(*) >= {FEWEST_DRAWN * share}"
    do(f"""
        INSERT INTO file_sample
        SELECT root, {share}, {errors}
          FROM (SELECT r.root, n.chunk, {differences}
                  FROM (SELECT p.root, p.content, {ratios}
                          FROM sample_part p JOIN sampled s USING (content) GROUP BY p.root, p.content) r
                  JOIN sampled s USING (content)
                  JOIN (SELECT content, chunk, files FROM sample_part WHERE root IS NULL) n USING (content)
                  LEFT JOIN sample_part p ON p.root IS NOT DISTINCT FROM r.root AND p.content = r.content AND p.chunk = n.chunk
                 WHERE r.root IS NULL OR r.root IN ({many})
                 GROUP BY r.root, n.chunk)
         GROUP BY root ORDER BY root
    """)
    # for a sample without random selection
    do(
        f"INSERT INTO file_sample SELECT NULL, {share}, 0, 0, 0, {0 if large else 'NULL'}"
        " WHERE NOT EXISTS (FROM file_sample WHERE root IS NULL)"
    )


def _load_owners(work: Statements, owners: Path) -> None:
    """Fill the temporary table file_owner from the result of the probe file_owners: oid, table
    (that the relation belongs to) and part (as in the probe relation_files) of each relation.
    """
    _load(work, "owner_read", _OWNERS, owners)
    work.execute(f"""
        CREATE TEMP TABLE file_owner AS
        SELECT o.oid, coalesce(b.owner, o.owner, o.oid) AS "table",
               (CASE WHEN "table" < {_FIRST_USER_OID} THEN 8 WHEN o.part = 4 THEN coalesce(b.part + 3, 4)
                     ELSE o.part END)::UTINYINT AS part
          FROM (SELECT oid, nullif(max(owner), 0) AS owner, min(part) AS part FROM owner_read GROUP BY oid) o
          LEFT JOIN (FROM owner_read WHERE part IN (2, 3)) b ON o.part = 4 AND b.oid = o.owner
    """)
    work.execute("DROP TABLE owner_read")


def load(work: Statements, folders: Sequence[Folder], relations: Path, owners: Path) -> None:
    """Join files and relations in the table file_number of the database `memory`: the files of each
    file number by size.

    Columns: tablespace, content, temp, node, fork, bucket (of FILE_BUCKETS), files, bytes; oid of
    the relation, table that it belongs to, and its part. oid is NULL if no row of pg_class has the
    file number, part is NULL if the coordinator does not have the relation, bucket is NULL if the
    relation has no file.

    work: of Writer.another; relations, owners: rows of the probes file_map and file_owners
    """
    do = work.execute
    _load(work, "file_map", _MAP, relations)
    _load_owners(work, owners)
    do("CREATE TABLE folder_read (tablespace UINTEGER, folder VARCHAR)")
    do(
        "CREATE TEMP TABLE file_now (tablespace UINTEGER, content SMALLINT, temp UTINYINT, node"
        " UINTEGER, fork BOOLEAN, bucket UTINYINT, size BIGINT)"
    )
    for folder in folders:
        do("INSERT INTO folder_read VALUES (?, ?)", [folder.tablespace, folder.name])
        work.load_csv(
            f"INSERT INTO file_now SELECT {folder.tablespace}, content, temp, node, fork, {_BUCKET},"
            f" size FROM ({READ})",
            folder.file,
            _FILES,
            longest=LINE,
            plain=True,
        )
    do(
        "CREATE TABLE file_number (tablespace UINTEGER, content SMALLINT, temp UTINYINT, node"
        " UINTEGER, fork BOOLEAN, bucket UTINYINT, files UINTEGER, bytes BIGINT, oid UINTEGER,"
        ' "table" UINTEGER, part UTINYINT)'
    )
    # one instance after the other needs less memory
    for (content,) in do(
        "SELECT content FROM file_now UNION SELECT content FROM file_map ORDER BY content"
    ):
        do(f"""
            INSERT INTO file_number
            SELECT tablespace, {content}, temp, node, coalesce(fork, false), bucket, coalesce(files, 0), coalesce(bytes, 0),
                   oid, "table", part
              FROM (SELECT tablespace, temp, node, fork, bucket, count(*) AS files, sum(size) AS bytes
                      FROM file_now WHERE content = {content} GROUP BY ALL)
              FULL JOIN (SELECT tablespace, temp, node, max(oid) AS oid FROM file_map
                          WHERE content = {content} AND node > 0 AND tablespace IN (SELECT tablespace FROM folder_read)
                          GROUP BY ALL)
                   USING (tablespace, temp, node)
              LEFT JOIN file_owner USING (oid)
        """)
    for table in ("file_map", "file_owner", "file_now"):
        do(f"DROP TABLE {table}")


def name_roots(writer: Writer) -> None:
    """Create the temporary views numbered, which is file_number with the root of each table, and
    folder_now. A table that was created after those of the snapshot were read is its own root.
    """
    writer.execute(
        'CREATE TEMP VIEW numbered AS SELECT n.* EXCLUDE ("table"), coalesce(r.root, n."table")'
        ' AS root FROM memory.file_number n LEFT JOIN (SELECT oid AS "table", root FROM'
        ' w.relation) r USING ("table")'
    )
    writer.execute("CREATE TEMP VIEW folder_now AS FROM memory.folder_read")


def add_up(writer: Writer, block: int) -> None:
    """Fill `listed` from `numbered`, without files that have no relation. block: bytes per page."""
    _create(writer)
    do = writer.execute
    buckets = ", ".join(
        f"coalesce(sum(files) FILTER (bucket = {n}), 0) AS n{n}" for n in range(7)
    ) + "".join(f", coalesce(sum(bytes) FILTER (bucket = {n}), 0) AS b{n}" for n in range(1, 7))
    forks = (
        "coalesce(sum(files) FILTER (fork), 0) AS forks, coalesce(sum(bytes) FILTER (fork), 0) AS"
        f" fork_bytes, coalesce(sum(files) FILTER (fork AND bucket IN ({_SMALL})), 0) AS fork_small,"
        " coalesce(sum(files) FILTER (fork AND bucket = 0), 0) AS fork_empty"
    )
    main = "coalesce(sum(bytes) FILTER (NOT fork), 0)"
    do(f"""
        INSERT INTO listed BY NAME
        SELECT 1 AS what, oid, sum(files) AS files, sum(bytes) AS bytes, max(main) AS most,
               sum(forks) AS forks, sum(fork_bytes) AS fork_bytes
          FROM (SELECT content, oid, sum(files) AS files, sum(bytes) AS bytes, {main} AS main, {forks}
                  FROM numbered WHERE part > 10 AND oid >= {_FIRST_USER_OID} AND bucket IS NOT NULL GROUP BY content, oid)
         GROUP BY oid
    """)
    # the last file of a large index can also have a single page
    large = (
        f"SELECT DISTINCT {_KEY}, true AS large FROM numbered WHERE part IN (4, 5, 6) AND bucket ="
        f" {len(FILE_BUCKETS) - 1}"
    )
    hollow = f"NOT fork AND part IN (4, 5, 6) AND large IS NULL AND bytes = {block}"
    do(f"""
        INSERT INTO listed BY NAME
        SELECT 2 AS what, content, root AS oid, part, sum(files) AS files, sum(bytes) AS bytes, {buckets},
               coalesce(sum(bytes) FILTER ({hollow}), 0) AS hollow, {forks}
          FROM numbered LEFT JOIN ({large}) USING ({_KEY}) WHERE bucket IS NOT NULL
         GROUP BY content, root, part
    """)
    do(f"""
        INSERT INTO listed BY NAME
        SELECT DISTINCT 4 AS what, content, oid, node, folder
          FROM numbered JOIN folder_now USING (tablespace)
         WHERE oid IS NOT NULL AND (bucket IS NULL OR fork AND ({_KEY}) NOT IN (
                   SELECT ({_KEY}) FROM numbered
                    WHERE NOT fork AND bucket IS NOT NULL AND oid IN (SELECT oid FROM numbered WHERE fork)))
    """)
    do(f"""
        INSERT INTO listed BY NAME
        SELECT 5 AS what, content, oid, part, sum(files) AS files, sum(bytes) AS bytes, {forks}
          FROM numbered WHERE part IN (2, 5) GROUP BY content, oid, part HAVING {main} >= {LARGE}
    """)


def find_orphans(writer: Writer, folders: Sequence[Folder]) -> None:
    """Store the files without a row in pg_class in the temporary table orphan_now: tablespace,
    content, temp, node, file, size, and mtime (seconds since 1970), which is NULL at first.
    """
    writer.execute(
        "CREATE TEMP TABLE orphan_now (tablespace UINTEGER, content SMALLINT, temp UTINYINT, node"
        " UINTEGER, file VARCHAR, size BIGINT, mtime DOUBLE)"
    )
    writer.execute(
        f"CREATE TEMP TABLE orphan_node AS SELECT DISTINCT {_KEY} FROM numbered WHERE oid IS NULL"
    )
    some = {t for (t,) in writer.execute("SELECT DISTINCT tablespace FROM orphan_node")}
    for folder in folders:
        if folder.tablespace in some:
            writer.load_csv(
                f"INSERT INTO orphan_now SELECT {folder.tablespace}, content, temp, node, file,"
                f" size, NULL FROM ({READ}) SEMI JOIN (FROM orphan_node WHERE tablespace ="
                f" {folder.tablespace}) USING (content, temp, node)",
                folder.file,
                _FILES,
                longest=LINE,
            )
        folder.file.unlink(missing_ok=True)


def update_orphans(writer: Writer, tablespace: int, names: str, file: Path) -> None:
    """Apply the result of the probe orphan_files for these names (SQL, comma-separated): files that
    no longer exist are deleted from orphan_now, the others get a time.
    """
    _load(writer, "looked", _FILES | {"mtime": "DOUBLE"}, file)
    writer.execute(
        "UPDATE orphan_now SET size = l.size, mtime = l.mtime FROM looked l WHERE tablespace ="
        f" {tablespace} AND l.content = orphan_now.content AND l.file = orphan_now.file"
    )
    writer.execute(
        f"DELETE FROM orphan_now WHERE tablespace = {tablespace} AND file IN ({names}) AND mtime IS"
        " NULL"
    )
    writer.execute("DROP TABLE looked")


def add_orphans(writer: Writer) -> None:
    """Add the files in orphan_now to `listed`. The time of a file number is unknown if the time of
    one of its files is unknown.
    """
    writer.execute(f"""
        INSERT INTO listed BY NAME
        SELECT 3 AS what, folder, content, node, count(*) AS files, sum(size) AS bytes,
               CASE WHEN count(mtime) = count(*) THEN max(mtime) END AS mtime
          FROM orphan_now JOIN folder_now USING (tablespace)
         GROUP BY {_KEY}, folder
    """)


def moved(writer: Writer, relations: Path) -> list[int]:
    """Relations whose file number differs from that in `numbered`. relations: new rows of
    file_map.
    """
    _load(writer, "file_map", _MAP, relations)
    found = writer.execute(
        "SELECT DISTINCT oid FROM numbered JOIN file_map m USING (oid, content) WHERE"
        " numbered.node <> m.node ORDER BY oid"
    )
    writer.execute("DROP TABLE file_map")
    return [oid for (oid,) in found]
