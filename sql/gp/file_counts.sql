-- Number of files of relations in one directory on each segment, by their names; no file is looked at.
-- Some of them may have no relation. Shared relations are in another directory.
-- needs: superuser, or EXECUTE on pg_ls_dir(text)
-- locks: none
-- cost: one directory listing on every segment, in parallel
SELECT content, pg_catalog.count(*)::int8 AS files
  FROM (SELECT gp_segment_id AS content, {list_folder}('{folder}') AS file
          FROM gp_dist_random('gp_id') c WHERE c.gp_segment_id IN ({contents})) listed
-- include data_files
 GROUP BY content
