-- What this role may read beyond what CONNECT gives: directory listings, statistics, other roles' sessions, extensions.
-- Greenplum 6 lets only superusers list directories and see other roles' statements, whatever is granted.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace, pg_roles, pg_stat_activity's catalogs
-- cost: one scan of the system's own rows of pg_class
SELECT r.rolsuper AS list_directories,
       r.rolsuper AS stat_files,
       r.rolsuper AS all_sessions,
       (SELECT COALESCE(pg_catalog.string_agg(c.relname::text, ' ' ORDER BY c.relname), '')
          FROM pg_catalog.pg_class c
         WHERE c.relnamespace = 11 AND c.relkind = 'r' AND NOT pg_catalog.has_table_privilege(c.oid, 'SELECT')) AS denied_catalogs,
       (SELECT pg_catalog.count(*)::int4 FROM pg_catalog.pg_stat_activity) AS sessions,
       pg_catalog.current_setting('max_connections')::int4 AS max_connections,
       pg_catalog.current_setting('superuser_reserved_connections')::int4 AS reserved,
       pg_catalog.current_setting('statement_timeout') AS statement_timeout,
       pg_catalog.current_setting('lock_timeout') AS lock_timeout,
       pg_catalog.current_setting('default_transaction_read_only') AS read_only
  FROM pg_catalog.pg_roles r
 WHERE r.rolname = current_user
