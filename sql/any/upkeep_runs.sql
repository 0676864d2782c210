-- Runs of upkeep scripts of the last 40 days, and why steps of them failed.
-- needs: SELECT on gpcatalog_journal.upkeep
-- trusts: gpcatalog_journal
-- locks: AccessShareLock on gpcatalog_journal.upkeep
-- cost: one scan of the journal: some rows a night
SELECT u.plan, u.relation, u.state, u.detail, u.at
  FROM gpcatalog_journal.upkeep u
 WHERE u.state IN ('begun', 'failed', 'ended') AND u.at > pg_catalog.now() - interval '40 days'
 ORDER BY u.at
