-- Names and sizes of the files of relations in one directory on all segments: existing files, regardless of the catalog. Some other
-- files are among them. Shared relations are in another directory. A file that was removed meanwhile is skipped too.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: none
-- cost: one directory listing and one stat per file on every segment, in parallel
SELECT content, file, (s).size::int8 AS size
  FROM (SELECT content, file, {stat_file}('{folder}/' || file, true) AS s
          FROM (SELECT gp_segment_id AS content, {list_folder}('{folder}') AS file FROM gp_dist_random('gp_id') c
                 WHERE c.gp_segment_id IN ({contents})) listed
         WHERE file < 'u' COLLATE pg_catalog."C") stated
 WHERE (s).size IS NOT NULL
