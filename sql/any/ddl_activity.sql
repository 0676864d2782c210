-- DDL that runs or waits right now, and the sessions it waits for. Only the first words of each statement are read:
-- no query text and no literal.
-- needs: CONNECT shows the sessions of this role; pg_read_all_stats (pg_monitor) or superuser shows all
-- locks: none
-- cost: reads the list of sessions, and the lock table for those that wait
SELECT a.pid::int4 AS pid,
       COALESCE(a.usename, '')::text AS role,
       COALESCE(a.datname, '')::text AS database,
       pg_catalog.upper(pg_catalog.regexp_replace(pg_catalog.substring(a.query,
           '(?i)((?:CREATE|ALTER|DROP|COMMENT)[[:space:]]+[[:alpha:]]+'
           '|[[:alpha:]]+(?:[[:space:]]+(?:TABLE|INDEX|DATABASE|SCHEMA|SYSTEM|FULL|FREEZE|ANALYZE|MATERIALIZED|ROOTPARTITION)\M)?)'), '[[:space:]]+', ' ')) AS command,
       CASE WHEN a.wait_event_type = 'Lock' THEN 'waiting' ELSE 'running' END AS state,
       pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - a.query_start)::float8 AS seconds,
       CASE WHEN a.wait_event_type = 'Lock' THEN pg_catalog.array_to_string(ARRAY(
           SELECT DISTINCT b.pid::text || ' (' || COALESCE(b.usename, '') || ', ' || COALESCE(b.state, '') || ')'
             FROM {activity} b WHERE b.pid = ANY (pg_catalog.pg_blocking_pids(a.pid))), ', ') ELSE '' END AS blocked_by
  FROM {activity} a
 WHERE a.pid <> pg_catalog.pg_backend_pid() AND a.state = 'active'
       AND a.query ~* '^[[:space:]]*(CREATE|ALTER|DROP|TRUNCATE|VACUUM|REINDEX|CLUSTER|ANALYZE|REFRESH|GRANT|REVOKE|COMMENT)'
 ORDER BY 6 DESC
 LIMIT 100
