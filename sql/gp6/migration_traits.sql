-- Properties of some relations except column types, keys and indexes, one row for all relations that have
-- one in common. `what` is the property, `name` the column or constraint, `value` its SQL.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description, pg_constraint; opens no table
-- cost: one index lookup per column
SELECT pg_catalog.array_agg(t.oid) AS oids, t.what, t.name, t.value
  FROM (
-- include traits
) t
 GROUP BY t.what, t.name, t.value
 ORDER BY t.what, t.name
