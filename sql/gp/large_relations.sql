-- File numbers, on any segment, of system catalogs and of relations that had at least {pages} pages on a segment at the last VACUUM or
-- ANALYZE: large files, which no sample of files may miss. The pages of the coordinator are those of all {segments} segments together.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class on the coordinator and every segment
SELECT node
  FROM (SELECT CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8 AS node,
               CASE WHEN w.pages > c.relpages THEN w.pages ELSE c.relpages END AS pages
          FROM gp_dist_random('pg_catalog.pg_class') c
          LEFT JOIN (SELECT oid, relpages / {segments} AS pages FROM pg_catalog.pg_class
                      WHERE relpages / {segments} >= {pages}) w ON w.oid = c.oid
         WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
               AND (c.oid < 16384 OR c.relpages >= {pages} OR w.pages >= {pages})) large
 WHERE node > 0
 GROUP BY node ORDER BY pg_catalog.max(pages) DESC, node LIMIT {most}
