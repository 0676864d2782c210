-- Files and bytes of append-optimized tables on every segment, from the segment file lists of the tables:
-- one row per table and segment. The relation's first file, without a suffix, is not counted: it is always there. {oids} is a
-- batch of tables, because every list stays in the memory of the segment process. Tables without a list are skipped.
-- An entry with eof 0 may have no file: a column that was added after VACUUM emptied the segment file has none. `filled` is the
-- number of the other entries.
-- needs: CONNECT
-- trusts: gp_toolkit
-- locks: AccessShareLock on one table at a time, released immediately; waits for TRUNCATE or DROP of a table up to lock_timeout
-- cost: one open and one small scan per table on every segment
SELECT content, oid, pg_catalog.count(CASE WHEN segno > 0 THEN 1 END)::int8 AS files,
       pg_catalog.count(CASE WHEN eof > 0 THEN 1 END)::int8 AS filled, pg_catalog.sum(eof)::int8 AS bytes
  FROM (SELECT content, oid, (f).physical_segno AS segno, (f).eof AS eof
          FROM (SELECT a.gp_segment_id AS content, a.relid::int8 AS oid, gp_toolkit.__gp_aocsseg(a.relid) AS f
                  FROM gp_dist_random('pg_catalog.pg_appendonly') a
                 WHERE a.columnstore AND a.relid IN ({oids}) AND pg_catalog.pg_relation_size(a.segrelid) > 0) by_column
        UNION ALL
        SELECT content, oid, (f).segno, (f).eof
          FROM (SELECT a.gp_segment_id AS content, a.relid::int8 AS oid, gp_toolkit.__gp_aoseg(a.relid) AS f
                  FROM gp_dist_random('pg_catalog.pg_appendonly') a
                 WHERE NOT a.columnstore AND a.relid IN ({oids}) AND pg_catalog.pg_relation_size(a.segrelid) > 0) by_row) s
 GROUP BY content, oid
