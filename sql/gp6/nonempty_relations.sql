-- Tables with rows, for roles that cannot list directories: append-optimized tables by their segment file list, heap tables by
-- their size. {part} of {parts} divides the work, so that no segment process opens all relations at once. Relations with an
-- exclusive lock ({busy}) are skipped.
-- needs: CONNECT
-- locks: AccessShareLock on one relation at a time, released immediately; waits for TRUNCATE or DROP of a table up to lock_timeout
-- cost: one open and one size per table on every segment; memory grows with the batch
SELECT a.relid::int8 AS oid
  FROM gp_dist_random('pg_catalog.pg_appendonly') a
 WHERE a.relid::int8 % {parts} = {part} AND a.relid::int8 NOT IN ({busy})
       AND pg_catalog.pg_relation_size(a.segrelid) > 0
 GROUP BY 1
UNION ALL
SELECT c.oid::int8
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'm') AND c.relstorage = 'h'
       AND c.oid::int8 % {parts} = {part} AND c.oid::int8 NOT IN ({busy})
       AND pg_catalog.pg_relation_size(c.oid) > 0
 GROUP BY 1
