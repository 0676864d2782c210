-- Settings that limit the number of locks, connections, files and append-optimized tables, the growth of catalogs, or the age
-- of transactions. Two of them are not in pg_settings.
-- needs: CONNECT
-- locks: none
-- cost: constant
-- include settings_listed
UNION ALL
SELECT 'xid_stop_limit', pg_catalog.current_setting('xid_stop_limit'), NULL, NULL
UNION ALL
SELECT 'xid_warn_limit', pg_catalog.current_setting('xid_warn_limit'), NULL, NULL
 ORDER BY name
