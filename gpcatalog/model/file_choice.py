"""Which file sizes an audit reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ALWAYS = 64 << 20  # bytes on an instance from which a relation is in every sample
# maximum number of files on a host of which all are read, unless requested otherwise
MOST_FILES = 5_000_000


class FileSelection(StrEnum):
    """Relations whose file sizes are read: all, a sample, or none; AUTO decides by the number
    of files.
    """

    AUTO = "auto"
    ALL = "all"
    SAMPLE = "sample"
    NONE = "none"


@dataclass(frozen=True)
class FileChoice:
    """How an audit reads the file systems.

    parallel: segments of each host whose directories are listed at the same time; 0: all
    """

    files: FileSelection = FileSelection.AUTO
    parallel: int = 0


ALL_FILES = FileChoice(FileSelection.ALL)
"""For plans, which need the size of each leaf."""
