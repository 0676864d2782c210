-- Files and bytes of every table on all segments, from the data directories: what is there, not what the catalog says.
-- One row a table that has a file; a table with bytes 0 is empty. The row without oid is everything else in the folder:
-- indexes, TOAST, auxiliary relations, catalogs. Main forks only.
-- Files meet their relation by one grouping instead of a join: the planner cannot know how many files there are, and
-- would send every file's row to every segment.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one directory listing and one stat a file on every segment, in parallel
SELECT m.oid AS oid,
       pg_catalog.sum(m.files)::int8 AS files,
       pg_catalog.sum(m.bytes)::int8 AS bytes,
       pg_catalog.max(m.bytes)::int8 AS max_segment_bytes
  FROM (SELECT content, node, pg_catalog.max(u.oid) AS oid, pg_catalog.sum(u.files) AS files, pg_catalog.sum(u.size) AS bytes
          FROM (SELECT content, pg_catalog.split_part(file, '.', 1)::oid AS node, NULL::int8 AS oid, 1 AS files,
                       (pg_catalog.pg_stat_file('{folder}/' || file, true)).size AS size
                  FROM (SELECT gp_segment_id AS content, pg_catalog.pg_ls_dir('{folder}') AS file FROM gp_dist_random('gp_id')) listed
                 WHERE file ~ '^[0-9]+(\.[0-9]+)?$'
                UNION ALL
                SELECT gp_segment_id, relfilenode, oid::int8, 0, 0
                  FROM gp_dist_random('pg_catalog.pg_class')
                 WHERE oid >= 16384 AND relkind IN ('r', 'm') AND reltablespace = {tablespace}) u
         GROUP BY content, node) m
 WHERE m.files > 0
 GROUP BY m.oid
