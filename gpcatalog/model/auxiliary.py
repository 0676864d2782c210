"""Auxiliary relations of append-optimized tables: their kinds, and which of them are measured."""

from __future__ import annotations

SEGMENT_FILE_LIST = "segment file list"
VISIBILITY_MAP = "visibility map"
BLOCK_DIRECTORY = "block directory"
INDEX_OF = {
    VISIBILITY_MAP: "index of a visibility map",
    BLOCK_DIRECTORY: "index of a block directory",
}
KINDS = (SEGMENT_FILE_LIST, VISIBILITY_MAP, BLOCK_DIRECTORY, *INDEX_OF.values())

# Minimum size, in bytes on one segment, of an auxiliary relation that is reported separately. Most
# of them have one page, so hundreds of thousands of leaves add few rows to a snapshot.
LARGE = 256 << 10
# Maximum number of relations whose rows an audit counts, the largest first: each costs one
# statement and one scan on every segment.
COUNTED = 100
