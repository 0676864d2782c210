-- DDL, waits for locks and cancellations that the coordinator's log tells of this database: counts and durations. Of each statement
-- only its first words are taken: no text, no literal leaves the server. Read when asked for only.
-- needs: gp_toolkit; superuser, or SELECT on gp_toolkit.gp_log_coordinator_concise
-- locks: AccessShareLock on the view and its external table
-- cost: every log file of the coordinator is read, whatever its age
WITH said AS (
    SELECT l.logsession, l.logcmdcount, l.logmessage
      FROM gp_toolkit.gp_log_coordinator_concise l
     WHERE l.logdatabase = pg_catalog.current_database() AND l.logtime > pg_catalog.now() - {hours} * interval '1 hour'
           AND l.logmessage ~ '^(statement|duration|execute|canceling|deadlock|process [0-9]+ (still waiting|acquired))'
), command AS (
    SELECT pg_catalog.max(pg_catalog.regexp_replace(
               pg_catalog.substring(logmessage, '(?:statement|execute [^:]*): (.*)$'), '^([[:space:]]|/\*.*?\*/|--[^\n]*\n)+', '')) AS query,
           pg_catalog.max(pg_catalog.substring(logmessage, '^duration: ([0-9.]+) ms')::float8) AS ms
      FROM said
     WHERE logmessage ~ '^(statement|duration|execute)'
     GROUP BY logsession, logcmdcount
), other AS (
    SELECT CASE WHEN logmessage LIKE 'process%still waiting%' THEN 'log lock wait'
                WHEN logmessage LIKE 'process%acquired%' THEN 'log lock got' ELSE 'log cancelled' END AS what,
           CASE WHEN logmessage LIKE 'process%' THEN pg_catalog.substring(logmessage, '(?:waiting for|acquired) ([[:alpha:]]+)')
                WHEN logmessage LIKE 'deadlock%' THEN 'deadlock'
                ELSE pg_catalog.substring(logmessage, 'due to (.{1,40})') END AS subject,
           CASE WHEN logmessage LIKE 'process%acquired%' THEN pg_catalog.substring(logmessage, 'after ([0-9.]+) ms')::float8 END AS ms
      FROM said
     WHERE logmessage !~ '^(statement|duration|execute)'
), counted AS (
    SELECT 'log statement'::text AS what,
           pg_catalog.upper(pg_catalog.regexp_replace(
               CASE WHEN query ~* '^(CREATE|ALTER|DROP)' THEN pg_catalog.substring(query, '^[[:alpha:]]+[[:space:]]+[[:alpha:]]+')
                    ELSE pg_catalog.substring(query, '^[[:alpha:]]+') END, '[[:space:]]+', ' ', 'g')) AS subject,
           ms
      FROM command
     WHERE query ~* '^(CREATE|ALTER|DROP|TRUNCATE|VACUUM|REINDEX|CLUSTER|ANALYZE)[[:space:]]'
    UNION ALL
    SELECT what, subject, ms FROM other
)
SELECT what, COALESCE(subject, '?') AS subject, pg_catalog.count(*)::int8 AS n,
       pg_catalog.min(ms) AS min_ms, pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) AS median_ms,
       pg_catalog.percentile_disc(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms, pg_catalog.avg(ms) AS mean_ms
  FROM counted
 GROUP BY 1, 2
 ORDER BY 1, 3 DESC, 2
 LIMIT 100
