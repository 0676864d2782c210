"""Which value classes are mutable, and which accept their fields only by name: the list must change only on purpose.

GPCATALOG_TEST_UPDATE=1 pytest tests/test_value_classes.py    rewrites value_classes.txt
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

import gpcatalog

GOLDEN = Path(__file__).with_suffix("").with_name("value_classes.txt")


def classes() -> Iterator[tuple[str, type]]:
    for module in pkgutil.walk_packages(gpcatalog.__path__, "gpcatalog."):
        if not module.name.endswith("__main__"):
            for name, found in vars(importlib.import_module(module.name)).items():
                if inspect.isclass(found) and found.__module__ == module.name:
                    yield f"{module.name.removeprefix('gpcatalog.')}.{name}", found


def properties(found: type) -> str | None:
    """Properties of a value class as text; None if the class is not a value class."""
    if issubclass(found, msgspec.Struct):
        frozen = found.__struct_config__.frozen
    elif dataclasses.is_dataclass(found):
        frozen = found.__dataclass_params__.frozen  # type: ignore[attr-defined]
    else:
        return None
    kinds = {p.kind for p in inspect.signature(found).parameters.values()}
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD not in kinds
    return ("" if frozen else " changes") + (" fields by name" if by_name else "")


def test_value_classes() -> None:
    lines = sorted(f"{name}:{text}" for name, c in classes() if (text := properties(c)) is not None)
    assert len(lines) > 200
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        GOLDEN.write_text("\n".join(lines) + "\n")
    assert "\n".join(lines) + "\n" == GOLDEN.read_text()
