"""Changes between two audits: problems that are new, worse, better or gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gpcatalog.model.finding import Finding, Severity

SCHEMA = "gpcatalog.notification/1"
COUNTED = Severity.WARNING  # findings below this severity are not part of the state


class Problem(msgspec.Struct, kw_only=True, frozen=True):
    """One finding of one database, or a database that could not be audited (rule is "unread").

    place:    "cluster/database" of a fleet, otherwise "host:port/database"
    relation: first relation of the finding; content: its instance; both distinguish findings of one
              rule
    """

    place: str
    rule: str
    severity: str
    title: str
    remedy: str = ""
    relation: str = ""
    content: int | None = None

    @property
    def key(self) -> str:
        """The identity of the problem, without the title: titles contain numbers that change."""
        content = "" if self.content is None else str(self.content)
        return "\t".join((self.place, self.rule, self.relation, content))

    @property
    def rank(self) -> Severity:
        """The severity as an ordered value."""
        return Severity[self.severity.upper()]


class Notification(msgspec.Struct, kw_only=True, frozen=True):
    """The change since the last notification.

    state, before: worst severity, "ok" without problems; before is None at the first run
    counts: problems by severity now
    """

    time: str
    state: str
    before: str | None
    counts: dict[str, int]
    new: tuple[Problem, ...]
    worse: tuple[Problem, ...]
    better: tuple[Problem, ...]
    gone: tuple[Problem, ...]
    schema: str = SCHEMA

    @property
    def changed(self) -> bool:
        """Whether there is a change to notify about."""
        return bool(self.new or self.worse or self.better or self.gone)


def problems_of(place: str, findings: Sequence[Finding]) -> list[Problem]:
    """The findings of one database that are part of the state."""
    return [
        Problem(
            place=place,
            rule=f.rule,
            severity=f.severity.word,
            title=f.title,
            remedy=f.remedy,
            relation=f.relations[0] if f.relations else "",
            content=f.content,
        )
        for f in findings
        if f.severity >= COUNTED
    ]


def unread(place: str, reason: str) -> Problem:
    """A database or cluster that could not be audited."""
    return Problem(
        place=place,
        rule="unread",
        severity=Severity.CRITICAL.word,
        title=f"could not be audited: {reason}",
        remedy=(
            "check that the server runs and that the role may connect; `gpcatalog doctor` shows"
            " missing privileges"
        ),
    )


def _state(problems: Sequence[Problem]) -> str:
    worst = max((p.rank for p in problems), default=None)
    return worst.word if worst is not None else "ok"


def with_unknown(
    now: Sequence[Problem], before: Mapping[str, Problem], unread_places: Sequence[str]
) -> list[Problem]:
    """The current problems, with the earlier problems of places that could not be audited, because
    it is unknown whether these are gone.
    """
    there = {p.key for p in now}

    def hidden(place: str) -> bool:
        return any(place == p or place.startswith(f"{p}/") for p in unread_places)

    kept = [
        p
        for key, p in before.items()
        if key not in there and p.rule != "unread" and hidden(p.place)
    ]
    return [*now, *kept]


def compare(
    now: Sequence[Problem], before: Mapping[str, Problem] | None, time: str
) -> Notification:
    """Compare the current problems with the earlier ones. before: problems by key; None if there
    was no run yet.
    """
    known = before or {}
    by_key = {p.key: p for p in now}
    both = [(p, known[key]) for key, p in by_key.items() if key in known]
    counts: dict[str, int] = {}
    for p in by_key.values():
        counts[p.severity] = counts.get(p.severity, 0) + 1
    return Notification(
        time=time,
        state=_state(now),
        before=None if before is None else _state(list(known.values())),
        counts=counts,
        new=tuple(p for key, p in by_key.items() if key not in known),
        worse=tuple(p for p, old in both if p.rank > old.rank),
        better=tuple(p for p, old in both if p.rank < old.rank),
        gone=tuple(p for key, p in known.items() if key not in by_key),
    )
