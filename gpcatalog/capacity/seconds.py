"""Time that DDL and copying take: estimates, with their source."""

from __future__ import annotations

# Seconds of DDL. Measured on Greenplum 6.24.3, 30 leaves of 20 columns: DROP PARTITION 4–8 ms, ADD
# 7–18 ms, EXCHANGE 3–32 ms.
DROP_SECONDS = 0.008
ADD_SECONDS = 0.018
EXCHANGE_SECONDS = 0.032
DDL_SOURCE = "measured: Greenplum 6.24.3, 30 leaves of 20 columns"
# bytes a second on one segment; no source gives a rate for a cluster nobody measured: `plan --rate`
# sets it
COPY_RATE = 50 * 1024 * 1024
COPY_SOURCE = "assumed 50 MiB/s per segment; set it with --rate"
