-- What \d TABLE of psql reads for the table with the most partitions: the names of the partitions, and the foreign keys that refer to the
-- table. psql also reads the bound of each partition. The server opens the partition for that, so this query leaves it out.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_inherits, pg_constraint
-- cost: one index scan of pg_inherits, one scan of pg_constraint
SELECT (SELECT pg_catalog.count(p.name)
          FROM (SELECT c.oid::pg_catalog.regclass::text AS name
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
                 WHERE i.inhparent = {root} ORDER BY 1 OFFSET 0) p)
     + (SELECT pg_catalog.count(k.conname) FROM pg_catalog.pg_constraint k WHERE k.confrelid = {root} AND k.contype = 'f') AS rows
