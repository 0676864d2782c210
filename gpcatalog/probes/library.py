"""The selection of .sql files for a server: a search path of folders; the first one that contains
the probe is used.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import gpcatalog
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model import generations
from gpcatalog.model.server import Server

# Sources of data that a role without superuser may not read on every server; a session can use
# other sources.
SOURCES = {
    "activity": "pg_catalog.pg_stat_activity",
    "backends": "pg_catalog.pg_stat_get_activity(NULL)",
    "list_folder": "pg_catalog.pg_ls_dir",
    "stat_file": "pg_catalog.pg_stat_file",
}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_INCLUDE = re.compile(r"^-- include ([a-z_]+)\n", re.M)


def search_path(server: Server) -> tuple[str, ...]:
    """Folders of sql/ for this server, the most specific first.

    >>> search_path(Server("PostgreSQL", "17.2", "pg17", 170002))
    ('pg17', 'pg16', 'pg15', 'pg14', 'pg13', 'pg12', 'any')
    """
    return generations.known(server.generation).folders


@functools.cache
def folder() -> Path:
    """The folder of the .sql files: in the installed package, or next to it in a checkout."""
    package = Path(gpcatalog.__file__).parent
    for place in (package / "sql", package.parent / "sql"):
        if (place / "any").is_dir():
            return place
    raise CatalogError(
        "this installation of gpcatalog has no SQL files for the probes",
        hint="reinstall gpcatalog",
        exit_code=Exit.INTERNAL,
    )


@dataclass(frozen=True)
class Probe:
    """One probe for one server: its text with the header, and the values in the header.

    name:   file name without .sql
    origin: folder that contains the file
    sql:    the whole file
    """

    name: str
    origin: str
    sql: str

    def header(self, key: str) -> str:
        """The value of `key` ("needs", "trusts", "locks", "cost") in the header; empty if it is
        missing.

        trusts: the schema outside pg_catalog that the probe reads, and the extension that the
                objects there belong to.
        """
        found = re.search(rf"^-- {key}: (.*)$", self.sql, re.M)
        return found[1] if found else ""

    @property
    def prose(self) -> str:
        """The first sentences of the header, which describe what the probe reads."""
        lines = []
        for line in self.sql.splitlines():
            if not line.startswith("-- ") or re.match(r"-- (needs|trusts|locks|cost): ", line):
                break
            lines.append(line[3:])
        return " ".join(lines)

    def statement(self, **values: str) -> str:
        """The SQL to send: without the header, with a marker for pg_stat_activity, and with
        placeholders replaced from `values`.

        Values are SQL text of this program (catalog names, numbers), never text of a user.
        """
        body = "\n".join(line for line in self.sql.splitlines() if not line.startswith("--"))
        return f"/* gpcatalog:{self.name} */ {fill(body, **SOURCES | values).strip()}"


@functools.cache  # a migration executes the same probes for each table
def _found(file: str, generation: str, area: str = "") -> tuple[str, str] | None:
    """The first folder of the search path that contains this file, and its text with included parts
    inserted.

    A line `-- include NAME` is replaced by NAME.part: text that is the same in the probes of
    several generations exists once. area: a folder of sql/ with its own folders of generations,
    searched before the others
    """
    places = generations.known(generation).folders
    for place in (*(f"{area}/{p}" for p in places if area), *places):
        path = folder() / place / file
        if path.is_file():
            return place, _INCLUDE.sub(
                lambda line: _part(line[1], generation, area), path.read_text(encoding="utf-8")
            )
    return None


def _part(name: str, generation: str, area: str) -> str:
    found = _found(f"{name}.part", generation, area)
    if found is None:
        raise CatalogError(
            f"this installation of gpcatalog has no file {name}.part",
            hint="reinstall gpcatalog",
            exit_code=Exit.INTERNAL,
        )
    return found[1]


def fill(text: str, **values: str) -> str:
    """Replace the placeholders {name} in the text. Raises KeyError for one without a value."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def part(name: str, server: Server, *, area: str = "") -> str:
    """The text of NAME.part for this server, with included parts inserted; placeholders are not
    replaced.

    area: "journal" for the functions that migrations install
    Raises CatalogError if no folder of the search path contains it.
    """
    return _part(name, server.generation, area)


def probe(name: str, server: Server) -> Probe:
    """The probe of this name for this server.

    Raises CatalogError if no folder of the search path contains it.
    """
    found = _found(f"{name}.sql", server.generation)
    if found is not None:
        return Probe(name, *found)
    raise CatalogError(
        f"there is no probe {name} for {server.product} {server.version}",
        hint="`gpcatalog probes` lists all probes",
        exit_code=Exit.USAGE,
    )


def names(server: Server) -> list[str]:
    """Names of all probes for this server."""
    return sorted(
        {file.stem for place in search_path(server) for file in (folder() / place).glob("*.sql")}
    )
