-- Partitions whose columns, defaults, comments, privileges or other properties differ from those of their table, or that have properties
-- which a partitioned table cannot have. The comparison is of text, so the result can contain partitions that do not differ.
-- A row with oid = root: some partition has privileges; with oid = 0: on a column.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_partition, pg_partition_rule, pg_attribute, pg_attrdef, pg_description, pg_index, pg_constraint; opens no table
-- cost: one join of pg_attribute, pg_attrdef and pg_index with the partitions each
WITH tree AS (
    SELECT p.parrelid AS oid, p.parrelid AS root
      FROM pg_catalog.pg_partition p WHERE NOT p.paristemplate AND p.parlevel = 0
    UNION ALL
    SELECT r.parchildrelid, p.parrelid
      FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE r.parchildrelid <> 0
),
part AS (SELECT t.root, t.oid FROM tree t WHERE t.oid <> t.root)
-- include uneven
UNION
SELECT p.root::int8, p.oid::int8
  FROM part p
  JOIN pg_catalog.pg_constraint k ON k.conrelid = p.oid
  JOIN pg_catalog.pg_description s ON s.objoid = k.oid AND s.classoid = 2606
