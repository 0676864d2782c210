-- Files and bytes from the data directories: existing files, regardless of the catalog. One statement lists
-- include files_told
-- Files are assigned to relations by GROUP BY, as on Greenplum, because the planner does not know the number of files.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table; opens no table
-- cost: one directory listing and one stat per file; one join of these catalogs
-- include files_summed
                          FROM (SELECT -1 AS content, file FROM {list_folder}('{folder}') AS file) listed
-- include files_named
                SELECT -1, c.relpersistence = 't',
                       CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8,
                       c.oid::int8, w.root, w.part, NULL, NULL, NULL
                  FROM pg_catalog.pg_class c
                  LEFT JOIN (
-- include relation_owner
                  ) w ON w.oid = c.oid
                 WHERE c.reltablespace = {tablespace} AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
-- include files_chosen
                       ) u
-- include files_answered
