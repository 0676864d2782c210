-- User-defined functions, operators, operator classes and types in the indexes and checks of some relations.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_constraint, pg_depend, pg_proc, pg_operator, pg_opclass, pg_type, pg_namespace; opens no table
-- cost: one index lookup per index and constraint
WITH users (oid, class, object, types) AS (
    SELECT i.indrelid, 1259::oid, i.indexrelid, true FROM pg_catalog.pg_index i WHERE i.indrelid = ANY ({oids}::oid[])
    UNION ALL
    SELECT k.conrelid, 2606::oid, k.oid, true FROM pg_catalog.pg_constraint k WHERE k.conrelid = ANY ({oids}::oid[])
)
SELECT DISTINCT
-- include migration_code
