-- Which relation a data file belongs to, as one text for each segment, of records with content, temp, file number, relation and
-- tablespace. Fields are separated by a slash, records by two. temp is 1 for temporary relations, whose files have names of their own.
-- Mapped relations are looked up by pg_relation_filenode().
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class on every segment, in parallel; about 25 bytes of memory per relation there
-- include file_map_records
           ) AS records
-- include each_segment
