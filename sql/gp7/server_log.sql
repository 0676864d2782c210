-- DDL, waits for locks and cancellations that the coordinator's log tells of this database: counts and durations. Of each statement
-- only its first words are taken: no text, no literal leaves the server. Read when asked for only.
-- needs: gp_toolkit; superuser, or SELECT on gp_toolkit.gp_log_coordinator_concise
-- trusts: gp_toolkit
-- locks: AccessShareLock on the view and its external table
-- cost: every log file of the coordinator is read, whatever its age
WITH said AS (
    SELECT l.logsession, l.logcmdcount, l.logmessage
      FROM gp_toolkit.gp_log_coordinator_concise l
-- include server_log_counted
