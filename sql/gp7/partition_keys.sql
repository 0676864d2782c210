-- The partition key of every partitioned table, for each level, from its first subtree.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partitioned_table, pg_inherits, pg_attribute, pg_type, gp_partition_template
-- cost: one index lookup per partitioned table or intermediate
WITH RECURSIVE
-- include base_types
, tree AS (
    SELECT pt.partrelid AS oid, pt.partrelid AS root, 0 AS level
      FROM pg_catalog.pg_partitioned_table pt
      -- not a join: for it, Greenplum reads all of pg_class
     WHERE NOT (SELECT c.relispartition FROM pg_catalog.pg_class c WHERE c.oid = pt.partrelid)
    UNION ALL
    SELECT pt.partrelid, t.root, t.level + 1
      FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
      JOIN pg_catalog.pg_partitioned_table pt ON pt.partrelid = i.inhrelid
)
SELECT DISTINCT ON (t.root, t.level)
       t.root::int8 AS root,
       t.level::int4 AS level,                        -- 0 splits the root
       CASE pt.partstrat WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' WHEN 'h' THEN 'hash' ELSE pt.partstrat::text END AS strategy,
       pg_catalog.array_to_string(ARRAY(
           SELECT COALESCE(a.attname::text, '(expression)') FROM pg_catalog.generate_series(0, pt.partnatts - 1) k
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = pt.partrelid AND a.attnum = pt.partattrs[k] AND a.attnum <> 0
            ORDER BY k), ', ') AS key,
       pg_catalog.array_to_string(ARRAY(
           SELECT COALESCE(CASE WHEN (SELECT y.typtype FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid) = 'd'
                                THEN (SELECT b.name FROM base_type b WHERE b.oid = a.atttypid) END,
                           pg_catalog.format_type(a.atttypid, a.atttypmod), '')
             FROM pg_catalog.generate_series(0, pt.partnatts - 1) k
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = pt.partrelid AND a.attnum = pt.partattrs[k] AND a.attnum <> 0
            ORDER BY k), ', ') AS key_types,
       EXISTS (SELECT 1 FROM pg_catalog.gp_partition_template g WHERE g.relid = t.root AND g.level = t.level) AS has_template
  FROM tree t JOIN pg_catalog.pg_partitioned_table pt ON pt.partrelid = t.oid
 ORDER BY t.root, t.level, t.oid
