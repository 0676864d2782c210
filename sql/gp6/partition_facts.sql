-- Facts about partitioned tables for a plan: distribution, objects that depend on partitions and would be lost or block a step,
-- grants and comments of leaves, EVERY of the last ADD, and the columns and indexes of the root. One row per fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_am, pg_partition, pg_partition_rule, gp_distribution_policy, pg_opclass, pg_constraint, pg_depend, pg_rewrite, pg_trigger, pg_type, pg_shdepend, pg_attrdef, pg_attribute, pg_index; opens no table
-- cost: one scan of each of these catalogs on the coordinator, and the columns of every root
WITH tree AS (
    SELECT p.parrelid AS oid, p.parrelid AS root
      FROM pg_catalog.pg_partition p WHERE NOT p.paristemplate AND p.parlevel = 0
    UNION ALL
    SELECT r.parchildrelid, p.parrelid
      FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE r.parchildrelid <> 0
)
SELECT t.root::int8 AS root, t.oid::int8 AS oid,
       CASE WHEN t.oid = t.root THEN 'distribution' ELSE 'other distribution' END AS fact,
-- include distribution
       AS detail
-- include distributions
UNION ALL
-- include in_the_way
UNION ALL
SELECT p.parrelid::int8, p.parrelid::int8, 'every', pg_catalog.max(pg_catalog.pg_get_expr(r.parrangeevery, 0))
  FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
 WHERE r.parchildrelid <> 0 AND r.parrangeevery IS NOT NULL AND pg_catalog.pg_get_expr(r.parrangeevery, 0) <> '' GROUP BY p.parrelid
UNION ALL
-- include partition_shape
