"""Durations of DDL and copying: estimates with their sources."""

from __future__ import annotations

# Seconds of DDL. Measured on Greenplum 6.24.3, 30 leaves of 20 columns: DROP PARTITION 4–8 ms, ADD
# 7–18 ms, EXCHANGE 3–32 ms.
DROP_SECONDS = 0.008
ADD_SECONDS = 0.018
EXCHANGE_SECONDS = 0.032
DDL_SOURCE = "measured: Greenplum 6.24.3, 30 leaves of 20 columns"
# Time that readers wait while partitions are merged. Measured on PostgreSQL 19 beta 1, 30 leaves of
# 1.2 million rows and 20 columns, 3 runs each: with the scripts of `migrate` they waited 4 to 11 ms
# of 3.3 s, with MERGE PARTITIONS 2.7 s of 3.3 s.
SWAP_WAIT = 0.011  # seconds per merge
SERVER_MERGE_WAIT = 0.83  # share of the duration of a merge
MERGE_WAIT_SOURCE = "measured: PostgreSQL 19 beta 1, 30 leaves of 1.2 million rows"
# bytes per second on one segment; there is no source of a rate for a cluster that was not measured:
# `plan --rate` sets it
COPY_RATE = 50 * 1024 * 1024
COPY_SOURCE = "assumed 50 MiB/s per segment; set it with --rate"
