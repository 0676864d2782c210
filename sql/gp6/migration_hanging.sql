-- Objects that depend on one partitioned table or its partitions and would be lost or block a migration, as in `partition_facts`.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_shdepend, pg_rewrite, pg_trigger, pg_constraint, pg_partition, pg_partition_rule, pg_type, pg_default_acl; opens no table
-- cost: one index lookup per partition and catalog, and one scan of pg_depend
WITH tree AS (
    SELECT {root}::oid AS oid, {root}::oid AS root
    UNION ALL
    SELECT r.parchildrelid, {root}::oid FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE p.parrelid = {root} AND r.parchildrelid <> 0
)
-- include in_the_way
UNION ALL
SELECT {root}::int8, {root}::int8, 'default privileges', pg_catalog.count(*)::text
  FROM pg_catalog.pg_default_acl a WHERE a.defaclobjtype = 'r' HAVING pg_catalog.count(*) > 0
 ORDER BY 2, 3, 4
