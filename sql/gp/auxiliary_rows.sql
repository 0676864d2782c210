-- Number of rows of one auxiliary relation ({source}) on every segment, and the number of pages that they need. Auxiliary relations
-- are heap tables that only the server writes. The append-optimized table is not opened.
-- needs: superuser
-- locks: AccessShareLock on the auxiliary relation
-- cost: one scan of the auxiliary relation on every segment
SELECT gp_segment_id::int4 AS content,
       pg_catalog.count(*)::int8 AS rows,
       pg_catalog.sum({share})::float8 AS pages
  FROM gp_dist_random({source}) t
 GROUP BY 1
