"""The pages of the site in a real browser: layout, search, sorting, comparison, print, as files and on a web server."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.emit.growth_text import amount, signed
from gpcatalog.store.snapshot import Snapshot
from tests.report.test_browser import (
    CHROMIUM,
    POPPLER,
    TEXT_CONTRAST,
    WIDTHS,
    Pages,
    words_of,
)
from tests.web import serving

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.turns,
]
PROBE = (Path(__file__).parent / "site_probe.js").read_text()
SALES = "clusters/mdw-5432/sales"
NAMES = ["index", "search", f"{SALES}/history", f"{SALES}/index", "clusters/crm-5432/one/history"]


@pytest.fixture(scope="module")
def pages(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPCATALOG_HOME", str(prepared))
        patch.setenv("XDG_CONFIG_HOME", str(folder.parent / "none"))
        patch.setenv("XDG_CONFIG_DIRS", str(folder.parent / "none"))
        CliRunner().invoke(app, ["site", "-o", str(folder)])
    yield Pages(folder)
    shutil.rmtree(folder / "profile", ignore_errors=True)


def probe(pages: Pages, name: str, *, words: list[str] | None = None, views: Any = ()) -> Any:
    """Results of site_probe.js on a page, with these searches or comparisons."""
    given = f"const WORDS = {json.dumps(words or [])}, VIEWS = {json.dumps(list(views))};"
    return pages.probe(name, 1440, more=given + PROBE)


# --- layout and errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_layout(pages: Pages, name: str, width: int) -> None:
    """Nothing is wider than the window, all text is legible, and all controls can be reached with the keyboard."""
    found = pages.probe(name, width, dark=width == 820)
    assert found["width"] == width
    assert found["overflow"] <= 0
    assert not found["narrow"]
    assert not found["clipped"]
    assert (found["smallest"] or 99) >= 12.5
    assert found["operable"] > 3
    assert not found["unreachable"]
    assert found["contrast"][0][0] >= TEXT_CONTRAST, found["contrast"]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Start a web server for a folder, and return its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with serving(handler) as port:
        yield f"http://127.0.0.1:{port}"


def opened(profile: Path, address: str) -> tuple[str, list[str]]:
    """The DOM of an unchanged page, and the messages on the browser's console."""
    assert CHROMIUM
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={profile}", "--dump-dom", address],
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("web", [False, True], ids=["files", "web server"])
def test_the_pages_as_they_are(pages: Pages, tmp_path: Path, web: bool) -> None:
    """With the content security policies of the pages, scripts and data are loaded, and the console is empty."""
    with contextlib.ExitStack() as stack:
        base = pages.folder.as_uri()
        if web:  # in a subfolder of the web server
            above = tmp_path / "above"
            above.mkdir()
            (above / "a b").symlink_to(pages.folder)
            base = stack.enter_context(served(above)) + "/a%20b"
        search, errors = opened(pages.profile, f"{base}/search.html#q=mdw%20orders")
        assert not errors
        assert re.search(r"<th scope=\"row\">sales\.orders</th>", search)
        assert ">crm-5432/crm<" not in search
        history, errors = opened(
            pages.profile,
            f"{base}/{SALES}/history.html#compare=2026-01-01%2006:00,2026-01-02%2006:00,schemas",
        )
        assert not errors
        assert ">staging</th>" in history
        for name in ("index.html", f"{SALES}/index.html"):
            dom, errors = opened(pages.profile, f"{base}/{name}")
            assert not errors
            assert re.search(r'<table[^>]* class="[^"]*\bready\b', dom)


def test_a_policy_that_is_broken_is_noticed(pages: Pages) -> None:
    """The check for an empty console can fail: a script with another text is blocked."""
    path = pages.folder / "broken.html"
    path.write_text(pages.path("search").read_text().replace('"use strict";', '"use strict"; ', 1))
    dom, errors = opened(pages.profile, path.as_uri())
    path.unlink()
    assert any("Content Security Policy" in line for line in errors)
    assert "sales.orders" not in dom


