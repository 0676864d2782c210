-- Objects that depend on the root of a partitioned table, except its columns, indexes and partitions: views, foreign keys, triggers,
-- functions of its row type, and sequences of its columns. A table that replaces it would not have them.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_class, pg_inherits, pg_index, pg_constraint, pg_attrdef, pg_type; opens no table
-- cost: index lookups in pg_depend
-- include migration_root_ties
SELECT 'other', 'security label', '' FROM pg_catalog.pg_seclabel l
 WHERE l.objoid = {root} AND l.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
UNION ALL
SELECT 'check', pg_catalog.pg_get_constraintdef(k.oid), k.conname::text
  FROM pg_catalog.pg_constraint k WHERE k.conrelid = {root} AND k.contype = 'c'
UNION ALL
SELECT 'check comment', s.description, k.conname::text
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_description s ON s.objoid = k.oid AND s.classoid = 2606
 WHERE k.conrelid = {root} AND k.contype = 'c'
UNION ALL
SELECT 'comment', s.description, a.attname::text
  FROM pg_catalog.pg_description s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.objoid AND a.attnum = s.objsubid
 WHERE s.objoid = {root} AND s.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND s.objsubid > 0
 ORDER BY 1, 2, 3
