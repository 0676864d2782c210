-- What gpbackup reads of all tables: columns, privileges and comments of relations, and dependencies. gpbackup also locks the tables and
-- reads the definitions of partitions, indexes and constraints, which opens them; this query does not.
-- needs: CONNECT
-- locks: AccessShareLock on the catalogs
-- cost: scans and joins of the largest catalogs; pg_depend is read four times
SELECT (SELECT pg_catalog.count(l.type) + pg_catalog.count(l.attoptions) + pg_catalog.count(l.description) + pg_catalog.count(l.collname)
               + pg_catalog.count(l.adnum) + pg_catalog.count(l.label)
          FROM (SELECT pg_catalog.format_type(t.oid, a.atttypmod) AS type, e.attoptions, d.description, o.collname, f.adnum, s.label
                  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                  LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
                  LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                  LEFT JOIN pg_catalog.pg_attribute_encoding e ON e.attrelid = a.attrelid AND e.attnum = a.attnum
                  LEFT JOIN pg_catalog.pg_description d ON d.classoid = 1259 AND d.objoid = a.attrelid AND d.objsubid = a.attnum
                  LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation
                  LEFT JOIN pg_catalog.pg_seclabel s ON s.classoid = 1259 AND s.objoid = a.attrelid AND s.objsubid = a.attnum
                 WHERE n.nspname !~ '^pg_(temp_|toast)'
                       AND n.nspname NOT IN ('gp_toolkit', 'information_schema', 'pg_aoseg', 'pg_bitmapindex', 'pg_catalog')
                       AND c.reltype <> 0 AND a.attnum > 0 AND NOT a.attisdropped
-- include client_gpbackup_partitions
                 ORDER BY a.attrelid, a.attnum OFFSET 0) l)
     + (SELECT pg_catalog.count(r.owner) + pg_catalog.count(r.description) + pg_catalog.count(r.relacl) + pg_catalog.count(r.label)
          FROM (SELECT pg_catalog.pg_get_userbyid(c.relowner) AS owner, d.description, c.relacl, s.label
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                  LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.classoid = 1259 AND d.objsubid = 0
                  LEFT JOIN pg_catalog.pg_seclabel s ON s.objoid = c.oid AND s.classoid = 1259 AND s.objsubid = 0
                 WHERE n.nspname !~ '^pg_(temp_|toast)'
                       AND n.nspname NOT IN ('gp_toolkit', 'information_schema', 'pg_aoseg', 'pg_bitmapindex', 'pg_catalog')
                       AND c.oid NOT IN (SELECT x.objid FROM pg_catalog.pg_depend x WHERE x.deptype = 'e')
                 ORDER BY c.oid OFFSET 0) r)
     + (SELECT pg_catalog.count(z.one) + pg_catalog.count(z.two)
          FROM (SELECT coalesce(i.refobjid, d.objid) AS one, coalesce(j.refobjid, d.refobjid) AS two
                  FROM pg_catalog.pg_depend d
                  LEFT JOIN pg_catalog.pg_depend i ON i.objid = d.objid AND i.classid = d.classid AND i.deptype = 'i'
                  LEFT JOIN pg_catalog.pg_depend j ON j.objid = d.refobjid AND j.classid = d.refclassid AND j.deptype = 'i'
                  LEFT JOIN pg_catalog.pg_depend k ON k.objid = i.refobjid AND k.classid = i.refclassid AND k.deptype = 'i'
                 WHERE d.classid <> 0 AND d.deptype <> 'i' OFFSET 0) z) AS rows
