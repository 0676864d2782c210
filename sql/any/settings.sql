-- Settings that decide how much catalog, how many locks and how many files a server bears.
-- needs: CONNECT
-- locks: none
-- cost: constant
SELECT name, COALESCE(reset_val, setting) AS setting, unit, source   -- reset_val: the server's, not what this session set
  FROM pg_catalog.pg_settings
 WHERE name IN ('max_locks_per_transaction', 'max_connections', 'max_prepared_transactions', 'autovacuum',
                'gp_autovacuum_scope', 'max_appendonly_tables', 'gp_appendonly_insert_files', 'gp_appendonly_compaction_threshold',
                'shared_buffers', 'superuser_reserved_connections', 'autovacuum_vacuum_scale_factor',
                'vacuum_defer_cleanup_age', 'old_snapshot_threshold', 'idle_in_transaction_session_timeout',
                'optimizer', 'gp_resource_manager',
                'gp_default_storage_options', 'default_table_access_method', 'gp_enable_global_deadlock_detector',
                'max_files_per_process', 'max_worker_processes', 'autovacuum_naptime', 'track_counts')
 ORDER BY name
