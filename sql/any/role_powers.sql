-- Privileged roles that this session has or can SET ROLE to: superusers, and roles with access to files and programs of the server.
-- Code of another role must not run with these privileges. '' if there are none.
-- needs: CONNECT
-- locks: AccessShareLock on pg_authid, pg_auth_members
-- cost: constant
SELECT COALESCE(pg_catalog.string_agg(DISTINCT p.power, ', '), '') AS powers
  FROM (SELECT 'member of ' || r.rolname::text AS power
          FROM pg_catalog.pg_roles r
         WHERE (r.rolsuper OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
               AND pg_catalog.pg_has_role(r.oid, 'MEMBER')
               AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles s WHERE s.rolsuper AND s.rolname IN (current_user, session_user))
        UNION ALL
        SELECT CASE WHEN r.rolsuper THEN 'superuser' ELSE 'CREATEROLE' END
          FROM pg_catalog.pg_roles r
         WHERE (r.rolsuper OR r.rolcreaterole) AND r.rolname IN (current_user, session_user)) p
