-- The plan of a query over one whole partitioned table; nothing is run. The first in a session builds the relation cache.
-- needs: SELECT on the table
-- locks: AccessShareLock on the table and its leaves, let go at once; waits behind an exclusive one up to lock_timeout
-- cost: the relation cache of the session grows with the leaves: a session of its own is closed afterwards
EXPLAIN SELECT * FROM {table}
