-- Runs of upkeep scripts of the last 40 days, why steps of them failed, and which tables they maintain.
-- needs: USAGE on schema gpcatalog_journal, SELECT on gpcatalog_journal.upkeep
-- trusts: gpcatalog_journal
-- locks: AccessShareLock on gpcatalog_journal.upkeep
-- cost: one scan of the journal: some rows a night
SELECT u.plan, u.relation, u.state, u.detail, u.at
  FROM (SELECT x.plan, x.relation, x.state, x.detail, x.at,
               pg_catalog.row_number() OVER (PARTITION BY x.state, x.relation ORDER BY x.at DESC) AS n
          FROM gpcatalog_journal.upkeep x) u
 WHERE u.state IN ('begun', 'failed', 'ended') AND u.at > pg_catalog.now() - interval '40 days' OR u.state = 'maintained' AND u.n = 1
 ORDER BY u.at, u.state
