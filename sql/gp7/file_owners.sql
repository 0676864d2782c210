-- Which table a relation with a file belongs to: root is the table or the root of its partitions, part is its role for that table:
-- include file_parts
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table, pg_appendonly; opens no table
-- cost: one scan of each of these catalogs on the coordinator
-- include relation_owner
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
