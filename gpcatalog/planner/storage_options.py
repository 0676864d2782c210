"""Storage options of partitions."""

from __future__ import annotations

import re

from gpcatalog.model.storage import Storage
from gpcatalog.model.traits import of_heap

_DEFAULTS = {"checksum": "true", "blocksize": "32768", "compresslevel": "0"}
"""Defaults of append-optimized storage."""


def option_pairs(text: str) -> dict[str, str]:
    """Convert storage options from the snapshot ("a=1, b=2") to pairs.

    >>> option_pairs("appendonly=true, compresstype=zstd")
    {'appendonly': 'true', 'compresstype': 'zstd'}
    """
    return dict(part.split("=", 1) for part in re.split(r",\s*", text) if "=" in part)


def comparable_options(text: str, storage: Storage) -> tuple[tuple[str, str], ...]:
    """Storage options from the snapshot, such that equal options have equal results: sorted, without
    those that the storage implies, and without the defaults of append-optimized storage, which
    Greenplum 6 writes out for some partitions only.

    Source: Greenplum 6.25.3 and 7.0.0. ADD PARTITION leaves {appendonly=true} as it is, CREATE
    TABLE adds {checksum=true, compresslevel=0}; what gp_default_storage_options changes is in the
    text of both, except the compression zlib of a level above 0.

    >>> comparable_options("appendonly=true, checksum=true, compresslevel=0", Storage.AO_ROW)
    ()
    >>> comparable_options("compresslevel=1, compresstype=zlib", Storage.AO_COLUMN)
    (('compresslevel', '1'), ('compresstype', 'zlib'))
    >>> comparable_options("compresstype=ZLIB", Storage.AO_COLUMN)
    (('compresslevel', '1'), ('compresstype', 'zlib'))
    >>> comparable_options("compresslevel=1", Storage.AO_COLUMN)
    (('compresslevel', '1'), ('compresstype', 'zlib'))
    >>> comparable_options("appendonly=false, fillfactor=70", Storage.HEAP)
    (('fillfactor', '70'),)
    """
    found = {k: v.lower() for k, v in option_pairs(text).items()}
    for name in ("appendonly", "appendoptimized", "orientation"):
        found.pop(name, None)
    if storage.append_optimized:
        if found.get("compresstype") == "none":
            del found["compresstype"]
        if "compresstype" in found:
            found = {"compresslevel": "1"} | found
        elif found.get("compresslevel", "0") != "0":
            found["compresstype"] = "zlib"
        found = {k: v for k, v in found.items() if _DEFAULTS.get(k) != v}
    return tuple(sorted(found.items()))


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
    found = {k: v for k, v in found.items() if not of_heap(k)}
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
