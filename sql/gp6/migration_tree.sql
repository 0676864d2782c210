-- One partitioned table for a migration: every partition with its bound, owner, grants, storage, comment and key.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_partition, pg_partition_rule, pg_attribute, gp_distribution_policy, pg_opclass, pg_type, pg_description; opens no table
-- cost: one index lookup per partition
WITH tree AS (
    SELECT {root}::oid AS oid, NULL::oid AS rule
    UNION ALL
    SELECT r.parchildrelid, r.oid FROM pg_catalog.pg_partition p JOIN pg_catalog.pg_partition_rule r ON r.paroid = p.oid
     WHERE p.parrelid = {root} AND r.parchildrelid <> 0
)
SELECT c.oid::int8 AS oid,
       CASE WHEN r.parchildrelid IS NULL THEN NULL WHEN r.parparentrule = 0 THEN p.parrelid ELSE up.parchildrelid END::int8 AS parent,
       COALESCE(p.parlevel + 1, 0)::int4 AS level,
       CASE WHEN r.parchildrelid IS NULL THEN 'root'
            WHEN p.parlevel < top.deepest THEN 'intermediate' ELSE 'leaf' END AS kind,
       n.nspname::text AS schema, c.relname::text AS name,
       CASE WHEN r.parisdefault THEN 'DEFAULT'
            WHEN p.parkind = 'l' THEN 'VALUES (' || pg_catalog.pg_get_expr(r.parlistvalues, 0) || ')'
            ELSE pg_catalog.btrim(
                     COALESCE('START (' || NULLIF(pg_catalog.pg_get_expr(r.parrangestart, 0), '')
                              || CASE WHEN r.parrangestartincl THEN ')' ELSE ') EXCLUSIVE' END, '')
                     || COALESCE(' END (' || NULLIF(pg_catalog.pg_get_expr(r.parrangeend, 0), '')
                              || CASE WHEN r.parrangeendincl THEN ') INCLUSIVE' ELSE ')' END, '')) END AS bound,
       COALESCE(r.parname::text, '') AS partition_name,
       COALESCE(r.parisdefault, false) AS is_default,
       pg_catalog.pg_get_userbyid(c.relowner)::text AS owner,
       c.relacl::text AS acl,
       (SELECT pg_catalog.string_agg(d.privilege_type, ',' ORDER BY d.privilege_type)
-- include owner_revoked
       ) AS revoked,
       CASE c.relstorage WHEN 'h' THEN 'heap' WHEN 'a' THEN 'ao_row' WHEN 'c' THEN 'ao_column'
                         WHEN 'x' THEN 'external' WHEN 'f' THEN 'foreign' ELSE 'other' END AS storage,
       COALESCE(pg_catalog.array_to_string(c.reloptions, ', '), '') AS options,
       COALESCE((SELECT s.spcname::text FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace), '') AS tablespace,
       c.relpersistence::text AS persistence,
       COALESCE(pg_catalog.obj_description(c.oid, 'pg_class'), '') AS comment,
       c.relreplident::text AS replica_identity,
       c.relchecks::int4 AS checks,
       c.reltoastrelid <> 0 AS toast,
-- include distribution
       AS distribution,
       CASE below.parkind WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' ELSE '' END AS strategy,
       '' AS split,
       COALESCE(pg_catalog.array_to_string(ARRAY(
           SELECT a.attname::text FROM pg_catalog.generate_series(0, below.parnatts - 1) k
             JOIN pg_catalog.pg_attribute a ON a.attrelid = below.parrelid AND a.attnum = below.paratts[k] ORDER BY k), E'\x1f'), '') AS key,
       (SELECT pg_catalog.min(a.attname::text) FROM pg_catalog.generate_series(0, below.parnatts - 1) k
          JOIN pg_catalog.pg_attribute a ON a.attrelid = below.parrelid AND a.attnum = below.paratts[k]
          JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
          JOIN pg_catalog.pg_opclass o ON o.oid = below.parclass[k]
         -- 11: pg_catalog; 2249: record
         WHERE o.opcnamespace <> 11 OR o.opcintype = 2249 OR (y.typnamespace = 11 AND y.typname::text LIKE 'reg%')
            OR (below.parkind = 'r' AND NOT o.opcdefault)) AS odd_key,
       (SELECT pg_catalog.json_object_agg(a.attname, a.attacl::text ORDER BY a.attnum)::text FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped) AS column_grants,
       c.relhasoids AS has_oids,
       EXISTS (SELECT 1 FROM pg_catalog.pg_partition tt WHERE tt.parrelid = {root} AND tt.paristemplate
                  AND tt.parlevel = COALESCE(p.parlevel + 1, 0)) AS has_template
  FROM tree t
 -- each partition is looked up by itself: joins would scan these catalogs, however few partitions there are
 CROSS JOIN LATERAL (SELECT w.oid, w.relname, w.relnamespace, w.relowner, w.relacl, w.relstorage, w.reloptions, w.reltablespace,
                            w.relpersistence, w.relreplident, w.relhasoids, w.relchecks, w.reltoastrelid
                       FROM pg_catalog.pg_class w WHERE w.oid = t.oid OFFSET 0) c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN LATERAL (SELECT w.* FROM pg_catalog.pg_partition_rule w WHERE w.oid = t.rule OFFSET 0) r ON true
  LEFT JOIN pg_catalog.pg_partition p ON p.oid = r.paroid
  LEFT JOIN LATERAL (SELECT w.parchildrelid FROM pg_catalog.pg_partition_rule w WHERE w.oid = r.parparentrule OFFSET 0) up ON true
  LEFT JOIN pg_catalog.pg_partition below
         ON below.parrelid = {root} AND NOT below.paristemplate AND below.parlevel = COALESCE(p.parlevel + 1, 0)
  LEFT JOIN LATERAL (SELECT w.localoid, w.policytype, w.distkey, w.distclass FROM pg_catalog.gp_distribution_policy w WHERE w.localoid = t.oid OFFSET 0) g ON true
 CROSS JOIN (SELECT pg_catalog.max(parlevel) AS deepest FROM pg_catalog.pg_partition WHERE parrelid = {root} AND NOT paristemplate) top
 ORDER BY c.oid
