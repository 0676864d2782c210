-- Which table a relation with a file belongs to: root is the table or the root of its partitions, part says what the relation is to it:
-- include file_parts
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table, pg_appendonly; opens no table
-- cost: one scan of each of these catalogs on the coordinator
SELECT c.oid::int8 AS oid,
       COALESCE(t.root, e.owner, x.indrelid, c.oid)::int8 AS root,
       CASE WHEN COALESCE(e.owner, x.indrelid, c.oid) < 16384 THEN 8
            WHEN x.indrelid IS NOT NULL THEN COALESCE(e.part + 3, 4)
            WHEN e.part IS NOT NULL THEN e.part
            WHEN c.relkind = 'S' THEN 7
            ELSE CASE am.amname WHEN 'heap' THEN 11 WHEN 'ao_row' THEN 12 WHEN 'ao_column' THEN 13 ELSE 14 END END AS part
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
  LEFT JOIN (SELECT reltoastrelid AS child, oid AS owner, 3 AS part FROM pg_catalog.pg_class WHERE reltoastrelid <> 0
-- include file_owners_auxiliary
       ) e ON e.child = COALESCE(x.indrelid, c.oid)
  LEFT JOIN (WITH RECURSIVE tree AS (
                    SELECT i.inhrelid AS oid, pt.partrelid AS root
                      FROM pg_catalog.pg_partitioned_table pt
                      JOIN pg_catalog.pg_class top ON top.oid = pt.partrelid AND NOT top.relispartition
                      JOIN pg_catalog.pg_inherits i ON i.inhparent = pt.partrelid
                    UNION ALL
                    SELECT i.inhrelid, tree.root FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid)
             SELECT oid, root FROM tree) t
         ON t.oid = COALESCE(e.owner, x.indrelid, c.oid)
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
