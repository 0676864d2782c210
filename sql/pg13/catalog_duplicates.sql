-- Bytes per row of a non-unique index whose equal keys share a posting list (deduplication, PostgreSQL 13 and later), from a sample
-- that keeps equal keys together. {entry} is the bytes of one index tuple, {keys} its columns; a posting list has up to {posting}
-- rows of 6 bytes.
-- needs: SELECT on the catalog
-- locks: AccessShareLock on the catalog
-- cost: one scan of the catalog, a hash table over the sample
SELECT pg_catalog.sum(g.n)::int8 AS sample,
       (pg_catalog.sum(pg_catalog.ceil(g.n / {posting}.0) * (g.entry + 4) + CASE WHEN g.n > 1 THEN ((6 * g.n + 7) / 8) * 8 ELSE 0 END)
        / pg_catalog.sum(g.n))::float8 - 4 AS entry_bytes
  FROM (SELECT pg_catalog.count(*) AS n, pg_catalog.avg({entry}) AS entry
          FROM {source} t
         WHERE {sampled}
         GROUP BY {keys}) g
