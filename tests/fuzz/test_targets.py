"""Every fuzz target on its saved seeds and on a few random inputs; `run.py` runs coverage-guided fuzzing for hours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .targets import TARGETS

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*/*"))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_seed(seed: Path) -> None:
    TARGETS[seed.parent.name](seed.read_bytes())


def test_every_target_has_a_seed() -> None:
    assert {seed.parent.name for seed in SEEDS} == set(TARGETS)


@pytest.mark.parametrize("name", [n for n in TARGETS if n != "snapshot"])
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.binary(max_size=200))
def test_random_bytes(name: str, data: bytes) -> None:
    TARGETS[name](data)
