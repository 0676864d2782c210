-- Roles that own a schema or objects in it that can be called or read, and are neither superusers nor the current role. Their code
-- could run as the current role. {extension} limits this to the members of one extension; '' means the whole schema.
-- found: whether the schema exists, with the extension if one is given.
-- needs: CONNECT
-- locks: AccessShareLock on pg_namespace, pg_class, pg_proc, pg_extension, pg_depend, pg_roles
-- cost: one index lookup per object of the schema or extension
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace n
                WHERE n.nspname = {schema}
                      AND ({extension} = '' OR EXISTS (SELECT 1 FROM pg_catalog.pg_extension e
                                                        WHERE e.extname = {extension} AND e.extnamespace = n.oid))) AS found,
       COALESCE(pg_catalog.string_agg(DISTINCT r.rolname::text, ', '), '') AS owners
  FROM (SELECT n.oid AS schema, n.nspowner AS owner FROM pg_catalog.pg_namespace n WHERE n.nspname = {schema}
        UNION ALL
        SELECT n.oid, e.extowner
          FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
         WHERE e.extname = {extension} AND n.nspname = {schema}
        UNION ALL
        SELECT n.oid, c.relowner
          FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
         WHERE n.nspname = {schema}
               AND ({extension} = '' OR EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                                                  JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
                                                 WHERE d.classid = 1259 AND d.objid = c.oid AND d.refclassid = 3079
                                                       AND d.deptype = 'e' AND e.extname = {extension}))
        UNION ALL
        SELECT n.oid, p.proowner
          FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid
         WHERE n.nspname = {schema}
               AND ({extension} = '' OR EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                                                  JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
                                                 WHERE d.classid = 1255 AND d.objid = p.oid AND d.refclassid = 3079
                                                       AND d.deptype = 'e' AND e.extname = {extension}))) o
  JOIN pg_catalog.pg_roles r ON r.oid = o.owner
 WHERE NOT r.rolsuper AND r.rolname <> current_user
       -- a role of PostgreSQL 14 and later whose only member is the owner of the database
       AND NOT (r.rolname = 'pg_database_owner'
                AND EXISTS (SELECT 1 FROM pg_catalog.pg_database b JOIN pg_catalog.pg_roles w ON w.oid = b.datdba
                             WHERE b.datname = pg_catalog.current_database() AND (w.rolsuper OR w.rolname = current_user)))
