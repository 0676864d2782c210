"""The page of a site that searches the tables of all databases."""

from __future__ import annotations

from collections.abc import Sequence

from gpcatalog.emit.html_frame import contents, document, part
from gpcatalog.model.quantity import plural


def page(scripts: Sequence[str], links: Sequence[tuple[str, str]]) -> str:
    """The search page. scripts: the tables of each database, as paths relative to the page."""
    body = (
        '<a class=skip href="#main">Skip to the search</a>'
        f"<header>{contents(links, 'Site')}<h1>Search all tables</h1></header>"
        "<main id=main tabindex=-1><div class=tools><label>Search tables, databases and storage"
        " <input type=search autocomplete=off disabled></label></div>"
        "<p class=dim>A table is found if its row contains all words. Files and size are those of"
        " all segments; catalog rows are those of pg_class and pg_attribute on each instance."
        " Partitions are counted for their table.</p><p id=note class=dim></p>"
        f"<div id=rows data-databases={len(scripts)}><noscript><p>The search needs JavaScript."
        " The page of each database has a list of its tables.</p></noscript></div></main>"
        f"<footer>{plural(len(scripts), 'database')}, newest snapshot of each.</footer>"
    )
    script = f'"use strict";\n{part("rows.js")}{part("search.js")}'
    return document("Search all tables · gpcatalog", body, script, data=scripts)
