-- Number of rows of one catalog on the coordinator or server.
-- needs: SELECT on the catalog (pg_statistic and a few more: superuser only)
-- locks: AccessShareLock on the catalog
-- cost: one scan of the catalog
SELECT -1 AS content, pg_catalog.count(*) AS rows
  FROM {source}
