-- File numbers of system catalogs and of relations that had at least {pages} pages at the last VACUUM or ANALYZE: large files, which no
-- sample of files may miss.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class
SELECT node
  FROM (SELECT CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8 AS node,
               c.relpages AS pages
          FROM pg_catalog.pg_class c
         WHERE c.relkind IN ('r', 'm', 'i', 't', 'S') AND (c.oid < 16384 OR c.relpages >= {pages})) large
 WHERE node > 0
 GROUP BY node ORDER BY pg_catalog.max(pages) DESC, node LIMIT {most}
