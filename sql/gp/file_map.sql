-- Which relation a data file belongs to, on every segment: the file name, the tablespace and the relation. temp is 1 for temporary
-- relations, whose files have names of their own. Mapped relations are looked up by pg_relation_filenode().
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class on every segment, in parallel
SELECT c.gp_segment_id AS content,
-- include file_map_columns
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M') AND c.reltablespace <> 1664
