-- One row for every table: leaf partitions, roots, intermediates and plain tables, with their position in the tree, storage,
-- columns, indexes and bound. relpages and reltuples are the server's estimates. pg_get_expr with 0 opens no relation.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_inherits, pg_partitioned_table, pg_index, pg_am, pg_appendonly; opens no table
-- cost: one scan of each of these catalogs on the coordinator
WITH RECURSIVE tree AS (
    SELECT pt.partrelid AS oid, pt.partrelid AS root, NULL::oid AS parent, 0 AS level
      FROM pg_catalog.pg_partitioned_table pt
      -- not a join: for it, Greenplum reads all of pg_class
     WHERE NOT (SELECT c.relispartition FROM pg_catalog.pg_class c WHERE c.oid = pt.partrelid)
    UNION ALL
    SELECT i.inhrelid, t.root, i.inhparent, t.level + 1
      FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
)
SELECT c.oid::int8 AS oid,
       n.nspname::text AS schema,
       c.relname::text AS name,
       COALESCE(t.root, c.oid)::int8 AS root,
       t.parent::int8 AS parent,
       COALESCE(t.level, 0)::int4 AS level,
       CASE WHEN c.relkind = 'p' THEN CASE WHEN c.relispartition THEN 'intermediate' ELSE 'root' END
            WHEN c.relispartition THEN 'leaf' ELSE 'table' END AS kind,
       CASE WHEN c.relkind = 'f' THEN CASE WHEN fs.srvname = 'gp_exttable_server' THEN 'external' ELSE 'foreign' END
            WHEN am.amname IN ('heap', 'ao_row', 'ao_column') THEN am.amname::text   -- roots keep theirs: new leaves inherit it
            WHEN c.relkind = 'p' THEN 'none' ELSE 'other' END AS storage,
       c.relnatts::int4 AS columns,
       c.reltoastrelid <> 0 AS toast,
       COALESCE(x.indexes, 0)::int4 AS indexes,
       COALESCE(x.index_columns, 0)::int4 AS index_columns,
       COALESCE(a.blkdirrelid, 0) <> 0 AS block_directory,
       c.relpersistence::text AS persistence,
       c.relowner::int8 AS owner,
       c.reltablespace::int8 AS tablespace,
       c.relpages::int8 AS pages,
       c.reltuples::float8 AS tuples,
       pg_catalog.array_to_string(c.reloptions, ', ') AS options,
       b.bound,
       NULL::text AS partition_name,
       COALESCE(b.bound = 'DEFAULT', false) AS is_default
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  -- OFFSET 0: each bound is written out once
  CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(c.relpartbound, 0) AS bound OFFSET 0) b
  LEFT JOIN tree t ON t.oid = c.oid
  LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
  LEFT JOIN pg_catalog.pg_appendonly a ON a.relid = c.oid
  LEFT JOIN pg_catalog.pg_foreign_table ft ON ft.ftrelid = c.oid
  LEFT JOIN pg_catalog.pg_foreign_server fs ON fs.oid = ft.ftserver
  LEFT JOIN (SELECT indrelid, pg_catalog.count(*) AS indexes, pg_catalog.sum(indnatts) AS index_columns
               FROM pg_catalog.pg_index WHERE indrelid >= 16384 GROUP BY 1) x ON x.indrelid = c.oid
 WHERE c.relkind IN ('r', 'm', 'f', 'p') AND c.oid >= 16384
       AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'pg_aoseg', 'pg_bitmapindex', 'information_schema', 'gp_toolkit', 'pg_ext_aux')
