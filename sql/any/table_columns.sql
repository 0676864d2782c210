-- Columns of one table with the properties that determine TOAST tables and catalog rows; %s is its oid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_type
-- cost: one index lookup
SELECT COALESCE(b.typname, t.typname)::text AS type,
       (CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END)::int4 AS typmod,
       (a.attstorage = 'p' AND a.attlen < 0) AS plain, a.attisdropped AS dropped, a.attnotnull AS not_null, a.atthasdef AS has_default
  FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
 WHERE a.attrelid = %s::int8::oid AND a.attnum > 0
 ORDER BY a.attnum
