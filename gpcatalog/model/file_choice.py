"""Which files an audit looks at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ALWAYS = 64 << 20  # bytes of a relation on an instance from which on every sample has its files
MOST_FILES = 5_000_000  # files on a host up to which all are read, if not asked otherwise


class Which(StrEnum):
    """Files whose sizes are read: of all relations, of a sample, of none; AUTO by their number."""

    AUTO = "auto"
    ALL = "all"
    SAMPLE = "sample"
    NONE = "none"


@dataclass(frozen=True)
class FileChoice:
    """What an audit may take of the file systems.

    parallel: segments of each host whose directories are listed at the same time; 0 for all
    """

    files: Which = Which.AUTO
    parallel: int = 0


ALL_FILES = FileChoice(Which.ALL)
"""What plans need: the size of each leaf."""
