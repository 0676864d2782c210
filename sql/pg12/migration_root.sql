-- What depends on the root of a partitioned table besides its own columns, indexes and partitions: views, foreign keys, triggers,
-- functions of its row type, sequences that its columns own. A table that takes its place would not have it.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_class, pg_inherits, pg_index, pg_constraint, pg_attrdef, pg_type; opens no table
-- cost: index look-ups in pg_depend
SELECT CASE WHEN s.relkind = 'S' AND d.deptype = 'a' THEN 'sequence' WHEN s.relkind = 'S' THEN 'identity' ELSE 'other' END AS what,
       CASE WHEN s.relkind = 'S' THEN pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.relname)
            ELSE pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) END AS detail,
       COALESCE(a.attname::text, '') AS column
  FROM pg_catalog.pg_depend d
  LEFT JOIN pg_catalog.pg_class s ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND s.oid = d.objid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
 WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = {root} AND d.deptype IN ('n', 'a', 'i')
       AND NOT COALESCE(s.oid = {root} OR s.relkind IN ('i', 'I', 't', 'o', 'b', 'M') OR s.oid IN (
                   SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = {root}), false)
       AND NOT (d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
                AND d.objid IN (SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typrelid = {root}))
       AND NOT (d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass)
       AND NOT (d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass
                AND EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k
                             WHERE k.oid = d.objid AND k.conrelid = {root} AND k.contype IN ('c', 'p', 'u', 'n')))
UNION ALL
SELECT 'other', pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), ''
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.refobjid IN (t.oid, t.typarray)
 WHERE t.typrelid = {root} AND d.deptype IN ('n', 'a')
       AND NOT (d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.typarray)
UNION ALL
SELECT 'other', 'row security', '' FROM pg_catalog.pg_class c WHERE c.oid = {root} AND c.relrowsecurity
UNION ALL
SELECT 'other', 'security label', '' FROM pg_catalog.pg_seclabel l
 WHERE l.objoid = {root} AND l.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
UNION ALL
SELECT 'comment', s.description, a.attname::text
  FROM pg_catalog.pg_description s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.objoid AND a.attnum = s.objsubid
 WHERE s.objoid = {root} AND s.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND s.objsubid > 0
 ORDER BY 1, 2, 3
