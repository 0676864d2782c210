"""Storage options of partitions."""

from __future__ import annotations

import re

from gpcatalog.model.storage import Storage
from gpcatalog.model.traits import HEAP_OPTIONS


def option_pairs(text: str) -> dict[str, str]:
    """Convert storage options from the snapshot ("a=1, b=2") to pairs.

    >>> option_pairs("appendonly=true, compresstype=zstd")
    {'appendonly': 'true', 'compresstype': 'zstd'}
    """
    return dict(part.split("=", 1) for part in re.split(r",\s*", text) if "=" in part)


def target_options(options: str, storage: Storage, *, classic: bool) -> dict[str, str]:
    """Options of a converted leaf, without those that the target does not support; compression is
    kept.

    >>> target_options("appendonly=true, orientation=column, compresstype=rle_type", Storage.AO_ROW, classic=True)
    {'appendonly': 'true', 'orientation': 'row', 'compresstype': 'zlib', 'compresslevel': '1'}
    """
    found = option_pairs(options)
    ao = storage in (Storage.AO_ROW, Storage.AO_COLUMN)
    found = {
        k: v for k, v in found.items() if k not in ("appendonly", "appendoptimized", "orientation")
    }
    if not ao:
        return {
            k: v
            for k, v in found.items()
            if k not in ("compresstype", "compresslevel", "blocksize", "checksum")
        }
    found = {k: v for k, v in found.items() if k not in HEAP_OPTIONS}
    if storage is Storage.AO_ROW and found.get("compresstype") == "rle_type":
        found |= {
            "compresstype": "zlib",
            "compresslevel": "1",
        }  # run-length encoding is supported only for columns
    if not classic:  # the access method determines the storage there
        return found
    return {
        "appendonly": "true",
        "orientation": "column" if storage is Storage.AO_COLUMN else "row",
    } | found
