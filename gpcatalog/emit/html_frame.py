"""The frame of an HTML page: head, style sheet, script, and a content security policy that allows
nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from gpcatalog.emit.html_parts import link
from gpcatalog.emit.svg import safe


def part(name: str) -> str:
    """Read a style sheet or a script of the package."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def contents(links: Sequence[tuple[str, str]], label: str) -> str:
    """A navigation list of links (text, address); empty without links."""
    if not links:
        return ""
    items = "".join(
        f'<li><a href="{safe(to)}">{safe(text)}</a>'
        if to.startswith("#")
        else f"<li>{link(text, to)}"
        for text, to in links
    )
    return f"<nav aria-label={label}><ul>{items}</ul></nav>"


def document(title: str, body: str, script: str, *, data: Sequence[str] = ()) -> str:
    """Return a page that contains the style sheet and the script.

    data: scripts of the site that are loaded after this one, as relative paths; the page loads
    nothing else.
    """
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = " 'self'" if data else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'{own};"
        " base-uri 'none'; form-action 'none'"
    )
    loaded = "".join(f'<script src="{safe(quote(path))}"></script>' for path in data)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{safe(title)}</title><style>{part('page.css')}</style></head>"
        f"<body>{body}<script>{script}</script>{loaded}</body></html>\n"
    )
