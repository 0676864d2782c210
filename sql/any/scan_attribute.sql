-- One scan of pg_attribute without an index, as a session start without pg_internal.init does it; timed by the client.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute
-- cost: one scan of pg_attribute
SELECT pg_catalog.count(*) AS rows FROM pg_catalog.pg_attribute a WHERE a.atttypmod = -2147483648
