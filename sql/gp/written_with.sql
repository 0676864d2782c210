-- Relations that are written whenever one of these append-optimized tables ({oids}) is: its segment file list and visibility map.
-- needs: CONNECT
-- locks: AccessShareLock on pg_appendonly
-- cost: one scan of pg_appendonly on the coordinator
SELECT a.relid::int8 AS leaf, a.segrelid::int8 AS oid FROM pg_catalog.pg_appendonly a WHERE a.relid IN ({oids}) AND a.segrelid <> 0
UNION ALL
SELECT a.relid::int8, a.visimaprelid::int8 FROM pg_catalog.pg_appendonly a WHERE a.relid IN ({oids}) AND a.visimaprelid <> 0
