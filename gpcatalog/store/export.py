"""Export the tables of a snapshot as CSV files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpcatalog.errors import CatalogError
from gpcatalog.model.names import quote_ident
from gpcatalog.store.schema import TABLES, columns_of
from gpcatalog.store.snapshot import Snapshot

_SPECIAL = re.compile('[",\r\n]')


def _line(values: Sequence[Any]) -> str:
    """A line of CSV. The csv module of Python does not distinguish NULL from an empty text."""
    return ",".join(map(_field, values)) + "\r\n"


def _field(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    quoted = not text or text == "\\." or _SPECIAL.search(text)
    return '"' + text.replace('"', '""') + '"' if quoted else text


def export(snapshot: Snapshot, folder: Path) -> dict[str, int]:
    """Create `folder` and write every table to it; return the number of rows by table. NULL is an
    empty field, an empty text is "", as COPY … (FORMAT csv) of PostgreSQL reads them.

    Raises CatalogError if the folder exists or cannot be written; no incomplete export remains.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise CatalogError(
            f"{folder} exists already", hint="give a folder that does not exist yet"
        ) from None
    except OSError as e:
        raise CatalogError(f"cannot create {folder}: {e.strerror}") from None
    rows: dict[str, int] = {}
    try:
        for table in TABLES:
            with (folder / f"{table}.csv").open("w", newline="", encoding="utf-8") as out:
                names, batches = snapshot.stream(
                    f"SELECT {', '.join(quote_ident(c) for c in columns_of(table))} FROM {table}"
                )
                out.write(_line(names))
                rows[table] = 0
                for batch in batches:
                    out.writelines(map(_line, batch))
                    rows[table] += len(batch)
    except OSError as e:
        shutil.rmtree(folder, ignore_errors=True)
        raise CatalogError(f"cannot write into {folder}: {e.strerror}") from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return rows
