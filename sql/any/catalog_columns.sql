-- The columns of the system catalogs ({oids}), which determine the width of rows and index entries.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_type
-- cost: constant (a few thousand rows by index)
SELECT a.attrelid::int8 AS oid, a.attnum::int4 AS number, a.attname::text AS name, t.typname::text AS type, a.attlen::int4 AS length
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = ANY ({oids}) AND (a.attnum > 0 OR a.attname = 'oid')
