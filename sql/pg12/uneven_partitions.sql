-- Partitions with columns, defaults, comments, privileges or other properties that are not those of their table, or that a table cannot
-- have. What exactly they are is asked of these alone. Text is compared, so some that are alike may be told, too.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_partitioned_table, pg_attribute, pg_attrdef, pg_description, pg_index, pg_constraint, pg_trigger, pg_statistic_ext; opens no table
-- cost: one join of pg_attribute, pg_attrdef and pg_index with the partitions each
WITH RECURSIVE tree AS (
    SELECT pt.partrelid AS oid, pt.partrelid AS root
      FROM pg_catalog.pg_partitioned_table pt
      JOIN pg_catalog.pg_class c ON c.oid = pt.partrelid AND NOT c.relispartition
    UNION ALL
    SELECT i.inhrelid, t.root FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
),
part AS (SELECT t.root, t.oid FROM tree t WHERE t.oid <> t.root)
-- include uneven
-- include uneven_more
