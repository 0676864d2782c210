-- Partitions whose DETACH CONCURRENTLY is not finished, as in `partition_facts`.
-- needs: CONNECT
-- locks: AccessShareLock on pg_inherits, pg_class; opens no table
-- cost: one scan of pg_inherits
WITH RECURSIVE up AS (
    SELECT i.inhrelid AS oid, i.inhparent AS above FROM pg_catalog.pg_inherits i WHERE i.inhdetachpending
    UNION ALL
    SELECT u.oid, i.inhparent FROM up u JOIN pg_catalog.pg_inherits i ON i.inhrelid = u.above
)
SELECT u.above::int8 AS root, u.oid::int8 AS oid, 'pending detach'::text AS fact, c.relname::text AS detail
  FROM up u JOIN pg_catalog.pg_class c ON c.oid = u.oid
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = u.above)
