-- What this role may read beyond what CONNECT gives: directory listings, statistics, other roles' sessions, extensions.
-- Greenplum 6 lets only superusers list directories and see other roles' statements, whatever is granted.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_roles, pg_stat_activity's catalogs
-- cost: one scan of the system's own rows of pg_class
SELECT r.rolsuper AS list_directories,
       r.rolsuper AS stat_files,
       r.rolsuper AS all_sessions,
-- include privileges_counted
  FROM pg_catalog.pg_roles r
 WHERE r.rolname = current_user
