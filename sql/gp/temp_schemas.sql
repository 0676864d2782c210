-- Temporary schemas with their number of relations. The number of a schema is the sess_id of its session: if no such session
-- exists, the schema and its relations are leftovers.
-- needs: CONNECT
-- locks: AccessShareLock on pg_namespace, pg_class
-- cost: one index lookup per temporary schema
SELECT n.nspname::text AS schema,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid) AS relations,
       EXISTS (SELECT 1 FROM pg_catalog.pg_stat_activity a
                WHERE a.sess_id = pg_catalog.substring(n.nspname::text, '[0-9]+$')::int4) AS alive
  FROM pg_catalog.pg_namespace n
 WHERE n.nspname ~ '^pg_(toast_)?temp_[0-9]+$'
 ORDER BY 2 DESC, 1
 LIMIT 10000