def test_nothing_of_a_name_is_markup(pages: Pages) -> None:
    """Names of a database and a table that look like markup are text in all pages."""
    found = probe(pages, "search", words=["alert(1)"])
    (row,) = found["search"]["words"]["alert(1)"]["rows"]
    assert row[0] == "we;ird`</.<script>alert(1)</script>\\u202e\"'&`x`"
    assert row[1] == "mdw-5432/a b'<x>\\u202e%"
    (folder,) = (p for p in (pages.folder / "clusters/mdw-5432").iterdir() if p.name[:4] == "a%20")
    for name in ("history", "index"):
        found, errors = opened(pages.profile, (folder / f"{name}.html").as_uri())
        assert not errors
        assert "<script>alert" not in found


# --- search ---------------------------------------------------------------------------------------


def test_search(pages: Pages) -> None:
    found = probe(pages, "search", words=["orders", "ORDERS mdw-5432/sales", "ao_row crm", "zzz"])
    search = found["search"]
    assert found["active"] == "INPUT"
    assert not search["note"]
    words = search["words"]
    assert {row[1] for row in words["orders"]["rows"]} == {
        "mdw-5432/sales", "mdw-5432/marketing", "mdw-5432/a b'<x>\\u202e%", "crm-5432/crm", "crm-5432/one",
    }  # fmt: skip
    assert [row[:3] for row in words["ORDERS mdw-5432/sales"]["rows"]] == [
        ["sales.orders", "mdw-5432/sales", "ao_column"]
    ]
    assert words["ORDERS mdw-5432/sales"]["status"] == "1 row"
    assert {(row[1][:3], row[2]) for row in words["ao_row crm"]["rows"]} == {("crm", "ao_row")}
    assert words["zzz"] == {"rows": [], "status": "0 rows", "took": words["zzz"]["took"]}
    assert (pages.folder / search["link"]).is_file()
    by = [s["order"] for s in search["sorted"]]
    assert by == ["ascending"] * 3 + ["descending"] * 4
    assert [s["again"] for s in search["sorted"]] == ["descending"] * 3 + ["ascending"] * 4
    leaves = search["sorted"][3]
    assert int(leaves["first"][3].replace(",", "")) > int(leaves["other"][3].replace(",", ""))


def test_a_missing_database_is_reported(pages: Pages, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pages.folder, copy, ignore=shutil.ignore_patterns("profile", "*-probe.html"))
    (copy / SALES / "tables.js").unlink()
    found = probe(Pages(copy), "search", words=["orders"])
    assert found["search"]["note"] == "The tables of 1 database could not be loaded."


# --- two snapshots --------------------------------------------------------------------------------


def tables_of(path: Path) -> dict[str, list[int]]:
    with Snapshot(path) as snapshot:
        return {
            f"{r['schema']}.{r['name']}": [
                int(r["leaves"]),
                int(r["class_rows"] + r["attribute_rows"]),
                int(r["files"]),
                int(r["bytes"]),
            ]
            for r in snapshot.rows("SELECT * FROM root_total")
        }


UNITS = ("leaves", "rows", "files", "bytes")


def expected(
    was: dict[str, list[int]], now: dict[str, list[int]], *, states: bool
) -> set[tuple[str, ...]]:
    """The rows of a comparison as text, computed from the tables of two snapshots."""
    rows = set()
    for name in was.keys() | now.keys():
        old, new = was.get(name, [0] * 4), now.get(name, [0] * 4)
        state = "" if name in was and name in now else " (dropped)" if name in was else " (new)"
        if old == new and not state:
            continue
        cells = [name + (state if states else "")]
        for unit, before, after in zip(UNITS, old, new, strict=True):
            cells += [amount(after, unit), signed(after - before, unit)]
        rows.add(tuple(cells))
    return rows


