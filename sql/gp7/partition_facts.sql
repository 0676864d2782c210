-- What a plan for partitioned tables must know besides the tree: distribution, what hangs on partitions and would be lost or in the way,
-- own grants and comments of leaves, and the columns and indexes of the root. One row a fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_partitioned_table, pg_constraint, pg_depend, pg_rewrite, pg_publication, pg_publication_rel, pg_publication_namespace, pg_policy, pg_trigger, pg_sequence, pg_type, pg_shdepend, pg_attrdef, pg_index, gp_distribution_policy; opens no table
-- cost: one scan of each of those, and the columns of every root
WITH RECURSIVE tree AS (
    SELECT pt.partrelid AS oid, pt.partrelid AS root
      FROM pg_catalog.pg_partitioned_table pt
      JOIN pg_catalog.pg_class c ON c.oid = pt.partrelid AND NOT c.relispartition
    UNION ALL
    SELECT i.inhrelid, t.root FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
)
SELECT t.root::int8 AS root, t.oid::int8 AS oid,
       CASE WHEN t.oid = t.root THEN 'distribution' ELSE 'other distribution' END AS fact,
       CASE WHEN g.policytype = 'r' THEN 'REPLICATED' WHEN g.distkey IS NULL OR g.distkey::text = '' THEN 'RANDOMLY'
            ELSE 'BY (' || pg_catalog.array_to_string(ARRAY(
                SELECT pg_catalog.quote_ident(a.attname) FROM pg_catalog.generate_subscripts(g.distkey, 1) k
                  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = g.distkey[k] ORDER BY k), ', ') || ')' END AS detail
  FROM tree t JOIN pg_catalog.gp_distribution_policy g ON g.localoid = t.oid
  JOIN pg_catalog.gp_distribution_policy top ON top.localoid = t.root
 WHERE t.oid = t.root OR g.policytype <> top.policytype OR g.distkey::text IS DISTINCT FROM top.distkey::text
       OR g.numsegments <> top.numsegments
UNION ALL
-- include in_the_way
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
