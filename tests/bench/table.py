"""One line of the benchmark table: what was measured, its reference, and whether a goal is met."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One ratio.

    what:    what was measured; floor: its reference, measured in the same run
    ratio:   what / floor, or floor / what if `times_faster`; None if one of them did not finish
    goal:    of the ratio: maximum, or minimum if `times_faster`; None without a goal
    detail:  the measured figures, with units
    """

    what: str
    floor: str
    ratio: float | None
    goal: float | None = None
    times_faster: bool = False
    detail: str = ""

    @property
    def verdict(self) -> str:
        """ "meets" or "misses"; empty without a goal."""
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
    """Measure both in turn, `pairs` times after a warm-up; the median of the ratios."""
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
    """Print a table with one line per ratio."""
    print(f"\n{title}")
    for line in lines:
        bound = (
            "" if line.goal is None else f"goal {'≥' if line.times_faster else '≤'} {line.goal:g}"
        )
        ratio = "?" if line.ratio is None else f"{line.ratio:.2f} ×"
        print(
            f"  {line.what:<34} {'faster than' if line.times_faster else ':'} {line.floor:<46} {ratio:>10}  {bound:<11} {line.verdict:<6}  {line.detail}"
        )


WORSE = 1.1  # a ratio that is worse by more than this factor is a regression


def ratios(tables: Iterable[tuple[str, Sequence[Line]]]) -> dict[str, list[float]]:
    """[0 or 1, ratio] by the names of table, line and floor; 1 if a higher ratio is better."""
    return {
        f"{title}: {line.what} : {line.floor}": [float(line.times_faster), line.ratio]
        for title, lines in tables
        for line in lines
        if line.ratio is not None
    }


def regressions(before: dict[str, list[float]], now: dict[str, list[float]]) -> list[str]:
    """Print and return the lines in both tables whose ratio became more than 10 % worse."""
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
