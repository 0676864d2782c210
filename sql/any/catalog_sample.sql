-- Bytes of a tuple of one catalog and of an entry of each of its indexes, from the rows of a few relations found by index,
-- or from its first rows if all rows have the same width. {rows} is the sample.
-- needs: SELECT on the catalog
-- locks: AccessShareLock on the catalog
-- cost: a few thousand rows
SELECT pg_catalog.count(*) AS sample,
       pg_catalog.avg(((LEAST({width}, {toast_target}) + 7) / 8) * 8)::float8 AS tuple_bytes,
       {share} AS page_share,
       {entries}
  FROM ({rows}) t
