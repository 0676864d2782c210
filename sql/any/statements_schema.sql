-- The schema of the extension pg_stat_statements, if it is installed in this database.
-- needs: CONNECT
-- locks: AccessShareLock on pg_extension, pg_namespace
-- cost: constant
SELECT n.nspname::text AS schema
  FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
 WHERE e.extname = 'pg_stat_statements'
