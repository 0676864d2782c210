"""One database in the overview of a site."""

from __future__ import annotations

from datetime import datetime

import msgspec

from gpcatalog.audit.report import Report, Verdict
from gpcatalog.growth.points import Point
from gpcatalog.growth.result import Forecast, Growth

TREND_POINTS = 60  # points of the small chart in the overview
FINDINGS = 50  # maximum number of findings of a database in the overview


class Problem(msgspec.Struct, frozen=True):
    """A finding: the word of its severity, its rule and its title."""

    severity: str
    rule: str
    title: str


class Summary(msgspec.Struct, kw_only=True, frozen=True):
    """The data of a database in the overview.

    state:     of the verdict in lower case, such as "warning", "ok" or "incomplete"
    headline:  the text of the verdict after the state
    counts:    number of findings by the word of the severity
    verdicts:  limits that are near or exceeded
    trend:     (seconds since 1970, tables and leaf partitions) of the snapshots of the period
    per_day:   their slope; None with too few snapshots
    """

    product: str
    version: str
    taken_at: datetime
    state: str
    headline: str
    counts: dict[str, int]
    problems: tuple[Problem, ...]
    verdicts: tuple[Verdict, ...]
    forecasts: tuple[Forecast, ...]
    partitions: int | None
    trend: tuple[tuple[float, float], ...]
    per_day: float | None
    catalog_bytes: int | None
    reclaimable_bytes: int | None
    database_bytes: int | None


def _trend(points: list[Point]) -> tuple[tuple[float, float], ...]:
    """At most TREND_POINTS points, including the newest."""
    step = -(-len(points) // TREND_POINTS) or 1
    chosen = points[::-1][::step][::-1]
    return tuple((p.taken_at.timestamp(), float(p.partitions)) for p in chosen)


def summed_up(
    report: Report, growth: Growth | None, points: list[Point], *, verdict: str
) -> Summary:
    """The summary of a report and its series. verdict: "STATE: sentence", as in the output of an
    audit.
    """
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.severity.word] = counts.get(finding.severity.word, 0) + 1
    state, _, headline = verdict.partition(": ")
    series = next(
        (s for s in growth.series if s.what == "tables and leaf partitions")
        if growth
        else iter(()),
        None,
    )
    totals = report.instance_totals
    return Summary(
        product=report.server.product,
        version=report.server.version,
        taken_at=report.taken.taken_at,
        state=state.lower(),
        headline=headline,
        counts=counts,
        problems=tuple(
            Problem(f.severity.word, f.rule, f.title) for f in report.findings[:FINDINGS]
        ),
        verdicts=tuple(v for v in report.verdicts if v.state in ("near", "over")),
        forecasts=growth.forecasts if growth else (),
        partitions=report.census.partitions_metric if report.census else None,
        trend=_trend(points),
        per_day=series.per_day if series else None,
        catalog_bytes=sum(t.bytes for t in totals) if totals else None,
        reclaimable_bytes=sum(t.reclaimable_bytes for t in totals) if totals else None,
        database_bytes=report.server.database_bytes,
    )
