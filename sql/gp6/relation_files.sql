-- Files and bytes from the data directories of all segments: what is there, not what the catalog says. One statement lists
-- each directory once and answers four questions; `what` tells which one a row belongs to:
--   1  a table that has files on some instance: oid, files, bytes, most (bytes on its fullest instance); forks are in it
--   2  all files of one root and part on one instance: oid is the root, NULL for what no relation owns
--   3  files that no row of pg_class owns: node is the file's name, mtime its last modification
--   4  a row of pg_class that should have a file and has none: oid and node
-- part: 2 auxiliary, 3 TOAST, 4 index, 5 index of an auxiliary relation, 6 of TOAST, 7 sequence, 8 of the system's own;
-- 11 heap, 12 ao_row, 13 ao_column, 14 a table of other storage. n0 … n6 and b1 … b6: files and bytes by the buckets of
-- the histogram (0, ≤128 KB, ≤1 MB, ≤8 MB, ≤64 MB, ≤512 MB, more). hollow: bytes of indexes of a single page, which is
-- a btree's own and holds no entry. fork_…: what of it all is free space maps, visibility maps and init forks.
-- Names of other shapes are left alone; shared relations lie elsewhere; mapped relations are asked for their file.
-- Files meet their relation by one grouping instead of a join: the planner cannot know how many files there are, and
-- would send every file's row to every segment.
-- needs: superuser (Greenplum 6 looks for that in pg_ls_dir itself: no grant helps)
-- locks: AccessShareLock on pg_class, pg_index, pg_appendonly, pg_partition, pg_partition_rule; opens no table
-- cost: one directory listing and one stat a file on every segment, in parallel; one join of those catalogs
SELECT k.what,
       CASE WHEN k.what <> 1 THEN m.content END AS content,
       CASE k.what WHEN 2 THEN m.root ELSE m.oid END AS oid,
       CASE WHEN k.what >= 3 THEN m.node END AS node,
       CASE WHEN k.what <> 1 THEN m.part END AS part,
       pg_catalog.sum(m.files)::int8 AS files,
       pg_catalog.sum(m.bytes)::int8 AS bytes,
       pg_catalog.max(m.bytes - COALESCE(m.fork_bytes, 0))::int8 AS most,
       pg_catalog.sum(m.n0)::int8 AS n0, pg_catalog.sum(m.n1)::int8 AS n1, pg_catalog.sum(m.n2)::int8 AS n2,
       pg_catalog.sum(m.n3)::int8 AS n3,
       pg_catalog.sum(m.n4)::int8 AS n4, pg_catalog.sum(m.n5)::int8 AS n5, pg_catalog.sum(m.n6)::int8 AS n6,
       pg_catalog.sum(m.b1)::int8 AS b1, pg_catalog.sum(m.b2)::int8 AS b2, pg_catalog.sum(m.b3)::int8 AS b3,
       pg_catalog.sum(m.b4)::int8 AS b4, pg_catalog.sum(m.b5)::int8 AS b5, pg_catalog.sum(m.b6)::int8 AS b6,
       pg_catalog.sum(CASE WHEN m.part IN (4, 5, 6) AND m.bytes = {block} THEN m.bytes END)::int8 AS hollow,
       pg_catalog.sum(m.forks)::int8 AS forks,
       pg_catalog.sum(m.fork_bytes)::int8 AS fork_bytes,
       pg_catalog.sum(m.fork_small)::int8 AS fork_small,
       pg_catalog.sum(m.fork_empty)::int8 AS fork_empty,
       pg_catalog.date_part('epoch', pg_catalog.max(m.mtime))::float8 AS mtime
  FROM (SELECT content, temp, node,
               pg_catalog.max(oid) AS oid, pg_catalog.max(root) AS root, pg_catalog.max(part) AS part,
               pg_catalog.count(size)::int4 AS files, pg_catalog.sum(size) AS bytes,
               pg_catalog.count(CASE WHEN size = 0 THEN 1 END)::int4 AS n0,
               pg_catalog.count(CASE WHEN size > 0 AND size <= 131072 THEN 1 END)::int4 AS n1,
               pg_catalog.count(CASE WHEN size > 131072 AND size <= 1048576 THEN 1 END)::int4 AS n2,
               pg_catalog.count(CASE WHEN size > 1048576 AND size <= 8388608 THEN 1 END)::int4 AS n3,
               pg_catalog.count(CASE WHEN size > 8388608 AND size <= 67108864 THEN 1 END)::int4 AS n4,
               pg_catalog.count(CASE WHEN size > 67108864 AND size <= 536870912 THEN 1 END)::int4 AS n5,
               pg_catalog.count(CASE WHEN size > 536870912 THEN 1 END)::int4 AS n6,
               pg_catalog.sum(CASE WHEN size > 0 AND size <= 131072 THEN size END) AS b1,
               pg_catalog.sum(CASE WHEN size > 131072 AND size <= 1048576 THEN size END) AS b2,
               pg_catalog.sum(CASE WHEN size > 1048576 AND size <= 8388608 THEN size END) AS b3,
               pg_catalog.sum(CASE WHEN size > 8388608 AND size <= 67108864 THEN size END) AS b4,
               pg_catalog.sum(CASE WHEN size > 67108864 AND size <= 536870912 THEN size END) AS b5,
               pg_catalog.sum(CASE WHEN size > 536870912 THEN size END) AS b6,
               pg_catalog.count(CASE WHEN fork THEN size END)::int4 AS forks,
               pg_catalog.sum(CASE WHEN fork THEN size END) AS fork_bytes,
               pg_catalog.count(CASE WHEN fork AND size <= 1048576 THEN 1 END)::int4 AS fork_small,
               pg_catalog.count(CASE WHEN fork AND size = 0 THEN 1 END)::int4 AS fork_empty,
               pg_catalog.max(mtime) AS mtime
          FROM (SELECT content, temp, node, NULL::int8 AS oid, NULL::int8 AS root, NULL::int4 AS part,
                       (s).size::float8 AS size, (s).modification AS mtime, fork
                  FROM (SELECT content, file LIKE 't%' AS temp,
                               NULLIF(pg_catalog.split_part(pg_catalog.split_part(file, '.', 1), '_',
                                                            CASE WHEN file LIKE 't%' THEN 2 ELSE 1 END), '')::int8 AS node,
                               pg_catalog.strpos(file, 'm') > 0 OR pg_catalog.strpos(file, 'i') > 0 AS fork,
                               pg_catalog.pg_stat_file('{folder}/' || file, true) AS s
                          FROM (SELECT gp_segment_id AS content, pg_catalog.pg_ls_dir('{folder}') AS file
                                  FROM gp_dist_random('gp_id')) listed
                         WHERE pg_catalog.translate(file, '0123456789', '')
                               IN ('', '.', '_fsm', '_vm', '_init', '_fsm.', '_vm.', '_init.',
                                   't_', 't_.', 't__fsm', 't__vm', 't__fsm.', 't__vm.')) stated
                 WHERE (s).size IS NOT NULL
                UNION ALL
                SELECT c.gp_segment_id, c.relpersistence = 't',
                       CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8,
                       c.oid::int8, w.root, w.part, NULL, NULL, NULL
                  FROM gp_dist_random('pg_catalog.pg_class') c
                  LEFT JOIN (SELECT c.oid,
                                    COALESCE(t.root, e.owner, x.indrelid, c.oid)::int8 AS root,
                                    CASE WHEN COALESCE(e.owner, x.indrelid, c.oid) < 16384 THEN 8
                                         WHEN x.indrelid IS NOT NULL THEN COALESCE(e.part + 3, 4)
                                         WHEN e.part IS NOT NULL THEN e.part
                                         WHEN c.relkind = 'S' THEN 7
                                         ELSE 10 + COALESCE(NULLIF(pg_catalog.strpos('hac', c.relstorage::text), 0), 4)
                                         END AS part
                               FROM pg_catalog.pg_class c
                               LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
                               LEFT JOIN (SELECT reltoastrelid AS child, oid AS owner, 3 AS part
                                            FROM pg_catalog.pg_class WHERE reltoastrelid <> 0
                                     UNION ALL SELECT segrelid, relid, 2 FROM pg_catalog.pg_appendonly
                                     UNION ALL SELECT visimaprelid, relid, 2 FROM pg_catalog.pg_appendonly WHERE visimaprelid <> 0
                                     UNION ALL SELECT blkdirrelid, relid, 2 FROM pg_catalog.pg_appendonly WHERE blkdirrelid <> 0) e
                                ON e.child = COALESCE(x.indrelid, c.oid)
                               LEFT JOIN (SELECT r.parchildrelid AS oid, p.parrelid AS root
                                       FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid) t
                                 ON t.oid = COALESCE(e.owner, x.indrelid, c.oid)) w ON w.oid = c.oid
                 WHERE c.reltablespace = {tablespace} AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
                       AND c.relstorage NOT IN ('x', 'f', 'v')) u
         GROUP BY content, temp, node) m
 CROSS JOIN (VALUES (1), (2), (3), (4)) k (what)
 WHERE CASE k.what WHEN 1 THEN m.files > 0 AND m.oid >= 16384 AND m.part > 10
                   WHEN 2 THEN m.files > 0
                   WHEN 3 THEN m.oid IS NULL AND m.node > 0
                   ELSE m.oid IS NOT NULL AND m.node > 0 AND m.files = m.forks END
 GROUP BY 1, 2, 3, 4, 5
