-- Files and bytes from the data directories: existing files, regardless of the catalog. One statement lists
-- include files_kinds
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table; opens no table
-- cost: one directory listing and one stat per file; one join of these catalogs
WITH named AS (
-- include relation_owner_columns
-- include relation_owner_storage
            , c.relpersistence = 't' AS temp
            , CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8 AS node
-- include relation_owner_joins
-- include relation_owner_tree
 WHERE c.reltablespace = {tablespace} AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
       AND CASE WHEN {share} = 1 THEN true
                WHEN pg_catalog.hashtext((CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END)::text)
                     & ({share} - 1) = 0 THEN true
                ELSE CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8
                     IN (VALUES {always}) END
),
-- a row for each file, with its relation, and one for each relation without a file. more: another file of 1 GB of the relation
listed AS (
    SELECT COALESCE(f.node, r.node) AS node, COALESCE(f.temp, r.temp) AS temp, r.oid, r.root, r.part, f.size, f.mtime, f.fork,
           CASE WHEN {share} > 1 AND f.node NOT IN (VALUES {always}) THEN (pg_catalog.hashtext(f.node::text) >> 4) & 15 END AS chunk,
           CASE WHEN f.size = 0 THEN 0 WHEN f.size <= 131072 THEN 1 WHEN f.size <= 1048576 THEN 2 WHEN f.size <= 8388608 THEN 3
                WHEN f.size <= 67108864 THEN 4 WHEN f.size <= 536870912 THEN 5 ELSE 6 END AS bucket,
           r.part IN (4, 5, 6) AND f.size = {block} AND NOT f.fork AND NOT f.more AS hollow
      FROM (SELECT temp, node, fork, more, (s).size::float8 AS size, (s).modification AS mtime
              FROM (SELECT file LIKE 't%' AS temp,
                           NULLIF(pg_catalog.split_part(pg_catalog.split_part(file, '.', 1), '_',
                                                        CASE WHEN file LIKE 't%' THEN 2 ELSE 1 END), '')::int8 AS node,
                           pg_catalog.strpos(file, 'm') > 0 OR pg_catalog.strpos(file, 'i') > 0 AS fork,
                           pg_catalog.strpos(file, '.') > 0 AS more,
                           {stat_file}('{folder}/' || file, true) AS s
                      FROM {list_folder}('{folder}') AS file
-- include data_files
-- include files_sampled
                   ) stated
             WHERE (s).size IS NOT NULL) f
      FULL JOIN named r ON r.node = f.node AND r.temp = f.temp
),
-- each file number, and the files of the parts of each root
summed AS (
    SELECT GROUPING(node) = 0 AS numbered, node, oid, pg_catalog.max(part) AS owner_part, root, part, chunk, bucket, fork, hollow,
           pg_catalog.count(size) AS files, pg_catalog.sum(size) AS bytes,
           pg_catalog.count(CASE WHEN NOT fork THEN size END) AS main_files,
           pg_catalog.sum(CASE WHEN NOT fork THEN size END) AS main_bytes,
           pg_catalog.sum(CASE WHEN fork THEN size END) AS fork_bytes,
           pg_catalog.max(mtime) AS mtime
      FROM listed
     GROUP BY GROUPING SETS ((node, temp, oid), (root, part, chunk, bucket, fork, hollow))
)
SELECT 1 AS what, NULL::int4 AS content, oid::int8 AS oid, NULL::int8 AS node, NULL::int4 AS part, NULL::int4 AS chunk,
       files::int8 AS files, bytes::int8 AS bytes, main_bytes::int8 AS most,
       NULL::int8 AS n0, NULL::int8 AS n1, NULL::int8 AS n2, NULL::int8 AS n3, NULL::int8 AS n4, NULL::int8 AS n5, NULL::int8 AS n6,
       NULL::int8 AS b1, NULL::int8 AS b2, NULL::int8 AS b3, NULL::int8 AS b4, NULL::int8 AS b5, NULL::int8 AS b6,
       NULL::int8 AS hollow, files - main_files AS forks, fork_bytes::int8 AS fork_bytes,
       NULL::int8 AS fork_small, NULL::int8 AS fork_empty, NULL::float8 AS mtime
  FROM summed
 WHERE numbered AND files > 0 AND oid >= 16384 AND owner_part > 10
UNION ALL
SELECT 2, -1, root, NULL, part, chunk, pg_catalog.sum(files)::int8, pg_catalog.sum(bytes)::int8, NULL,
       pg_catalog.sum(CASE WHEN bucket = 0 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 1 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 2 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 3 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 4 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 5 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 6 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 1 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 2 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 3 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 4 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 5 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN bucket = 6 THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN hollow THEN bytes END)::int8,
       pg_catalog.sum(CASE WHEN fork THEN files ELSE 0 END)::int8,
       pg_catalog.sum(fork_bytes)::int8,
       pg_catalog.sum(CASE WHEN fork AND bucket <= 2 THEN files ELSE 0 END)::int8,
       pg_catalog.sum(CASE WHEN fork AND bucket = 0 THEN files ELSE 0 END)::int8,
       NULL
  FROM summed
 WHERE NOT numbered AND files > 0
 GROUP BY root, part, chunk
UNION ALL
SELECT CASE WHEN oid IS NULL THEN 3 ELSE 4 END, -1, oid, node, owner_part, NULL, files, bytes::int8, main_bytes::int8,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       files - main_files, fork_bytes::int8, NULL, NULL, pg_catalog.date_part('epoch', mtime)::float8
  FROM summed
 WHERE numbered AND node > 0 AND (oid IS NULL OR main_files = 0)
