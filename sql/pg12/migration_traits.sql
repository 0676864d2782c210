-- What some relations have of their own besides their columns' types, keys and indexes: one row each. `what` and `name` say which
-- property of which column, constraint, trigger or statistics object, `value` says it as SQL does.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute, pg_attrdef, pg_type, pg_description, pg_constraint, pg_trigger, pg_class, pg_statistic_ext, pg_namespace; opens no table
-- cost: one index look-up a column, constraint and trigger
SELECT a.attrelid::int8 AS oid, 'default'::text AS what, a.attname::text AS name, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS value
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
UNION ALL
SELECT a.attrelid::int8, 'storage', a.attname::text,
       CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND t.typlen = -1
UNION ALL
-- options named pg_… are the server's own (PostgreSQL 15.20 of Debian sets pg_attver)
SELECT a.attrelid::int8, 'options', a.attname::text, pg_catalog.string_agg(o.option, ', ' ORDER BY o.option)
  FROM pg_catalog.pg_attribute a
 CROSS JOIN LATERAL pg_catalog.unnest(a.attoptions) AS o (option)
 WHERE a.attrelid IN ({oids}) AND a.attnum > 0 AND NOT a.attisdropped AND o.option NOT LIKE 'pg!_%' ESCAPE '!'
 GROUP BY a.attrelid, a.attname
UNION ALL
SELECT s.objoid::int8, 'comment', a.attname::text, s.description
  FROM pg_catalog.pg_description s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.objoid AND a.attnum = s.objsubid
 WHERE s.objoid IN ({oids}) AND s.classoid = 1259 AND s.objsubid > 0 AND NOT a.attisdropped
UNION ALL
SELECT k.conrelid::int8, 'check', k.conname::text, pg_catalog.pg_get_constraintdef(k.oid)
  FROM pg_catalog.pg_constraint k
 WHERE k.conrelid IN ({oids}) AND k.contype = 'c' AND k.conname NOT LIKE 'gpcatalog!_bound%' ESCAPE '!'
UNION ALL
SELECT k.conrelid::int8, 'check comment', k.conname::text, s.description
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_description s ON s.objoid = k.oid AND s.classoid = 2606
 WHERE k.conrelid IN ({oids}) AND k.contype = 'c'
UNION ALL
SELECT g.tgrelid::int8, 'trigger', g.tgname::text,
       CASE g.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE' END
  FROM pg_catalog.pg_trigger g
 WHERE g.tgrelid IN ({oids}) AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.oid = g.tgconstraint)
UNION ALL
SELECT c.oid::int8, 'toast options', '', pg_catalog.array_to_string(t.reloptions, ', ')
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid
 WHERE c.oid IN ({oids}) AND t.reloptions IS NOT NULL
UNION ALL
-- its kinds and columns: what is left of the statement without its name and its table
SELECT s.stxrelid::int8, 'statistics', n.nspname || '.' || s.stxname,
       pg_catalog.substr(d.text, 19 + pg_catalog.length(pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.stxname)),
                         pg_catalog.length(d.text) - 18 - pg_catalog.length(
                             pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.stxname)
                             || ' FROM ' || s.stxrelid::pg_catalog.regclass::text))
  FROM pg_catalog.pg_statistic_ext s
  JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
 CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_statisticsobjdef(s.oid) AS text) d
 WHERE s.stxrelid IN ({oids})
UNION ALL
SELECT s.stxrelid::int8, 'statistics comment', n.nspname || '.' || s.stxname, e.description
  FROM pg_catalog.pg_statistic_ext s
  JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
  JOIN pg_catalog.pg_description e ON e.objoid = s.oid AND e.classoid = 3381
 WHERE s.stxrelid IN ({oids})
UNION ALL
SELECT s.stxrelid::int8, 'statistics name', n.nspname || '.' || s.stxname, s.stxname::text
  FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
 WHERE s.stxrelid IN ({oids})
-- include traits_later
 ORDER BY 1, 2, 3
