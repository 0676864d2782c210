-- Roles other than superusers and the current role that own the function of an enabled event trigger. DDL runs the function with
-- the privileges of the current role.
-- needs: CONNECT
-- locks: AccessShareLock on pg_event_trigger, pg_proc, pg_authid
-- cost: constant
SELECT COALESCE(pg_catalog.string_agg(DISTINCT r.rolname::text, ', '), '') AS owners
  FROM pg_catalog.pg_event_trigger e
  JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid
  JOIN pg_catalog.pg_roles r ON r.oid = p.proowner
 WHERE e.evtenabled <> 'D' AND NOT r.rolsuper AND r.rolname <> current_user
