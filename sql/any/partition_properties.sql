-- Properties of some partitions and of their tables, one row each: defaults, storage, options, comments, privileges, constraints, triggers
-- and statistics objects. `what` is the kind, `name` the column, constraint, trigger, role or object, `value` its SQL.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description, pg_constraint, pg_trigger, pg_class, pg_index, pg_statistic_ext, pg_namespace; opens no table
-- cost: one index lookup per column, constraint, trigger and index of theirs
-- include traits
-- include properties_check
-- include traits_of_partitions
UNION ALL
-- one row for each of them that exists
SELECT c.oid::int8, 'relation', '', '' FROM pg_catalog.pg_class c WHERE c.oid = ANY ({oids}::oid[])
 ORDER BY 1, 2, 3
