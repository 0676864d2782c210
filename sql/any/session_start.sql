-- Pages of pg_attribute that a session start without pg_internal.init reads from the front: for each of eleven relations
-- ({relations}) those up to its last row, which is found by index.
-- needs: CONNECT
-- locks: AccessShareLock on pg_attribute
-- cost: about 80 rows by index
SELECT -1 AS content, pg_catalog.sum(r.pages)::int8 AS pages
  FROM (SELECT pg_catalog.max((a.ctid::text::point)[0])::int8 + 1 AS pages
          FROM pg_catalog.pg_attribute a
         WHERE a.attrelid IN ({relations}) AND a.attnum > 0
         GROUP BY a.attrelid) r
