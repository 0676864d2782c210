-- Second look at files without a row in pg_class: those that still exist, and when they were last changed, in seconds since 1970.
-- {files} are their names.
-- needs: superuser (pg_stat_file of Greenplum 6 requires it; GRANT EXECUTE is not sufficient)
-- locks: none
-- cost: one stat per given file, on every segment
SELECT content, file, (s).size::int8 AS size, pg_catalog.date_part('epoch', (s).modification)::float8 AS mtime
  FROM (SELECT content, file, {stat_file}('{folder}/' || file, true) AS s
          FROM (SELECT gp_segment_id AS content, pg_catalog.unnest(ARRAY[{files}]) AS file FROM gp_dist_random('gp_id')) named) stated
 WHERE (s).size IS NOT NULL
