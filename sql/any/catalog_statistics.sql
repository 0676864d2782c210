-- What the statistics say of every catalog: rows ever inserted, updated and deleted, dead rows, and when it was last vacuumed.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: before PostgreSQL 15 one reading of the statistics file, which grows with the tables of the database; else constant
-- include catalog_statistics_here
 ORDER BY 2
