-- Temporary schemas with relations. The number of a schema is the slot of its backend, which this version does not show, so it is
-- not known whether the session still exists.
-- needs: CONNECT
-- locks: AccessShareLock on pg_namespace, pg_class
-- cost: one aggregate over the temporary relations of pg_class
SELECT n.nspname::text AS schema, pg_catalog.count(*) AS relations, NULL::bool AS alive
  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
 WHERE n.nspname ~ '^pg_(toast_)?temp_[0-9]+$'
 GROUP BY 1 ORDER BY 2 DESC, 1
 LIMIT 10000
