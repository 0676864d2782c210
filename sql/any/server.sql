-- Identity of the server: banner, features, database, role. Both operands of every operator have the type that pg_catalog's operator
-- declares, so no operator of another schema, and none that somebody added to pg_catalog, is a better match.
-- catalog_writers: roles other than superusers that own or can create functions and operators in pg_catalog, and so can replace
-- functions that probes call.
-- needs: CONNECT
-- locks: AccessShareLock on catalogs
-- cost: constant
SELECT pg_catalog.version() AS banner,
       pg_catalog.current_setting('server_version_num')::int4 AS server_version_num,
       EXISTS (SELECT 1 FROM pg_catalog.pg_class
                WHERE relnamespace = 11::pg_catalog.oid AND relname = 'gp_segment_configuration'::pg_catalog.name) AS has_segments,
       d.datname::text AS database,
       d.oid::int8 AS database_oid,
       pg_catalog.pg_encoding_to_char(d.encoding)::text AS encoding,
       pg_catalog.current_setting('block_size')::int4 AS block_size,
       pg_catalog.pg_is_in_recovery() AS standby,
       r.rolname::text AS role,
       r.rolsuper AS superuser,
       (SELECT COALESCE(pg_catalog.string_agg(DISTINCT COALESCE(w.rolname::text, 'PUBLIC'::text), ', '::text), ''::text)
          FROM (SELECT (pg_catalog.aclexplode(n.nspacl)).grantee AS role, (pg_catalog.aclexplode(n.nspacl)).privilege_type AS privilege
                  FROM pg_catalog.pg_namespace n WHERE n.oid = 11::pg_catalog.oid
                UNION ALL
                SELECT p.proowner, 'CREATE'::text FROM pg_catalog.pg_proc p
                 WHERE p.oid >= 16384::pg_catalog.oid AND p.pronamespace = 11::pg_catalog.oid
                UNION ALL
                SELECT o.oprowner, 'CREATE'::text FROM pg_catalog.pg_operator o
                 WHERE o.oid >= 16384::pg_catalog.oid AND o.oprnamespace = 11::pg_catalog.oid) g
          LEFT JOIN pg_catalog.pg_roles w ON w.oid = g.role
         WHERE g.privilege = 'CREATE'::text AND NOT COALESCE(w.rolsuper, false)) AS catalog_writers,
       pg_catalog.now() AS now,
       pg_catalog.pg_postmaster_start_time() AS started
  FROM pg_catalog.pg_database d, pg_catalog.pg_roles r
 WHERE d.datname = pg_catalog.current_database() AND r.rolname = current_user
