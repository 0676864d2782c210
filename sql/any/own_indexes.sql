-- Partitions with an index that is not part of an index of their table.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_inherits
-- cost: one scan of each of these catalogs
SELECT DISTINCT i.indrelid::int8 AS oid
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_inherits p ON p.inhrelid = i.indrelid
 WHERE i.indrelid >= 16384
       AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)
