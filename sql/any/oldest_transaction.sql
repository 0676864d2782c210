-- Start of the oldest active transaction, and the current time, in seconds since 1970. A file that was changed later may belong to
-- a relation that is being created or dropped. hidden: sessions that are not visible to this role.
-- needs: CONNECT; pg_read_all_stats (pg_monitor) or superuser to see other roles' sessions
-- locks: none
-- cost: constant
SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())::float8 AS clock,
       pg_catalog.date_part('epoch', pg_catalog.min(a.xact_start))::float8 AS oldest,
       pg_catalog.count(CASE WHEN a.query = '<insufficient privilege>' THEN 1 END)::int8 AS hidden,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_xacts)::int8 AS prepared
  FROM {activity} a
