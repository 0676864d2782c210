-- What some relations have of their own besides their columns' types, keys and indexes: one row each. `what` and `name` say which
-- property of which column or constraint, `value` says it as SQL does.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description; opens no table
-- cost: one index look-up a column
-- include traits
 ORDER BY 1, 2, 3
