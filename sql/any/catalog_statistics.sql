-- What the statistics say of every catalog: rows ever inserted, updated and deleted, dead rows, and when it was last vacuumed.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: before PostgreSQL 15 one reading of the statistics file, which grows with the tables of the database; else constant
SELECT -1 AS content, c.relname::text AS relation, pg_catalog.pg_stat_get_tuples_inserted(c.oid) AS inserted,
       pg_catalog.pg_stat_get_tuples_updated(c.oid) AS updated, pg_catalog.pg_stat_get_tuples_deleted(c.oid) AS deleted,
       pg_catalog.pg_stat_get_dead_tuples(c.oid) AS dead_tuples,
       GREATEST(pg_catalog.pg_stat_get_last_vacuum_time(c.oid), pg_catalog.pg_stat_get_last_autovacuum_time(c.oid)) AS last_vacuum
  FROM pg_catalog.pg_class c
 WHERE c.oid < 16384 AND c.relnamespace = 11 AND c.relkind = 'r'
 ORDER BY 2
