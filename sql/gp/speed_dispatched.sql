-- Counts 25,000 numbers on every segment at the same time, to compare their speed with the test servers; timed by the client.
-- needs: CONNECT
-- locks: AccessShareLock on gp_id
-- cost: about 5 ms of processor time on every segment
SELECT pg_catalog.count(*) AS rows FROM gp_dist_random('pg_catalog.gp_id') g, pg_catalog.generate_series(1, 25000) n
