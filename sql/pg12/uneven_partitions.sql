-- Partitions whose columns, defaults, comments, privileges or other properties differ from those of their table, or that have properties
-- which a partitioned table cannot have. The comparison is of text, so the result can contain partitions that do not differ.
-- A row with oid = root: some partition has privileges; with oid = 0: on a column.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_partitioned_table, pg_attribute, pg_attrdef, pg_description, pg_index, pg_constraint, pg_trigger, pg_statistic_ext; opens no table
-- cost: one join of pg_attribute, pg_attrdef and pg_index with the partitions each
-- include tree
, part AS (
    SELECT t.root, t.oid FROM tree t
     -- always true: it keeps down the number of partitions that the planner expects, so that it makes the hash table of them
     WHERE t.oid <> t.root AND t.oid::int8 BETWEEN 0 AND 4294967295
)
-- include uneven
-- include uneven_more
