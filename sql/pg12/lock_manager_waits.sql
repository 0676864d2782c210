-- Sessions that run a statement at this moment, and those of them that wait for a partition of the shared lock table. Background
-- processes are not counted.
-- needs: CONNECT shows the sessions of this role; pg_read_all_stats (pg_monitor) or superuser shows all
-- locks: none
-- cost: reads the list of sessions
SELECT -1 AS content, pg_catalog.count(*)::int8 AS active,
       pg_catalog.count(CASE WHEN a.wait_event IN ('LockManager', 'lock_manager') THEN 1 END)::int8 AS waiting
  FROM {activity} a
 WHERE a.pid <> pg_catalog.pg_backend_pid() AND a.state = 'active' AND a.backend_type = 'client backend'
