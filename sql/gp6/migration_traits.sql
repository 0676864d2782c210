-- What some relations have of their own besides their columns' types, keys and indexes: one row each. `what` and `name` say which
-- property of which column or constraint, `value` says it as SQL does.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description; opens no table
-- cost: one index look-up a column
SELECT a.attrelid::int8 AS oid, 'default'::text AS what, a.attname::text AS name, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS value
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT a.attrelid::int8, 'storage', a.attname::text,
       CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND t.typlen = -1 AND a.attstorage <> t.typstorage
UNION ALL
SELECT a.attrelid::int8, 'options', a.attname::text, pg_catalog.array_to_string(a.attoptions, ', ')
  FROM pg_catalog.pg_attribute a
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND a.attoptions IS NOT NULL
UNION ALL
SELECT s.objoid::int8, 'comment', a.attname::text, s.description
  FROM pg_catalog.pg_description s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.objoid AND a.attnum = s.objsubid
 WHERE s.objoid IN ({oids}) AND s.classoid = 1259 AND s.objsubid > 0 AND NOT a.attisdropped
UNION ALL
SELECT a.attrelid::int8, 'not null', a.attname::text, 'NOT NULL'
  FROM pg_catalog.pg_attribute a WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull
 ORDER BY 1, 2, 3
