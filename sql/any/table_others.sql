-- What one table has that its shape does not include, as numbers of objects; %s is its oid.
-- needs: CONNECT
-- locks: AccessShareLock on pg_depend, pg_class, pg_constraint, pg_trigger, pg_rewrite, pg_index, pg_inherits, pg_type
-- cost: a few index lookups
WITH t AS (SELECT c.oid, c.relkind, c.relacl FROM pg_catalog.pg_class c WHERE c.oid = %s::int8::oid)
SELECT (SELECT pg_catalog.count(DISTINCT d.objid)
          FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
         WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
           AND d.refobjid = t.oid AND d.deptype IN ('a', 'i'))::int4 AS sequences,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = t.oid AND k.contype = 'f')::int4 AS foreign_keys,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint k WHERE k.confrelid = t.oid AND k.contype = 'f')::int4 AS referencing,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger g WHERE g.tgrelid = t.oid AND NOT g.tgisinternal)::int4 AS triggers,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_rewrite w WHERE w.ev_class = t.oid)::int4 AS rules,
       (SELECT pg_catalog.count(DISTINCT d.objid)
          FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class p ON p.oid = d.classid AND p.relnamespace = 11
         WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = t.oid
           AND p.relname IN ('pg_policy', 'pg_statistic_ext'))::int4 AS others,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = t.oid)::int4 AS parents,
       (SELECT pg_catalog.count(*)
          FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid AND y.oid >= 16384
         WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped)::int4 AS own_types,
       (SELECT pg_catalog.count(*)
          FROM pg_catalog.pg_index x
         WHERE x.indrelid = t.oid
           AND (x.indexprs IS NOT NULL OR x.indpred IS NOT NULL OR NOT x.indimmediate OR x.indisexclusion))::int4 AS special_indexes,
       (t.relacl IS NOT NULL) AS privileges,
       EXISTS (SELECT 1 FROM pg_catalog.pg_description m
                WHERE m.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND m.objoid = t.oid) AS comments
  FROM t
