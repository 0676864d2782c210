-- Objects that depend on some partitioned tables or their partitions and would be lost or block a migration, as in `partition_facts`.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_shdepend, pg_rewrite, pg_trigger, pg_constraint, pg_partition, pg_partition_rule, pg_type, pg_index, pg_attribute, pg_attrdef, pg_class, pg_default_acl; opens no table
-- cost: one index lookup per partition and catalog, and one scan of pg_depend
WITH tree AS (
    SELECT c.oid, c.oid AS root FROM pg_catalog.pg_class c WHERE c.oid IN ({roots})
    UNION ALL
    SELECT r.parchildrelid, p.parrelid FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE p.parrelid IN ({roots}) AND r.parchildrelid <> 0
)
-- include in_the_way
UNION ALL
SELECT c.oid::int8, c.oid::int8, 'default privileges', pg_catalog.count(*)::text
  FROM pg_catalog.pg_class c CROSS JOIN pg_catalog.pg_default_acl a WHERE c.oid IN ({roots}) AND a.defaclobjtype = 'r' GROUP BY c.oid
 ORDER BY 2, 3, 4
