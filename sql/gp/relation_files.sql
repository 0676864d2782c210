-- Files and bytes of every table on all segments, from the data directories: what is there, not what the catalog says.
-- One row a table that has bytes; a table without a row, or with bytes 0, is empty. Reads the default tablespace and
-- all others; auxiliary relations and indexes are not counted here.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_tablespace; opens no table
-- cost: one directory listing and one stat a file on every segment, in parallel
SELECT c.oid::int8 AS oid,
       pg_catalog.sum(f.files)::int8 AS files,
       pg_catalog.sum(f.bytes)::int8 AS bytes,
       pg_catalog.max(f.bytes)::int8 AS max_segment_bytes
  FROM (SELECT content, node, pg_catalog.count(*) AS files, pg_catalog.sum(size) AS bytes
          FROM (SELECT content,
                       pg_catalog.split_part(file, '.', 1) AS node,
                       (pg_catalog.pg_stat_file(folder || '/' || file, true)).size AS size
                  FROM (SELECT gp_segment_id AS content, '{folder}'::text AS folder,
                               pg_catalog.pg_ls_dir('{folder}') AS file
                          FROM gp_dist_random('gp_id')) listed
                 WHERE file ~ '^[0-9]+(\.[0-9]+)?$') sized
         WHERE size IS NOT NULL
         GROUP BY content, node) f
  JOIN gp_dist_random('pg_catalog.pg_class') c
    ON c.gp_segment_id = f.content AND c.relfilenode = f.node::oid
 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'm') AND c.reltablespace = {tablespace}
 GROUP BY c.oid
