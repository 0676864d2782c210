"""The kinds of relations that Greenplum keeps beside an append-optimized table."""

from __future__ import annotations

SEGMENT_FILE_LIST = "segment file list"
VISIBILITY_MAP = "visibility map"
BLOCK_DIRECTORY = "block directory"
INDEX_OF = {
    VISIBILITY_MAP: "index of a visibility map",
    BLOCK_DIRECTORY: "index of a block directory",
}
KINDS = (SEGMENT_FILE_LIST, VISIBILITY_MAP, BLOCK_DIRECTORY, *INDEX_OF.values())
