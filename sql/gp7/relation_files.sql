-- Files and bytes from the data directories of all segments: existing files, regardless of the catalog. One statement lists
-- include files_kinds
-- Files are assigned to relations by GROUP BY instead of a join: the planner does not know the number of files, and a join would
-- send every row to every segment.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table, pg_appendonly; opens no table
-- cost: one directory listing and one stat per file on every segment, in parallel; one join of these catalogs
-- include files_summed
                          FROM (SELECT gp_segment_id AS content, {list_folder}('{folder}') AS file
                                  FROM gp_dist_random('gp_id') c WHERE c.gp_segment_id IN ({contents})) listed
-- include files_named
                SELECT c.gp_segment_id, c.relpersistence = 't',
                       CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8,
                       c.oid::int8, w.root, w.part, NULL, NULL, NULL
                  FROM gp_dist_random('pg_catalog.pg_class') c
                  LEFT JOIN (
-- include relation_owner
                  ) w ON w.oid = c.oid
                 WHERE c.gp_segment_id IN ({contents}) AND c.reltablespace = {tablespace}
                       AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')
-- include files_chosen
                       ) u
-- include files_result
