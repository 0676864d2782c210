-- Bytes of the whole database on all instances, mirrors not counted.
-- needs: CONNECT on the database
-- locks: none
-- cost: one stat a file on every instance
SELECT pg_catalog.pg_database_size(pg_catalog.current_database()) AS bytes
