"""Text for terminals whose encoding is not Unicode: signs are replaced by ASCII characters."""

from __future__ import annotations

import codecs
from typing import TextIO

ERRORS = "gpcatalog-plain"
_SPELLED = {
    "…": "...", "→": "->", "×": "x", "·": "-", "≤": "<=", "≥": ">=", "–": "-", "—": "-", "−": "-", "▸": ">", "⁹": "^9",
    "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*", "█": "#", "\N{REPLACEMENT CHARACTER}": "?",
}  # fmt: skip


def _spell(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end]
    return "".join(plain(char) for char in found), error.end


def plain(char: str) -> str:
    r"""A character in ASCII: a known sign by its replacement, others as Python escapes.

    >>> plain("≤"), plain("é"), plain("日")
    ('<=', '\\xe9', '\\u65e5')
    """
    return _SPELLED.get(char) or char.encode("ascii", "backslashreplace").decode()


codecs.register_error(ERRORS, _spell)


def spelled_out(stream: TextIO) -> None:
    """Make a stream replace characters that its encoding does not have, instead of failing
    half-way.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=ERRORS)


def is_unicode(stream: TextIO) -> bool:
    """Whether a stream can write every character unchanged."""
    name = str(getattr(stream, "encoding", None) or "utf-8")
    return codecs.lookup(name).name.startswith("utf")
