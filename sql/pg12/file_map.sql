-- Which relation a data file belongs to, as one text of records with content (-1), temp, file number, relation and tablespace. Fields are
-- separated by a slash, records by two. temp is 1 for temporary relations, whose files have names of their own. Mapped relations are
-- looked up by pg_relation_filenode().
-- needs: CONNECT
-- locks: AccessShareLock on pg_class; opens no table
-- cost: one scan of pg_class; about 25 bytes of memory per relation on the server
SELECT '-1/' || pg_catalog.string_agg(
           CASE WHEN c.relpersistence = 't' THEN '1/' ELSE '0/' END
           || CASE WHEN c.relfilenode = 0 THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END || '/'
           || c.oid || '/' || c.reltablespace, '//-1/') AS records
  FROM pg_catalog.pg_class c
 WHERE c.relkind IN ('r', 'm', 'i', 't', 'S') AND c.reltablespace <> 1664