def shown(view: Any) -> set[tuple[str, ...]]:
    return {tuple(cell.replace("\u00a0", " ") for cell in row) for row in view["rows"]}


def test_two_snapshots_compared(pages: Pages, prepared: Path) -> None:
    """Compare any two snapshots: the page shows the figures of their files."""
    paths = sorted((prepared / "mdw-5432" / "sales").glob("*.gpcatalog"))
    pairs = [(0, 29), (0, 1), (1, 4), (13, 14), (29, 0), (7, 7)]
    views = [(a, b, what) for a, b in pairs for what in ("tables", "schemas", "catalogs", "totals")]
    found = probe(pages, f"{SALES}/history", views=views)["compare"]
    assert found["chosen"] == ["0", "29", "tables"]
    assert found["times"] == 30
    for view in found["views"]:
        old, new = (tables_of(paths[int(view[end])]) for end in ("one", "other"))
        if view["what"] == "tables":
            assert shown(view) == expected(old, new, states=True)
            by = [abs(int(row[4].replace(",", "").replace("+", ""))) for row in view["rows"]]
            assert by == sorted(by, reverse=True)
        elif view["what"] == "schemas":
            sums: list[dict[str, list[int]]] = []
            for tables in (old, new):
                schemas: dict[str, list[int]] = {}
                for name, figures in tables.items():
                    schema = name.split(".")[0]
                    before = schemas.get(schema, [0] * 4)
                    schemas[schema] = [a + b for a, b in zip(before, figures, strict=True)]
                sums.append(schemas)
            assert shown(view) == expected(*sums, states=True)
        assert ("Nothing differs." in view["note"]) == (
            view["one"] == view["other"] and view["what"] != "totals"
        )
        assert ("older" in view["note"]) == (view["one"] > view["other"])


def test_catalogs_and_totals_compared(pages: Pages, prepared: Path) -> None:
    found = probe(pages, f"{SALES}/history", views=[(0, 29, "catalogs"), (0, 29, "totals")])[
        "compare"
    ]
    catalogs, totals = found["views"]
    rows = {row[0]: row for row in map(list, shown(catalogs))}
    assert set(rows) == {
        f"{name}, {where}"
        for name in ("pg_class", "pg_attribute", "pg_type", "pg_depend")
        for where in ("coordinator", "segment 0", "segment 1", "segment 2")
    }
    # 10 MB, and 60 MB more on each day
    assert rows["pg_class, segment 1"][3:] == ["1.7 GB", "+1.7 GB"]
    sums = {row[0]: row for row in map(list, shown(totals))}
    newest = sorted((prepared / "mdw-5432" / "sales").glob("*.gpcatalog"))[-1]
    leaves = sum(figures[0] for figures in tables_of(newest).values())
    assert sums["leaf partitions"][1] == amount(leaves, "leaves")


# --- print ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not POPPLER, reason="no poppler")
@pytest.mark.parametrize("name", ["index", "search", f"{SALES}/history"])
def test_print(pages: Pages, name: str) -> None:
    """The selected content is printed, without controls."""
    words = words_of(pages.pdf(name))
    for wrong in ("Previous", "Skip to", "Numbers of this chart"):
        assert wrong not in words
    texts = {
        "index": ("mdw-5432/sales", "Limits by date", "crm-5432/bad"),
        "search": ("sales.orders", "dwh.new_table"),
        f"{SALES}/history": ("Forecast of partitions", "dwh.old_table (dropped)", "Growth"),
    }[name]
    for text in texts:
        assert text in words


@pytest.mark.skipif(not POPPLER, reason="no poppler")
def test_without_a_script(pages: Pages) -> None:
    """The overview and the growth are shown without scripts; parts that need a script state it."""
    for name, text in {
        "index": "Limits by date",
        "search": "The search needs JavaScript.",
        f"{SALES}/history": "The comparison needs JavaScript.",
    }.items():
        words = words_of(pages.pdf_without_scripts(name))
        assert text in words
