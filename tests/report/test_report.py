"""The page and the metrics: complete without external resources, small, and safe from names that contain markup."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import psycopg
import pytest
import typer
from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families as textfile
from typer.testing import CliRunner

from gpcatalog.commands.common import complete
from gpcatalog.commands.plan import plan as plan_command
from gpcatalog.commands.report import metrics as metrics_command
from gpcatalog.commands.report import report as report_command
from gpcatalog.emit import html as html_module
from gpcatalog.emit import metrics
from gpcatalog.emit.html_parts import prose, table
from gpcatalog.emit.spark import spark
from gpcatalog.emit.svg import Bar, bars, cut, nice
from gpcatalog.errors import CatalogError
from gpcatalog.lab import synthetic
from gpcatalog.planner import plan_file
from gpcatalog.services.audits import audit_snapshot
from gpcatalog.store.snapshot import Snapshot
from tests import program
from tests.conftest import fresh_database
from tests.growth import made

FIXTURE = Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog"
app = typer.Typer()
app.command("report")(complete(report_command))
app.command("metrics")(complete(metrics_command))
plan_app = typer.Typer()
plan_app.command()(complete(plan_command))

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "it's", "\x1b[31mred", "line\nbreak", "back\\slash", '"quoted"',
    "</style><b>", "]]>", "{x}", "‮rtl", "日本", "%s", "x" * 63,
]  # fmt: skip
VOID = {"meta", "input", "br", "circle", "path", "polyline", "polygon", "rect"}


class Page(HTMLParser):
    """Elements of a page, its external links, event handlers and texts."""

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
            inside = name == "href" and (value or "").startswith("#")
            if name in ("src", "href", "xlink:href", "srcset", "action") and not inside:
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
    return made.write(path, made.SnapshotSpec(tables=tables, database="<b>sales</b>"))


def page_of(*words: str) -> str:
    result = CliRunner().invoke(app, ["report", *words, "--html", "-"])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


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
    """Every element that must be closed is closed, in order. HTML allows unclosed cells and rows."""
    made.series(tmp_path, 8)
    text = page_of("--folder", str(tmp_path))
    left_open = {"td", "th", "tr", "tbody", "thead", "tfoot", "p", "li", "dt", "dd"}
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
    for expected in (
        "70 leaves added, 5 dropped",
        "Segments of different size",
        "Forecast of partitions",
        "Theil–Sen",
        "published: 100 ms",
    ):
        assert expected in words
    assert text.index('class="verdict') < text.index("<svg")
    assert text.count("<svg") >= 6
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


def test_large_page_contains_all_tables(tmp_path: Path) -> None:
    """All of 10,000 tables are in the page; tables beyond its size limit are summed up in the last row."""
    tables = [
        made.Table(f"t{n:05}", 100_000 + 10 * n, range(1), schema="sales") for n in range(10_000)
    ]
    path = made.write(tmp_path / "l.gpcatalog", made.SnapshotSpec(tables=tables, segments=60))
    text = page_of("--snapshot", str(path))
    assert len(text.encode()) < 1_500_000
    assert len(set(re.findall(r"<th scope=row>(sales\.t\d{5})<td", text))) == 10_000
    assert "10,000 tables in descending order of catalog rows." in text
    assert "more tables together" not in text


def test_size_of_the_page_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcatalog.emit.html_tables.TABLES_BYTES", 50_000)
    tables = [
        made.Table("t" * 50 + f"{n:05}", 100_000 + 10 * n, range(2), schema="s" * 60)
        for n in range(1000)
    ]
    path = made.write(tmp_path / "l.gpcatalog", made.SnapshotSpec(tables=tables, segments=60))
    text = page_of("--snapshot", str(path))
    assert len(text.encode()) < 150_000
    assert "more tables together" in text
    assert "with fewer catalog rows are left out" in text


def test_backticks_become_code_elements() -> None:
    text = page_of("--snapshot", str(FIXTURE))
    body = text[text.index("<body>") : text.index("<script>")]
    assert "`" not in body
    assert "<code>gpcatalog plan</code>" in body
    assert prose("`a<b` and a ` alone") == "<code>a&lt;b</code> and a ` alone"


def test_every_table_has_heads_and_a_label(tmp_path: Path) -> None:
    made.series(tmp_path, 8)
    for text in (page_of("--folder", str(tmp_path)), page_of("--snapshot", str(FIXTURE))):
        for opening, rows in re.findall(r"<table([^>]*)>(.*?)</table>", text, re.DOTALL):
            assert 'aria-label="' in opening
            heads, body = rows.split("<tbody>")
            assert heads.count("<th ") == heads.count("<th scope=col") > 1
            assert body.count("<tr") == body.count("<th scope=row>") > 0
            assert "<th scope=col><" not in heads  # no header without text
        assert len(re.findall("<svg", text)) == len(re.findall("<summary>Numbers of", text))
        assert "title=" not in text.replace("<title>", "")
        anchors = re.findall(r'<a href="#([^"]+)"', text)
        assert len(anchors) > 6
        assert all(text.count(f'<section id="{anchor}"') == 1 for anchor in anchors)
        assert '<a class=skip href="#main">' in text


def luminance(color: str) -> float:
    """Relative luminance of a color such as #fff or #16191d, as defined by WCAG."""
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * d for d in digits)
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_contrast_of_colors(mode: str) -> None:
    """The contrast of text and series on both backgrounds is at least 4.5:1, that of borders of controls 3:1."""
    assert round(contrast("#000", "#fff"), 2) == 21
    style = Path(html_module.__file__).with_name("page.css").read_text()
    light, dark = re.findall(r":root{(--paper:[^}]*)}", style)
    colors = dict(re.findall(r"--([a-z]+):(#[0-9a-f]{3,6})", light if mode == "light" else dark))
    assert set("abcdef") | {"ink", "dim", "bad", "warn", "ok", "edge", "line"} <= set(colors)
    for background in ("paper", "soft"):
        for name in (*"abcdef", "ink", "dim", "bad", "warn", "ok"):
            found = contrast(colors[name], colors[background])
            assert found >= 4.5, (mode, name, background, round(found, 2))
        assert contrast(colors["edge"], colors[background]) >= 3


