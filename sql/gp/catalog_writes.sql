-- Rows ever inserted into, updated in and deleted from pg_class and pg_attribute, as each instance counted them.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: constant
SELECT -1 AS content, c.relname::text AS relation, pg_catalog.pg_stat_get_tuples_inserted(c.oid) AS inserted,
       pg_catalog.pg_stat_get_tuples_updated(c.oid) AS updated, pg_catalog.pg_stat_get_tuples_deleted(c.oid) AS deleted
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = 11 AND c.relname IN ('pg_class', 'pg_attribute') AND c.relkind = 'r'
UNION ALL
SELECT c.gp_segment_id::int4, c.relname::text, pg_catalog.pg_stat_get_tuples_inserted(c.oid),
       pg_catalog.pg_stat_get_tuples_updated(c.oid), pg_catalog.pg_stat_get_tuples_deleted(c.oid)
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.relnamespace = 11 AND c.relname IN ('pg_class', 'pg_attribute') AND c.relkind = 'r'
 ORDER BY 1, 2
