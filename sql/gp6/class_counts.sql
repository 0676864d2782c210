-- Relations of each instance by kind and storage, and from them the rows of pg_attribute without reading it: relnatts and
-- 7 system columns (8 with oids) for every relation that has any (not for views 'v', composite types 'c', indexes 'i').
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on every instance
SELECT gp_segment_id::int4 AS content, relkind::text AS relkind, relstorage::text AS storage, relpersistence::text AS persistence,
       pg_catalog.count(*) AS relations,
       pg_catalog.sum(relnatts + CASE WHEN relkind IN ('v', 'c', 'i') THEN 0 ELSE 7 + relhasoids::int4 END)::int8 AS attributes
  FROM gp_dist_random('pg_catalog.pg_class')
 GROUP BY 1, 2, 3, 4
UNION ALL
SELECT -1, relkind::text, relstorage::text, relpersistence::text,
       pg_catalog.count(*),
       pg_catalog.sum(relnatts + CASE WHEN relkind IN ('v', 'c', 'i') THEN 0 ELSE 7 + relhasoids::int4 END)::int8
  FROM pg_catalog.pg_class
 GROUP BY 2, 3, 4
