-- Properties of some relations except column types, keys and indexes, one row for all relations that have
-- one in common. `what` is the property, `name` the column, constraint, trigger or statistics object, `value` its SQL.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description, pg_constraint, pg_trigger, pg_class, pg_statistic_ext, pg_namespace; opens no table
-- cost: one index lookup per column, constraint and trigger
SELECT pg_catalog.array_agg(t.oid) AS oids, t.what, t.name, t.value
  FROM (
-- include traits
-- include traits_check
) t
 GROUP BY t.what, t.name, t.value
 ORDER BY t.what, t.name
