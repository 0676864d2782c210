-- Rows ever inserted into, updated in and deleted from pg_class and pg_attribute, as the statistics counted them.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: constant
SELECT -1 AS content, c.relname::text AS relation, pg_catalog.pg_stat_get_tuples_inserted(c.oid) AS inserted,
       pg_catalog.pg_stat_get_tuples_updated(c.oid) AS updated, pg_catalog.pg_stat_get_tuples_deleted(c.oid) AS deleted
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = 11 AND c.relname IN ('pg_class', 'pg_attribute') AND c.relkind = 'r'
 ORDER BY 2
