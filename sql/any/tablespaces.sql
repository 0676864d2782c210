-- The directories with relations of this database, relative to the data directory of every instance: one per tablespace.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: one scan of pg_class
SELECT t.reltablespace::int8 AS tablespace,
       pg_catalog.regexp_replace(pg_catalog.pg_relation_filepath(t.oid), '/[^/]+$', '') AS folder
  FROM (SELECT reltablespace, pg_catalog.min(oid::int8)::oid AS oid
          FROM pg_catalog.pg_class
         WHERE relkind IN ('r', 'm', 't', 'i', 'o', 'b', 'M') AND relpersistence <> 't' AND reltablespace <> 1664
         GROUP BY 1) t
 ORDER BY 1
