-- The schema of the extension pg_partman, if it is installed.
-- needs: CONNECT
-- locks: AccessShareLock on pg_extension, pg_namespace
-- cost: constant
SELECT pg_catalog.quote_ident(n.nspname) AS schema, n.nspname::text AS schema_name, e.extversion::text AS version
  FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
 WHERE e.extname = 'pg_partman'
