-- Number of rows of one catalog on every segment.
-- needs: SELECT on the catalog (pg_statistic and a few more: superuser only)
-- locks: AccessShareLock on the catalog
-- cost: one scan of the catalog on every segment
SELECT gp_segment_id::int4 AS content, pg_catalog.count(*) AS rows
  FROM {source}
 GROUP BY 1
