"""The confidence band of a trend, checked with the exact distribution of Kendall's statistic."""

from __future__ import annotations

import math

import pytest

from gpcatalog.capacity.trend import fit


def critical(n: int) -> int:
    """Smallest value that Kendall's statistic of n points reaches by chance in at most 2.5 % of all orders: counted, not looked up."""
    inversions = [1]
    for size in range(2, n + 1):
        longer = [0] * (len(inversions) + size - 1)
        for at, number in enumerate(inversions):
            for more in range(size):
                longer[at + more] += number
        inversions = longer
    pairs, reached = n * (n - 1) // 2, 0
    for few, number in enumerate(inversions):
        reached += number
        if reached > 0.025 * math.factorial(n):
            return pairs - 2 * few + 2
    raise AssertionError


@pytest.mark.parametrize("n", [5, 6, 8, 10, 12, 20])
def test_the_band_leaves_out_what_chance_makes(n: int) -> None:
    ys = [x**3 + math.sqrt(x) for x in range(n)]  # every slope differs
    line = fit(list(range(n)), ys)
    assert line is not None
    slopes = sorted((ys[j] - ys[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    assert line.points == n
    # the exact band of N sorted slopes begins at slope (N - C + 2) / 2; the program's normal approximation may be one slope wider
    exact = (len(slopes) - critical(n) + 2) // 2
    assert line.low is not None
    assert line.high is not None
    assert 0 <= exact - (slopes.index(line.low) + 1) <= 1
    assert slopes.index(line.high) == len(slopes) - 1 - slopes.index(line.low)
    middle = len(slopes) // 2
    assert line.slope == (
        slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    )


def test_few_points_have_no_band() -> None:
    assert fit([1], [2]) is None
    assert fit([1, 1], [2, 3]) is None
    line = fit([0, 1], [1, 3])
    assert line is not None
    assert (line.slope, line.base, line.low, line.high, line.at(5)) == (2, 1, None, None, 11)
