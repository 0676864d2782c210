-- What a program reads that asks the JDBC driver for all tables and all columns (getTables and getColumns without a pattern), as reporting
-- tools do. The driver also reads defaults, for which the server opens the table; this query leaves them out.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans and sorts of pg_class and pg_attribute
SELECT (SELECT pg_catalog.count(t.relname) + pg_catalog.count(t.description) + pg_catalog.count(t.kind)
          FROM (SELECT n.nspname, c.relname, d.description,
                       CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN 'SYSTEM TABLE' ELSE c.relkind::text END AS kind
                  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
                  LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 1259
                 WHERE c.relkind IN ('r', 'v') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
                 ORDER BY kind, n.nspname, c.relname OFFSET 0) t)
     + (SELECT pg_catalog.count(l.attname) + pg_catalog.count(l.position) + pg_catalog.count(l.description) + pg_catalog.count(l.typtype)
          FROM (SELECT n.nspname, c.relname, a.attname, t.typtype, d.description,
                       pg_catalog.row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS position
                  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
                  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                  LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
                  LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = a.attnum
                 WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND a.attnum > 0 AND NOT a.attisdropped
                 ORDER BY n.nspname, c.relname, a.attnum OFFSET 0) l) AS rows
