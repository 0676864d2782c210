-- A few hundred relations drawn evenly from pg_class, whose rows in the other catalogs tell how wide rows are there.
-- Oids are handed out in patterns, hence the hash.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on the entry instance
SELECT c.oid::int8 AS oid, c.reltype::int8 AS type_oid
  FROM pg_catalog.pg_class c
 WHERE (pg_catalog.hashoid(c.oid) & {mask}) = 0
 LIMIT 500
