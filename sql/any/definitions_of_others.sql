-- Views, sequences, types and schemas with functions, one row each, for `gpcatalog check` with a baseline. detail is JSON.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_type, pg_rewrite, pg_depend, pg_proc, pg_opclass, pg_operator; Greenplum 6: pg_partition, pg_partition_rule, pg_partition_encoding; Greenplum 7: gp_partition_template; opens no table
-- cost: one scan of pg_class, pg_type and pg_rewrite, and the dependencies of every view
SELECT c.oid::int8 AS oid, 'view' AS what, c.relname::text AS name,
       pg_catalog.json_build_object('schema', n.nspname, 'columns', c.relnatts, 'reads', r.names)::text AS detail
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN (SELECT w.ev_class, pg_catalog.json_agg(pg_catalog.json_build_array(s.nspname, t.relname)) AS names
               FROM pg_catalog.pg_rewrite w
               JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
                                           AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> w.ev_class
               JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
               JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
              WHERE w.oid >= 16384 AND d.refobjsubid = (SELECT pg_catalog.min(x.refobjsubid) FROM pg_catalog.pg_depend x
                                                         WHERE x.classid = d.classid AND x.objid = d.objid AND x.refclassid = d.refclassid
                                                               AND x.refobjid = d.refobjid)
              GROUP BY w.ev_class) r ON r.ev_class = c.oid
 WHERE c.relkind = 'v' AND c.oid >= 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'gp_toolkit')
UNION ALL
SELECT c.oid::int8, 'sequence', c.relname::text, pg_catalog.json_build_object('schema', n.nspname)::text
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind = 'S' AND c.oid >= 16384
       AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                        WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
                              AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjsubid > 0
                              AND d.deptype IN ('a', 'i'))
UNION ALL
SELECT y.oid::int8, 'type', y.typname::text,
       pg_catalog.json_build_object(
           'schema', n.nspname,
           'stored as', CASE WHEN y.typlen < 0 AND y.typstorage = 'p' THEN 'name'
                             WHEN y.typlen < 0 THEN 'text'
                             ELSE CASE y.typlen WHEN 1 THEN 'bool' WHEN 2 THEN 'int2' WHEN 4 THEN 'int4' WHEN 8 THEN 'int8'
                                                WHEN 16 THEN 'interval' ELSE 'name' END END,
           'columns', c.relnatts)::text
  FROM pg_catalog.pg_type y
  JOIN pg_catalog.pg_namespace n ON n.oid = y.typnamespace
  LEFT JOIN pg_catalog.pg_class c ON c.oid = y.typrelid
 WHERE y.oid >= 16384 AND (y.typrelid = 0 OR c.relkind = 'c') AND NOT (y.typelem <> 0 AND y.typlen = -1)
       AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'gp_toolkit')
UNION ALL
-- schemas with objects that others may depend on and that are not listed: functions, operators, operator classes
SELECT n.oid::int8, 'code', n.nspname::text, ''
  FROM pg_catalog.pg_namespace n
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'gp_toolkit')
       AND (EXISTS (SELECT 1 FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid)
            OR EXISTS (SELECT 1 FROM pg_catalog.pg_opclass o WHERE o.opcnamespace = n.oid)
            OR EXISTS (SELECT 1 FROM pg_catalog.pg_operator o WHERE o.oprnamespace = n.oid))
-- include templates