def test_postgresql_page_has_no_figures_of_greenplum(tmp_path: Path) -> None:
    tables = [made.Table(f"t{n}", 20_000 + 100 * n, range(9), storage="heap") for n in range(3)]
    path = made.write(tmp_path / "p.gpcatalog", made.SnapshotSpec(tables=tables, generation="pg15"))
    # the text about the basis of the plan is written by the planner
    text = re.sub(r"<summary>Basis.*?</details>", "", page_of("--snapshot", str(path)))
    words = "".join(Page(text[text.index("<body>") :]).words)
    for wrong in (
        *("ao_column", "ao_row", "segment", "coordinator", "all instances", "Data Sapience"),
        *("Files by storage", "Catalog size by instance", "content ID", "column-oriented"),
    ):
        assert wrong not in words, wrong


def test_page_shows_what_a_plan_would_change(tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "s.gpcatalog",
        [
            synthetic.Spec(name=name, leaves=540, start=date(2025, 1, 1), bytes=size << 20)
            for name, size in (("small", 1), ("large", 500), ("<script>alert(1)</script>", 2))
        ],
    )
    text = page_of("--snapshot", str(path))
    words = "".join(Page(text).words)
    for expected in (
        "Leaves, catalog rows and files by bytes rewritten",
        "Tables that lose most leaves",
        "Tables before and after the plan",
        "recent (hot_days)",
    ):
        assert expected in words
    assert "<script>alert" not in text
    planned = CliRunner().invoke(plan_app, ["--snapshot", str(path), "--format", "json"])
    plan = plan_file.read(planned.stdout)
    assert f"{plan.effort.merges} merges" in words
    assert len(re.findall(r"<polyline class=.line [acd]", text)) >= 3
    # a policy is applied, and an invalid policy is reported
    rules = tmp_path / "p.toml"
    rules.write_text("[default]\nskip = true\n")
    assert "Nothing to do: the plan changes no table." in "".join(
        Page(page_of("--snapshot", str(path), "--policy", str(rules))).words
    )
    rules.write_text("[default]\nskipp = true\n")
    failed = CliRunner().invoke(
        app, ["report", "--snapshot", str(path), "--html", "-", "--policy", str(rules)]
    )
    assert isinstance(failed.exception, CatalogError)
    bare = made.write(
        tmp_path / "b.gpcatalog",
        made.SnapshotSpec(tables=[made.Table("plain", 5000, range(0))], segments=2),
    )
    assert "No plan: " in "".join(Page(page_of("--snapshot", str(bare))).words)


def test_pruned_snapshot_has_a_page(tmp_path: Path) -> None:
    from gpcatalog.store.prune import totals_only

    path = made.series(tmp_path, 1)[0]
    assert totals_only(path)
    assert "public.orders" in page_of("--snapshot", str(path))


