-- Transactions since the oldest one that a database may still contain (datfrozenxid), by database and instance. This server has no
-- function for the age of multixacts.
-- needs: CONNECT
-- locks: AccessShareLock on pg_database
-- cost: one dispatch
SELECT -1 AS content, 'database' AS kind, d.datname::text AS name, pg_catalog.age(d.datfrozenxid)::int8 AS xid_age,
       NULL::int8 AS multixact_age
  FROM pg_catalog.pg_database d
UNION ALL
SELECT d.gp_segment_id::int4, 'database', d.datname::text, pg_catalog.age(d.datfrozenxid)::int8,
       NULL::int8
  FROM gp_dist_random('pg_catalog.pg_database') d
 ORDER BY 4 DESC, 1, 3
