-- Databases of this cluster that accept connections.
-- needs: CONNECT
-- locks: AccessShareLock on pg_database
-- cost: constant
SELECT datname::text AS database
  FROM pg_catalog.pg_database
 WHERE datallowconn AND NOT datistemplate
       AND pg_catalog.has_database_privilege(oid, 'CONNECT')
 ORDER BY datname
