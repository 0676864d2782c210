-- Number of CHECK constraints of one table; %s is its oid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_constraint
-- cost: one index lookup
SELECT pg_catalog.count(*)::int4 AS checks
  FROM pg_catalog.pg_constraint k
 WHERE k.conrelid = %s::int8::oid AND k.contype = 'c'
