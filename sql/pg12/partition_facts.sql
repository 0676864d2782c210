-- What a plan for partitioned tables must know besides the tree: foreign keys, views, rules and publications that hang on
-- partitions, own grants and comments of leaves, and the columns and indexes of the root. One row a fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_partitioned_table, pg_constraint, pg_depend, pg_rewrite, pg_publication_rel, pg_attrdef, pg_index; opens no table
-- cost: one scan of each of those, and the columns of every root
WITH RECURSIVE tree AS (
    SELECT pt.partrelid AS oid, pt.partrelid AS root
      FROM pg_catalog.pg_partitioned_table pt
      JOIN pg_catalog.pg_class c ON c.oid = pt.partrelid AND NOT c.relispartition
    UNION ALL
    SELECT i.inhrelid, t.root FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
)
SELECT t.root::int8 AS root, t.oid::int8 AS oid, 'foreign key' AS fact, c.conname::text AS detail
  FROM tree t JOIN pg_catalog.pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f' AND c.conparentid = 0
UNION ALL
SELECT t.root::int8, t.oid::int8, 'referenced by foreign key', c.conname::text
  FROM tree t JOIN pg_catalog.pg_constraint c ON c.confrelid = t.oid AND c.contype = 'f' AND c.conparentid = 0
UNION ALL
SELECT DISTINCT t.root::int8, t.oid::int8, CASE WHEN r.ev_class = t.oid THEN 'rule' ELSE 'view' END, v.relname::text
  FROM pg_catalog.pg_depend d
  JOIN tree t ON t.oid = d.refobjid AND t.oid <> t.root
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
UNION ALL
SELECT t.root::int8, t.oid::int8, 'publication', p.pubname::text
  FROM tree t JOIN pg_catalog.pg_publication_rel r ON r.prrelid = t.oid JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
UNION ALL
SELECT t.root::int8, t.root::int8, 'grants of leaves', pg_catalog.count(*)::text
  FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid JOIN pg_catalog.pg_class top ON top.oid = t.root
 WHERE c.relacl::text IS DISTINCT FROM top.relacl::text GROUP BY t.root
UNION ALL
SELECT t.root::int8, t.root::int8, 'comments of leaves', pg_catalog.count(*)::text
  FROM tree t JOIN pg_catalog.pg_description s
    ON s.objoid = t.oid AND s.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
 WHERE t.oid <> t.root GROUP BY t.root
UNION ALL
SELECT t.root::int8, t.root::int8, 'columns',
       '{"live": ' || pg_catalog.sum((NOT a.attisdropped)::int4) || ', "dropped": ' || pg_catalog.sum(a.attisdropped::int4)
       || ', "not_null": ' || pg_catalog.sum((a.attnotnull AND NOT a.attisdropped)::int4)
       || ', "defaults": ' || pg_catalog.sum((a.atthasdef AND NOT a.attisdropped)::int4)
       || ', "checks": ' || (SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = t.root AND k.contype = 'c')
       || ', "depends": ' || (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attrdef x JOIN pg_catalog.pg_depend d
                                ON d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = x.oid WHERE x.adrelid = t.root)
                             - (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attrdef x WHERE x.adrelid = t.root)
                             + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_depend d
                                ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid
                                WHERE k.conrelid = t.root AND k.contype = 'c')
                             - 2 * (SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = t.root AND k.contype = 'c')
       || ', "owner": ' || pg_catalog.max(c.relowner::int8) || '}'
  FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.root
  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.root AND a.attnum > 0
 WHERE t.oid = t.root GROUP BY t.root
UNION ALL
SELECT t.root::int8, i.indexrelid::int8, 'index',
       '{"columns": ' || i.indnatts || ', "constraint": '
       || EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
       || ', "depends": ' || CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k
                                                WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')) THEN 0
          ELSE (SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend d
                 WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = i.indexrelid) - i.indnatts END || '}'
  FROM tree t JOIN pg_catalog.pg_index i ON i.indrelid = t.root
 WHERE t.oid = t.root
