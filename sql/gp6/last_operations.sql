-- The newest CREATE, ALTER or TRUNCATE of tables, without leaves: operation, time (UTC) and role.
-- needs: CONNECT
-- locks: AccessShareLock on pg_stat_last_operation, pg_class, pg_namespace, pg_partition_rule
-- cost: one scan of pg_stat_last_operation and a sort
SELECT o.objid::int8 AS oid, o.staactionname::text AS action, o.stasubtype AS detail, o.stausename::text AS role,
       o.statime AT TIME ZONE 'UTC' AS done_at
  FROM pg_catalog.pg_stat_last_operation o
  JOIN pg_catalog.pg_class c ON c.oid = o.objid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE o.classid = 1259 AND o.staactionname IN ('CREATE', 'ALTER', 'TRUNCATE') AND c.relkind = 'r'
       AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'gp_toolkit')
       AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_partition_rule r WHERE r.parchildrelid = o.objid)
 ORDER BY o.statime DESC, o.objid, o.staactionname
 LIMIT 200
