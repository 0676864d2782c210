-- One scan of pg_class on every segment at the same time; timed by the client.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on every segment
SELECT pg_catalog.count(c.relname) AS rows FROM gp_dist_random('pg_catalog.pg_class') c
