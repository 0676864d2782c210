-- Indexes of one table; %s is its oid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_constraint
-- cost: one index lookup
SELECT i.indnatts::int4 AS columns,
       EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u')) AS owned
  FROM pg_catalog.pg_index i
 WHERE i.indrelid = %s::int8::oid
 ORDER BY i.indexrelid
