-- Columns of some relations with type, default, statistics target and column grants, in column order.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef; opens no table
-- cost: one index lookup per column
SELECT a.attrelid::int8 AS oid, a.attnum::int4 AS number, a.attname::text AS name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       a.attnotnull AS not_null, a.attgenerated <> '' AS generated,
       COALESCE(NULLIF(a.attstattarget, -1), -1)::int4 AS statistics,
       COALESCE(pg_catalog.array_to_string(a.attoptions, ', '), '') AS options,
       a.attacl::text AS acl,
       '' AS encoding
  FROM pg_catalog.pg_attribute a
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attrelid, a.attnum
