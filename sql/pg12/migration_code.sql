-- User-defined functions, operators, operator classes and types in the partition keys, indexes, checks and statistics objects of some
-- relations.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partitioned_table, pg_index, pg_constraint, pg_statistic_ext, pg_depend, pg_proc, pg_operator, pg_opclass, pg_type, pg_namespace; opens no table
-- cost: one index lookup per index, constraint and statistics object
WITH users (oid, class, object, types) AS (
    SELECT t.partrelid, 1259::oid, t.partrelid, t.partexprs IS NOT NULL FROM pg_catalog.pg_partitioned_table t WHERE t.partrelid = ANY ({oids}::oid[])
    UNION ALL
    SELECT i.indrelid, 1259::oid, i.indexrelid, true FROM pg_catalog.pg_index i WHERE i.indrelid = ANY ({oids}::oid[])
    UNION ALL
    SELECT k.conrelid, 2606::oid, k.oid, true FROM pg_catalog.pg_constraint k WHERE k.conrelid = ANY ({oids}::oid[])
    UNION ALL
    SELECT s.stxrelid, 3381::oid, s.oid, true FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = ANY ({oids}::oid[])
)
SELECT DISTINCT
-- include migration_code
