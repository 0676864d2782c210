-- Relations of the coordinator by kind and access method, and the rows of pg_attribute derived from them: relnatts
-- and 7 system columns, 3 for ao_row (3434) and ao_column (3435), none for views 'v', composite types 'c', indexes 'i' and 'I'.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class
SELECT -1 AS content, relkind::text AS relkind,
       CASE relam WHEN 2 THEN 'heap' WHEN 3434 THEN 'ao_row' WHEN 3435 THEN 'ao_column' ELSE '' END AS storage,
       relpersistence::text AS persistence, n AS relations,
       natts + CASE WHEN relkind IN ('v', 'c', 'i', 'I') THEN 0 WHEN relam IN (3434, 3435) THEN 3 ELSE 7 END * n AS attributes
  FROM (SELECT relkind, relam, relpersistence, pg_catalog.count(*) AS n, pg_catalog.sum(relnatts)::int8 AS natts
          FROM pg_catalog.pg_class GROUP BY 1, 2, 3) c
