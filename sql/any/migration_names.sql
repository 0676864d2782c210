-- Relations that have one of some names in one of some schemas: the names that a step would give to what it makes.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace; opens no table
-- cost: one index lookup per name
SELECT n.nspname::text AS schema, c.relname::text AS name
  FROM (SELECT pg_catalog.unnest({names}) AS name) w
 CROSS JOIN LATERAL (SELECT r.relname, r.relnamespace FROM pg_catalog.pg_class r WHERE r.relname = w.name::name OFFSET 0) c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname::text = ANY ({schemas})
