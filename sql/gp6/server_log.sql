-- DDL, lock waits and cancellations of this database in the log of the coordinator: counts and durations. Only the first words of
-- each statement are read: no query text and no literal leaves the server. Read only with --server-log.
-- needs: gp_toolkit; superuser, or SELECT on gp_toolkit.gp_log_master_concise
-- trusts: gp_toolkit
-- locks: AccessShareLock on the view and its external table
-- cost: reads every log file of the coordinator, regardless of its age
WITH logged AS (
    SELECT l.logsession, l.logcmdcount, l.logmessage
      FROM gp_toolkit.gp_log_master_concise l
-- include server_log_counted
