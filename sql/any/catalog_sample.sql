-- Bytes of a tuple of one catalog and of an entry of each of its indexes, from the rows of a few relations found by index,
-- or from its first rows where all rows are equally wide. {rows} is the sample.
-- needs: SELECT on the catalog
-- locks: AccessShareLock on the catalog
-- cost: some thousand rows
SELECT pg_catalog.count(*) AS sample,
       pg_catalog.avg(((LEAST({width}, {toast_target}) + 7) / 8) * 8)::float8 AS tuple_bytes,
       {share} AS page_share,
       {entries}
  FROM ({rows}) t
