-- Indexes of some tables, one row per index, for `gpcatalog check` with a baseline. detail is JSON; `plain` means
-- that it has no expression, condition, collation, operator class or order of its own.
-- needs: CONNECT
-- locks: AccessShareLock on pg_index, pg_class, pg_am, pg_attribute, pg_opclass, pg_type, pg_constraint, pg_depend, pg_inherits; opens no table
-- cost: index lookups for each of the indexes
SELECT i.indrelid::int8 AS oid, 'index' AS what, c.relname::text AS name,
       pg_catalog.json_build_object(
           'columns', i.indnatts, 'unique', i.indisunique, 'method', m.amname, 'constraint', COALESCE(k.contype::text, ''),
           'simple', (SELECT pg_catalog.json_agg(a.attname ORDER BY n)
                        FROM pg_catalog.generate_series(0, i.indnatts - 1) n
                        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n]
                       WHERE i.indkey[n] <> 0),
           'reads', (SELECT pg_catalog.json_agg(DISTINCT a.attname)
                       FROM pg_catalog.pg_depend d
                       JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                      WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = i.indexrelid
                            AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = i.indrelid
                            AND d.refobjsubid > 0),
           'expressions', i.indexprs IS NOT NULL, 'predicate', i.indpred IS NOT NULL,
-- include index_included
           'plain', i.indexprs IS NULL AND i.indpred IS NULL AND c.reloptions IS NULL
                    AND NOT EXISTS (SELECT 1 FROM pg_catalog.generate_series(0, i.indnatts - 1) n
                                      LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n]
                                      LEFT JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[n]
                                     WHERE COALESCE(i.indoption[n], 0) <> 0 OR NOT COALESCE(o.opcdefault, true)
                                           OR COALESCE(i.indcollation[n], a.attcollation) <> a.attcollation),
           'of', (SELECT p.relname FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class p ON p.oid = h.inhparent
                   WHERE h.inhrelid = i.indexrelid))::text AS detail
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_am m ON m.oid = c.relam
  LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
 WHERE i.indrelid IN ({oids})
