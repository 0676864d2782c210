-- What hangs on a partitioned table or its partitions and would be lost or in the way: views, rules, triggers, foreign keys, checks.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_rewrite, pg_trigger, pg_constraint, pg_partition, pg_partition_rule, pg_default_acl; opens no table
-- cost: one index look-up a partition and catalog
WITH tree AS (
    SELECT {root}::oid AS oid
    UNION ALL
    SELECT r.parchildrelid FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE p.parrelid = {root} AND r.parchildrelid <> 0
)
SELECT DISTINCT t.oid::int8 AS oid, CASE WHEN r.ev_class = t.oid THEN 'rule' ELSE 'view' END AS what, v.relname::text AS detail
  FROM pg_catalog.pg_depend d
  JOIN tree t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
       AND (t.oid <> {root} OR r.ev_class = t.oid)
UNION ALL
SELECT t.oid::int8, 'trigger', g.tgname::text FROM tree t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
UNION ALL
SELECT t.oid::int8, 'foreign key', k.conname::text FROM tree t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid AND k.contype = 'f'
UNION ALL
SELECT t.oid::int8, 'referenced by foreign key', k.conname::text
  FROM tree t JOIN pg_catalog.pg_constraint k ON k.confrelid = t.oid AND k.contype = 'f'
UNION ALL
SELECT {root}::int8, 'default privileges', pg_catalog.count(*)::text FROM pg_catalog.pg_default_acl a WHERE a.defaclobjtype = 'r' HAVING pg_catalog.count(*) > 0
 ORDER BY 1, 2, 3
