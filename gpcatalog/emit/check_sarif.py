"""Output of the check as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from gpcatalog import __version__
from gpcatalog.check.report import CheckReport, LocatedFinding
from gpcatalog.check.rules import PARTS, every, page
from gpcatalog.model.finding import Severity
from gpcatalog.model.names import json_safe

_LEVEL = {
    Severity.CRITICAL: "error",
    Severity.WARNING: "warning",
    Severity.NOTICE: "note",
    Severity.INFO: "note",
}


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def fingerprint(found: LocatedFinding) -> str:
    """A fingerprint from rule, file, title and the text of the line: it does not change if lines
    move.
    """
    text = "\0".join(
        (found.finding.rule, found.file, found.finding.title, found.source_line.strip())
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _rule(name: str) -> dict[str, Any]:
    parts = page(name)
    return {
        "id": name,
        "shortDescription": {"text": parts[""]},
        "fullDescription": {"text": parts.get("What it finds", parts[""])},
        "help": {"text": "\n".join(f"{part}: {parts[part]}" for part in PARTS if part in parts)},
    }


def _result(found: LocatedFinding, numbers: dict[str, int], seen: dict[str, int]) -> dict[str, Any]:
    finding = found.finding
    mark = fingerprint(found)
    seen[mark] = seen.get(mark, 0) + 1
    end_column = found.end_column
    if found.end_line == found.line and end_column <= found.column:
        end_column = found.column + 1
    return {
        "ruleId": finding.rule,
        "ruleIndex": numbers[finding.rule],
        "level": _LEVEL[finding.severity],
        "message": {"text": f"{finding.title}. {finding.detail}. {finding.remedy}."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(found.file)},
                    "region": {
                        "startLine": found.line,
                        "startColumn": found.column,
                        "endLine": found.end_line,
                        "endColumn": end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {"gpcatalogCheck/v1": f"{mark}:{seen[mark]}"},
        "properties": {"severity": finding.severity.word, "confidence": finding.confidence.value},
    }


def pieces(report: CheckReport) -> Iterator[str]:
    """One run with all rules and results, as text in pieces; one line per result."""
    names = sorted(every())
    numbers = {name: i for i, name in enumerate(names)}
    seen: dict[str, int] = {}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gpcatalog",
                        "version": __version__,
                        "rules": [_rule(name) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [],
            }
        ],
    }
    head, empty, tail = json_safe(json.dumps(log, ensure_ascii=False, indent=1)).rpartition(
        '"results": []'
    )
    yield head + empty[:-1]
    for n, found in enumerate(report.findings):
        yield f"{',' if n else ''}\n    " + json_safe(
            json.dumps(_result(found, numbers, seen), ensure_ascii=False)
        )
    yield ("\n   ]" if report.findings else "]") + tail + "\n"


def render(report: CheckReport) -> str:
    """The whole text."""
    return "".join(pieces(report))
