-- What DBeaver reads when it opens the schema with the most tables and partitions and their columns; on Greenplum 6 also what the view
-- pg_partitions reads of all partitions. DBeaver also reads bounds, defaults and
-- sizes, for which the server opens every table; this query leaves them out.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans of pg_class and pg_attribute, and joins
SELECT (SELECT pg_catalog.count(t.relacl) + pg_catalog.count(t.relname) + pg_catalog.count(t.description)
          FROM (SELECT c.*, d.description
                  FROM pg_catalog.pg_class c
                  LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 1259
                 WHERE c.relnamespace = {schema} AND c.relkind NOT IN ('i', 'I', 'c') OFFSET 0) t)
     + (SELECT pg_catalog.count(l.attname) + pg_catalog.count(l.description) + pg_catalog.count(l.refobjid) + pg_catalog.count(l.adnum)
          FROM (SELECT a.*, d.description, x.refobjid, f.adnum
                  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                  LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
                  LEFT JOIN pg_catalog.pg_description d ON d.objoid = a.attrelid AND d.objsubid = a.attnum
                  LEFT JOIN pg_catalog.pg_depend x ON x.refobjid = a.attrelid AND x.refobjsubid = a.attnum AND x.deptype = 'i'
                            AND x.classid = x.refclassid
                 WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.relnamespace = {schema}
                 ORDER BY a.attnum OFFSET 0) l)
-- include client_dbeaver_partitions
       AS rows
