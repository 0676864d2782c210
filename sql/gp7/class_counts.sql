-- Relations of each instance by kind and access method, and from them the rows of pg_attribute without reading it: relnatts
-- and 7 system columns, 3 for ao_row (3434) and ao_column (3435), none for views 'v', composite types 'c', indexes 'i', 'I'.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on every instance
SELECT gp_segment_id::int4 AS content, relkind::text AS relkind,
       CASE relam WHEN 2 THEN 'heap' WHEN 3434 THEN 'ao_row' WHEN 3435 THEN 'ao_column' ELSE '' END AS storage,
       relpersistence::text AS persistence,
       pg_catalog.count(*) AS relations,
       pg_catalog.sum(relnatts + CASE WHEN relkind IN ('v', 'c', 'i', 'I') THEN 0 WHEN relam IN (3434, 3435) THEN 3 ELSE 7 END)::int8
           AS attributes
  FROM gp_dist_random('pg_catalog.pg_class')
 GROUP BY 1, 2, 3, 4
UNION ALL
SELECT -1, relkind::text,
       CASE relam WHEN 2 THEN 'heap' WHEN 3434 THEN 'ao_row' WHEN 3435 THEN 'ao_column' ELSE '' END,
       relpersistence::text,
       pg_catalog.count(*),
       pg_catalog.sum(relnatts + CASE WHEN relkind IN ('v', 'c', 'i', 'I') THEN 0 WHEN relam IN (3434, 3435) THEN 3 ELSE 7 END)::int8
  FROM pg_catalog.pg_class
 GROUP BY 2, 3, 4
