-- Facts about partitioned tables for a plan: objects that depend on partitions and would be lost or block a step,
-- grants and comments of leaves, and the columns and indexes of the root. One row per fact.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_attribute, pg_am, pg_statistic_ext, pg_inherits, pg_partitioned_table, pg_opclass, pg_collation, pg_constraint, pg_depend, pg_rewrite, pg_publication, pg_publication_rel, pg_publication_namespace, pg_policy, pg_trigger, pg_sequence, pg_type, pg_shdepend, pg_attrdef, pg_index; opens no table
-- cost: one scan of each of these catalogs, and the columns of every root
-- include tree
-- include in_the_way
UNION ALL
-- include partition_shape
UNION ALL
-- include partition_rows
-- include partition_keys_below
-- include odd_key_facts
