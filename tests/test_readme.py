"""The README and the pages of docs/ show the output of the program, and name only commands and options that exist."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TROUBLESHOOTING = ROOT / "docs/troubleshooting.md"
PAGES = [README, ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
OUTPUT = re.compile(r"(## Example output\n.*?\n```text\n)(.*?)(```)", re.S)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
OTHER_PROGRAMS = {"--property"}  # options in the text that belong to Liquibase


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 200


def test_the_example_output() -> None:
    """The example output is that of the recorded cluster; GPCATALOG_TEST_UPDATE=1 rewrites it."""
    golden = (ROOT / "fixtures/greenplum6.txt").read_text()
    shown = "\n".join(line.rstrip() for line in golden.splitlines()) + "\n"
    text = README.read_text()
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        README.write_text(OUTPUT.sub(lambda m: m[1] + shown + m[3], text))
        text = README.read_text()
    found = OUTPUT.search(text)
    assert found is not None
    assert found[2] == shown


def test_the_exit_codes_are_the_programs() -> None:
    from gpcatalog.errors import Exit

    table = README.read_text().split("## Exit codes")[1].split("##")[0]
    documented = {
        int(code)
        for line in table.splitlines()
        for code in re.findall(r"\b(\d+)\b", line.split("|")[1] if "|" in line else "")
    }
    assert {int(e) for e in Exit} <= documented


# --- commands and options ---------------------------------------------------------------------------


def root_command() -> Any:
    from typer.main import get_command

    from gpcatalog.cli import app

    return get_command(app)


def _commands() -> list[tuple[str, str]]:
    """Every command with the first line of its help."""

    def walk(group: Any, before: str) -> Iterator[tuple[str, str]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, f"{before}{name} ")
            elif not command.hidden:
                yield (
                    f"{before}{name}",
                    " ".join((command.help or "").strip().split("\n\n")[0].split()),
                )

    return list(walk(root_command(), ""))


def test_every_command_is_listed_as_its_page_says() -> None:
    """The table of commands contains the first line of each help page; GPCATALOG_TEST_UPDATE=1 rewrites the table."""
    table = "".join(f"| `{name}` | {line} |\n" for name, line in _commands())
    text = README.read_text()
    part = re.compile(r"(## Commands\n.*?\| command \| \|\n\| --- \| --- \|\n)(.*?)(\n## )", re.S)
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        README.write_text(part.sub(lambda m: m[1] + table + m[3], text))
        text = README.read_text()
    found = part.search(text)
    assert found is not None
    assert found[2] == table


def test_every_page_says_what_it_reads_and_gives_an_example() -> None:
    root: Any = root_command()
    for name, _ in _commands():
        command = root
        for word in name.split():
            command = command.commands[word]
        assert f"Example: gpcatalog {name}" in command.help, name
        assert len(command.help.split("\n\n")) >= 3, name
        for option in command.params:
            assert option.help, (name, option.name)


def command_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every `gpcatalog …` of a page, and whether it is complete: always in a code block, not always in a sentence."""
    for block in FENCE.finditer(text):
        if block[1] not in ("text", "toml", "sql"):
            for line in block[2].splitlines():
                yield from (
                    (m[1], True) for m in re.finditer(r"(?:^|[\s;&(])(gpcatalog\s.*)", line)
                )
    for code in re.findall(r"`(gpcatalog\s[^`]+)`", FENCE.sub("", text)):
        yield " ".join(code.split()), False


