-- User-defined functions that a statement on a table and its partitions can run: those that its column types, partition keys,
-- indexes, constraints, generated columns, statistics, policies, triggers, rules and defaults use according to pg_depend. If {ddl}
-- is true, functions of event triggers are included. Calls inside of function bodies are not known.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend and the catalogs that it references; opens no table
-- cost: some index lookups per partition, index and constraint
WITH RECURSIVE
-- include partitions_of_root
, relations (oid) AS (
    SELECT {root}::oid
    UNION ALL
    SELECT p.oid FROM partitions p
), written (oid) AS (SELECT r.oid FROM relations r),
-- include reachable_started
-- include reachable_code
SELECT u.function, u.owner, u.risk FROM unsafe u ORDER BY u.risk, u.function
