-- Settings that limit the number of locks, connections, files and append-optimized tables, the growth of catalogs, or the age
-- of transactions.
-- needs: CONNECT
-- locks: none
-- cost: constant
-- include settings_listed
 ORDER BY name
