-- Names of auxiliary relations of append-optimized tables, of their indexes and of the tables. {oids} is a list of oids of auxiliary
-- relations and of their indexes. Temporary tables are skipped.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_index, pg_appendonly, pg_attribute
-- cost: one scan of pg_appendonly and pg_index on the coordinator
SELECT s.oid::int8 AS oid,
       x.indexrelid::int8 AS index_oid,
       xc.relname::text AS index_name,
       e.kind,
       a.relid::int8 AS owner_oid,
       tn.nspname::text AS owner_schema,
       t.relname::text AS owner_name,
       sn.nspname::text AS schema,
       s.relname::text AS name,
       (SELECT pg_catalog.array_agg(c.attname::text ORDER BY c.attnum)
          FROM pg_catalog.pg_attribute c WHERE c.attrelid = s.oid AND c.attnum > 0 AND NOT c.attisdropped) AS columns
  FROM pg_catalog.pg_appendonly a
 CROSS JOIN (VALUES ('segment file list'), ('visibility map'), ('block directory')) e (kind)
  JOIN pg_catalog.pg_class s
    ON s.oid = CASE e.kind WHEN 'segment file list' THEN a.segrelid WHEN 'visibility map' THEN a.visimaprelid ELSE a.blkdirrelid END
       AND s.relkind IN ('o', 'M', 'b') AND s.relpersistence <> 't'
  JOIN pg_catalog.pg_namespace sn ON sn.oid = s.relnamespace
  JOIN pg_catalog.pg_class t ON t.oid = a.relid
  JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
  LEFT JOIN pg_catalog.pg_index x ON x.indrelid = s.oid
  LEFT JOIN pg_catalog.pg_class xc ON xc.oid = x.indexrelid
 WHERE s.oid IN ({oids}) OR x.indexrelid IN ({oids})
 ORDER BY 1, 2
