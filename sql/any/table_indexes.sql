-- Indexes of one table; %s is its oid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_constraint, pg_class, pg_am
-- cost: one index lookup
SELECT i.indnatts::int4 AS columns,
       EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')) AS owned,
       m.amname = 'bitmap' AS bitmap
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_am m ON m.oid = c.relam
 WHERE i.indrelid = %s::int8::oid
 ORDER BY i.indexrelid
