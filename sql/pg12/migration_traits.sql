-- What some relations have of their own besides their columns' types, keys and indexes: one row each. `what` and `name` say which
-- property of which column, constraint, trigger or statistics object, `value` says it as SQL does.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description, pg_constraint, pg_trigger, pg_class, pg_statistic_ext, pg_namespace; opens no table
-- cost: one index look-up a column, constraint and trigger
-- include traits
-- include traits_check
 ORDER BY 1, 2, 3
