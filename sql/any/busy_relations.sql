-- Relations on which another session has an AccessExclusiveLock. Opening such a relation would wait for the lock.
-- needs: CONNECT
-- locks: none
-- cost: reads the lock table of the server; on Greenplum of every instance
SELECT DISTINCT l.relation::int8 AS oid
  FROM pg_catalog.pg_locks l
 WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.granted AND l.pid <> pg_catalog.pg_backend_pid()
