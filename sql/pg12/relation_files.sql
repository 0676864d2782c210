-- Files and bytes from the data directories: existing files, regardless of the catalog. One statement lists
-- include files_told
-- Files and relations are numbered once each. Only kind 2 adds up the histogram, and only from files. Kind 5 is of Greenplum alone.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table; opens no table
-- cost: one directory listing and one stat per file; one join of these catalogs
WITH stated AS MATERIALIZED (
        SELECT temp, node, fork, first, (s).size::float8 AS size, (s).modification AS mtime
          FROM (SELECT file LIKE 't%' AS temp,
                       NULLIF(pg_catalog.split_part(pg_catalog.split_part(file, '.', 1), '_',
                                                    CASE WHEN file LIKE 't%' THEN 2 ELSE 1 END), '')::int8 AS node,
                       pg_catalog.strpos(file, 'm') > 0 OR pg_catalog.strpos(file, 'i') > 0 AS fork,
                       pg_catalog.strpos(file, '.') = 0 AS first,
                       {stat_file}('{folder}/' || file, true) AS s
                  FROM {list_folder}('{folder}') AS file
-- include data_files
-- include files_drawn
               ) named
         WHERE (s).size IS NOT NULL),
     numbered AS MATERIALIZED (
        SELECT c.relpersistence = 't' AS temp,
               CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8 AS node,
               c.oid::int8 AS oid, w.root, w.part
          FROM pg_catalog.pg_class c
          LEFT JOIN (
-- include relation_owner
                  ) w ON w.oid = c.oid
         WHERE c.reltablespace = {tablespace} AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
-- include files_chosen
     ),
     known AS MATERIALIZED (
        SELECT s.*, n.oid, n.root, n.part
          FROM stated s
          LEFT JOIN (SELECT temp, node, oid, root, part FROM numbered WHERE NOT temp
                     UNION ALL
                     -- temporary relations of two sessions can have one number
                     SELECT true, node, pg_catalog.max(oid), pg_catalog.max(root), pg_catalog.max(part)
                       FROM numbered WHERE temp GROUP BY node) n
            ON n.node = s.node AND n.temp = s.temp)
SELECT 1 AS what, NULL::int4 AS content, oid, NULL::int8 AS node, NULL::int4 AS part, NULL::int4 AS chunk,
       pg_catalog.count(size) AS files,
       pg_catalog.sum(size)::int8 AS bytes,
       COALESCE(pg_catalog.sum(CASE WHEN NOT fork THEN size END), 0)::int8 AS most,
       NULL::int8 AS n0, NULL::int8 AS n1, NULL::int8 AS n2, NULL::int8 AS n3, NULL::int8 AS n4, NULL::int8 AS n5, NULL::int8 AS n6,
       NULL::int8 AS b1, NULL::int8 AS b2, NULL::int8 AS b3, NULL::int8 AS b4, NULL::int8 AS b5, NULL::int8 AS b6,
       NULL::int8 AS hollow,
       pg_catalog.count(CASE WHEN fork THEN size END) AS forks,
       pg_catalog.sum(CASE WHEN fork THEN size END)::int8 AS fork_bytes,
       NULL::int8 AS fork_small, NULL::int8 AS fork_empty, NULL::float8 AS mtime
  FROM known
 WHERE oid >= 16384 AND part > 10
 GROUP BY oid
UNION ALL
SELECT 2, -1, root, NULL, part,
       CASE WHEN {share} > 1 AND node NOT IN (VALUES {always}) THEN (pg_catalog.hashtext(node::text) >> 4) & 15 END,
       pg_catalog.count(size),
       pg_catalog.sum(size)::int8,
       NULL,
       pg_catalog.count(CASE WHEN size = 0 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 0 AND size <= 131072 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 131072 AND size <= 1048576 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 1048576 AND size <= 8388608 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 8388608 AND size <= 67108864 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 67108864 AND size <= 536870912 THEN 1 END),
       pg_catalog.count(CASE WHEN size > 536870912 THEN 1 END),
       pg_catalog.sum(CASE WHEN size > 0 AND size <= 131072 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN size > 131072 AND size <= 1048576 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN size > 1048576 AND size <= 8388608 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN size > 8388608 AND size <= 67108864 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN size > 67108864 AND size <= 536870912 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN size > 536870912 THEN size END)::int8,
       pg_catalog.sum(CASE WHEN first AND NOT fork AND part IN (4, 6) AND size = {block} THEN size END)::int8,
       pg_catalog.count(CASE WHEN fork THEN size END),
       pg_catalog.sum(CASE WHEN fork THEN size END)::int8,
       pg_catalog.count(CASE WHEN fork AND size <= 1048576 THEN 1 END),
       pg_catalog.count(CASE WHEN fork AND size = 0 THEN 1 END),
       NULL
  FROM known
 GROUP BY 3, 5, 6
UNION ALL
SELECT 3, -1, NULL, node, NULL, NULL, pg_catalog.count(size), pg_catalog.sum(size)::int8, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       pg_catalog.count(CASE WHEN fork THEN size END), pg_catalog.sum(CASE WHEN fork THEN size END)::int8, NULL, NULL,
       pg_catalog.date_part('epoch', pg_catalog.max(mtime))::float8
  FROM known
 WHERE oid IS NULL AND node > 0
 GROUP BY temp, node
UNION ALL
SELECT 4, -1, n.oid, n.node, n.part, NULL, 0, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM numbered n
 WHERE n.node > 0 AND NOT EXISTS (SELECT FROM stated s WHERE s.node = n.node AND s.temp = n.temp AND NOT s.fork)
