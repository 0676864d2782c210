-- What hangs on a partitioned table or its partitions and would be lost or in the way: views, rules, triggers, foreign keys, policies, publications.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_rewrite, pg_trigger, pg_constraint, pg_inherits, pg_policy, pg_publication, pg_publication_rel, pg_default_acl; opens no table
-- cost: one index look-up a partition and catalog
WITH RECURSIVE tree AS (
    SELECT {root}::oid AS oid, 0 AS level
    UNION ALL
    SELECT i.inhrelid, t.level + 1 FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
)
SELECT DISTINCT t.oid::int8 AS oid, CASE WHEN r.ev_class = t.oid THEN 'rule' ELSE 'view' END AS what, v.relname::text AS detail
  FROM pg_catalog.pg_depend d
  JOIN tree t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
       AND (t.level > 0 OR r.ev_class = t.oid)
UNION ALL
SELECT t.oid::int8, 'trigger', g.tgname::text
  FROM tree t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
 WHERE t.level > 0 AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger up
                                    WHERE up.tgrelid = {root} AND up.tgname = g.tgname AND up.tgfoid = g.tgfoid)
UNION ALL
SELECT t.oid::int8, 'foreign key', k.conname::text
  FROM tree t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid AND k.contype = 'f' AND k.conparentid = 0
UNION ALL
SELECT t.oid::int8, 'referenced by foreign key', k.conname::text
  FROM tree t JOIN pg_catalog.pg_constraint k ON k.confrelid = t.oid AND k.contype = 'f' AND k.conparentid = 0
UNION ALL
SELECT t.oid::int8, 'own check', k.conname::text
  FROM tree t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid AND k.contype = 'c' AND k.conname NOT LIKE 'gpcatalog!_bound%' ESCAPE '!'
 WHERE t.level > 0 AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint up
                                    WHERE up.conrelid = {root} AND up.contype = 'c' AND up.conname = k.conname)
UNION ALL
SELECT t.oid::int8, 'policy', p.polname::text FROM tree t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid WHERE t.level > 0
UNION ALL
SELECT t.oid::int8, 'row security', c.relname::text FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid AND c.relrowsecurity WHERE t.level > 0
UNION ALL
SELECT t.oid::int8, 'publication', p.pubname::text
  FROM tree t JOIN pg_catalog.pg_publication_rel r ON r.prrelid = t.oid JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
UNION ALL
SELECT {root}::int8, 'publication of all tables', p.pubname::text FROM pg_catalog.pg_publication p WHERE p.puballtables
UNION ALL
SELECT {root}::int8, 'default privileges', pg_catalog.count(*)::text FROM pg_catalog.pg_default_acl a WHERE a.defaclobjtype = 'r' HAVING pg_catalog.count(*) > 0
 ORDER BY 1, 2, 3
