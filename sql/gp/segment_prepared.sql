-- Prepared transactions on the segments. Each prevents VACUUM from removing dead rows on that segment.
-- needs: CONNECT
-- locks: none
-- cost: one dispatch
SELECT gp_segment_id::int4 AS content, (p).gid::text AS name,
       pg_catalog.date_part('epoch', pg_catalog.now() - (p).prepared)::float8 AS seconds,
       pg_catalog.age((p).transaction)::int8 AS xid_age
  FROM (SELECT gp_segment_id, pg_catalog.pg_prepared_xact() AS p FROM gp_dist_random('gp_id')) s
