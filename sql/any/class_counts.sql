-- Relations of this instance by kind, and the rows of pg_attribute derived from them: relnatts and 6 system
-- columns for every relation that has system columns (not for views 'v', composite types 'c', indexes 'i' and 'I').
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class
SELECT -1 AS content, relkind::text AS relkind, '' AS storage, relpersistence::text AS persistence, n AS relations,
       natts + CASE WHEN relkind IN ('v', 'c', 'i', 'I') THEN 0 ELSE 6 END * n AS attributes
  FROM (SELECT relkind, relpersistence, pg_catalog.count(*) AS n, pg_catalog.sum(relnatts)::int8 AS natts
          FROM pg_catalog.pg_class GROUP BY 1, 2) c
