-- Number of existing relations that were created, or last altered or truncated, on each day (UTC), leaves separately.
-- needs: CONNECT
-- locks: AccessShareLock on pg_stat_last_operation, pg_class
-- cost: one scan of pg_stat_last_operation (one or two rows per relation) and of pg_class, on the coordinator only
SELECT (o.statime AT TIME ZONE 'UTC')::date AS day,
       o.staactionname::text AS action,
       CASE WHEN c.relispartition THEN 'leaf' ELSE 'relation' END AS part,
       pg_catalog.count(*)::int8 AS relations
  FROM pg_catalog.pg_stat_last_operation o
  JOIN pg_catalog.pg_class c ON c.oid = o.objid
 WHERE o.classid = 1259 AND o.staactionname IN ('CREATE', 'ALTER', 'TRUNCATE')
       AND o.statime > pg_catalog.now() - interval '400 days'
 GROUP BY 1, 2, 3
 ORDER BY 1, 2, 3
