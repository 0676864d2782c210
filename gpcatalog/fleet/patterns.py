"""The selection of databases of a cluster by the patterns of the fleet file."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence


def choose(
    databases: Iterable[str], patterns: Sequence[str], exclude: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the existing databases that are chosen, and the chosen names (not patterns) that do
    not exist.

    >>> choose(["aa", "ab", "b"], ["a*", "z"], ["ab"])
    (['aa'], ['z'])
    """

    def left_out(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, p) for p in exclude)

    known = list(databases)
    found = [
        name
        for name in known
        if any(fnmatch.fnmatchcase(name, p) for p in patterns) and not left_out(name)
    ]
    exact = [p for p in patterns if not set(p) & set("*?[") and not left_out(p)]
    return found, [name for name in exact if name not in known]
