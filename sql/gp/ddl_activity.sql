-- DDL that runs or waits right now, and the sessions it waits for on any instance. Only the first words of each statement are
-- read: no query text and no literal. A session counts as blocking if it has a lock on the same object; sessions that wait in
-- between are not considered.
-- needs: CONNECT shows the sessions of this role; pg_read_all_stats (pg_monitor) or superuser shows all
-- locks: none
-- cost: reads the list of sessions and the lock tables of all instances
SELECT a.pid::int4 AS pid,
       COALESCE(a.usename, '')::text AS role,
       COALESCE(a.datname, '')::text AS database,
       pg_catalog.upper(pg_catalog.regexp_replace(pg_catalog.substring(a.query,
           '(?i)((?:CREATE|ALTER|DROP|COMMENT)[[:space:]]+[[:alpha:]]+'
           '|[[:alpha:]]+(?:[[:space:]]+(?:TABLE|INDEX|DATABASE|SCHEMA|SYSTEM|FULL|FREEZE|ANALYZE|MATERIALIZED|ROOTPARTITION)\M)?)'), '[[:space:]]+', ' ')) AS command,
       CASE WHEN w.blocked_by IS NOT NULL THEN 'waiting' ELSE 'running' END AS state,
       pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - a.query_start)::float8 AS seconds,
       COALESCE(w.blocked_by, '') AS blocked_by
  FROM {activity} a
  LEFT JOIN (SELECT l.mppsessionid,
                    pg_catalog.string_agg(DISTINCT COALESCE(b.pid::text || ' (' || COALESCE(b.usename, '') || ', '
                                                            || COALESCE(b.state, '') || ')', 'session ' || h.mppsessionid), ', ') AS blocked_by
               FROM pg_catalog.pg_locks l
               JOIN pg_catalog.pg_locks h
                 ON h.granted AND h.mppsessionid <> l.mppsessionid AND h.gp_segment_id = l.gp_segment_id AND h.locktype = l.locktype
                    AND h.database IS NOT DISTINCT FROM l.database AND h.relation IS NOT DISTINCT FROM l.relation
                    AND h.transactionid::text IS NOT DISTINCT FROM l.transactionid::text AND h.classid IS NOT DISTINCT FROM l.classid
                    AND h.objid IS NOT DISTINCT FROM l.objid AND NOT (h.mode = 'AccessShareLock' AND l.mode <> 'AccessExclusiveLock')
               LEFT JOIN {activity} b ON b.sess_id = h.mppsessionid
              WHERE NOT l.granted
              GROUP BY 1) w ON w.mppsessionid = a.sess_id
 WHERE a.pid <> pg_catalog.pg_backend_pid() AND a.state = 'active'
       AND a.query ~* '^[[:space:]]*(CREATE|ALTER|DROP|TRUNCATE|VACUUM|REINDEX|CLUSTER|ANALYZE|REFRESH|GRANT|REVOKE|COMMENT)'
 ORDER BY 6 DESC
 LIMIT 100
