"""Names of new indexes, and storage options that are plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from gpcatalog.migration.predicates import Refusal
from gpcatalog.model.names import NAMEDATALEN, cut, shortened


def index_name(old_leaf: str, index: str, new_leaf: str, used_names: set[str]) -> str:
    """Name of an index on a new leaf: the name of the old leaf is replaced in the old name. It has
    at most 63 bytes and is not in use.

    >>> index_name("t_1", "t_1_v_idx", "t_2024", set()), index_name("t_1", "speed", "t_2", {"t_2_speed"})
    ('t_2024_v_idx', 't_2_speed_2')
    """
    rest = (
        index[len(old_leaf) :] if index.startswith(old_leaf) and index != old_leaf else f"_{index}"
    )
    for n in range(1, 10_000):
        tail = cut(rest if n == 1 else f"{cut(rest, 30)}_{n}", 40)
        name = shortened(new_leaf, NAMEDATALEN - len(tail.encode())) + tail
        if name not in used_names:
            used_names.add(name)
            return name
    raise Refusal("no free index name: 10,000 names are in use")


@lru_cache(maxsize=1024)  # the leaves of a table have few different options
def options_of(text: str) -> tuple[tuple[str, str], ...]:
    """Storage options as pairs.

    >>> options_of("appendonly=true, compresstype=zlib")
    (('appendonly', 'true'), ('compresstype', 'zlib'))
    """
    return checked(
        (k, v) for k, v in (part.split("=", 1) for part in re.split(r",\s*", text) if "=" in part)
    )


def checked(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Check that storage options are plain words: anybody may have written the text of a plan file.

    Raises Refusal.
    """
    found = tuple(options)
    for key, value in found:
        if not re.fullmatch(r"[a-z_.]+", key) or not re.fullmatch(r"[\w.+-]+", value):
            raise Refusal(f"unknown storage option: {key}={value}")
    return found
