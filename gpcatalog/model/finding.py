"""A finding: everything an emitter needs to show one problem, and nothing that sends it back to the
rule.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec


class Severity(IntEnum):
    """How bad it is, in order; --fail-on compares with these."""

    INFO = 10
    NOTICE = 20
    WARNING = 30
    CRITICAL = 40

    @property
    def word(self) -> str:
        """The name used on the command line and in JSON."""
        return self.name.lower()


class Confidence(StrEnum):
    """How sure the numbers behind a finding are."""

    HIGH = "high"  # counted or measured on this server
    MEDIUM = "medium"  # derived from measured facts by a stated formula
    LOW = "low"  # rests on estimates or published figures


class Figure(msgspec.Struct, frozen=True):
    """One number with its unit and where it comes from.

    value: a count, bytes, seconds or a ratio, as `unit` says
    unit:  "rows", "bytes", "files", "leaves", "s", "ms", "x" (ratio), "share" (0..1), "locks",
           "transactions", "multixacts" or "sessions"
    basis: "measured", "counted", "derived", "estimate", "limit" or "published"
    """

    name: str
    value: float
    unit: str
    basis: str


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """One problem found.

    rule:      id of the rule, kebab-case, states the problem
    title:     one sentence with the number that matters
    detail:    why it matters here
    remedy:    what to do
    relations: qualified names concerned, most important first (may be cut; `relations_total` counts
               all)
    figures:   the numbers it rests on
    source:    where the limit comes from
    content:   content id of the instance concerned (-1 coordinator), or None for the cluster
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