def test_report_is_complete_or_absent(tmp_path: Path) -> None:
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


def test_metrics_parse(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["metrics", "--snapshot", str(hostile(tmp_path / "h.gpcatalog"))]
    )
    assert result.exit_code == 0, result.exception
    families = {f.name: f for f in textfile(result.stdout)}
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
                made.SnapshotSpec(
                    tables=[made.Table(f"t{n}", 20000 + 100 * n, range(5)) for n in range(tables)]
                ),
            )
        text = (
            CliRunner().invoke(app, ["metrics", "--snapshot", str(path), "--top", str(top)]).stdout
        )
        return sum(len(f.samples) for f in textfile(text))

    assert count(20, 5) == count(200, 5)
    assert count(200, 5) - count(200, 0) == 5 * (3 + 4)  # 3 of a table, 4 of its statements


def test_metrics_tell_every_file() -> None:
    fixture = Path(__file__).parent.parent.parent / "fixtures/greenplum6.gpcatalog"
    samples = {
        f.name: f.samples
        for f in textfile(CliRunner().invoke(app, ["metrics", "--snapshot", str(fixture)]).stdout)
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
        assert sum(sample.value for sample in samples[family]) == counted, family


def test_what_was_not_read_has_no_metric() -> None:
    """If no session holds the horizon, the metric is 0 transactions; if sessions could not be read, there is no metric."""
    report = audit_snapshot(FIXTURE)
    (found,) = [c for c in report.coverage if c.probe == "horizon"]
    for status, lines in (("read", 1), ("denied", 0)):
        coverage = tuple(
            structs.replace(c, status=status) if c is found else c for c in report.coverage
        )
        text = metrics.text_format(
            [metrics.of_report(structs.replace(report, coverage=coverage, holders=()), [])]
        )
        assert len(re.findall(r"^gpcatalog_horizon_transactions\{", text, re.M)) == lines


def test_metrics_of_two_servers_lie_side_by_side(tmp_path: Path) -> None:
    """A textfile collector rejects a sample if two files contain it with the same labels."""
    text = (
        CliRunner().invoke(app, ["metrics", "--snapshot", str(made.series(tmp_path, 1)[0])]).stdout
    )
    samples = [s for f in textfile(text) for s in f.samples]
    assert {s.labels["server"] for s in samples} == {"mdw:5432"}
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)


def test_metrics_file_is_complete(tmp_path: Path) -> None:
    path = made.series(tmp_path / "s", 1)[0]
    target = tmp_path / "gpcatalog.prom"
    assert (
        CliRunner().invoke(app, ["metrics", "--snapshot", str(path), "--to", str(target)]).exit_code
        == 0
    )
    assert target.read_text().endswith("\n")
    assert target.stat().st_mode & 0o044 == 0o044 or target.stat().st_mode & 0o777 == 0o600


def test_live_metrics_and_page(pg_dsn: str) -> None:
    result = CliRunner().invoke(app, ["metrics", pg_dsn])
    assert result.exit_code == 0, result.exception
    names = {f.name for f in textfile(result.stdout)}
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


def test_tables_say_how_many_rows_they_leave_out() -> None:
    rows = [(f"r{n}", str(n)) for n in range(120)]
    cut = table(("name", "n"), rows, label="cut", budget=1000)
    shown = cut.count("<th scope=row>r")
    assert 0 < shown < 120
    assert f"{120 - shown} more, left out here: --format json has all" in cut.replace("\u00a0", " ")
    assert "more," not in table(("name", "n"), rows, label="whole")


@pytest.mark.parametrize("command", [("metrics",), ("report", "--html", "-")])
@pytest.mark.parametrize(
    ("limits", "status"), [(("1", "60"), "timed out"), (("60", "0.1"), "busy")]
)
def test_time_limits_of_statements_and_locks(
    pg_dsn: str, command: tuple[str, ...], limits: tuple[str, str], status: str
) -> None:
    statement, lock = limits
    dsn = fresh_database(pg_dsn, "limits")
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        result = program.run(
            *command, dsn, "--no-store", "--statement-timeout", statement, "--lock-timeout", lock
        )
    found = result.stdout.replace("\xa0", " ")
    assert result.returncode == 0, result.stderr
    assert {one for one in ("timed out", "busy") if re.search(f'(=l>|status="){one}', found)} == {
        status
    }
