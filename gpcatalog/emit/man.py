"""Manual pages in the man(7) format, from the help of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpcatalog.errors import EXIT_TEXTS

SUMMARY = "analyze catalog bloat of Greenplum and PostgreSQL, and plan partitions"
# as in docs/operations.md; a test compares both
ENVIRONMENT = {
    "GPCATALOG_HOME": "folder of the snapshots",
    "GPCATALOG_DEBUG": "1 prints the traceback of an internal error",
    "GPCATALOG_PG_BIN": "folder of the PostgreSQL programs for --demo and lab",
    "PGHOST, PGPORT, PGDATABASE, PGUSER, …": "connection, as for psql",
    "NO_COLOR": "no color in the output",
}
FILES = {
    "~/.local/share/gpcatalog": "snapshots, one folder per database",
    "~/.config/gpcatalog/gpcatalog.toml": "fleet file; /etc/xdg/gpcatalog/gpcatalog.toml for all",
    "~/.pgpass, ~/.pg_service.conf": "passwords and services, as for psql",
}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """An option or argument. names: as on the command line; metavar: its value, empty for a
    flag.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    default: str
    required: bool
    argument: bool


@dataclass(frozen=True, kw_only=True)
class Page:
    """The contents of a page. name: words of the command; children: subcommands with their
    summary.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    children: tuple[tuple[str, str], ...]

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.name.replace(" ", "-") + ".1"


def escaped(text: str) -> str:
    r"""Text for roff: without requests and escapes, and with hyphens that can be copied.

    >>> print(escaped("a\\b --all"))
    a\eb \-\-all
    >>> print(escaped(".TH"))
    \&.TH
    >>> print(escaped("PGHOST, …"))
    PGHOST, \[u2026]
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    plain = re.sub(r"[^\x00-\x7f]", lambda m: f"\\[u{ord(m.group()):04X}]", plain)
    return re.sub(r"^(?=[.'])", r"\\&", plain, flags=re.M)


def _paragraphs(text: str) -> list[str]:
    """Paragraphs of a help text, without the marker that keeps lines together."""
    found = []
    for part in text.replace("\b", "").strip().split("\n\n"):
        words = " ".join(part.replace("\\\n", " ").split())
        if words:
            found.append(words)
    return found


def _synopsis(page: Page) -> str:
    words = [f"\\fB{escaped(page.name)}\\fR"]
    if page.children:
        return " ".join([*words, "\\fICOMMAND\\fR"])
    if any(not p.argument for p in page.parameters):
        words.append("[\\fIOPTION\\fR]...")
    words += [
        f"\\fI{escaped(p.metavar)}\\fR" if p.required else f"[\\fI{escaped(p.metavar)}\\fR]"
        for p in page.parameters
        if p.argument
    ]
    return " ".join(words)


def _parameters(parameters: Sequence[Parameter]) -> Iterator[str]:
    for p in parameters:
        if p.argument:
            head = f"\\fI{escaped(p.metavar)}\\fR"
        else:
            names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in p.names)
            head = names + (f" \\fI{escaped(p.metavar)}\\fR" if p.metavar else "")
        yield ".TP"
        yield head
        default = f" Default: {p.default}." if p.default else ""
        yield escaped((p.help or "") + default) or "\\&"


def _listed(entries: dict[str, str]) -> Iterator[str]:
    for name, text in entries.items():
        yield ".TP"
        yield f"\\fB{escaped(name)}\\fR"
        yield escaped(text)


def roff(page: Page, version: str) -> str:
    """The page of one command in roff format."""
    paragraphs = _paragraphs(page.help)
    examples = [p.removeprefix("Example: ") for p in paragraphs if p.startswith("Example: ")]
    prose = [p for p in paragraphs if not p.startswith("Example: ")]
    root = " " not in page.name
    summary = SUMMARY if root else prose[0].rstrip(".")
    title = page.name.replace(" ", "-")
    lines = [
        f'.TH "{escaped(title.upper())}" 1 "" "gpcatalog {escaped(version)}" "gpcatalog"',
        ".SH NAME",
        f"{escaped(title)} \\- {escaped(summary[:1].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        _synopsis(page),
        ".SH DESCRIPTION",
    ]
    for n, paragraph in enumerate(prose):
        lines += [".PP"] * (n > 0) + [escaped(paragraph)]
    if page.children:
        lines.append(".SH COMMANDS")
        lines += _listed(dict(page.children))
    if page.parameters:
        lines.append(".SH OPTIONS")
        lines += _parameters(page.parameters)
    if examples:
        lines.append(".SH EXAMPLES")
        for example in examples:
            lines += [".nf", escaped(example), ".fi"]
    lines.append(".SH EXIT STATUS")
    lines += _listed(EXIT_TEXTS)
    if root:
        lines.append(".SH ENVIRONMENT")
        lines += _listed(ENVIRONMENT)
        lines.append(".SH FILES")
        lines += _listed(FILES)
    else:
        lines += [".SH SEE ALSO", "\\fBgpcatalog\\fR(1)"]
    return "\n".join(lines) + "\n"
