-- Of relations whose file was not listed, those whose row still names it and whose file is still not there. {oids} names them.
-- needs: superuser, or EXECUTE on pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one stat a relation named
SELECT -1 AS content, c.oid::int8 AS oid, pg_catalog.pg_relation_filenode(c.oid)::int8 AS node
  FROM pg_catalog.pg_class c
 WHERE c.oid IN ({oids}) AND ({stat_file}(pg_catalog.pg_relation_filepath(c.oid), true)).size IS NULL
