-- Partition sets that pg_partman maintains, with their current configuration.
-- needs: SELECT on pg_partman's part_config
-- trusts: {schema}, extension pg_partman
-- locks: AccessShareLock on part_config
-- cost: one scan of part_config
SELECT pg_catalog.to_regclass(p.parent_table)::oid::int8 AS root, pg_catalog.to_regclass(p.parent_table)::oid::int8 AS oid,
       'pg_partman'::text AS fact, pg_catalog.row_to_json(p)::text AS detail
  FROM {schema}.part_config p
 WHERE pg_catalog.to_regclass(p.parent_table) IS NOT NULL
