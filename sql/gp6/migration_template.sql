-- The subpartition templates of one table, one per level: their elements in order, as the server prints them.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partition, pg_partition_rule; opens no table
-- cost: one index lookup per element
SELECT p.parlevel::int4 AS level,
       pg_catalog.btrim(pg_catalog.pg_get_partition_rule_def(r.oid, true), E' \n') AS element
  FROM pg_catalog.pg_partition p
  JOIN pg_catalog.pg_partition_rule r ON r.paroid = p.oid
 WHERE p.parrelid = {root} AND p.paristemplate
 ORDER BY p.parlevel, r.parisdefault, r.parruleord, r.oid
