"""What must never be shown: passwords in connection strings, and in what is said about them."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "********"
# the URI's own rule ends a password at the first @; one that was not encoded may hold more of them,
# and spaces
_URI = re.compile(r"(\b[a-z][a-z0-9+.-]*:/{1,2}[^\s:/@]*:)[^\n]*@", re.IGNORECASE)
_WORD = re.compile(r"(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)
_SECRET = ("password", "sslpassword", "sslkey", "passfile", "oauth_client_secret")


def masked(text: str) -> str:
    """`text` without the passwords of connection strings in it.

    >>> masked("no such file: postgresql://u:pa@ss@mdw/sales"), masked("extra arguments (port=1 password=s3kret)")
    ('no such file: postgresql://u:********@mdw/sales', 'extra arguments (port=1 password=********')
    """
    return _WORD.sub(rf"\g<1>{MASK}", _URI.sub(rf"\g<1>{MASK}@", text))


def without(text: str, params: Mapping[str, object]) -> str:
    """`text` without the values of a connection's secret parameters, and masked."""
    for key in _SECRET:
        value = str(params.get(key) or "")
        if value:
            text = text.replace(value, MASK)
    return masked(text)


class MaskedSecret:
    """A text stream that masks what is written to it, and is the stream beneath in all else."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    @property
    def unmasked(self) -> object:
        """The stream beneath, for text whose parts are masked already."""
        return self._stream

    def write(self, text: str) -> int:
        """Write it masked; returns the length of what was to be written."""
        self._stream.write(masked(text))  # type: ignore[attr-defined]
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
