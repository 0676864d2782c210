"""Mask what must never be shown: passwords in connection strings and in messages about them."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "********"
# By the rules of URIs, a password ends at the first @. A password that was not encoded may contain
# more of them, and spaces.
_URI = re.compile(r"(\b[a-z][a-z0-9+.-]*:/{1,2}[^\s:/@]*:)[^\n]*@", re.IGNORECASE)
_WORD = re.compile(r"(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)
_SECRET = ("password", "sslpassword", "sslkey", "passfile", "oauth_client_secret")


def masked(text: str) -> str:
    """Return `text` with the passwords of connection strings masked.

    >>> masked("no such file: postgresql://u:pa@ss@mdw/sales"), masked("extra arguments (port=1 password=s3kret)")
    ('no such file: postgresql://u:********@mdw/sales', 'extra arguments (port=1 password=********')
    """
    return _WORD.sub(rf"\g<1>{MASK}", _URI.sub(rf"\g<1>{MASK}@", text))


def without(text: str, params: Mapping[str, object]) -> str:
    """Return `text` with passwords and the values of a connection's secret parameters masked."""
    for key in _SECRET:
        value = str(params.get(key) or "")
        if value:
            text = text.replace(value, MASK)
    return masked(text)


class MaskedSecret:
    """A text stream that masks passwords in written text; all other calls are passed to its
    stream.
    """

    def __init__(self, stream: object) -> None:
        self._stream = stream

    @property
    def unmasked(self) -> object:
        """The stream without masking, for text whose parts are already masked."""
        return self._stream

    def write(self, text: str) -> int:
        """Write the masked text; returns the length of the original text."""
        self._stream.write(masked(text))  # type: ignore[attr-defined]
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
