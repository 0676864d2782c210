-- Every system catalog with its indexes, its TOAST table and that one's index. Rows below oid 16384 were made by initdb.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index, pg_attribute, pg_type
-- cost: constant (some hundred rows)
SELECT c.oid::int8 AS oid,
       c.relname::text AS relation,
       c.relkind::text AS relkind,                    -- 'r' catalog, 'i' index, 't' TOAST table
       c.relisshared AS shared,
       COALESCE(up.oid, own.oid, main.oid, c.oid)::int8 AS catalog_oid,
       COALESCE(up.relname, own.relname, main.relname, c.relname)::text AS catalog,
       (own.oid IS NOT NULL OR c.relkind = 't') AND (c.relkind = 't' OR own.relkind = 't') AS toast,
       COALESCE(i.indisunique, false) AS is_unique,
       pg_catalog.array_to_string(ARRAY(
           SELECT a.attname::text || ':' || t.typname::text
             FROM pg_catalog.generate_series(0, i.indnatts - 1) AS k
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
             JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
            ORDER BY k), ',') AS key
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_class own ON own.oid = i.indrelid
  LEFT JOIN pg_catalog.pg_class main ON main.reltoastrelid = c.oid AND c.relkind = 't'
  LEFT JOIN pg_catalog.pg_class up ON up.reltoastrelid = own.oid AND own.relkind = 't'
 WHERE c.oid < 16384 AND c.relnamespace IN (11, 99) AND c.relkind IN ('r', 'i', 't')
       AND COALESCE(up.relnamespace, CASE WHEN own.relkind = 'r' THEN own.relnamespace END, main.relnamespace, c.relnamespace) = 11
 ORDER BY 6, 3 DESC, 1
