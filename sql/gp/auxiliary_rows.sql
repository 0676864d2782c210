-- Rows of one auxiliary relation of an append-optimized table on every segment, and the pages they fill. The auxiliary relation
-- ({source}) is a heap that the server writes; the table itself is not opened.
-- needs: superuser
-- locks: AccessShareLock on the auxiliary relation
-- cost: one scan of the auxiliary relation on every segment
SELECT gp_segment_id::int4 AS content,
       pg_catalog.count(*)::int8 AS rows,
       pg_catalog.sum({share})::float8 AS pages
  FROM gp_dist_random({source}) t
 GROUP BY 1