def arguments(line: str) -> list[str]:
    """The arguments of a command line after the program name, up to a pipe, redirection or comment."""
    lexer = shlex.shlex(line.replace("\\|", "|"), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    for word in list(lexer)[1:]:
        if word and set(word) <= set("|<>;&"):
            break
        found.append(word)
    return found


def refusal(line: str, complete: bool) -> str:
    """The reason why the program would reject this command line; empty if the program accepts it."""
    command: Any = root_command()
    words = arguments(line)
    name = "gpcatalog"
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if words[0] == "COMMAND":
            return ""
        name = words.pop(0)
        if name not in command.commands:
            return f"no command {name}"
        command = command.commands[name]
    if "--help" in words or (
        words and words[0] in {o for p in root_command().params for o in p.opts}
    ):
        return ""
    try:
        command.make_context(name, words)
    except Exception as e:
        if not hasattr(e, "format_message"):
            raise
        message: str = e.format_message()
        # in a sentence, arguments may be missing, and words in capitals are placeholders for values
        open_ended = type(e).__name__ == "MissingParameter" or re.search(
            r"'[A-Z]+' is not", message
        )
        return "" if open_ended and not complete else message
    return ""


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_command_lines_are_accepted(page: Path) -> None:
    """Commands, options and values of the page exist; CONNINFO and files are not opened."""
    wrong = {
        line: why
        for line, complete in command_lines(page.read_text())
        if (why := refusal(line, complete))
    }
    assert wrong == {}


def test_command_lines_are_found() -> None:
    found = [line for page in PAGES for line, _ in command_lines(page.read_text())]
    assert len(found) > 60
    assert any("--demo" in line for line in found)
    assert refusal("gpcatalog audit --no-such-option", True)
    assert refusal("gpcatalog no-such-command", False)
    assert refusal("gpcatalog plan --format xml", True)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_options_in_sentences_exist(page: Path) -> None:
    known: set[str] = {"--help"}
    root: Any = root_command()
    for name, _ in _commands():
        command = root
        for word in name.split():
            command = command.commands[word]
        known |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    known |= {o for p in root.params for o in (*p.opts, *p.secondary_opts)}
    named = set(re.findall(r"`(--[\w-]+)", FENCE.sub("", page.read_text())))
    assert named - known - OTHER_PROGRAMS == set()


# --- links ------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.M):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(plain.replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_resolve(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text()))
    broken = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_linked_from_the_readme() -> None:
    text = README.read_text()
    assert [p.name for p in PAGES[1:] if f"({page_id(p)})" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_lines_are_wrapped(page: Path) -> None:
    text = FENCE.sub(lambda m: "\n" * m[0].count("\n"), page.read_text())
    long = [
        line for line in text.splitlines() if len(line) > 140 and not line.startswith(("|", "    "))
    ]
    assert long == []


# --- tables of data ---------------------------------------------------------------------------------


def test_the_fault_table_is_the_tests() -> None:
    assert (ROOT / "fixtures/faults.md").read_text().strip() in TROUBLESHOOTING.read_text()


def keys_of_table(page: Path, heading: str) -> set[str]:
    """The names in the first column of the first table below a heading."""
    part = page.read_text().split(f"\n{heading}\n")[1]
    rows = re.search(r"\| --- .*\n((?:\|.*\n)+)", part)
    assert rows is not None
    return {
        key for row in rows[1].splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }


def test_every_key_of_a_policy_is_documented() -> None:
    from gpcatalog.planner.policy import Limits, Rule, Upkeep

    page, night = ROOT / "docs/plan.md", ROOT / "docs/upkeep.md"
    documented = keys_of_table(page, "## Policy") | keys_of_table(night, "## Policy")
    assert documented == {f.name for f in msgspec.structs.fields(Rule)}
    assert all(f"`{f.name}`" in night.read_text() for f in msgspec.structs.fields(Upkeep))
    assert all(f"`{f.name}`" in page.read_text() for f in msgspec.structs.fields(Limits))


def test_every_setting_of_the_check_is_documented() -> None:
    from gpcatalog.check.settings import Settings

    fields = {f.name for f in msgspec.structs.fields(Settings)}
    assert keys_of_table(ROOT / "docs/check.md", "## Settings") == fields


def test_every_key_of_a_fleet_is_documented() -> None:
    from gpcatalog.fleet import settings

    text = (ROOT / "docs/fleet.md").read_text()
    top, cluster = (
        set(re.findall(r"^\| `(\w+)` \|", part, re.M))
        for part in text.split("## A run")[0].split("| key of a cluster |")
    )
    assert top == {f.name for f in msgspec.structs.fields(settings.FleetFile)}
    assert cluster == {f.name for f in msgspec.structs.fields(settings.ClusterSettings)}


def test_settings_and_policies_shown_are_valid() -> None:
    from gpcatalog.check import settings
    from gpcatalog.planner import policy

    (shown,) = [
        m[2] for m in FENCE.finditer((ROOT / "docs/check.md").read_text()) if m[1] == "toml"
    ]
    assert settings.loads(shown, Path("gpcatalog.toml")) is not None
    from gpcatalog.fleet import settings as fleet

    (shown,) = [
        m[2] for m in FENCE.finditer((ROOT / "docs/fleet.md").read_text()) if m[1] == "toml"
    ]
    assert fleet.loads(shown, Path("gpcatalog.toml")).clusters
    (shown,) = [m[2] for m in FENCE.finditer((ROOT / "docs/plan.md").read_text()) if m[1] == "toml"]
    assert policy.loads(shown).table


def texts(file: Path) -> str:
    """All strings of a module, with the pieces of one literal joined, and a NUL character for each value in them."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.JoinedStr):
            found.append(
                "".join(v.value if isinstance(v, ast.Constant) else "\0" for v in node.values)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return "\n".join(found)


def test_the_messages_named_are_the_programs() -> None:
    """Each message of the troubleshooting table is, between its placeholders, a text of the program or of its scripts."""
    table = TROUBLESHOOTING.read_text().split("## Messages")[1].split("\n## ")[0]
    printed = "".join(texts(p) for p in sorted((ROOT / "gpcatalog").rglob("*.py")))
    printed += "".join(p.read_text() for p in sorted((ROOT / "sql").rglob("*.part")))
    named = [
        m
        for row in table.splitlines()
        if row.startswith("| `")
        for m in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]
    assert len(named) > 10
    for message in named:
        for piece in re.split(r"\s*…\s*", message):
            assert not piece or piece in printed, message


FREQUENT = {  # rules about the current moment: a daily audit can miss what they report
    "ddl-waits": "every 5 to 10 minutes",
    "lock-manager-waits": "every 5 to 10 minutes",
    "segment-down": "every 5 to 10 minutes",
    "catalog-horizon-held": "hourly",
    "premake-cover-low": "hourly",
}


def test_the_table_of_corrective_actions() -> None:
    """docs/monitoring.md contains each rule with its check interval and corrective action."""
    from gpcatalog.audit import rules

    lines = ["| rule | check | corrective action |", "| --- | --- | --- |"]
    for rule in rules.every():
        action = " ".join(rules.page(rule)["What to do"].split())
        lines.append(
            f"| `{rule}` | {FREQUENT.get(rule, 'daily')} | {action[0].upper()}{action[1:]} |"
        )
    assert set(FREQUENT) <= set(rules.every())
    page = ROOT / "docs/monitoring.md"
    text = page.read_text()
    head, mark, _ = text.partition("<!-- rules -->\n")
    expected = head + mark + "\n".join(lines) + "\n"
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        page.write_text(expected)
    assert page.read_text() == expected
