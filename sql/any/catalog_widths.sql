-- Number of rows of one catalog on the coordinator or server, and the bytes of a tuple and of an entry of each index, from a
-- sample. {source} is the catalog and {width} the bytes of a row; {sampled} selects the rows, {entries} contains one average per
-- index.
-- needs: SELECT on the catalog (pg_statistic and a few more: superuser only)
-- locks: AccessShareLock on the catalog
-- cost: one scan of the catalog on the entry instance
SELECT pg_catalog.count(*) AS rows,
       pg_catalog.sum(CASE WHEN {sampled} THEN 1 ELSE 0 END)::int8 AS sample,
       pg_catalog.avg(CASE WHEN {sampled} THEN ((LEAST({width}, {toast_target}) + 7) / 8) * 8 END)::float8 AS tuple_bytes,
       {share} AS page_share,
       {entries}
  FROM {source} t
