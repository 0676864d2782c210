-- Relations of the coordinator by kind and storage, and the rows of pg_attribute derived from them: relnatts and
-- 7 system columns (8 with oids) for every relation that has system columns (not for views 'v', composite types 'c', indexes 'i').
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class
SELECT -1 AS content, relkind::text AS relkind, relstorage::text AS storage, relpersistence::text AS persistence, n AS relations,
       natts + CASE WHEN relkind IN ('v', 'c', 'i') THEN 0 ELSE 7 + relhasoids::int4 END * n AS attributes
  FROM (SELECT relkind, relstorage, relpersistence, relhasoids, pg_catalog.count(*) AS n, pg_catalog.sum(relnatts)::int8 AS natts
          FROM pg_catalog.pg_class GROUP BY 1, 2, 3, 4) c
