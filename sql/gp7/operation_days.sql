-- On which day (UTC) relations that still exist were created, or last altered or truncated: how many of each, leaves apart.
-- needs: CONNECT
-- locks: AccessShareLock on pg_stat_last_operation, pg_class
-- cost: pg_stat_last_operation and pg_class once: one or two rows a relation, on the coordinator alone
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
