-- The subpartition templates of one table, one per level, as the server prints them: without storage options.
-- needs: CONNECT
-- locks: AccessShareLock on gp_partition_template; opens no table
-- cost: one row per level
SELECT g.level::int4 AS level, pg_catalog.pg_get_expr(g.template, 0) AS element
  FROM pg_catalog.gp_partition_template g
 WHERE g.relid = {root}
 ORDER BY g.level
