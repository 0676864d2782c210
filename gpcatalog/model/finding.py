"""A finding: everything that an emitter needs to show one problem, without access to the rule."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec


class Severity(IntEnum):
    """Severities, in ascending order; --fail-on compares with them."""

    INFO = 10
    NOTICE = 20
    WARNING = 30
    CRITICAL = 40

    @property
    def word(self) -> str:
        """The name used on the command line and in JSON."""
        return self.name.lower()


class Confidence(StrEnum):
    """Confidence in the numbers of a finding."""

    HIGH = "high"  # counted or measured on this server
    MEDIUM = "medium"  # derived from measured facts by a stated formula
    LOW = "low"  # based on estimates or published figures


class Figure(msgspec.Struct, frozen=True):
    """One number with its unit and its basis.

    value: a count, bytes, seconds or a ratio, see `unit`
    unit:  "rows", "bytes", "files", "leaves", "s", "ms", "x" (ratio), "share" (0..1), "locks",
           "transactions", "multixacts" or "sessions"
    basis: "measured", "counted", "derived", "estimate", "limit" or "published"
    """

    name: str
    value: float
    unit: str
    basis: str


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """One problem.

    rule:      id of the rule, kebab-case, states the problem
    title:     one sentence with the number that matters
    detail:    why it matters here
    remedy:    what to do
    relations: qualified names of the relations concerned, most important first (may be truncated;
               `relations_total` counts all)
    figures:   the numbers that it is based on
    source:    where the limit comes from
    content:   content ID of the instance concerned (-1: coordinator), or None for the cluster
    """

    rule: str
    severity: Severity
    confidence: Confidence
    title: str
    detail: str
    remedy: str
    relations: tuple[str, ...] = ()
    relations_total: int = 0
    figures: tuple[Figure, ...] = ()
    source: str = ""
    content: int | None = None
