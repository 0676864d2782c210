-- The partition key of every partitioned table, for each level.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partition, pg_attribute, pg_type
-- cost: one index lookup per partitioned table and level
WITH RECURSIVE
-- include base_types
SELECT p.parrelid::int8 AS root,
       p.parlevel::int4 AS level,                     -- 0 splits the root
       CASE p.parkind WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' ELSE p.parkind::text END AS strategy,
       pg_catalog.array_to_string(ARRAY(
           SELECT a.attname::text FROM pg_catalog.generate_series(0, p.parnatts - 1) k
             JOIN pg_catalog.pg_attribute a ON a.attrelid = p.parrelid AND a.attnum = p.paratts[k] ORDER BY k), ', ') AS key,
       pg_catalog.array_to_string(ARRAY(
           SELECT COALESCE(CASE WHEN (SELECT y.typtype FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid) = 'd'
                                THEN (SELECT b.name FROM base_type b WHERE b.oid = a.atttypid) END,
                           pg_catalog.format_type(a.atttypid, a.atttypmod))
             FROM pg_catalog.generate_series(0, p.parnatts - 1) k
             JOIN pg_catalog.pg_attribute a ON a.attrelid = p.parrelid AND a.attnum = p.paratts[k] ORDER BY k), ', ') AS key_types,
       EXISTS (SELECT 1 FROM pg_catalog.pg_partition tt
                WHERE tt.parrelid = p.parrelid AND tt.parlevel = p.parlevel AND tt.paristemplate) AS has_template
  FROM pg_catalog.pg_partition p
 WHERE NOT p.paristemplate
 ORDER BY 1, 2
