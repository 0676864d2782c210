"""Each limit has a source, and the formulas match the published figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcatalog.capacity import limits
from gpcatalog.errors import CatalogError, Exit


def test_every_figure_is_registered_once_and_names_its_source() -> None:
    declared = [x for x in vars(limits).values() if isinstance(x, limits.Limit)]
    assert len(declared) == len(limits.ALL) > 60  # a duplicate ID would make the registry shorter
    for figure in declared:
        assert figure.source, figure.id
        assert figure.value > 0, figure.id
        assert figure.unit, figure.id
        assert limits.limit(figure.id) is figure


def test_figures_nobody_published_are_not_there() -> None:
    # no source was found for 200 or 24 partitions, nor for 20 % of catalog bloat
    assert not [x.id for x in limits.ALL.values() if x.unit == "leaves" and x.value in (24, 200)]
    assert not [x.id for x in limits.ALL.values() if x.unit == "share" and x.value == 0.2]


def test_an_unknown_id_names_the_known_ones() -> None:
    with pytest.raises(CatalogError, match="unknown limit 'files'") as caught:
        limits.limit("files")
    assert "files-per-host" in caught.value.hint
    assert caught.value.exit_code is Exit.USAGE


@pytest.mark.parametrize(
    ("mb", "factor"), [(0.25, 2.5), (2, 1.8), (128, 1.0), (4096, 1.0), (0.01, 2.5)]
)
def test_slowdown_goes_through_the_published_points(mb: float, factor: float) -> None:
    assert limits.slowdown(mb * limits.MIB).value == pytest.approx(factor)


@given(st.floats(1, 1e12), st.floats(1, 1e12))
def test_larger_files_are_never_slower(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert limits.slowdown(small).value >= limits.slowdown(large).value >= 1


@given(st.floats(4 * limits.MIB, 1e12))
def test_over_one_point_eight_only_below_the_published_boundary(size: float) -> None:
    assert limits.slowdown(size).value < 1.8


def test_no_average_no_slowdown() -> None:
    with pytest.raises(CatalogError, match="more than 0 bytes"):
        limits.slowdown(0)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_removal_and_query_laws_are_linear(one: int, other: int) -> None:
    for law in (
        lambda n: limits.removal_seconds(n, limits.REMOVE_XFS),
        lambda n: limits.catalog_query_ms(n).value,
    ):
        assert law(one + other) == pytest.approx(law(one) + law(other))


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(CatalogError, match="removal rate"):
        limits.removal_seconds(10, 0)


@given(st.integers(0, 2**50))
def test_every_size_has_the_smallest_bucket_that_holds_it(size: int) -> None:
    chosen = limits.bucket_of(size)
    at = limits.FILE_BUCKETS.index(chosen)
    assert chosen.upper is None or size <= chosen.upper
    smaller = limits.FILE_BUCKETS[at - 1].upper if at else -1
    assert smaller is not None
    assert size > smaller


def test_published_shares_leave_only_the_directories() -> None:
    assert sum(b.published for b in limits.FILE_BUCKETS) == pytest.approx(1 - 0.015, abs=0.002)


def test_small_file_table_falls_in_size_and_rises_in_files() -> None:
    sizes = [size for size, _ in limits.SMALL_FILES_TABLE]
    files = [n for _, n in limits.SMALL_FILES_TABLE]
    assert sizes == sorted(sizes, reverse=True)
    assert files == sorted(files)
    assert len(sizes) == 14
