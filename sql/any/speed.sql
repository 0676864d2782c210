-- Counts 25,000 numbers, to compare the speed of the entry instance with the test servers; timed by the client.
-- needs: CONNECT
-- locks: none
-- cost: about 2 ms of processor time
SELECT pg_catalog.count(*) AS rows FROM pg_catalog.generate_series(1, 25000) n
