-- Second look at files without a row in pg_class: those that still exist, and when they were last changed, in seconds since 1970.
-- {files} are their names.
-- needs: superuser, or EXECUTE on pg_stat_file(text, boolean)
-- locks: none
-- cost: one stat per given file
SELECT -1 AS content, file, (s).size::int8 AS size, pg_catalog.date_part('epoch', (s).modification)::float8 AS mtime
  FROM (SELECT file, {stat_file}('{folder}/' || file, true) AS s
          FROM pg_catalog.unnest(ARRAY[{files}]) AS file) stated
 WHERE (s).size IS NOT NULL
