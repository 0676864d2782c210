-- Bytes of the whole database on all instances without mirrors.
-- needs: CONNECT on the database
-- locks: none
-- cost: one stat per file on every instance
SELECT pg_catalog.pg_database_size(pg_catalog.current_database()) AS bytes
