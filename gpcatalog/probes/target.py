"""Which server and database a user means, without asking it."""

from __future__ import annotations

import getpass
import os
import re
from dataclasses import dataclass

import psycopg
from psycopg import conninfo as _conninfo

from gpcatalog.errors import CatalogError


def as_conninfo(text: str) -> str:
    """A bare word is a database's name, as psql has it.

    >>> as_conninfo("sales"), as_conninfo("host=mdw dbname=sales")
    ('dbname=sales', 'host=mdw dbname=sales')
    """
    if text and "=" not in text and "://" not in text:
        return _conninfo.make_conninfo("", dbname=text)
    return text


@dataclass(frozen=True)
class Target:
    """Host, port and database as libpq would take them; host is empty for a local socket."""

    host: str
    port: str
    database: str


def target(conninfo: str) -> Target:
    """The target of a connection string and libpq's environment; service files are not read.

    Raises CatalogError (2) when the string is none.
    """
    try:
        params = _conninfo.conninfo_to_dict(as_conninfo(conninfo))
    except psycopg.ProgrammingError as e:
        said = "" if "password" in conninfo else ": " + re.sub(r"\s+", " ", str(e)).strip()
        raise CatalogError(f"not a connection string{said}") from None
    user = str(params.get("user") or os.environ.get("PGUSER") or getpass.getuser())
    return Target(
        str(params.get("host") or os.environ.get("PGHOST") or params.get("hostaddr") or ""),
        str(params.get("port") or os.environ.get("PGPORT") or "5432"),
        str(params.get("dbname") or os.environ.get("PGDATABASE") or user),
    )
