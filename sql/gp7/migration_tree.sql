-- One partitioned table for a migration: every partition with its bound, owner, grants, storage, comment and key.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_partitioned_table, pg_attribute, gp_distribution_policy, pg_opclass, pg_type, pg_description; opens no table
-- cost: one index lookup per partition
WITH RECURSIVE
-- include partitions_of_root
, tree AS (
    SELECT {root}::oid AS oid, NULL::oid AS parent, 0 AS level
    UNION ALL
    SELECT p.oid, p.parent, p.level FROM partitions p
)
SELECT c.oid::int8 AS oid, t.parent::int8 AS parent, t.level::int4 AS level,
       CASE WHEN t.level = 0 THEN 'root' WHEN c.relkind = 'p' THEN 'intermediate' ELSE 'leaf' END AS kind,
       n.nspname::text AS schema, c.relname::text AS name,
       COALESCE(b.bound, '') AS bound,
       '' AS partition_name,
       COALESCE(b.bound = 'DEFAULT', false) AS is_default,
       pg_catalog.pg_get_userbyid(c.relowner)::text AS owner,
       c.relacl::text AS acl,
       (SELECT pg_catalog.string_agg(d.privilege_type, ',' ORDER BY d.privilege_type)
-- include owner_revoked
       ) AS revoked,
       CASE WHEN c.relkind = 'f' THEN 'foreign' WHEN c.relkind = 'p' THEN 'none' ELSE am.amname::text END AS storage,
       COALESCE(am.amname::text, '') AS access_method,
       COALESCE(pg_catalog.array_to_string(c.reloptions, ', '), '') AS options,
       COALESCE((SELECT s.spcname::text FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace), '') AS tablespace,
       c.relpersistence::text AS persistence,
       COALESCE(pg_catalog.obj_description(c.oid, 'pg_class'), '') AS comment,
       c.relreplident::text AS replica_identity,
       c.relchecks::int4 AS checks,
       c.reltoastrelid <> 0 AS toast,
-- include distribution
       AS distribution,
       CASE pt.partstrat WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' WHEN 'h' THEN 'hash' ELSE '' END AS strategy,
       COALESCE(pg_catalog.pg_get_partkeydef(c.oid), '') AS split,
       COALESCE(pg_catalog.array_to_string(ARRAY(
           SELECT COALESCE(a.attname::text, '') FROM pg_catalog.generate_series(0, pt.partnatts - 1) k
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = pt.partrelid AND a.attnum = pt.partattrs[k] AND a.attnum <> 0
            ORDER BY k), E'\x1f'), '') AS key,
-- include odd_key
       (SELECT pg_catalog.json_object_agg(a.attname, a.attacl::text ORDER BY a.attnum)::text FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped) AS column_grants,
       false AS has_oids,
       EXISTS (SELECT 1 FROM pg_catalog.gp_partition_template x WHERE x.relid = {root} AND x.level = t.level) AS has_template
  FROM tree t
 -- each partition is looked up by itself: a join would scan pg_class, however few partitions there are
 CROSS JOIN LATERAL (SELECT r.* FROM pg_catalog.pg_class r WHERE r.oid = t.oid OFFSET 0) c
 CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(c.relpartbound, 0) AS bound OFFSET 0) b
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
  LEFT JOIN pg_catalog.pg_partitioned_table pt ON pt.partrelid = c.oid
  LEFT JOIN LATERAL (SELECT w.* FROM pg_catalog.gp_distribution_policy w WHERE w.localoid = t.oid OFFSET 0) g ON true
 ORDER BY c.oid
