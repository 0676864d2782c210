"""The data of the pages of a site: scripts that pass lists to the script of the page.

A page that is opened from a file may load scripts from the same folder, but no other data. Control
characters in names are escaped as on the pages; the script of the page adds names as text, never as
HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from gpcatalog.growth.points import Point, Root
from gpcatalog.growth.result import Growth
from gpcatalog.model.names import json_safe, printable

# maximum number of tables in the data of a database, those with the most catalog rows: about 8 MB
TABLES_KEPT = 100_000


def as_script(function: str, data: object) -> str:
    r"""A script that calls a function of the page with data.

    >>> as_script("tables", ["</script>"])
    'gpcatalog.tables(["\\u003c/script>"]);\n'
    """
    text = json_safe(msgspec.json.encode(data).decode()).replace("<", "\\u003c")
    return f"gpcatalog.{function}({text});\n"


def _rows(root: Root) -> int:
    return root.class_rows + root.attribute_rows


def tables_script(place: str, page: str, roots: Mapping[int, Root]) -> str:
    """All tables of a database for the search.

    place: its cluster and name; page: address of its page, relative to the search page
    """
    tables = sorted(roots.values(), key=lambda r: (-_rows(r), r.schema, r.name))
    return as_script(
        "tables",
        {
            "place": printable(place),
            "page": page,
            "left_out": max(0, len(tables) - TABLES_KEPT),
            "tables": [
                [
                    printable(f"{r.schema}.{r.name}"),
                    r.storage,
                    r.leaves,
                    _rows(r),
                    r.files,
                    r.bytes,
                ]
                for r in tables[:TABLES_KEPT]
            ],
        },
    )


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def stamps(points: Sequence[Point]) -> list[str]:
    """The times of the snapshots as unique texts.

    >>> _unique(["a", "b", "a", "a"])
    ['a', 'b', 'a (2)', 'a (3)']
    """
    return _unique([_stamp(p.taken_at) for p in points])


def _unique(texts: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    out = []
    for text in texts:
        seen[text] = seen.get(text, 0) + 1
        out.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return out


def _tables(points: Sequence[Point]) -> list[tuple[Root, list[list[int | None]]]]:
    """Each table with its figures at each change: [snapshot, leaves, rows, files, bytes], or
    [snapshot] if it no longer exists.
    """

    def figures(at: int, root: Root | None) -> list[int | None]:
        return [at] if root is None else [at, root.leaves, _rows(root), root.files, root.bytes]

    names: dict[int, Root] = dict(points[0].roots)
    found = {oid: [figures(0, root)] for oid, root in names.items()}
    for at, point in enumerate(points[1:], 1):
        for oid, (_, now) in point.changes.items():
            found.setdefault(oid, []).append(figures(at, now))
            if now is not None:
                names[oid] = now
    every = [(names[oid], steps) for oid, steps in found.items()]
    return sorted(every, key=lambda t: (-_rows(t[0]), t[0].schema, t[0].name))


def _catalogs(points: Sequence[Point]) -> list[tuple[str, int, list[list[int | None]]]]:
    """Each catalog of each instance at each change: [snapshot, rows, bytes], or [snapshot]."""
    found: dict[tuple[str, int], list[list[int | None]]] = {}
    for at, point in enumerate(points):
        now: dict[tuple[str, int], list[int | None]] = {
            (relation, content): [catalog.rows, catalog.bytes]
            for (content, relation), catalog in point.held.items()
        }
        for key in (*found, *(key for key in now if key not in found)):
            steps = found.setdefault(key, [])
            figures = now.get(key, [])
            if (steps[-1][1:] if steps else []) != figures:
                steps.append([at, *figures])
    return [(relation, content, steps) for (relation, content), steps in sorted(found.items())]


def history_script(growth: Growth, points: Sequence[Point]) -> str:
    """All figures of a series, for the comparison of any two snapshots."""
    tables = _tables(points)
    data: dict[str, Any] = {
        "times": stamps(points),
        "greenplum": any(p.contents and p.contents[-1] >= 0 for p in points),
        "series": [[s.what, s.unit, s.values] for s in growth.series],
        "left_out": max(0, len(tables) - TABLES_KEPT),
        "tables": [
            [printable(r.schema), printable(f"{r.schema}.{r.name}"), steps]
            for r, steps in tables[:TABLES_KEPT]
        ],
        "catalogs": [
            [printable(relation), content, steps] for relation, content, steps in _catalogs(points)
        ],
    }
    return as_script("history", data)
