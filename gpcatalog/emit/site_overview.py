"""The first page of a site: all databases with their verdicts, trends and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from gpcatalog import __version__
from gpcatalog.emit.growth_text import amount, signed, when
from gpcatalog.emit.html_frame import contents, document, part
from gpcatalog.emit.html_parts import Cell, Markup, Prose, Section, link, prose, short, table
from gpcatalog.emit.svg import safe, sparkline
from gpcatalog.growth.result import Forecast
from gpcatalog.model.finding import Severity
from gpcatalog.model.quantity import count, plural, size
from gpcatalog.site.summary import Summary

PLACES = 3  # databases in the line of a finding
_CLASSES = {"critical": "critical", "warning": "warning", "incomplete": "warning"}
_RANK = {s.word: -int(s) for s in Severity}


@dataclass(frozen=True)
class Member:
    """A database of the site. page: its page, relative to the overview."""

    place: str
    page: str
    summary: Summary


def _number(member: Member, severity: Severity) -> int:
    return member.summary.counts.get(severity.word, 0)


def _verdict(
    members: Sequence[Member], unread: Mapping[str, str], clusters: int
) -> tuple[str, str]:
    """The headline and its CSS class."""
    critical = sum(_number(m, Severity.CRITICAL) for m in members)
    warnings = sum(_number(m, Severity.WARNING) for m in members)
    words = [f"{count(critical)} critical"] if critical else []
    if warnings:
        words.append(plural(warnings, "warning"))
    summary = " and ".join(words) or "no warnings"
    level = "critical" if critical or unread else "warning" if warnings else ""
    of = plural(clusters, "cluster")
    if unread and not members:
        return f"no database of {of} was read", level
    if unread:
        summary = f"{count(len(unread))} not read; {summary} in the others"
    return f"{plural(len(members), 'database')} of {of}: {summary}", level


# --- limits ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Limit:
    """A limit of a database that is near, exceeded or will be reached.

    day: date when it will be reached; None if it is exceeded or near, or the date is unknown
    """

    member: Member
    what: str
    source: str
    now: str
    limit: str
    reached: str
    day: date | None
    state: str

    @property
    def order(self) -> tuple[int, date, str, str]:
        """The sort key: exceeded limits first, then by date, then those that are near."""
        known = self.day is not None
        rank = {"over": 0, "near": 2}.get(self.state, 1)
        return (1 if known else rank, self.day or date.max, self.member.place, self.what)


def _dated(f: Forecast) -> bool:
    return f.state in ("over", "reached") or (f.state == "not growing" and f.earliest is not None)


def _limits(members: Sequence[Member]) -> list[_Limit]:
    """All limits with a date, and those that are near or exceeded without one."""
    found = []
    for m in members:
        dated = {f.limit_source + f.what: f for f in m.summary.forecasts if _dated(f)}
        found += [
            _Limit(m, f.what, f.limit_source, amount(f.now, f.unit), amount(f.limit, f.unit),
                   when(f), f.expected or f.earliest, f.state)
            for f in dated.values()
        ]  # fmt: skip
        values = {(f.now, f.limit) for f in dated.values()}
        found += [
            _Limit(
                m,
                v.what,
                v.source,
                _of_limit(v.value, v.unit),
                ("at least " if v.minimum else "") + _of_limit(v.limit, v.unit),
                {"over": "exceeded now", "near": "above 80 %"}[v.state]
                if not v.minimum
                else v.word,
                None,
                v.state,
            )
            for v in m.summary.verdicts
            if (v.value, v.limit) not in values
        ]
    return sorted(found, key=lambda one: one.order)


def _of_limit(value: float | None, unit: str) -> str:
    return f"{value:.1f} ×" if value is not None and unit == "x" else amount(value, unit)


def _limits_table(limits: Sequence[_Limit]) -> str:
    rows: list[tuple[Cell, ...]] = [
        (
            Markup(
                f"{link(one.member.place, one.member.page)}<small>{safe(f'{one.what}; {one.source}')}</small>"
            ),
            one.reached,
            one.now,
            one.limit,
        )
        for one in limits
    ]
    if not rows:
        return ""
    classes = ["over" if one.state == "over" else "" for one in limits]
    heads = ("limit of", "reached", "now", "limit")
    return table(
        heads, rows, label="Limits by date", name="limits-by-date", left=2, classes=classes
    )


# --- databases ------------------------------------------------------------------------------------


def _state(s: Summary) -> Markup:
    words = (("critical", "critical"), ("warning", "warnings"), ("notice", "notices"))
    numbers = ", ".join(plural(s.counts[w], w, many) for w, many in words if s.counts.get(w))
    # without counts, show the verdict itself: which probes were not read, or which limits are
    # violated
    note_text = numbers or (short(s.headline, 120) if s.state != "ok" else "")
    note = f"<small>{safe(note_text)}</small>" if note_text else ""
    return Markup(f"<span class=tag>{safe(s.state)}</span>{note}")


def _trend(s: Summary) -> Markup:
    rate = "?" if s.per_day is None else signed(s.per_day, "leaves")
    title = f"tables and leaf partitions, {rate} per day"
    return Markup(f"{safe(rate)}{sparkline(title, s.trend)}")


def _bytes(value: int | None) -> str:
    return "?" if value is None else size(value)


def _row(m: Member, limit: _Limit | None) -> tuple[Cell, ...]:
    s = m.summary
    time_text = f"{s.taken_at:%Y-%m-%d %H:%M}"
    return (
        Markup(f"{link(m.place, m.page)}<small>{safe(f'{s.product} {s.version}')}</small>"),
        _state(s),
        (limit.reached.partition(" (")[0], limit.what) if limit else "none known",
        Markup(f'<time datetime="{s.taken_at:%Y-%m-%dT%H:%MZ}">{time_text}</time>'),
        "?" if s.partitions is None else count(s.partitions),
        _trend(s),
        _bytes(s.catalog_bytes),
        _bytes(s.reclaimable_bytes),
        _bytes(s.database_bytes),
    )


def _databases_table(members: Sequence[Member], limits: Sequence[_Limit]) -> str:
    nearest: dict[str, _Limit] = {}
    for one in limits:
        nearest.setdefault(one.member.place, one)
    heads = (
        "database", "verdict", "next limit", "snapshot (UTC)", "tables and leaves",
        "per day (estimate)", "catalog size", "reclaimable (estimate)", "database size",
    )  # fmt: skip
    return table(
        heads,
        [_row(m, nearest.get(m.place)) for m in members],
        label="Databases",
        name="databases",
        left=4,
        budget=8 << 20,
        classes=[_CLASSES.get(m.summary.state, "") for m in members],
    )


# --- findings -------------------------------------------------------------------------------------


def _grouped(members: Sequence[Member]) -> list[tuple[str, str, str, list[Member]]]:
    """Findings of severity warning and critical with their databases, the worst first."""
    found: dict[tuple[str, str, str], list[Member]] = {}
    for m in members:
        for p in m.summary.problems:
            if p.severity in ("critical", "warning"):
                found.setdefault((p.severity, p.rule, p.title), []).append(m)
    ordered = sorted(found.items(), key=lambda e: (_RANK[e[0][0]], -len(e[1]), e[0][2]))
    return [(*key, of) for key, of in ordered]


def _findings_table(members: Sequence[Member]) -> str:
    rows: list[tuple[Cell, ...]] = []
    classes = []
    for severity, rule, title, of in _grouped(members):
        links = ", ".join(link(m.place, m.page) for m in of[:PLACES])
        more = f" and {count(len(of) - PLACES)} more" if len(of) > PLACES else ""
        rows.append(
            (
                Markup(f"{prose(short(title, 300))}<small>{safe(rule)}</small>"),
                Markup(f"<span class=tag>{safe(severity)}</span>"),
                Markup(links + more),
                count(len(of)),
            )
        )
        classes.append(_CLASSES[severity])
    if not rows:
        return ""
    heads = ("finding", "severity", "where", "databases")
    return table(heads, rows, label="Findings", name="findings-of-all", left=3, classes=classes)


def _ordered(members: Sequence[Member]) -> Iterator[Member]:
    """The worst database first, then by name."""
    return iter(
        sorted(
            members,
            key=lambda m: (
                -_number(m, Severity.CRITICAL),
                -_number(m, Severity.WARNING),
                m.place,
            ),
        )
    )


def page(
    title: str,
    members: Sequence[Member],
    unread: Mapping[str, str],
    clusters: int,
    links: Sequence[tuple[str, str]],
) -> str:
    """The overview page. unread: databases and clusters without pages, with the reasons."""
    ordered = list(_ordered(members))
    limits = _limits(ordered)
    headline, level = _verdict(ordered, unread, clusters)
    missing = table(
        ("database", "reason"),
        [(place, Prose(reason)) for place, reason in sorted(unread.items())],
        label="Not read",
        left=2,
    )
    sections = [
        Section("not-read", "Not read", missing if unread else ""),
        Section("all-databases", "Databases", _databases_table(ordered, limits) if ordered else ""),
        Section("limits", "Limits by date (estimate)", _limits_table(limits)),
        Section("findings", "Findings", _findings_table(ordered)),
    ]
    sections = [s for s in sections if s.body]
    newest = max((m.summary.taken_at for m in ordered), default=None)
    dated = f", newest snapshot {newest:%Y-%m-%d %H:%M} UTC" if newest else ""
    anchors = [(s.title, f"#{s.anchor}") for s in sections]
    body = (
        '<a class=skip href="#main">Skip to the verdict</a>'
        f"<header>{contents(links, 'Site')}<h1>{safe(title)}</h1>{contents(anchors, 'Contents')}"
        f'</header><main id=main tabindex=-1><div class="verdict {level}"><p class=headline>'
        f"{safe(headline)}</p></div>{''.join(s.html() for s in sections)}</main>"
        f"<footer>gpcatalog {safe(__version__)}{dated}.</footer>"
    )
    return document(f"{title} · gpcatalog", body, part("page.js") + part("overview.js"))
