-- Of relations whose file was not listed on some segment, those whose row there still names it and whose file is still not there.
-- {oids} names them.
-- needs: superuser (Greenplum 6 looks for that in pg_stat_file itself: no grant helps)
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one stat a relation named, on every segment
SELECT c.gp_segment_id::int4 AS content, c.oid::int8 AS oid, pg_catalog.pg_relation_filenode(c.oid)::int8 AS node
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.oid IN ({oids}) AND ({stat_file}(pg_catalog.pg_relation_filepath(c.oid), true)).size IS NULL
