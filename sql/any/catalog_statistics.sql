-- Statistics of every catalog: rows inserted, updated and deleted so far, dead rows, and the time of the last VACUUM.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class
-- cost: before PostgreSQL 15 reads the statistics file, which grows with the tables of the database; constant since then
-- include catalog_statistics_here
 ORDER BY 2
