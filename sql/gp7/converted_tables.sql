-- Tables whose number of system columns does not follow from their access method: SET ACCESS METHOD and SET WITH (appendonly...)
-- keep those of the method that the table was created with. attributes: rows of pg_attribute to add to the usual number.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_attribute
-- cost: one scan of pg_class and, for every table and leaf partition, one lookup in the index of pg_attribute
SELECT c.oid::int8 AS oid,
       CASE WHEN c.relam = 2 THEN -4 ELSE 4 END AS attributes
  FROM pg_catalog.pg_class c
 WHERE c.relkind IN ('r', 'm', 'p') AND c.relam IN (2, 3434, 3435) AND c.oid >= 16384
       AND ((SELECT true FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = -2) IS NULL) = (c.relam = 2)
