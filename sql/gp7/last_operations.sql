-- The newest CREATE, ALTER or TRUNCATE of tables: operation, time (UTC) and role. Operations on leaves count for their parent,
-- because the server records ALTER of a partitioned table only for its leaves.
-- needs: CONNECT
-- locks: AccessShareLock on pg_stat_last_operation, pg_class, pg_namespace, pg_inherits
-- cost: one scan of pg_stat_last_operation and a sort
SELECT COALESCE(i.inhparent, o.objid)::int8 AS oid, o.staactionname::text AS action, o.stasubtype AS detail, o.stausename::text AS role,
       pg_catalog.max(o.statime) AT TIME ZONE 'UTC' AS done_at
  FROM pg_catalog.pg_stat_last_operation o
  JOIN pg_catalog.pg_class c ON c.oid = o.objid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_inherits i ON c.relispartition AND i.inhrelid = c.oid
 WHERE o.classid = 1259 AND o.staactionname IN ('CREATE', 'ALTER', 'TRUNCATE') AND c.relkind IN ('r', 'p')
       AND NOT (c.relispartition AND o.staactionname = 'CREATE')
       AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'gp_toolkit')
 GROUP BY 1, 2, 3, 4
 ORDER BY 5 DESC, 1, 2, 3
 LIMIT 200
