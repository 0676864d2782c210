"""Which .sql file serves which server: a search path of folders, the first that holds the probe
wins.
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

# Where probes read what a role without superuser may not read on every server; a session can name
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
    """Folders of sql/ for this server, most special first.

    >>> search_path(Server("PostgreSQL", "17.2", "pg17", 170002))
    ('pg17', 'pg16', 'pg15', 'pg14', 'pg13', 'pg12', 'any')
    """
    return generations.known(server.generation).folders


@functools.cache
def folder() -> Path:
    """Where the .sql files are: inside the installed package, or beside it in a checkout."""
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
    """One probe as it serves one server: its text with the header, and what the header says.

    name:   file name without .sql
    origin: folder that served it
    sql:    the whole file
    """

    name: str
    origin: str
    sql: str

    def header(self, key: str) -> str:
        """What the header says under `key` ("needs", "trusts", "locks", "cost"); empty when it says
        nothing.

        trusts: the schema outside pg_catalog that the probe reads, and the extension whose member
                it reads there.
        """
        found = re.search(rf"^-- {key}: (.*)$", self.sql, re.M)
        return found[1] if found else ""

    @property
    def prose(self) -> str:
        """The first sentences of the header: what the probe reads."""
        lines = []
        for line in self.sql.splitlines():
            if not line.startswith("-- ") or re.match(r"-- (needs|trusts|locks|cost): ", line):
                break
            lines.append(line[3:])
        return " ".join(lines)

    def statement(self, **values: str) -> str:
        """The SQL to send: no header, a marker that shows in pg_stat_activity, placeholders filled
        from `values`.

        Values are SQL text made by this program (catalog names, numbers), never a user's.
        """
        body = "\n".join(line for line in self.sql.splitlines() if not line.startswith("--"))
        return f"/* gpcatalog:{self.name} */ {fill(body, **SOURCES | values).strip()}"


@functools.cache  # a migration asks the same probes for each table
def _found(file: str, generation: str, area: str = "") -> tuple[str, str] | None:
    """The first folder of the search path that has this file, and its text with what it includes in
    its place.

    A line `-- include NAME` stands for NAME.part: what the probes of several generations say alike
    is said once.
    area: a folder of sql/ with folders of generations of its own, searched before the others
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
    """The text with its placeholders {name} filled. Raises KeyError for one without a value."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def part(name: str, server: Server, *, area: str = "") -> str:
    """The text of NAME.part for this server, with what it includes in its place; placeholders are
    left.

    area: "journal" for the functions that migrations install
    Raises CatalogError when no folder of its search path has it.
    """
    return _part(name, server.generation, area)


def probe(name: str, server: Server) -> Probe:
    """The probe of this name for this server.

    Raises CatalogError when no folder of its search path has it.
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
    """Names of all probes that this server can be asked."""
    return sorted(
        {file.stem for place in search_path(server) for file in (folder() / place).glob("*.sql")}
    )
