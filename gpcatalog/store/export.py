"""Export the tables of a snapshot as CSV files."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from gpcatalog.errors import CatalogError
from gpcatalog.model.names import quote_ident
from gpcatalog.store.schema import TABLES, columns_of
from gpcatalog.store.snapshot import Snapshot


def export(snapshot: Snapshot, folder: Path) -> dict[str, int]:
    """Create `folder` and write every table to it; return the number of rows by table. NULL is an
    empty field.

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
                writer = csv.writer(out)
                names, batches = snapshot.stream(
                    f"SELECT {', '.join(quote_ident(c) for c in columns_of(table))} FROM {table}"
                )
                writer.writerow(names)
                rows[table] = 0
                for batch in batches:
                    writer.writerows(batch)
                    rows[table] += len(batch)
    except OSError as e:
        shutil.rmtree(folder, ignore_errors=True)
        raise CatalogError(f"cannot write into {folder}: {e.strerror}") from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return rows
