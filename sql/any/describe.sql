-- What psql asks for \d without a name, counted: the documentation calls more than 2 s a symptom of a bloated catalog. psql lists
-- what is visible; here the look-up is made for every relation, and all are sorted.
-- needs: CONNECT
-- locks: AccessShareLock on pg_class, pg_namespace
-- cost: one scan of pg_class and one visibility look-up a relation
SELECT pg_catalog.count(*) AS rows
  FROM (SELECT n.nspname, c.relname, c.relkind, pg_catalog.pg_get_userbyid(c.relowner) AS owner,
               pg_catalog.pg_table_is_visible(c.oid) AS visible
          FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', '') AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
               AND n.nspname !~ '^pg_toast'
         ORDER BY 1, 2 OFFSET 0) listed
