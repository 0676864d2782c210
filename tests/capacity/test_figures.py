"""All figures of the program, one per line with its source, so that an accidental change is visible.

GPCATALOG_TEST_UPDATE=1 rewrites tests/capacity/golden/figures.txt; review the difference, and the source that it names.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from gpcatalog.capacity import bloat, generation, limits, seconds, toast

GOLDEN = Path(__file__).parent / "golden/figures.txt"


def lines(name: str, value: Any) -> Iterator[str]:
    """`name: value` for each figure in a value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            yield from lines(f"{name}.{f.name}", getattr(value, f.name))
    elif isinstance(value, Mapping):
        for key in value:
            yield from lines(f"{name}[{key.value if isinstance(key, Enum) else key}]", value[key])
    elif isinstance(value, tuple | list):
        for number, one in enumerate(value):
            yield from lines(f"{name}[{number}]", one)
    elif isinstance(value, frozenset | set):
        yield f"{name}: {' '.join(sorted(str(v) for v in value))}"
    elif isinstance(value, Enum | int | float | str | None):
        yield f"{name}: {value.value if isinstance(value, Enum) else value!r}"


def figures() -> str:
    """All figures, as text in the format of the file."""
    found = []
    for module in (limits, seconds, generation, bloat, toast):
        title = module.__name__.rpartition(".")[2]
        for name, value in vars(module).items():
            if name.strip("_").isupper() and name not in ("ALL",):
                found += lines(f"{title}.{name}", value)
    return "\n".join(found) + "\n"


def test_figures_are_those_that_were_reviewed() -> None:
    text = figures()
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "GPCATALOG_TEST_UPDATE=1 writes the file anew"
