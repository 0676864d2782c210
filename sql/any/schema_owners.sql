-- Roles that can rename a schema and create another one with its name, for all schemas. pg_database_owner means the owner of the
-- database.
-- needs: CONNECT
-- locks: AccessShareLock on pg_namespace, pg_authid, pg_database
-- cost: one scan of pg_namespace
SELECT n.nspname::text AS schema,
       CASE WHEN r.rolname = 'pg_database_owner'
            THEN (SELECT o.rolname FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles o ON o.oid = d.datdba
                   WHERE d.datname = pg_catalog.current_database())
            ELSE r.rolname END::text AS owner
  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
