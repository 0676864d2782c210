-- Number of sessions whose transactions this role cannot see: Greenplum 6 shows backend_xid and backend_xmin of other roles'
-- sessions to superusers only. Newer servers show them to everyone.
-- needs: superuser, or the role of gpcatalog doctor --create-role
-- locks: none
-- cost: constant
SELECT pg_catalog.count(*)::int8 AS hidden
  FROM {activity} a
 WHERE a.query = '<insufficient privilege>' AND a.state IS NULL AND a.xact_start IS NULL
