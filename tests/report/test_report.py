"""The page and the metrics: whole without anything outside, small, and no name of a stranger's breaks out of them."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as textfile
from typer.testing import CliRunner

from gpcatalog.commands.plan import plan as plan_command
from gpcatalog.commands.report import metrics as metrics_command
from gpcatalog.commands.report import report as report_command
from gpcatalog.emit.spark import spark
from gpcatalog.emit.svg import Bar, bars, cut, nice
from gpcatalog.errors import CatalogError
from gpcatalog.lab import synthetic
from gpcatalog.planner import plan_file
from gpcatalog.store.snapshot import Snapshot
from tests.growth import made

app = typer.Typer()
app.command("report")(report_command)
app.command("metrics")(metrics_command)
plan_app = typer.Typer()
plan_app.command()(plan_command)

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "it's", "\x1b[31mred", "line\nbreak", "back\\slash", '"quoted"',
    "</style><b>", "]]>", "{x}", "‮rtl", "日本", "%s", "x" * 63,
]  # fmt: skip
VOID = {"meta", "input", "br", "circle", "path", "polyline", "polygon", "rect"}


class Page(HTMLParser):
    """Elements of a page, its links to the outside, event handlers and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []
        self.handlers: list[str] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.within = tag
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.outside.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        (self.scripts if self.within == "script" else self.words).append(data)


def hostile(path: Path) -> Path:
    tables = [
        made.Table(name, 20000 + 100 * n, range(3), schema=name) for n, name in enumerate(HOSTILE)
    ]
    return made.write(path, made.Made(tables=tables, database="<b>sales</b>"))


def page_of(*words: str) -> str:
    said = CliRunner().invoke(app, ["report", *words, "--html", "-"])
    assert said.exit_code == 0, (said.output, said.exception)
    return said.stdout


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    text = page_of("--snapshot", str(hostile(tmp_path / "h.gpcatalog")))
    page = Page(text)
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "link", "b>", "object"} & set(page.tags)
    assert not page.outside
    assert not page.handlers
    assert not re.search(r"url\(|@import|https?:", text)
    words = "".join(page.words)
    for name in (
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "a&b",
        "日本",
        "%s",
    ):
        assert f"{name}.{name}" in words
    assert "\\x1b[31mred" in words
    assert "\x1b" not in text
    assert "‮" not in text


