-- Columns of some relations with type, default, statistics target, column grants and encoding: one row for all relations that have a
-- column in common at the same number.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attribute_encoding; opens no table
-- cost: one index lookup per relation
SELECT pg_catalog.array_agg(a.attrelid::int8) AS oids, a.attnum::int4 AS number, a.attname::text AS name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       a.attnotnull AS not_null, false AS generated,
       COALESCE(NULLIF(a.attstattarget, -1), -1)::int4 AS statistics,
       COALESCE(pg_catalog.array_to_string(a.attoptions, ', '), '') AS options,
       COALESCE(pg_catalog.array_to_string(e.attoptions, ', '), '') AS encoding
  FROM pg_catalog.pg_attribute a
  LEFT JOIN (SELECT w.attrelid, w.attnum, w.attoptions FROM pg_catalog.pg_attribute_encoding w WHERE w.attrelid = ANY ({oids}::oid[])) e
         ON e.attrelid = a.attrelid AND e.attnum = a.attnum
 WHERE a.attrelid = ANY ({oids}::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
 GROUP BY a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attstattarget, a.attoptions, e.attoptions
 ORDER BY a.attnum
