-- Columns of some relations with type, default, statistics target and column grants: one row for all relations that have a
-- column in common at the same number.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute; opens no table
-- cost: one index lookup per relation
SELECT pg_catalog.array_agg(a.attrelid::int8) AS oids, a.attnum::int4 AS number, a.attname::text AS name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       a.attnotnull AS not_null, a.attgenerated <> '' AS generated,
       COALESCE(NULLIF(a.attstattarget, -1), -1)::int4 AS statistics,
       COALESCE(pg_catalog.array_to_string(a.attoptions, ', '), '') AS options,
       '' AS encoding
  FROM pg_catalog.pg_attribute a
 WHERE a.attrelid = ANY ({oids}::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
 GROUP BY a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attgenerated, a.attstattarget, a.attoptions
 ORDER BY a.attnum
