-- The instances of the cluster: coordinator, segments, mirrors, standby.
-- needs: CONNECT
-- locks: AccessShareLock on gp_segment_configuration
-- cost: constant
SELECT dbid::int4 AS dbid, content::int4 AS content, role::text AS role, preferred_role::text AS preferred_role,
       mode::text AS mode, status::text AS status, port::int4 AS port, hostname::text AS hostname
  FROM pg_catalog.gp_segment_configuration
 ORDER BY content, role DESC, dbid
