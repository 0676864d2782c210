-- Indexes of some relations, with their constraint, comment and definition.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_class, pg_constraint, and on each index for a moment (pg_get_indexdef)
-- cost: one index lookup per index
SELECT i.indrelid::int8 AS oid, i.indexrelid::int8 AS index, c.relname::text AS name,
       pg_catalog.pg_get_indexdef(i.indexrelid) AS definition,
       COALESCE(k.contype::text, '') AS constraint_kind,
       COALESCE(pg_catalog.pg_get_constraintdef(k.oid), '') AS constraint_definition,
       COALESCE(pg_catalog.obj_description(i.indexrelid, 'pg_class'), '') AS comment,
       COALESCE(pg_catalog.obj_description(k.oid, 'pg_constraint'), '') AS constraint_comment,
       COALESCE((SELECT pg_catalog.string_agg(a.attnum || ' ' || a.attstattarget, ',' ORDER BY a.attnum)
                   FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indexrelid AND a.attstattarget >= 0), '') AS targets,
       COALESCE((SELECT s.spcname::text FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace), '') AS tablespace,
       i.indisreplident AS replica_identity, i.indisclustered AS clustered, i.indisvalid AS valid
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
 WHERE i.indrelid = ANY ({oids}::oid[])
 ORDER BY i.indrelid, c.relname
