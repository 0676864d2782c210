-- What prevents VACUUM from removing dead rows: the oldest transactions of sessions, prepared transactions, replication slots.
-- needs: CONNECT shows the sessions of this role; pg_read_all_stats (pg_monitor) or superuser shows all
-- locks: none
-- cost: constant
SELECT 'session' AS holder,
       a.pid::text AS name,
       COALESCE(a.datname, '')::text AS database,
       COALESCE(a.usename, '')::text AS role,
       COALESCE(a.application_name, '') || ' ' || COALESCE(a.state, '') AS detail,
       pg_catalog.date_part('epoch', pg_catalog.now() - a.xact_start)::float8 AS seconds,
       GREATEST(pg_catalog.age(a.backend_xmin), pg_catalog.age(a.backend_xid))::int8 AS xid_age
  FROM {activity} a
 WHERE a.pid <> pg_catalog.pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
UNION ALL
SELECT 'prepared transaction', p.gid, p.database::text, p.owner::text, '',
       pg_catalog.date_part('epoch', pg_catalog.now() - p.prepared)::float8, pg_catalog.age(p.transaction)::int8
  FROM pg_catalog.pg_prepared_xacts p
UNION ALL
SELECT 'replication slot', s.slot_name::text, COALESCE(s.database, '')::text, '',
       CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL,
       GREATEST(pg_catalog.age(s.xmin), pg_catalog.age(s.catalog_xmin))::int8
  FROM pg_catalog.pg_replication_slots s
 WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
 ORDER BY 7 DESC NULLS LAST
 LIMIT 200
