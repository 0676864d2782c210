"""A series as one line of characters, for a terminal only."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float | None], width: int = 20) -> str:
    """One character per point, for the last `width` buckets of the series; a missing point is a
    blank.

    >>> spark([0, 1, 2, 3]), spark([5, 5]), spark([1, None, 2]), spark([])
    ('▁▃▆█', '▁▁', '▁ █', '')
    """
    if len(values) > width:  # the last point of each bucket
        values = [values[(n + 1) * len(values) // width - 1] for n in range(width)]
    known = [v for v in values if v is not None]
    if not known:
        return " " * len(values)
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    return "".join(
        " " if v is None else _STEPS[round((v - low) / span * (len(_STEPS) - 1))] for v in values
    )
