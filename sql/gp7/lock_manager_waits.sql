-- Sessions that run a statement at this moment on each instance, and those of them that wait for a partition of the shared
-- lock table. A session is counted once on an instance, however many processes it has there.
-- needs: CONNECT shows the sessions of this role; pg_read_all_stats (pg_monitor) or superuser shows all
-- locks: none
-- cost: reads the list of sessions of each instance
SELECT -1 AS content, pg_catalog.count(*)::int8 AS active,
       pg_catalog.count(CASE WHEN a.wait_event IN ('LockManager', 'lock_manager') THEN 1 END)::int8 AS waiting
  FROM {activity} a
 WHERE a.pid <> pg_catalog.pg_backend_pid() AND a.state = 'active' AND a.backend_type = 'client backend'
UNION ALL
SELECT s.content, pg_catalog.count(DISTINCT CASE WHEN s.counted THEN s.session END)::int8,
       pg_catalog.count(DISTINCT CASE WHEN s.counted AND s.wait_event IN ('LockManager', 'lock_manager') THEN s.session END)::int8
  FROM (SELECT p.content, (p.b).wait_event, (p.b).sess_id AS session,
               (p.b).state = 'active' AND (p.b).sess_id <> pg_catalog.current_setting('gp_session_id')::int4 AS counted
          FROM (SELECT gp_segment_id::int4 AS content, {backends} AS b FROM gp_dist_random('gp_id')) p) s
 GROUP BY 1
 ORDER BY 1