def test_only_its_own_script_may_run(tmp_path: Path) -> None:
    text = page_of("--snapshot", str(hostile(tmp_path / "h.gpcatalog")))
    (script,) = Page(text).scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_elements_are_closed(tmp_path: Path) -> None:
    """Every element that must be closed is, in order; HTML itself lets cells and rows go unclosed."""
    made.series(tmp_path, 8)
    text = page_of("--folder", str(tmp_path))
    left_open = {"td", "th", "tr", "tbody", "thead", "tfoot", "p"}
    stack: list[str] = []

    class Nesting(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in VOID | left_open:
                stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in VOID | left_open:
                assert stack.pop() == tag

    Nesting().feed(text)
    assert not stack


def test_page_of_a_series(tmp_path: Path) -> None:
    made.series(tmp_path, 8)
    text = page_of("--folder", str(tmp_path))
    words = "".join(Page(text).words)
    for wanted in (
        "leaves added 70, dropped 5",
        "Diverging segments",
        "Where do the partitions go?",
        "Theil–Sen",
        "published: 100 ms",
    ):
        assert wanted in words
    assert text.index('class="verdict') < text.index("<svg")
    assert text.count("<svg") >= 6
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


def test_large_page_stays_small(tmp_path: Path) -> None:
    tables = [
        made.Table("t" * 50 + f"{n:05}", 100_000 + 10 * n, range(2), schema="s" * 60)
        for n in range(3000)
    ]
    text = page_of(
        "--snapshot",
        str(made.write(tmp_path / "l.gpcatalog", made.Made(tables=tables, segments=60))),
    )
    assert len(text.encode()) < 500_000
    assert "smaller tables together" in text


def test_page_tells_what_a_plan_would_change(tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "s.gpcatalog",
        [
            synthetic.Spec(name=name, leaves=540, start=date(2025, 1, 1), bytes=size << 20)
            for name, size in (("small", 1), ("large", 500), ("<script>alert(1)</script>", 2))
        ],
    )
    text = page_of("--snapshot", str(path))
    words = "".join(Page(text).words)
    for wanted in (
        "What does rewriting buy?",
        "Which tables lose most leaves?",
        "Before and after, table by table",
        "inside the hot window",
    ):
        assert wanted in words
    assert "<script>alert" not in text
    planned = CliRunner().invoke(plan_app, ["--snapshot", str(path), "--format", "json"])
    told = plan_file.read(planned.stdout)
    assert f"{told.effort.merges} merges" in words
    assert len(re.findall(r"<polyline class=.line [acd]", text)) >= 3
    # a policy is heeded, and a wrong one is told
    rules = tmp_path / "p.toml"
    rules.write_text("[default]\nskip = true\n")
    assert "nothing to do" in "".join(
        Page(page_of("--snapshot", str(path), "--policy", str(rules))).words
    )
    rules.write_text("[default]\nskipp = true\n")
    failed = CliRunner().invoke(
        app, ["report", "--snapshot", str(path), "--html", "-", "--policy", str(rules)]
    )
    assert isinstance(failed.exception, CatalogError)
    bare = made.write(
        tmp_path / "b.gpcatalog",
        made.Made(tables=[made.Table("plain", 5000, range(0))], segments=2),
    )
    assert "No plan: " in "".join(Page(page_of("--snapshot", str(bare))).words)


def test_pruned_snapshot_has_a_page(tmp_path: Path) -> None:
    from gpcatalog.store.prune import totals_only

    path = made.series(tmp_path, 1)[0]
    assert totals_only(path)
    assert "public.orders" in page_of("--snapshot", str(path))


def test_report_is_whole_or_not_there(tmp_path: Path) -> None:
    path = made.series(tmp_path / "s", 1)[0]
    target = tmp_path / "page.html"
    assert (
        CliRunner()
        .invoke(app, ["report", "--snapshot", str(path), "--html", str(target)])
        .exit_code
        == 0
    )
    assert target.read_text().endswith("</html>\n")
    failed = CliRunner().invoke(
        app, ["report", "--snapshot", str(path), "--html", str(tmp_path / "no" / "page.html")]
    )
    assert isinstance(failed.exception, CatalogError)
    assert isinstance(
        CliRunner().invoke(app, ["report", "--snapshot", str(path)]).exception, CatalogError
    )
    assert [p.name for p in tmp_path.iterdir()] == ["s", "page.html"] or sorted(
        p.name for p in tmp_path.iterdir()
    ) == ["page.html", "s"]


@pytest.mark.parametrize("parser", [openmetrics, textfile])
def test_metrics_parse(parser: object, tmp_path: Path) -> None:
    said = CliRunner().invoke(
        app, ["metrics", "--snapshot", str(hostile(tmp_path / "h.gpcatalog"))]
    )
    assert said.exit_code == 0, said.exception
    assert said.stdout.endswith("# EOF\n")
    families = {f.name: f for f in parser(said.stdout)}  # type: ignore[operator]
    assert families["gpcatalog_leaves"].samples[0].value == 3 * len(HOSTILE)
    tables = {s.labels["table"] for s in families["gpcatalog_table_leaves"].samples}
    assert '"quoted"' in tables or "</style><b>" in tables
    assert families["gpcatalog_catalog_bytes"].samples


def test_series_do_not_grow_with_tables(tmp_path: Path) -> None:
    def count(tables: int, top: int) -> int:
        path = tmp_path / f"{tables}.gpcatalog"
        if not path.exists():
            made.write(
                path,
                made.Made(
                    tables=[made.Table(f"t{n}", 20000 + 100 * n, range(5)) for n in range(tables)]
                ),
            )
        text = (
            CliRunner().invoke(app, ["metrics", "--snapshot", str(path), "--top", str(top)]).stdout
        )
        return sum(len(f.samples) for f in openmetrics(text))

    assert count(20, 5) == count(200, 5)
    assert count(200, 5) - count(200, 0) == 10


def test_metrics_tell_every_file() -> None:
    fixture = Path(__file__).parent.parent.parent / "fixtures/greenplum6.gpcatalog"
    said = {
        f.name: f.samples
        for f in openmetrics(
            CliRunner().invoke(app, ["metrics", "--snapshot", str(fixture)]).stdout
        )
    }
    with Snapshot(fixture) as snapshot:
        counted = snapshot.one(
            "SELECT sum(files)::BIGINT AS n FROM file_total WHERE basis = 'directory'"
        )["n"]
    for family in (
        "gpcatalog_files",
        "gpcatalog_instance_files",
        "gpcatalog_files_by_size",
        "gpcatalog_host_files",
    ):
        assert sum(sample.value for sample in said[family]) == counted, family


def test_metrics_of_two_servers_lie_side_by_side(tmp_path: Path) -> None:
    """A textfile collector refuses a sample that two files have with the same labels."""
    text = (
        CliRunner().invoke(app, ["metrics", "--snapshot", str(made.series(tmp_path, 1)[0])]).stdout
    )
    samples = [s for f in openmetrics(text) for s in f.samples]
    assert {s.labels["server"] for s in samples} == {"mdw:5432"}
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)


def test_metrics_file_is_whole(tmp_path: Path) -> None:
    path = made.series(tmp_path / "s", 1)[0]
    target = tmp_path / "gpcatalog.prom"
    assert (
        CliRunner().invoke(app, ["metrics", "--snapshot", str(path), "--to", str(target)]).exit_code
        == 0
    )
    assert target.read_text().endswith("# EOF\n")
    assert target.stat().st_mode & 0o044 == 0o044 or target.stat().st_mode & 0o777 == 0o600


def test_live_metrics_and_page(pg_dsn: str) -> None:
    said = CliRunner().invoke(app, ["metrics", pg_dsn])
    assert said.exit_code == 0, said.exception
    names = {f.name for f in openmetrics(said.stdout)}
    assert {
        "gpcatalog_latency_seconds",
        "gpcatalog_catalog_rows_written",
        "gpcatalog_limit_ratio",
    } <= names
    assert "<svg" in page_of(pg_dsn, "--no-store")


def test_svg_pieces() -> None:
    assert nice(0) == [0.0, 1.0]
    assert nice(999)[-1] >= 999
    assert len(cut("x" * 100, 20)) == 20
    chart = bars("a <b>", [Bar("<i>", ((1.0, "a"), (0.0, "b")), "1 & 2")])
    assert "<i>" not in chart
    assert "1 &amp; 2" in chart
    assert bars("none", []) == ""
    assert spark(range(100), 10)[-1] == "█"
