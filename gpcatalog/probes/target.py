"""The server and database that a user means, determined without a connection."""

from __future__ import annotations

import getpass
import os
import re
from dataclasses import dataclass

import psycopg
from psycopg import conninfo as _conninfo

from gpcatalog.errors import CatalogError


def as_conninfo(text: str) -> str:
    """Convert a bare word to a database name, as psql does.

    >>> as_conninfo("sales"), as_conninfo("host=mdw dbname=sales")
    ('dbname=sales', 'host=mdw dbname=sales')
    """
    if text and "=" not in text and "://" not in text:
        return _conninfo.make_conninfo("", dbname=text)
    return text


def of_database(conninfo: str, name: str) -> str:
    """Return the connection string with another database.

    >>> of_database("host=mdw dbname=postgres", "sales")
    'dbname=sales host=mdw'
    """
    return _conninfo.make_conninfo(as_conninfo(conninfo), dbname=name)


# Messages of libpq about an invalid connection string, and the same without quoting it: a part of
# it could be part of a password
_WRONG = (
    (r"percent-encoded", "% must be followed by two hexadecimal digits; write % itself as %25"),
    (r"unexpected spaces", "write a space in a URI as %20"),
    (r"%00", "it contains a zero byte"),
    (r'missing "="', "a parameter has no = sign"),
    (r"unterminated quoted", "a quotation mark is not closed"),
    (r"IPv6", "write an IPv6 address in brackets"),
)
_HINT = 'use a form that psql accepts: "host=… port=… dbname=…", postgresql://…, or a database name'


def parameters(conninfo: str, **overrides: str) -> dict[str, str]:
    """The parameters of a connection string.

    Raises CatalogError (2); its message contains no text that could be part of a password.
    """
    text = as_conninfo(conninfo)
    try:
        params = _conninfo.conninfo_to_dict(text, **overrides)
    except psycopg.ProgrammingError as e:
        message = re.sub(r"\s+", " ", str(e)).strip()
        secret = "password" in text.lower() or "@" in text
        reason = next(
            (known for pattern, known in _WRONG if re.search(pattern, message)),
            "" if secret else message,
        )
        raise CatalogError(
            "not a connection string" + (f": {reason}" if reason else ""), hint=_HINT
        ) from None
    except UnicodeError:
        raise CatalogError("not a connection string: it is not valid UTF-8", hint=_HINT) from None
    uri = re.match(r"postgres(?:ql)?://([^?]*)", text)
    user, at, place = uri[1].partition("@") if uri else ("", "", "")
    if at and ("@" in place or "/" in user):
        raise CatalogError(
            "not a connection string: an @ or / in a user, password or database",
            hint="write @ as %40 and / as %2F",
        )
    port = str(params.get("port") or "")
    if not re.fullmatch(r"[\d,\s]*", port):
        raise CatalogError("not a connection string: the port is not a number", hint=_HINT)
    return {key: str(value) for key, value in params.items() if value is not None}


@dataclass(frozen=True)
class Target:
    """Host, port and database as libpq would use them; host is empty for a local socket."""

    host: str
    port: str
    database: str


def _of_service(name: str) -> dict[str, str]:
    """The parameters of a service in the service file, read by libpq. Empty if the service does not
    exist.
    """
    before = os.environ.get("PGSERVICE")
    os.environ["PGSERVICE"] = name
    try:
        found = psycopg.pq.Conninfo.get_defaults()
    finally:
        if before is None:
            del os.environ["PGSERVICE"]
        else:
            os.environ["PGSERVICE"] = before
    return {o.keyword.decode(): o.val.decode() for o in found if o.val}


def target(conninfo: str) -> Target:
    """Return the target of a connection string, its service and libpq's environment.

    Raises CatalogError (2) for an invalid connection string.
    """
    params = parameters(conninfo)
    service = params.get("service") or os.environ.get("PGSERVICE")
    if service:
        params = _of_service(service) | params
    user = str(params.get("user") or os.environ.get("PGUSER") or getpass.getuser())
    return Target(
        str(params.get("host") or os.environ.get("PGHOST") or params.get("hostaddr") or ""),
        str(params.get("port") or os.environ.get("PGPORT") or "5432"),
        str(params.get("dbname") or os.environ.get("PGDATABASE") or user),
    )
