-- Whether there is a journal of upkeep.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: constant
SELECT c.oid::int8 AS oid
  FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'upkeep' AND c.relkind = 'r'
 WHERE n.nspname = 'gpcatalog_journal'
