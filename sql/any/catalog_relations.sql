-- Every system catalog, its indexes and TOAST table; rows with an oid below 16384 were created by initdb. The client
-- assigns indexes and TOAST tables to their catalogs by reltoastrelid and indrelid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_index
-- cost: constant (a few hundred rows by index)
SELECT c.oid::int8 AS oid,
       c.relname::text AS relation,
       c.relkind::text AS relkind,                    -- 'r' catalog, 'i' index, 't' TOAST table
       c.relnamespace::int8 AS namespace,             -- 11 pg_catalog, 99 pg_toast
       c.relisshared AS shared,
       c.reltoastrelid::int8 AS toast_oid,
       i.indrelid::int8 AS indexed_oid,
       COALESCE(i.indisunique, false) AS is_unique,
       i.indkey::text AS key
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid AND i.indexrelid < 16384
 WHERE c.oid < 16384 AND c.relnamespace IN (11, 99) AND c.relkind IN ('r', 'i', 't')
 ORDER BY c.oid
