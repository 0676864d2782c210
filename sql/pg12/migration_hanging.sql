-- Objects that depend on one partitioned table or its partitions and would be lost or block a migration, as in `partition_facts`.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_attribute, pg_attrdef, pg_index, pg_depend, pg_shdepend, pg_rewrite, pg_trigger, pg_constraint, pg_inherits, pg_policy, pg_sequence, pg_type, pg_publication, pg_publication_rel, pg_publication_namespace, pg_default_acl; opens no table
-- cost: one index lookup per partition and catalog, and one scan of pg_depend
WITH RECURSIVE tree AS (
    SELECT {root}::oid AS oid, {root}::oid AS root
    UNION ALL
    SELECT i.inhrelid, t.root FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
)
-- include in_the_way
UNION ALL
SELECT {root}::int8, {root}::int8, 'default privileges', pg_catalog.count(*)::text
  FROM pg_catalog.pg_default_acl a WHERE a.defaclobjtype = 'r' HAVING pg_catalog.count(*) > 0
 ORDER BY 2, 3, 4
