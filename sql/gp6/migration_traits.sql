-- Properties of some relations except column types, keys and indexes, one row each. `what` is the property, `name` the column or
-- constraint, `value` its SQL.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description; opens no table
-- cost: one index lookup per column
-- include traits
 ORDER BY 1, 2, 3
