-- What pg_dump of version 15 or later reads of all tables: relations, types, inheritance, columns, indexes, dependencies, comments and the
-- privileges of columns. pg_dump also locks every table and reads its bound and the definitions of indexes; this query does not.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans and sorts of the largest catalogs
SELECT (SELECT pg_catalog.count(t.relacl) + pg_catalog.count(t.relname) + pg_catalog.count(t.toast)
          FROM (SELECT c.*, x.relname AS toast
                  FROM pg_catalog.pg_class c
                  LEFT JOIN pg_catalog.pg_depend d ON c.relkind = 'S' AND d.classid = 1259 AND d.objid = c.oid AND d.objsubid = 0
                            AND d.refclassid = 1259 AND d.deptype IN ('a', 'i')
                  LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
                  LEFT JOIN pg_catalog.pg_class x ON x.oid = c.reltoastrelid AND x.relkind = 't'
                 WHERE c.relkind IN ('r', 'S', 'v', 'c', 'm', 'f', 'p') ORDER BY c.oid OFFSET 0) t)
     + (SELECT pg_catalog.count(y.typname) FROM pg_catalog.pg_type y LEFT JOIN pg_catalog.pg_class c ON c.oid = y.typrelid)
     + (SELECT pg_catalog.count(i.inhparent) FROM pg_catalog.pg_inherits i)
     + (SELECT pg_catalog.count(l.type) + pg_catalog.count(l.typstorage)
          FROM (SELECT a.attname, t.typstorage, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
                  LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'v', 'c', 'm', 'f', 'p') AND a.attnum > 0
                 ORDER BY a.attrelid, a.attnum OFFSET 0) l)
     + (SELECT pg_catalog.count(n.relname) + pg_catalog.count(n.conname) + pg_catalog.count(n.inhparent)
          FROM (SELECT x.relname, k.conname, h.inhparent
                  FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
                  LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = i.indrelid AND k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')
                  LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = i.indexrelid
                 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'm', 'p') ORDER BY i.indrelid, x.relname OFFSET 0) n)
     + (SELECT pg_catalog.count(z.refobjid)
          FROM (SELECT d.* FROM pg_catalog.pg_depend d WHERE d.deptype NOT IN ('p', 'e') ORDER BY d.classid, d.objid OFFSET 0) z)
     + (SELECT pg_catalog.count(q.objoid)
          FROM (SELECT d.* FROM pg_catalog.pg_description d ORDER BY d.classoid, d.objoid, d.objsubid OFFSET 0) q)
     + (SELECT pg_catalog.count(DISTINCT a.attrelid) FROM pg_catalog.pg_attribute a WHERE a.attacl IS NOT NULL) AS rows
