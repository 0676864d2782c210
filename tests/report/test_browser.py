"""The page in a real browser: widths, colors, keyboard, sorting, searching and print.

Skipped if there is no Chromium. `UPDATE_REFERENCE=1` writes the reference of the screenshots again.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpcatalog.lab import synthetic
from tests.growth import made
from tests.report.devtools import browser
from tests.report.test_report import FIXTURE, page_of

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
HERE = Path(__file__).parent
REFERENCE = HERE / "screenshot_blocks.json"
WIDTHS = (390, 820, 1440)
NARROWEST = 500  # minimum width of a Chromium window: narrower pages are shown in a frame
HEIGHT = 1200  # of a screenshot, in pixels
BLOCKS = (12, 24)  # a screenshot is reduced to columns and rows of mean luminance
TEXT_CONTRAST = 4.5  # WCAG 2.2, level AA

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.turns,
]


def chromium(profile: Path, *words: str) -> str:
    """Run headless Chromium and return its standard output."""
    assert CHROMIUM
    options = (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
    )
    done = subprocess.run(
        [CHROMIUM, *options, f"--user-data-dir={profile}", *words],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout


def scheme(dark: bool) -> str:
    return f"--blink-settings=preferredColorScheme={0 if dark else 1}"


@dataclass
class Pages:
    """Pages on disk by name, and a browser profile."""

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.html"

    @property
    def profile(self) -> Path:
        return self.folder / "profile"

    def probe(self, name: str, width: int, *, dark: bool = False, more: str = "") -> dict[str, Any]:
        """Results of page_probe.js on a copy of the page without its content security policy.

        more: a script that adds further results
        """
        text = self.path(name).read_text()
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        probe = (HERE / "page_probe.js").read_text() + more + (HERE / "page_result.js").read_text()
        script = f'<script>addEventListener("load", () => {{{probe}}});</script>'
        text = text.replace("</body>", script + "</body>")
        if width < NARROWEST:
            frame = f'width={width} height=900 style="border:0" srcdoc="{html.escape(text)}"'
            style = "<style>:root{color-scheme:light dark}</style>"
            text = f"<!doctype html><meta charset=utf-8>{style}<body><iframe {frame}></iframe>"
        copy = self.folder / f"{name}-probe.html"
        copy.write_text(text)
        result: dict[str, Any] = {}
        for _ in range(5):  # under load, a window may get the focus too late
            dom = chromium(
                self.profile,
                scheme(dark),
                f"--window-size={width},900",
                "--dump-dom",
                copy.as_uri(),
            )
            found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.DOTALL)
            assert found, dom[-2000:]
            result = json.loads(html.unescape(found[1]))
            if result["focused"]:
                break
        return result

    def screenshot(self, name: str, width: int, *, dark: bool) -> Path:
        to = self.folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        chromium(
            self.profile, scheme(dark), f"--window-size={width},{HEIGHT}", f"--screenshot={to}",
            self.path(name).as_uri(),
        )  # fmt: skip
        return to

    def pdf(self, name: str) -> Path:
        to = self.folder / f"{name}.pdf"
        chromium(
            self.profile, "--no-pdf-header-footer", f"--print-to-pdf={to}", self.path(name).as_uri()
        )
        return to

    def pdf_without_scripts(self, name: str) -> Path:
        assert CHROMIUM
        with browser(CHROMIUM, self.profile) as found:
            found.open(self.path(name).as_uri(), scripts=False)
            return found.pdf(self.folder / f"{name}-without-scripts.pdf")


def series_with_plan(folder: Path) -> str:
    path = synthetic.write(
        folder / "s.gpcatalog",
        [
            synthetic.Spec(name=name, leaves=540, start=date(2025, 1, 1), bytes=size << 20)
            for name, size in (("small", 1), ("a_table_with_a_name_of_some_length", 500))
        ],
    )
    return page_of("--snapshot", str(path))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("pages")
    made.series(folder / "series", 8)
    heap = [
        made.Table(f"t{n:03}", 20_000 + 100 * n, range(9), storage="heap", schema="s" * 40)
        for n in range(300)
    ]
    wide = [made.Table("w" * 63, 20_000, range(3), schema="<b>" * 21)]
    snapshots = {
        "postgresql": made.SnapshotSpec(tables=heap, generation="pg15"),
        "wide": made.SnapshotSpec(tables=wide, segments=8),
    }
    texts = {
        "fixture": page_of("--snapshot", str(FIXTURE)),
        "series": page_of("--folder", str(folder / "series")),
        "plan": series_with_plan(folder),
    }
    for name, snapshot in snapshots.items():
        path = made.write(folder / f"{name}.gpcatalog", snapshot)
        texts[name] = page_of("--snapshot", str(path))
    found = Pages(folder)
    for name, text in texts.items():
        found.path(name).write_text(text)
    yield found
    shutil.rmtree(found.profile, ignore_errors=True)


# --- layout, contrast and keyboard ----------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["fixture", "series", "plan", "postgresql", "wide"])
def test_layout(pages: Pages, name: str, width: int) -> None:
    """Nothing is wider than the window, and no text is broken letter by letter or cut off."""
    found = pages.probe(name, width, dark=width == 820)
    assert found["width"] == width
    assert found["overflow"] <= 0
    assert not found["narrow"]
    assert not found["clipped"]
    assert found["smallest"] >= 12.5
    assert found["titles"] == 0
    assert found["operable"] > 10
    assert not found["unreachable"]
    assert found["contrast"][0][0] >= TEXT_CONTRAST, found["contrast"]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(pages: Pages, dark: bool) -> None:
    for name in ("fixture", "series", "plan"):
        lowest = pages.probe(name, 1440, dark=dark)["contrast"]
        assert lowest[0][0] >= TEXT_CONTRAST, lowest


def test_sort_and_search(pages: Pages) -> None:
    found = pages.probe("postgresql", 820)
    assert found["heads"]
    assert (found["rows"], found["shown"]) == (300, 100)
    assert found["up"] == ["ascending", f"{'s' * 40}.t000"]
    assert found["down"] == ["descending", f"{'s' * 40}.t299"]
    assert found["searchable"]
    expected, names, status = found["found"]
    assert names == [expected]
    assert status == "1 of 300 rows"
    assert found["turned"][0] != found["turned"][1]
    assert found["turned"][2] == "Rows 101 to 200 of 300"
    assert found["milliseconds"] < 1000


def test_policy_lets_the_script_run(pages: Pages) -> None:
    """The unchanged page with its content security policy: the script has prepared the tables."""
    dom = chromium(pages.profile, "--dump-dom", pages.path("postgresql").as_uri())
    assert re.search(r'<table id="tables" class="sortable[^"]* ready"', dom)
    assert re.search(r"<th scope=\"col\"[^>]*><button type=\"button\">table</button>", dom)


# --- screenshots ----------------------------------------------------------------------------------


def luminances(path: Path) -> tuple[int, list[bytearray]]:
    """Width of a PNG file with 8 bits per channel, and the luminance of each pixel by row."""
    data = path.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    channels = {2: 3, 6: 4}[kind]
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    raw, size = zlib.decompress(packed), width * channels
    before = bytearray(size)
    out = []
    for y in range(height):
        method, *_ = raw[y * (size + 1) : y * (size + 1) + 1]
        line = bytearray(raw[y * (size + 1) + 1 : (y + 1) * (size + 1)])
        unfilter(method, line, before, channels)
        out.append(
            bytearray(
                (299 * r + 587 * g + 114 * b) // 1000
                for r, g, b in zip(
                    line[0::channels], line[1::channels], line[2::channels], strict=True
                )
            )
        )
        before = line
    return width, out


def unfilter(method: int, line: bytearray, before: bytearray, step: int) -> None:
    """Undo the filter of one line of a PNG file, in place."""
    for i in range(len(line)) if method else ():
        left = line[i - step] if i >= step else 0
        above = before[i]
        if method == 1:
            guess = left
        elif method == 2:
            guess = above
        elif method == 3:
            guess = (left + above) // 2
        else:
            corner = before[i - step] if i >= step else 0
            p = left + above - corner
            near = min((abs(p - left), 0), (abs(p - above), 1), (abs(p - corner), 2))[1]
            guess = (left, above, corner)[near]
        line[i] = (line[i] + guess) & 255


def blocks(rows: list[bytearray]) -> list[list[int]]:
    """Mean luminance of the blocks of a screenshot."""
    across, down = BLOCKS
    width, height = len(rows[0]), len(rows)
    out = []
    for y in range(down):
        band = rows[y * height // down : (y + 1) * height // down]
        sums = []
        for x in range(across):
            low, high = x * width // across, (x + 1) * width // across
            sums.append(round(sum(sum(r[low:high]) for r in band) / (len(band) * (high - low))))
        out.append(sums)
    return out


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_screenshot(pages: Pages, width: int, dark: bool) -> None:
    """The top of the page has its size, its background, and about the same areas as the reference.

    The tolerance allows other fonts.
    """
    found, rows = luminances(pages.screenshot("fixture", width, dark=dark))
    assert (found, len(rows)) == (width, HEIGHT)
    assert rows[2][2] < 40 if dark else rows[2][2] > 240
    seen = blocks(rows)
    key = f"{width} {'dark' if dark else 'light'}"
    known = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    if os.environ.get("UPDATE_REFERENCE"):
        REFERENCE.write_text(json.dumps(known | {key: seen}, indent=None) + "\n")
        return
    differences = [
        abs(a - b)
        for row, other in zip(seen, known[key], strict=True)
        for a, b in zip(row, other, strict=True)
    ]
    assert sum(differences) / len(differences) < 14
    assert sum(d > 60 for d in differences) < len(differences) / 20


# --- print ----------------------------------------------------------------------------------------

POPPLER = shutil.which("pdftotext") is not None and shutil.which("pdftoppm") is not None


def words_of(pdf: Path) -> str:
    return subprocess.run(
        ["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True
    ).stdout


def filled(pdf: Path) -> list[float]:
    """The printed part of each page, as a share of its height from the top."""
    subprocess.run(
        ["pdftoppm", "-r", "20", "-gray", str(pdf), str(pdf.with_suffix(""))], check=True
    )
    out = []
    for picture in sorted(pdf.parent.glob(f"{pdf.stem}-*.pgm")):
        data = picture.read_bytes()
        _, width, height, _ = data.split(maxsplit=4)[:4]
        columns, lines = int(width), int(height)
        pixels = data[-columns * lines :]
        printed = [y for y in range(lines) if min(pixels[y * columns : (y + 1) * columns]) < 200]
        out.append((printed[-1] + 1) / lines if printed else 0.0)
    return out


@pytest.mark.skipif(not POPPLER, reason="no poppler")
@pytest.mark.parametrize("name", ["fixture", "series", "plan"])
def test_print(pages: Pages, name: str) -> None:
    """Each page except the last is at least 60 % full, and no controls are printed."""
    pdf = pages.pdf(name)
    shares = filled(pdf)
    assert 2 < len(shares) < 9
    assert min(shares[:-1]) > 0.6, shares
    words = words_of(pdf)
    for wrong in ("Search", "Previous", "Skip to", "Numbers of this chart"):
        assert wrong not in words


@pytest.mark.skipif(not POPPLER, reason="no poppler")
@pytest.mark.parametrize("script", [True, False])
def test_long_tables_print_in_full(pages: Pages, script: bool) -> None:
    """All rows are printed, including those on other pages of the table; the table headers are repeated."""
    words = words_of(pages.pdf("postgresql") if script else pages.pdf_without_scripts("postgresql"))
    joined = re.sub(r"\s", "", words)
    assert {f"t{n:03}" for n in range(300)} <= set(re.findall(r"t\d{3}", joined))
    assert len(re.findall(r"storage +leaves", words)) >= 3
