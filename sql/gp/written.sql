-- Seconds since a file of each of these relations ({oids}) was modified, on every segment. {suffix}: '' for its first gigabyte,
-- '.1' for the next and so on.
-- needs: superuser, or EXECUTE on pg_stat_file(text, boolean); on Greenplum 6 superuser
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one stat per given relation, on every segment
SELECT c.oid::int8 AS oid,
       pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - ({stat_file}(pg_catalog.pg_relation_filepath(c.oid) || {suffix}, true)).modification)::float8 AS seconds
  FROM gp_dist_random('pg_catalog.pg_class') c
 WHERE c.oid IN ({oids})
