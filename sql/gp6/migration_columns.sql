-- Columns of some relations with type, default, statistics target, column grants and encoding, in column order.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_attribute_encoding; opens no table
-- cost: one index lookup per column
SELECT a.attrelid::int8 AS oid, a.attnum::int4 AS number, a.attname::text AS name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       a.attnotnull AS not_null, false AS generated,
       COALESCE(NULLIF(a.attstattarget, -1), -1)::int4 AS statistics,
       COALESCE(pg_catalog.array_to_string(a.attoptions, ', '), '') AS options,
       a.attacl::text AS acl,
       COALESCE(pg_catalog.array_to_string(e.attoptions, ', '), '') AS encoding
  FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_attribute_encoding e ON e.attrelid = a.attrelid AND e.attnum = a.attnum
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attrelid, a.attnum
