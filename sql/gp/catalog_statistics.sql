-- Statistics of every catalog on each instance: rows inserted, updated and deleted so far, dead rows, time of the last VACUUM.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: reads the statistics file of each instance, which grows with the tables of the database
-- include catalog_statistics_here
UNION ALL
SELECT c.gp_segment_id::int4, c.relname::text, pg_catalog.pg_stat_get_tuples_inserted(c.oid),
       pg_catalog.pg_stat_get_tuples_updated(c.oid), pg_catalog.pg_stat_get_tuples_deleted(c.oid),
       pg_catalog.pg_stat_get_dead_tuples(c.oid),
       GREATEST(pg_catalog.pg_stat_get_last_vacuum_time(c.oid), pg_catalog.pg_stat_get_last_autovacuum_time(c.oid))
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.oid < 16384 AND c.relnamespace = 11 AND c.relkind = 'r'
 ORDER BY 1, 2
