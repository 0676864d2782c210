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
UNION ALL
-- a column of a key that migration scripts cannot compare as the server does; the same test as odd_key in migration_tree
SELECT k.root::int8, k.root::int8, 'key that cannot be compared', pg_catalog.min((SELECT a.attname::text FROM pg_catalog.pg_attribute a
                                                        WHERE a.attrelid = k.root AND a.attnum = k.attnum))
  FROM (SELECT p.parrelid AS root, p.paratts[n] AS attnum, p.parclass[n] AS class, p.parkind = 'r' AS sorted
          FROM pg_catalog.pg_partition p, pg_catalog.generate_series(0, p.parnatts - 1) n WHERE NOT p.paristemplate) k
 -- not joins: for them, Greenplum reads these catalogs as a whole; 11: pg_catalog; 2249: record
 WHERE (SELECT o.opcnamespace <> 11 OR o.opcintype = 2249 OR (k.sorted AND NOT o.opcdefault)
          FROM pg_catalog.pg_opclass o WHERE o.oid = k.class)
       OR (SELECT (SELECT y.typnamespace = 11 AND y.typname::text LIKE 'reg%' FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid)
             FROM pg_catalog.pg_attribute a WHERE a.attrelid = k.root AND a.attnum = k.attnum)
 GROUP BY k.root
