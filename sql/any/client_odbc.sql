-- What a program reads that asks the ODBC driver for all tables and all columns (SQLTables and SQLColumns without a pattern). The columns
-- of indexes and of the catalogs are read, too. The driver also reads defaults, for which the server opens the table; this query leaves
-- them out.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans and sorts of pg_class and pg_attribute
SELECT (SELECT pg_catalog.count(t.relname) + pg_catalog.count(t.nspname)
          FROM (SELECT n.nspname, c.relname
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1')
                 ORDER BY n.nspname, c.relname OFFSET 0) t)
     + (SELECT pg_catalog.count(l.attname) + pg_catalog.count(l.typname) + pg_catalog.count(l.adnum)
          FROM (SELECT n.nspname, c.relname, a.attname, t.typname, f.adnum
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped AND a.attnum > 0
                  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                  LEFT JOIN pg_catalog.pg_attrdef f ON a.atthasdef AND f.adrelid = a.attrelid AND f.adnum = a.attnum
                 ORDER BY n.nspname, c.relname, a.attnum OFFSET 0) l) AS rows
