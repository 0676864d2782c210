-- Partitions whose columns, defaults, comments, privileges or other properties differ from those of their table, or that have properties
-- which a partitioned table cannot have. The comparison is of text, so the result can contain partitions that do not differ.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_partition, pg_partition_rule, pg_attribute, pg_attrdef, pg_description, pg_index; opens no table
-- cost: one join of pg_attribute, pg_attrdef and pg_index with the partitions each
WITH tree AS (
    SELECT p.parrelid AS oid, p.parrelid AS root
      FROM pg_catalog.pg_partition p WHERE NOT p.paristemplate AND p.parlevel = 0
    UNION ALL
    SELECT r.parchildrelid, p.parrelid
      FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
     WHERE r.parchildrelid <> 0
),
part AS (SELECT t.root, t.oid FROM tree t WHERE t.oid <> t.root),
keys AS (
    SELECT t.oid, pg_catalog.string_agg(k.text, ';' ORDER BY k.text) AS text
      FROM tree t
      JOIN pg_catalog.pg_index i ON i.indrelid = t.oid
     CROSS JOIN LATERAL (SELECT pg_catalog.concat(i.indexprs::text, i.indpred::text) AS text) e
     CROSS JOIN LATERAL (SELECT pg_catalog.concat_ws(' ', i.indkey, i.indclass, i.indoption, i.indisunique,
                                pg_catalog.regexp_replace(e.text, ':location -?[0-9]+', '', 'g')) AS text) k
     GROUP BY 1
)
-- include uneven
UNION
-- no index of a partition is known to belong to one of its table
SELECT p.root::int8, p.oid::int8
  FROM part p
  LEFT JOIN keys k ON k.oid = p.oid
  LEFT JOIN keys r ON r.oid = p.root
 WHERE k.text IS DISTINCT FROM r.text
