"""Text of databases without an encoding (SQL_ASCII), whose names can contain any bytes."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Buffer, Loader

from gpcatalog.model.names import UNDECODED

if TYPE_CHECKING:
    from psycopg import Connection

NO_ENCODING = "SQL_ASCII"
_TYPES = ("text", "varchar", "bpchar", "name", '"char"')


def _as_digits(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    found = error.object[error.start : error.end]
    return "".join(f"{UNDECODED}{byte:02x}" for byte in found), error.end


codecs.register_error("gpcatalog-digits", _as_digits)


def decoded(data: bytes) -> str:
    """Decode UTF-8; every invalid byte becomes U+FFFD and its two hexadecimal digits.

    >>> decoded(b"caf\\xc3\\xa9"), decoded(b"caf\\xe9")
    ('café', 'caf\ufffde9')
    """
    return data.decode("utf-8", "gpcatalog-digits")


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return decoded(bytes(data))


def without_encoding(conn: Connection[Any]) -> bool:
    """Whether the database has no encoding: the server then sends bytes without conversion."""
    return conn.info.parameter_status("server_encoding") == NO_ENCODING


def take_bytes(conn: Connection[Any]) -> None:
    """Make a connection to a database without an encoding return text as `decoded` does.

    Raises psycopg.Error.
    """
    conn.execute(b"SET client_encoding = 'SQL_ASCII'")
    for name in _TYPES:
        conn.adapters.register_loader(name, _TextLoader)
