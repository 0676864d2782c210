-- Second check of relations without a data file: those that still exist and whose file is still missing. {oids} are the relations.
-- needs: superuser, or EXECUTE on pg_stat_file(text, boolean)
-- locks: AccessShareLock on pg_class, pg_namespace; opens no table
-- cost: one stat per given relation
SELECT -1 AS content, c.oid::int8 AS oid, pg_catalog.pg_relation_filenode(c.oid)::int8 AS node,
       n.nspname::text || '.' || c.relname::text AS relation
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid IN ({oids}) AND ({stat_file}(pg_catalog.pg_relation_filepath(c.oid), true)).size IS NULL
