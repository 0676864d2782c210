-- DDL statements that pg_stat_statements counted in this database, by their first two words. No query text and no literal leaves the
-- server.
-- needs: pg_stat_statements installed and loaded; pg_read_all_stats or superuser for other roles' statements
-- trusts: {schema}, extension pg_stat_statements
-- locks: none
-- cost: reads all statements that the extension stores
SELECT pg_catalog.upper(pg_catalog.regexp_replace(pg_catalog.substring(s.query,
           '(?i)((?:CREATE|ALTER|DROP|COMMENT)[[:space:]]+[[:alpha:]]+'
           '|[[:alpha:]]+(?:[[:space:]]+(?:TABLE|INDEX|DATABASE|SCHEMA|SYSTEM|FULL|FREEZE|ANALYZE|MATERIALIZED|ROOTPARTITION)\M)?)'), '[[:space:]]+', ' ')) AS command,
       pg_catalog.sum(s.calls)::int8 AS calls, pg_catalog.min(s.min_exec_time)::float8 AS min_ms,
       (pg_catalog.sum(s.total_exec_time) / NULLIF(pg_catalog.sum(s.calls), 0))::float8 AS mean_ms
  FROM {schema}.pg_stat_statements s
 WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
       AND s.query ~* '^[[:space:]]*(CREATE|ALTER|DROP|TRUNCATE|VACUUM|REINDEX|CLUSTER)[[:space:]]+[[:alpha:]]'
 GROUP BY 1 ORDER BY 2 DESC, 1
 LIMIT 30
