-- The partition definition of one table as the server prints it: PARTITION BY with every partition, its name, storage and encodings.
-- needs: CONNECT
-- locks: AccessShareLock on pg_partition, pg_partition_rule, pg_class; opens no table
-- cost: one index lookup per partition
SELECT pg_catalog.btrim(pg_catalog.pg_get_partition_def({root}, false, true), E' \n') AS definition
