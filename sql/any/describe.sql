-- The query of psql's \d without a name; only the number of rows is returned. According to the documentation, more than 2 s is a
-- symptom of a bloated catalog. psql checks the visibility of tables; this query checks and sorts all relations.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: one scan of pg_class and one visibility lookup per relation
SELECT pg_catalog.count(*) AS rows
  FROM (SELECT n.nspname, c.relname, c.relkind, pg_catalog.pg_get_userbyid(c.relowner) AS owner,
               pg_catalog.pg_table_is_visible(c.oid) AS visible
          FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', '') AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
               AND n.nspname !~ '^pg_toast'
         ORDER BY 1, 2 OFFSET 0) listed
