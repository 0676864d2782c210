-- Facts about partitioned tables for a plan: distribution, objects that depend on partitions and would be lost or block a step,
-- grants and comments of leaves, and the columns and indexes of the root. One row per fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_attribute, pg_am, pg_statistic_ext, pg_inherits, pg_partitioned_table, pg_opclass, pg_collation, pg_constraint, pg_depend, pg_rewrite, pg_publication, pg_publication_rel, pg_publication_namespace, pg_policy, pg_trigger, pg_sequence, pg_type, pg_shdepend, pg_attrdef, pg_index, gp_distribution_policy; opens no table
-- cost: one scan of each of these catalogs, and the columns of every root
-- include tree
SELECT t.root::int8 AS root, t.oid::int8 AS oid,
       CASE WHEN t.oid = t.root THEN 'distribution' ELSE 'other distribution' END AS fact,
-- include distribution
       AS detail
  FROM tree t JOIN pg_catalog.gp_distribution_policy g ON g.localoid = t.oid
  JOIN pg_catalog.gp_distribution_policy top ON top.localoid = t.root
       -- the numbers of its columns differ where one was dropped: then their names decide
 WHERE t.oid = t.root OR g.policytype <> top.policytype
       OR (g.distkey::text IS DISTINCT FROM top.distkey::text
           AND ARRAY(SELECT a.attname::text FROM pg_catalog.generate_subscripts(g.distkey, 1) k
                       JOIN pg_catalog.pg_attribute a ON a.attrelid = g.localoid AND a.attnum = g.distkey[k] ORDER BY k)
               IS DISTINCT FROM
               ARRAY(SELECT a.attname::text FROM pg_catalog.generate_subscripts(top.distkey, 1) k
                       JOIN pg_catalog.pg_attribute a ON a.attrelid = top.localoid AND a.attnum = top.distkey[k] ORDER BY k))
       OR g.distclass::text IS DISTINCT FROM top.distclass::text
       OR g.numsegments <> top.numsegments
UNION ALL
-- include in_the_way
UNION ALL
-- include partition_shape
UNION ALL
-- include partition_rows
-- include partition_keys_below
