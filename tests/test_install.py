"""Manual pages and the container image; CI builds the wheel, the source distribution and the single file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpcatalog.emit.man import ENVIRONMENT, Page, Parameter, roff
from gpcatalog.errors import EXIT_TEXTS
from tests.conftest import missing, program
from tests.test_cli import one_message, run
from tests.test_containers import engine_answers
from tests.test_readme import _commands, root_command

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The manual pages of all commands, as texts by file name."""
    folder = tmp_path_factory.mktemp("man1")
    result = run("man", "--folder", str(folder))
    assert result.returncode == 0, result.stderr
    return {p.name: p.read_text() for p in folder.iterdir()}


def test_every_command_has_a_page(pages: dict[str, str]) -> None:
    names = {f"gpcatalog-{name.replace(' ', '-')}.1" for name, _ in _commands()}
    assert names < set(pages)
    assert "gpcatalog.1" in pages
    assert "fleet-worker" not in "".join(pages.values())


def test_a_page_is_the_help(pages: dict[str, str]) -> None:
    """The manual page contains every option with its text, and the example."""
    root: Any = root_command()
    for name, _ in _commands():
        command = root
        for word in name.split():
            command = command.commands[word]
        text = pages[f"gpcatalog-{name.replace(' ', '-')}.1"].replace("\\-", "-")
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                if option.startswith("-"):
                    assert f"\\fB{option}\\fR" in text, (name, option)
            assert " ".join((parameter.help or "").split()).replace("\\", "\\e") in text
        assert f".nf\ngpcatalog {name}" in text, name
    assert run("man", "snapshot", "take").stdout == pages["gpcatalog-snapshot-take.1"]


def test_groff_has_no_warning(pages: dict[str, str]) -> None:
    groff = program("groff", "groff-base")
    for name, text in pages.items():
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z"],
            input=text,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), name


def test_text_is_never_a_request() -> None:
    """A help text that begins with a dot or contains a backslash is not a roff request."""
    hostile = ".so /etc/passwd\n'sy x \\n(.x --y"
    page = Page(
        name="gpcatalog x",
        help=f"First.\n\n{hostile}",
        parameters=(
            Parameter(
                names=("-x",), metavar="", help=".ab", default="", required=False, argument=False
            ),
        ),
        children=(),
    )
    known = {".TH", ".SH", ".PP", ".TP", ".nf", ".fi"}
    requests = {line.split()[0] for line in roff(page, "1").splitlines() if line[:1] in (".", "'")}
    assert requests <= known


def test_one_fact_in_one_place() -> None:
    """Exit codes and variables are the same as in the documentation."""

    def table(page: Path, heading: str) -> dict[str, str]:
        part = page.read_text().split(f"## {heading}")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (.+?) \| (.+) \|$", part.replace("\\|", "¦"), re.M)
        plain = [(a.replace("`", ""), b.replace("`", "").replace("¦", "|")) for a, b in rows]
        return dict(plain[2:])

    assert table(ROOT / "README.md", "Exit codes") == EXIT_TEXTS
    assert table(ROOT / "docs/operations.md", "Environment variables") == ENVIRONMENT


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (("no", "such"), "there is no command 'no such'"),
        (("audit", "--folder", "x"), "--folder writes all pages"),
    ],
)
def test_wrong_calls(words: tuple[str, ...], pattern: str) -> None:
    one_message(run("man", *words), 2, pattern)


def test_the_image_is_built() -> None:
    why = engine_answers()
    if why:
        missing("docker", why)
    build = ["docker", "build", "-q", "-f", "Containerfile", "-t", "gpcatalog-test", str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT)
    result = subprocess.run(
        ["docker", "run", "--rm", "gpcatalog-test", "--version"], capture_output=True, text=True
    )
    assert result.stdout.startswith("gpcatalog ")


@pytest.mark.parametrize(
    "start", [["-m", "gpcatalog"], [str(ROOT / "gpcatalog/__main__.py")]], ids=["module", "file"]
)
def test_completion_is_for_gpcatalog_however_it_was_started(
    start: list[str], tmp_path: Path
) -> None:
    """A completion for `python -m gpcatalog` would be registered for every `python`."""
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }

    def called(*words: str) -> str:
        return subprocess.run(
            [sys.executable, *start, *words], capture_output=True, text=True, check=True, env=env
        ).stdout

    shown = called("--show-completion", "bash")
    assert shown.splitlines()[-1] == "complete -o default -F _gpcatalog_completion gpcatalog"
    assert "_GPCATALOG_COMPLETE=complete_bash" in shown
    called("--install-completion", "bash")
    assert [f.name for f in (tmp_path / ".bash_completions").iterdir()] == ["gpcatalog.sh"]
    bash = subprocess.run(
        ["bash", "--norc", "-c", "source ~/.bashrc; complete -p"], capture_output=True, text=True, check=True, env=env
    )  # fmt: skip
    assert bash.stdout == "complete -o default -F _gpcatalog_completion gpcatalog\n"
    env |= {
        "_GPCATALOG_COMPLETE": "complete_bash",
        "COMP_WORDS": "gpcatalog doc",
        "COMP_CWORD": "1",
    }
    assert called() == "doctor\n"
