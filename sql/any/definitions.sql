-- Columns, constraints and parents of some tables, one row per fact, for `gpcatalog check` with a baseline. detail is JSON.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_attribute, pg_attrdef, pg_type, pg_constraint, pg_inherits, pg_depend, pg_rewrite; opens no table
-- cost: index lookups for each of the tables
SELECT a.attrelid::int8 AS oid, 'columns' AS what, ''::text AS name,
       pg_catalog.json_build_object(
           'system', pg_catalog.count(*) FILTER (WHERE a.attnum < 0),
           'dropped', pg_catalog.count(*) FILTER (WHERE a.attisdropped),
           'columns', pg_catalog.json_agg(pg_catalog.json_build_array(
                          a.attname,
                          -- of types that users made, a built-in one that is stored alike
                          CASE WHEN y.oid < 16384 THEN y.typname::text
                               WHEN y.typlen < 0 AND y.typstorage = 'p' THEN 'name'
                               WHEN y.typlen < 0 THEN 'text'
                               ELSE CASE y.typlen WHEN 1 THEN 'bool' WHEN 2 THEN 'int2' WHEN 4 THEN 'int4' WHEN 8 THEN 'int8'
                                                  WHEN 16 THEN 'interval' ELSE 'name' END END,
                          CASE WHEN y.oid < 16384 THEN a.atttypmod ELSE -1 END,
                          a.attnotnull, a.atthasdef, a.attislocal, COALESCE(s.sequences, ''),
-- whether its values are never stored elsewhere though their length varies, and the columns from which it is generated
-- include generated
                          ) ORDER BY a.attnum)
                      FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped))::text AS detail
  FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
  LEFT JOIN (SELECT d.refobjid, d.refobjsubid,
                    pg_catalog.string_agg(CASE d.deptype WHEN 'i' THEN 'identity' ELSE 'serial' END
                                          || CASE WHEN q.relpersistence = o.relpersistence THEN '' ELSE ' otherwise stored' END, ',') AS sequences
               FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class q ON q.oid = d.objid AND q.relkind = 'S'
               JOIN pg_catalog.pg_class o ON o.oid = d.refobjid
              WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid IN ({oids}) AND d.refobjsubid > 0
                    AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i')
              GROUP BY 1, 2) s ON s.refobjid = a.attrelid AND s.refobjsubid = a.attnum
 WHERE a.attrelid IN ({oids})
 GROUP BY a.attrelid
UNION ALL
SELECT k.conrelid::int8, CASE k.contype WHEN 'c' THEN 'check' ELSE 'foreign key' END, k.conname::text,
       pg_catalog.json_build_object(
           'columns', (SELECT pg_catalog.json_agg(a.attname ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
                        WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)),
           'schema', (SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                       WHERE c.oid = k.confrelid),
           'table', (SELECT c.relname FROM pg_catalog.pg_class c WHERE c.oid = k.confrelid))::text
  FROM pg_catalog.pg_constraint k
 WHERE k.conrelid IN ({oids}) AND k.contype IN ('c', 'f')
UNION ALL
SELECT i.inhrelid::int8, 'parent', c.relname::text, pg_catalog.json_build_object('schema', n.nspname)::text
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_class c ON c.oid = i.inhparent
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE i.inhrelid IN ({oids})
UNION ALL
-- of a materialized view: the relations that it reads
SELECT w.ev_class::int8, 'reads', c.relname::text, pg_catalog.json_build_object('schema', n.nspname)::text
  FROM pg_catalog.pg_rewrite w
  JOIN pg_catalog.pg_class v ON v.oid = w.ev_class AND v.relkind = 'm'
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
                              AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> w.ev_class
  JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE w.ev_class IN ({oids})
 GROUP BY w.ev_class, c.relname, n.nspname
