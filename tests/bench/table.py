"""One line of the bench table: what was measured, against what, and whether a goal is met."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One ratio.

    what:    measured; floor: what it is held against, measured in the same run
    ratio:   what / floor, or floor / what where `times_faster`; None where one of them did not finish
    goal:    of the ratio: at most, or at least where `times_faster`; None for none
    detail:  the figures behind it, with units
    """

    what: str
    floor: str
    ratio: float | None
    goal: float | None = None
    times_faster: bool = False
    detail: str = ""

    @property
    def verdict(self) -> str:
        """ "meets", "misses", or nothing where there is no goal."""
        if self.goal is None or self.ratio is None:
            return ""
        return (
            "meets"
            if (self.ratio >= self.goal if self.times_faster else self.ratio <= self.goal)
            else "misses"
        )


def seconds(action: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def in_pairs(
    what: str,
    ours: Callable[[], object],
    floor: str,
    against: Callable[[], object],
    pairs: int,
    goal: float | None = None,
) -> Line:
    """Both in turn, `pairs` times after one that warms up; the median of the ratios."""
    ours()
    against()
    both = [(seconds(ours), seconds(against)) for _ in range(pairs)]
    ratios = [a / b for a, b in both]
    ms = [statistics.median(x) * 1000 for x in zip(*both, strict=True)]
    detail = (
        f"{ms[0]:,.0f} : {ms[1]:,.0f} ms, {min(ratios):.2f} to {max(ratios):.2f} in {pairs} pairs"
    )
    return Line(what, floor, statistics.median(ratios), goal, detail=detail)


def show(title: str, lines: Sequence[Line]) -> None:
    """Print as a table, one line a ratio."""
    print(f"\n{title}")
    for line in lines:
        bound = (
            "" if line.goal is None else f"goal {'≥' if line.times_faster else '≤'} {line.goal:g}"
        )
        ratio = "?" if line.ratio is None else f"{line.ratio:.2f} ×"
        print(
            f"  {line.what:<34} {'faster than' if line.times_faster else ':'} {line.floor:<46} {ratio:>10}  {bound:<11} {line.verdict:<6}  {line.detail}"
        )


WORSE = 1.1  # of a ratio: from here on it is a regression


def ratios(tables: Iterable[tuple[str, Sequence[Line]]]) -> dict[str, list[float]]:
    """Ratio by the names of table, line and floor; [0 or 1, ratio]: 1 where a higher one is better."""
    return {
        f"{title}: {line.what} : {line.floor}": [float(line.times_faster), line.ratio]
        for title, lines in tables
        for line in lines
        if line.ratio is not None
    }


def regressions(before: dict[str, list[float]], now: dict[str, list[float]]) -> list[str]:
    """Print and return the lines of both that became more than 10 % worse."""
    found = []
    for name in sorted(before.keys() & now.keys()):
        higher, was = before[name]
        ratio = now[name][1]
        worse = was / ratio if higher else ratio / was
        if worse > WORSE:
            found.append(f"{name}: {was:.2f} × before, {ratio:.2f} × now")
    print(f"\n{len(before.keys() & now.keys())} ratios compared, {len(found)} more than 10 % worse")
    for line in found:
        print(f"  {line}")
    return found
