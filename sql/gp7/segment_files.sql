-- Files and bytes of append-optimized tables on every segment, from the segment file lists of the tables:
-- one row per table and segment. The relation's first file, without a suffix, is not counted: it is always there. {oids} is a
-- batch of tables, because every list stays in the memory of the segment process. The functions run on all
-- segments by themselves; called through gp_dist_random they would return every row once per segment.
-- An entry with eof 0 may have no file: a column that was added after VACUUM emptied the segment file has none. `filled` is the
-- number of the other entries.
-- needs: CONNECT
-- trusts: gp_toolkit
-- locks: AccessShareLock on one table at a time, released immediately; waits for TRUNCATE or DROP of a table up to lock_timeout
-- cost: one dispatch, one open and one small scan per table on every segment
SELECT content, oid, pg_catalog.count(CASE WHEN segno > 0 THEN 1 END)::int8 AS files,
       pg_catalog.count(CASE WHEN eof > 0 THEN 1 END)::int8 AS filled, pg_catalog.sum(eof)::int8 AS bytes
  FROM (SELECT f.segment_id AS content, c.oid::int8 AS oid, f.physical_segno AS segno, f.eof
          FROM pg_catalog.pg_class c, LATERAL gp_toolkit.__gp_aocsseg(c.oid) f
         WHERE c.oid IN ({oids}) AND c.relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'ao_column')
        UNION ALL
        SELECT f.segment_id, c.oid::int8, f.segno, f.eof
          FROM pg_catalog.pg_class c, LATERAL gp_toolkit.__gp_aoseg(c.oid) f
         WHERE c.oid IN ({oids}) AND c.relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'ao_row')) s
 GROUP BY content, oid
