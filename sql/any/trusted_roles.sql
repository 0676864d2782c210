-- Roles whose code can safely run in this session: superusers and the current role.
-- needs: CONNECT
-- locks: AccessShareLock on pg_authid
-- cost: constant
SELECT r.rolname::text AS role, r.rolsuper AS superuser FROM pg_catalog.pg_roles r WHERE r.rolsuper OR r.rolname = current_user ORDER BY 1
