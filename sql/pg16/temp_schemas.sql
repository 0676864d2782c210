-- Temporary schemas with relations. The number of a schema is that of its backend: if no backend has it, the schema is a leftover.
-- needs: CONNECT
-- locks: AccessShareLock on pg_namespace, pg_class
-- cost: one aggregate over the temporary relations of pg_class
SELECT n.nspname::text AS schema, pg_catalog.count(*) AS relations,
       EXISTS (SELECT 1 FROM pg_catalog.pg_stat_get_backend_idset() AS id
                WHERE id = pg_catalog.substring(n.nspname::text, '[0-9]+$')::int4) AS alive
  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
 WHERE n.nspname ~ '^pg_(toast_)?temp_[0-9]+$'
 GROUP BY n.nspname ORDER BY 2 DESC, 1
 LIMIT 10000
