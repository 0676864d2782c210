-- Bytes of every catalog, catalog index and catalog TOAST table, summed over the coordinator and all segments, as
-- pg_relation_size() answers in a coordinator session. Less the segments' own figures it gives the coordinator's.
-- needs: CONNECT
-- locks: AccessShareLock on each catalog for a moment; waits behind VACUUM FULL of a catalog up to lock_timeout
-- cost: one dispatch a catalog relation, some hundred
SELECT -1 AS content,
       c.oid::int8 AS oid,
       pg_catalog.pg_relation_size(c.oid) AS bytes,
       c.reltuples::float8 AS reltuples
  FROM pg_catalog.pg_class c
 WHERE c.oid < 16384 AND c.relnamespace IN (11, 99) AND c.relkind IN ('r', 'i', 't') AND c.oid NOT IN ({busy})
