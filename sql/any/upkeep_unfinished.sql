-- Merges of upkeep that go on in the next night.
-- needs: SELECT on gpcatalog_journal.step
-- trusts: gpcatalog_journal
-- locks: AccessShareLock on gpcatalog_journal.step
-- cost: one scan of the journal: some rows a night
SELECT s.relation, s.step
  FROM (SELECT x.relation, x.step, x.state, pg_catalog.row_number() OVER (PARTITION BY x.step ORDER BY x.at DESC) AS n
          FROM gpcatalog_journal.step x WHERE x.plan = 'upkeep') s
 WHERE s.n = 1 AND s.state IN ('staged', 'built')
 ORDER BY s.relation, s.step
