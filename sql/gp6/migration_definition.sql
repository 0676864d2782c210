-- How one partitioned table is split, as the server spells it: PARTITION BY with every partition, its name, storage and encodings.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partition, pg_partition_rule, pg_class; opens no table
-- cost: one index look-up a partition
SELECT pg_catalog.btrim(pg_catalog.pg_get_partition_def({root}, false, true), E' \n') AS definition
