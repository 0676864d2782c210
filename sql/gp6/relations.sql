-- One row for every table: leaf partitions, roots, intermediates and plain tables, with their position in the tree, storage,
-- columns, indexes and bound. relpages and reltuples are the server's estimates.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_partition, pg_partition_rule, pg_index, pg_appendonly; opens no table
-- cost: one scan of each of these catalogs on the coordinator
SELECT c.oid::int8 AS oid,
       n.nspname::text AS schema,
       c.relname::text AS name,
       COALESCE(p.parrelid, c.oid)::int8 AS root,
       CASE WHEN r.parparentrule = 0 THEN p.parrelid ELSE up.parchildrelid END::int8 AS parent,
       COALESCE(p.parlevel + 1, 0)::int4 AS level,
       CASE WHEN top.deepest IS NULL THEN 'table'
            WHEN r.parchildrelid IS NULL THEN 'root'
            WHEN p.parlevel < top.deepest THEN 'intermediate'
            ELSE 'leaf' END AS kind,
       CASE WHEN c.relkind = 'm' AND c.relstorage = 'h' THEN 'heap'
            ELSE CASE c.relstorage WHEN 'h' THEN 'heap' WHEN 'a' THEN 'ao_row' WHEN 'c' THEN 'ao_column'
                                   WHEN 'x' THEN 'external' WHEN 'f' THEN 'foreign' WHEN 'v' THEN 'none' ELSE 'other' END
            END AS storage,
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
       CASE WHEN r.parisdefault THEN 'DEFAULT'
            WHEN p.parkind = 'l' THEN 'VALUES (' || pg_catalog.pg_get_expr(r.parlistvalues, 0) || ')'
            ELSE pg_catalog.btrim(
                     COALESCE('START (' || NULLIF(pg_catalog.pg_get_expr(r.parrangestart, 0), '')
                              || CASE WHEN r.parrangestartincl THEN ')' ELSE ') EXCLUSIVE' END, '')
                     || COALESCE(' END (' || NULLIF(pg_catalog.pg_get_expr(r.parrangeend, 0), '')
                              || CASE WHEN r.parrangeendincl THEN ') INCLUSIVE' ELSE ')' END, '')) END AS bound,
       r.parname::text AS partition_name,
       COALESCE(r.parisdefault, false) AS is_default
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_partition_rule r ON r.parchildrelid = c.oid
  LEFT JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
  LEFT JOIN pg_catalog.pg_partition_rule up ON up.oid = r.parparentrule
  LEFT JOIN (SELECT parrelid, pg_catalog.max(parlevel) AS deepest
               FROM pg_catalog.pg_partition WHERE NOT paristemplate GROUP BY 1) top
         ON top.parrelid = COALESCE(p.parrelid, c.oid)
  LEFT JOIN (SELECT indrelid, pg_catalog.count(*) AS indexes, pg_catalog.sum(indnatts) AS index_columns
               FROM pg_catalog.pg_index WHERE indrelid >= 16384 GROUP BY 1) x ON x.indrelid = c.oid
  LEFT JOIN pg_catalog.pg_appendonly a ON a.relid = c.oid
 WHERE c.relkind IN ('r', 'm', 'f') AND c.oid >= 16384
       AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'pg_aoseg', 'pg_bitmapindex', 'information_schema', 'gp_toolkit')
