-- Tables with a given name: %s are the name, the schema, and the schema again; without a schema, all schemas except system schemas.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: one index lookup per schema
SELECT c.oid::int8 AS oid, n.nspname::text AS schema, c.relname::text AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relname = %s AND (n.nspname = %s OR (%s = '' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'gp_toolkit')
                                              AND n.nspname !~ '^pg_(toast|temp|aoseg|bitmapindex)'))
       AND c.relkind IN ('r', 'p', 'm')
 ORDER BY n.nspname
