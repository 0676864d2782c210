"""Runs of upkeep scripts, from the rows that they write to their journal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

BEGUN, FAILED, ENDED, MAINTAINED = "begun", "failed", "ended", "maintained"
STATES = (BEGUN, FAILED, ENDED, MAINTAINED)
OVERDUE_DAYS = 2  # without a completed run: cron runs a script every night


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a script, as recorded in the journal.

    ended: null if it did not end; waiting: partitions that were due and exceeded the limits of the
           night, null if unknown
    """

    run: str
    begun: datetime
    ended: datetime | None
    failures: tuple[str, ...]
    waiting: int | None = None


def runs(rows: Iterable[Mapping[str, Any]]) -> list[Run]:
    """Runs, oldest first.

    rows: plan, relation, state, detail and at of the journal, in chronological order

    >>> row = {"plan": "upkeep-20260101-0a", "relation": "", "detail": "", "at": datetime(2026, 1, 1)}
    >>> ended = {**row, "state": "ended", "detail": "0 failed, 7 waiting"}
    >>> [(r.ended is None, r.waiting) for r in runs([{**row, "state": "begun"}, ended])]
    [(False, 7)]
    """
    found: list[tuple[Run, list[str]]] = []
    for r in rows:
        if r["state"] == BEGUN:
            found.append((Run(run=r["plan"], begun=r["at"], ended=None, failures=()), []))
        elif not found:
            continue
        elif r["state"] == FAILED:
            found[-1][1].append(f"{r['relation']}: {r['detail']}")
        elif r["state"] == ENDED:
            waiting = re.search(r"(\d{1,18}) waiting", r["detail"] or "")
            run = msgspec.structs.replace(
                found[-1][0], ended=r["at"], waiting=int(waiting[1]) if waiting else None
            )
            found[-1] = (run, found[-1][1])
    return [msgspec.structs.replace(run, failures=tuple(failures)) for run, failures in found]


def maintained(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Tables that the newest script maintains, with the days of cover that its policy requires.

    rows: as for `runs`; only the newest row of a table counts, and an empty detail means that the
          table is no longer maintained

    >>> row = {"relation": "s.t", "state": "maintained"}
    >>> maintained([{**row, "detail": "2.5"}]), maintained([{**row, "detail": "2"}, {**row, "detail": ""}])
    ({'s.t': 2.5}, {})
    """
    found: dict[str, float] = {}
    for r in rows:
        if r["state"] != MAINTAINED:
            continue
        found.pop(r["relation"], None)
        try:
            days = float(r["detail"] or "")
        except ValueError:
            continue
        if 0 <= days < 100_000:  # the file can come from anybody
            found[r["relation"]] = days
    return found
