-- One table by its name, for `gpcatalog estimate --table`: %s are its name, its schema, and the schema again.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: one index look-up
SELECT c.oid::int8 AS oid, n.nspname::text AS schema
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relname = %s AND (n.nspname = %s OR (%s = '' AND pg_catalog.pg_table_is_visible(c.oid))) AND c.relkind IN ('r', 'p', 'm')
