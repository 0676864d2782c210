-- Bytes of the database.
-- needs: CONNECT on the database
-- locks: none
-- cost: one stat per file of it
SELECT pg_catalog.pg_database_size(pg_catalog.current_database()) AS bytes
