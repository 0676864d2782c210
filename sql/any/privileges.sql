-- Privileges of this role in addition to CONNECT: directory listings, statistics, sessions of other roles, extensions.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_roles, pg_stat_activity's catalogs
-- cost: one scan of the rows of system catalogs in pg_class
SELECT pg_catalog.has_function_privilege('pg_catalog.pg_ls_dir(text)', 'EXECUTE') AS list_directories,
       pg_catalog.has_function_privilege('pg_catalog.pg_stat_file(text, boolean)', 'EXECUTE') AS stat_files,
       pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') AS all_sessions,
-- include privileges_counted
