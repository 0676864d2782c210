-- An existing role: whether it is a superuser, the superusers whose member it is, and the number of objects that it owns in all databases.
-- No row if there is no such role.
-- needs: CONNECT
-- locks: AccessShareLock on pg_authid, pg_auth_members, pg_shdepend
-- cost: one scan of the roles, one index scan of pg_shdepend
SELECT r.rolsuper AS superuser,
       COALESCE((SELECT pg_catalog.string_agg(s.rolname::text, ', ' ORDER BY s.rolname::text)
                   FROM pg_catalog.pg_roles s
                  WHERE s.rolsuper AND s.oid <> r.oid AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')), '') AS superusers,
       (SELECT pg_catalog.count(*)
          FROM pg_catalog.pg_shdepend d
         WHERE d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass AND d.refobjid = r.oid AND d.deptype = 'o') AS owned
  FROM pg_catalog.pg_roles r
 WHERE r.rolname = {role_literal}
