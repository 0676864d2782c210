-- Which table a relation with a file belongs to: root is the table or the root of its partitions, part says what the relation is to it:
-- include file_parts
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index, pg_appendonly, pg_partition, pg_partition_rule; opens no table
-- cost: one scan of each of these catalogs on the coordinator
SELECT c.oid::int8 AS oid,
       COALESCE(t.root, e.owner, x.indrelid, c.oid)::int8 AS root,
       CASE WHEN COALESCE(e.owner, x.indrelid, c.oid) < 16384 THEN 8
            WHEN x.indrelid IS NOT NULL THEN COALESCE(e.part + 3, 4)
            WHEN e.part IS NOT NULL THEN e.part
            WHEN c.relkind = 'S' THEN 7
            ELSE 10 + COALESCE(NULLIF(pg_catalog.strpos('hac', c.relstorage::text), 0), 4) END AS part
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
  LEFT JOIN (SELECT reltoastrelid AS child, oid AS owner, 3 AS part FROM pg_catalog.pg_class WHERE reltoastrelid <> 0
-- include file_owners_auxiliary
       ) e ON e.child = COALESCE(x.indrelid, c.oid)
  LEFT JOIN (SELECT r.parchildrelid AS oid, p.parrelid AS root
               FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid) t
         ON t.oid = COALESCE(e.owner, x.indrelid, c.oid)
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M') AND c.relstorage NOT IN ('x', 'f', 'v')
