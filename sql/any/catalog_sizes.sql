-- Bytes of every catalog, catalog index and catalog TOAST table on this server.
-- needs: CONNECT
-- locks: AccessShareLock on each catalog for a short time; waits for VACUUM FULL of a catalog up to lock_timeout
-- cost: constant (a few hundred files)
SELECT -1 AS content,
       c.oid::int8 AS oid,
       pg_catalog.pg_relation_size(c.oid) AS bytes,
       c.reltuples::float8 AS reltuples
  FROM pg_catalog.pg_class c
 WHERE c.oid < 16384 AND c.relnamespace IN (11, 99) AND c.relkind IN ('r', 'i', 't')
