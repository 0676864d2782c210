-- Who answers: banner, features, database, role.
-- needs: CONNECT
-- locks: AccessShareLock on catalogs
-- cost: constant
SELECT pg_catalog.version() AS banner,
       pg_catalog.current_setting('server_version_num')::int4 AS server_version_num,
       EXISTS (SELECT 1 FROM pg_catalog.pg_class
                WHERE relnamespace = 11 AND relname = 'gp_segment_configuration') AS has_segments,
       d.datname::text AS database,
       d.oid::int8 AS database_oid,
       pg_catalog.pg_encoding_to_char(d.encoding)::text AS encoding,
       pg_catalog.current_setting('block_size')::int4 AS block_size,
       pg_catalog.pg_is_in_recovery() AS standby,
       r.rolname::text AS role,
       r.rolsuper AS superuser,
       pg_catalog.now() AS now,
       pg_catalog.pg_postmaster_start_time() AS started
  FROM pg_catalog.pg_database d, pg_catalog.pg_roles r
 WHERE d.datname = pg_catalog.current_database() AND r.rolname = current_user
