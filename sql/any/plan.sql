-- EXPLAIN of a query on all partitions of one table; the query is not run. The first one in a session builds the relation cache.
-- needs: SELECT on the table
-- locks: AccessShareLock on the table and its leaves, released immediately; waits for an exclusive lock up to lock_timeout
-- cost: the relation cache of the session grows with the leaves, so a separate session is used and closed afterwards
EXPLAIN SELECT * FROM {table}
