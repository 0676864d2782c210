-- Relations of each segment by kind, and the rows of pg_attribute derived from them: relnatts and 7 system
-- columns, 3 for ao_row (3434) and ao_column (3435), none for views 'v', composite types 'c', indexes 'i' and 'I'.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class on every segment
SELECT gp_segment_id::int4 AS content, relkind::text AS relkind, '' AS storage, '' AS persistence, n AS relations,
       CASE WHEN relkind IN ('v', 'c', 'i', 'I') THEN natts ELSE natts + 7 * n - 4 * ao END AS attributes
  FROM (SELECT gp_segment_id, relkind, pg_catalog.count(*) AS n, pg_catalog.sum(relnatts)::int8 AS natts,
               pg_catalog.sum((relam IN (3434, 3435))::int4)::int8 AS ao
          FROM gp_dist_random('pg_catalog.pg_class') GROUP BY 1, 2) c
