-- The relation and the catalog of this database with the oldest relfrozenxid, and the transactions since.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: one scan of pg_class
SELECT -1 AS content, o.kind, COALESCE(n.nspname || '.' || c.relname, 'oid ' || (o.packed & 4294967295)) AS name,
       o.packed >> 32 AS xid_age, NULL::int8 AS multixact_age
  FROM (SELECT k.kind, CASE k.kind WHEN 'catalog' THEN m.catalog ELSE m.relation END AS packed
          FROM (SELECT pg_catalog.max(r.packed) AS relation, pg_catalog.max(CASE WHEN r.oid < 16384 THEN r.packed END) AS catalog
                  FROM (SELECT c.oid::int8 AS oid, (pg_catalog.age(c.relfrozenxid)::int8 << 32) + c.oid::int8 AS packed
                          FROM pg_catalog.pg_class c
                         WHERE c.relfrozenxid::text <> '0') r) m,
               (VALUES ('catalog'), ('relation')) k (kind)) o
  LEFT JOIN pg_catalog.pg_class c ON c.oid = (o.packed & 4294967295)::oid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE o.packed IS NOT NULL
 ORDER BY 1, 2
