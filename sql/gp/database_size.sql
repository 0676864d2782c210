-- Bytes of the database on all segments without mirrors.
-- needs: CONNECT on the database
-- locks: none
-- cost: one stat per file on every segment
SELECT pg_catalog.sum(bytes)::int8 AS bytes
  -- generate_series: without it, the coordinator would call the function
  FROM (SELECT pg_catalog.pg_database_size(pg_catalog.current_database()) AS bytes, pg_catalog.generate_series(1, 1)
          FROM gp_dist_random('gp_id')) s
