-- One scan of pg_class on the entry instance; timed by the client.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class
SELECT pg_catalog.count(c.relname) AS rows FROM pg_catalog.pg_class c
