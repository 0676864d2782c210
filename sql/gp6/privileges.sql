-- Privileges of this role in addition to CONNECT: directory listings, statistics, sessions of other roles, extensions.
-- Greenplum 6 allows only superusers to list directories and to see statements of other roles, regardless of grants.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_roles, pg_stat_activity's catalogs
-- cost: one scan of the rows of system catalogs in pg_class
SELECT r.rolsuper AS list_directories,
       r.rolsuper AS stat_files,
       r.rolsuper AS all_sessions,
-- include privileges_counted
  FROM pg_catalog.pg_roles r
 WHERE r.rolname = current_user
