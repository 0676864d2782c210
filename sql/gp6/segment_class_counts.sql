-- Relations of each segment by kind, and the rows of pg_attribute derived from them: relnatts and 7 system
-- columns (8 with oids) for every relation that has system columns (not for views 'v', composite types 'c', indexes 'i').
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on every segment
SELECT gp_segment_id::int4 AS content, relkind::text AS relkind, '' AS storage, '' AS persistence, n AS relations,
       CASE WHEN relkind IN ('v', 'c', 'i') THEN natts ELSE natts + oids + 7 * n END AS attributes
  FROM (SELECT gp_segment_id, relkind, pg_catalog.count(*) AS n, pg_catalog.sum(relnatts)::int8 AS natts,
               pg_catalog.sum(relhasoids::int4)::int8 AS oids
          FROM gp_dist_random('pg_catalog.pg_class') GROUP BY 1, 2) c
