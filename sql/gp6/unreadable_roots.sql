-- Partitioned tables that this role may not SELECT from: their planning time is not measured. The most, and names of a few.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partition, pg_class, pg_namespace
-- cost: one scan of pg_partition
SELECT n.nspname::text AS schema, c.relname::text AS name, (pg_catalog.count(*) OVER ())::int4 AS roots
  FROM pg_catalog.pg_partition p JOIN pg_catalog.pg_class c ON c.oid = p.parrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE p.parlevel = 0 AND NOT p.paristemplate AND NOT pg_catalog.has_table_privilege(c.oid, 'SELECT')
 ORDER BY 1, 2 LIMIT 3
