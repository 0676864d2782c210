-- Which table a relation with a file belongs to: root is the table or the root of its partitions, part is its role for that table:
-- include file_parts
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index, pg_appendonly, pg_partition, pg_partition_rule; opens no table
-- cost: one scan of each of these catalogs on the coordinator
-- include relation_owner
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M') AND c.relstorage NOT IN ('x', 'f', 'v')
