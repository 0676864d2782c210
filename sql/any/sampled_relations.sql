-- A random sample of a few hundred relations in pg_class. Their rows in other catalogs give the row width there.
-- The sample uses a hash, because oids follow patterns.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on the entry instance
SELECT c.oid::int8 AS oid, c.reltype::int8 AS type_oid
  FROM pg_catalog.pg_class c
 WHERE (pg_catalog.hashoid(c.oid) & {mask}) = 0
 LIMIT 500
