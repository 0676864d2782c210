-- Files and bytes from the data directories of all segments: existing files, regardless of the catalog. One statement lists
-- include files_told
-- Files are assigned to relations by GROUP BY instead of a join: the planner does not know the number of files, and a join would
-- send every row to every segment.
-- needs: superuser, or EXECUTE on pg_ls_dir(text) and pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_index, pg_am, pg_inherits, pg_partitioned_table, pg_appendonly; opens no table
-- cost: one directory listing and one stat per file on every segment, in parallel; one join of these catalogs
-- include files_summed
                          FROM (SELECT gp_segment_id AS content, {list_folder}('{folder}') AS file
                                  FROM gp_dist_random('gp_id')) listed
-- include files_named
                SELECT c.gp_segment_id, c.relpersistence = 't',
                       CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END::int8,
                       c.oid::int8, w.root, w.part, NULL, NULL, NULL
                  FROM gp_dist_random('pg_catalog.pg_class') c
                  LEFT JOIN (SELECT c.oid,
                                    COALESCE(t.root, e.owner, x.indrelid, c.oid)::int8 AS root,
                                    CASE WHEN COALESCE(e.owner, x.indrelid, c.oid) < 16384 THEN 8
                                         WHEN x.indrelid IS NOT NULL THEN COALESCE(e.part + 3, 4)
                                         WHEN e.part IS NOT NULL THEN e.part
                                         WHEN c.relkind = 'S' THEN 7
                                         ELSE CASE am.amname WHEN 'heap' THEN 11 WHEN 'ao_row' THEN 12 WHEN 'ao_column' THEN 13 ELSE 14 END
                                         END AS part
                               FROM pg_catalog.pg_class c
                               LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
                               LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
                               LEFT JOIN (SELECT reltoastrelid AS child, oid AS owner, 3 AS part
                                            FROM pg_catalog.pg_class WHERE reltoastrelid <> 0
                                     UNION ALL SELECT segrelid, relid, 2 FROM pg_catalog.pg_appendonly
                                     UNION ALL SELECT visimaprelid, relid, 2 FROM pg_catalog.pg_appendonly WHERE visimaprelid <> 0
                                     UNION ALL SELECT blkdirrelid, relid, 2 FROM pg_catalog.pg_appendonly WHERE blkdirrelid <> 0) e
                                ON e.child = COALESCE(x.indrelid, c.oid)
                               LEFT JOIN (WITH RECURSIVE tree AS (
                                         SELECT i.inhrelid AS oid, pt.partrelid AS root
                                           FROM pg_catalog.pg_partitioned_table pt
                                           JOIN pg_catalog.pg_class top ON top.oid = pt.partrelid AND NOT top.relispartition
                                           JOIN pg_catalog.pg_inherits i ON i.inhparent = pt.partrelid
                                         UNION ALL
                                         SELECT i.inhrelid, tree.root FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid)
                                     SELECT oid, root FROM tree) t
                                 ON t.oid = COALESCE(e.owner, x.indrelid, c.oid)) w ON w.oid = c.oid
                 WHERE c.reltablespace = {tablespace} AND c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')) u
-- include files_answered
