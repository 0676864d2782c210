-- What pg_dump of Greenplum 6 reads of all tables: relations with their partition rules, types, inheritance, columns and indexes of tables
-- that are not partitions, dependencies and comments. pg_dump also locks the tables and reads the definitions of partitions and indexes. The
-- server opens every partition for that, so this query leaves it out.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans and sorts of the largest catalogs
SELECT (SELECT pg_catalog.count(t.relacl) + pg_catalog.count(t.relname) + pg_catalog.count(t.toast) + pg_catalog.count(t.above)
          FROM (SELECT c.*, x.relname AS toast, p.parrelid AS above
                  FROM pg_catalog.pg_class c
                  LEFT JOIN pg_catalog.pg_depend d ON c.relkind = 'S' AND d.classid = 1259 AND d.objid = c.oid AND d.objsubid = 0
                            AND d.refclassid = 1259 AND d.deptype IN ('a', 'i')
                  LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
                  LEFT JOIN pg_catalog.pg_class x ON x.oid = c.reltoastrelid
                  LEFT JOIN pg_catalog.pg_partition_rule r ON r.parchildrelid = c.oid
                  LEFT JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
                  LEFT JOIN pg_catalog.pg_partition l ON l.parrelid = c.oid AND l.parlevel = 0
                 WHERE c.relkind IN ('r', 'S', 'v', 'c', 'm', 'f') ORDER BY c.oid OFFSET 0) t)
     + (SELECT pg_catalog.count(y.typname)
          FROM pg_catalog.pg_type y LEFT JOIN pg_catalog.pg_type_encoding e ON e.typid = y.oid
          LEFT JOIN pg_catalog.pg_class c ON c.oid = y.typrelid)
     + (SELECT pg_catalog.count(i.inhparent) FROM pg_catalog.pg_inherits i)
     + (SELECT pg_catalog.count(l.type) + pg_catalog.count(l.attoptions)
          FROM (SELECT a.attname, e.attoptions, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
                  LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                  LEFT JOIN pg_catalog.pg_attribute_encoding e ON e.attrelid = a.attrelid AND e.attnum = a.attnum
                 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'v', 'c', 'm', 'f') AND a.attnum > 0
                       AND c.oid NOT IN (SELECT r.parchildrelid FROM pg_catalog.pg_partition_rule r)
                 ORDER BY a.attrelid, a.attnum OFFSET 0) l)
     + (SELECT pg_catalog.count(n.relname) + pg_catalog.count(n.conname)
          FROM (SELECT x.relname, k.conname
                  FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
                  LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = i.indrelid AND k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')
                 WHERE c.oid >= 16384 AND c.oid NOT IN (SELECT r.parchildrelid FROM pg_catalog.pg_partition_rule r)
                 ORDER BY i.indrelid, x.relname OFFSET 0) n)
     + (SELECT pg_catalog.count(z.refobjid)
          FROM (SELECT d.* FROM pg_catalog.pg_depend d WHERE d.deptype NOT IN ('p', 'e') ORDER BY d.classid, d.objid OFFSET 0) z)
     + (SELECT pg_catalog.count(q.objoid)
          FROM (SELECT d.* FROM pg_catalog.pg_description d ORDER BY d.classoid, d.objoid, d.objsubid OFFSET 0) q) AS rows
