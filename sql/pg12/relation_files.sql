-- Files and bytes of every table, from the data directory: what is there, not what the catalog says. One row a table that
-- has a file; a table with bytes 0 is empty. The row without oid is everything else in the folder: indexes, TOAST, catalogs.
-- Main forks only.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one directory listing and one stat a file
SELECT c.oid::int8 AS oid,
       pg_catalog.sum(f.files)::int8 AS files,
       pg_catalog.sum(f.bytes)::int8 AS bytes,
       pg_catalog.max(f.bytes)::int8 AS max_segment_bytes
  FROM (SELECT pg_catalog.split_part(file, '.', 1)::oid AS node, pg_catalog.count(*) AS files, pg_catalog.sum(s.size) AS bytes
          FROM pg_catalog.pg_ls_dir('{folder}') AS file,
               LATERAL pg_catalog.pg_stat_file('{folder}' || '/' || file, true) AS s
         WHERE file ~ '^[0-9]+(\.[0-9]+)?$' AND s.size IS NOT NULL
         GROUP BY 1) f
  LEFT JOIN pg_catalog.pg_class c
    ON c.relfilenode = f.node AND c.oid >= 16384 AND c.relkind IN ('r', 'm') AND c.reltablespace = {tablespace}
 GROUP BY c.oid
