-- What pgAdmin 4 reads when it opens the tables of the schema with the most tables and partitions: tables that are no partitions, with the
-- numbers of their triggers and partitions. It supports no Greenplum 6.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_description, pg_trigger, pg_inherits
-- cost: one scan of pg_class and of pg_inherits
SELECT pg_catalog.count(t.relname) + pg_catalog.count(t.description) + coalesce(pg_catalog.sum(t.triggers + t.enabled + t.below + t.above), 0)::int8
       AS rows
  FROM (SELECT c.relname, d.description,
               (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal) AS triggers,
               (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled = 'O')
               AS enabled,
               (SELECT pg_catalog.count(*) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) AS above,
               (SELECT pg_catalog.count(*) FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid) AS below
          FROM pg_catalog.pg_class c
          LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 1259
         WHERE c.relkind IN ('r', 's', 't', 'p') AND c.relnamespace = {schema} AND NOT c.relispartition
         ORDER BY c.relname OFFSET 0) t
