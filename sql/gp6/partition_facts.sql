-- Facts about partitioned tables for a plan: distribution, objects that depend on partitions and would be lost or block a step,
-- grants and comments of leaves, EVERY of the last ADD, and the columns and indexes of the root. One row per fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_am, pg_partition, pg_partition_rule, gp_distribution_policy, pg_opclass, pg_constraint, pg_depend, pg_rewrite, pg_trigger, pg_type, pg_shdepend, pg_attrdef, pg_attribute, pg_index; opens no table
-- cost: one scan of each of these catalogs on the coordinator, and the columns of every root
WITH tree AS (
    SELECT p.parrelid AS oid, p.parrelid AS root, ''::text AS every
      FROM pg_catalog.pg_partition p WHERE NOT p.paristemplate AND p.parlevel = 0
    UNION ALL
    SELECT r.parchildrelid, p.parrelid, pg_catalog.pg_get_expr(r.parrangeevery, 0)
      FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE r.parchildrelid <> 0
)
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
SELECT t.root::int8, t.root::int8, 'every', pg_catalog.max(t.every) FROM tree t WHERE t.every <> '' GROUP BY t.root
UNION ALL
-- include partition_shape
