-- The same as catalog_widths for a catalog too large to be read for it: the rows of a few relations, found by index.
-- {keys} holds the sampled oids.
-- needs: SELECT on the catalog
-- locks: AccessShareLock on the catalog
-- cost: some thousand rows by index
SELECT pg_catalog.count(*) AS sample,
       pg_catalog.avg(((LEAST(pg_catalog.pg_column_size(t.*), {toast_target}) + 7) / 8) * 8)::float8 AS tuple_bytes,
       {entries}
  FROM pg_catalog.{catalog} t
 WHERE t.{key} = ANY (ARRAY(SELECT c.oid FROM pg_catalog.pg_class c WHERE {picked} LIMIT 1000))
