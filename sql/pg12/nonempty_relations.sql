-- Tables with rows according to the statistics of the server (an estimate), for roles that cannot list directories.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class and one lookup in the statistics per table
SELECT c.oid::int8 AS oid
  FROM pg_catalog.pg_class c
 WHERE c.relkind IN ('r', 'm') AND c.oid >= 16384
       AND (c.relpages > 0 OR pg_catalog.pg_stat_get_live_tuples(c.oid) > 0)
