-- Number of files of relations in one directory, by their names; no file is looked at. Some of them may have no
-- relation. Shared relations are in another directory.
-- needs: superuser, or EXECUTE on pg_ls_dir(text)
-- locks: none
-- cost: one directory listing
SELECT content, pg_catalog.count(*)::int8 AS files
  FROM (SELECT -1 AS content, file FROM {list_folder}('{folder}') AS file) listed
-- include data_files
 GROUP BY content
