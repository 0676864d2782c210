"""Recorded migrations of tests on live servers: the plan, the answers of the server, and the resulting files.

With GPCATALOG_TEST_RECORD=1, every test of the modules named here stores its first migration in fixtures/recorded/migration/. The test
then ran these files on that server. Machines without the server check that the same plan and answers give the same files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpcatalog.migration.request import Mode, Request, Runner
from gpcatalog.planner import plan_file
from gpcatalog.planner.plan import Plan
from gpcatalog.probes.connection import Session
from gpcatalog.services.migrations import write_migration
from tests.probes.replay import Answers, RecordingSession, ReplaySession
from tests.recorded import FOLDER

RECORDINGS = FOLDER / "migration"
MODULES = (
    "below",
    "concurrent",
    "drop_convert",
    "guard",
    "kill",
    "kill_odd",
    "outside",
    "partman",
    "refused",
    "replication",
    "room",
    "roundtrip",
    "scans",
    "template",
    "two_runs",
    "whole",
    "written",
    "zoo",
)
LARGEST = 350_000  # bytes; larger recordings repeat statements for more partitions
_TEST = re.compile(rf"tests/migration/test_({'|'.join(MODULES)})\.py::test_(\S+) ")

_DONE: set[Path] = set()  # paths that this run wrote: later migrations of a test are not recorded


def place(generation: str) -> Path | None:
    """The file for the migration of the running test; None if it is not recorded, or if the test already has one."""
    found = _TEST.match(os.environ.get("PYTEST_CURRENT_TEST", "").replace("@", " "))
    if found is None or not os.environ.get("GPCATALOG_TEST_RECORD"):
        return None
    name = re.sub(r"\W+", "-", f"{found[1]}-{found[2]}").strip("-")
    path = RECORDINGS / f"{generation}_{name}.json"
    return None if path in _DONE else path


def checksums(files: dict[str, str], hidden: dict[str, str]) -> dict[str, str]:
    """Checksum of every file, with texts of this machine replaced."""
    found = {}
    for name, text in sorted(files.items()):
        for ours, instead in hidden.items():
            text = text.replace(ours, instead)
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


class Keeper:
    """Records one migration."""

    def __init__(self, live: Session, path: Path) -> None:
        self.path, self.answers, self.live = path, Answers(), live
        self.session = RecordingSession(live, self.answers)
        self.hidden = {
            live.target[key]: f"/{key}" for key in ("host", "port") if live.target.get(key)
        }

    def keep(self, plan: Plan, request: Request, count: bool, files: dict[str, str]) -> None:
        answers: list[str] = []
        for statement, found in sorted(self.answers.recorded.items()):
            for answer in found:
                text = json.dumps([statement, answer])
                for ours, instead in self.hidden.items():
                    text = text.replace(json.dumps(ours)[1:-1], instead)
                answers.append(text)
        pieces: list[str] = []
        plan_file.write(plan, plan.tables, pieces.append)
        head = {
            "server": str(self.live.facts["banner"]).split(" on ")[0].split(" (Debian")[0],
            "recorded": f"{datetime.now(UTC):%Y-%m-%d}",
            "request": asdict(request),
            "count": count,
            "files": checksums(files, self.hidden),
            "plan": json.loads("".join(pieces)),
        }
        lines = [f'"{key}": {json.dumps(value, default=str)}' for key, value in head.items()]
        lines.append('"answers": [\n' + ",\n".join(answers) + "\n]")
        text = "{" + ",\n".join(lines) + "}\n"
        _DONE.add(self.path)
        if len(text.encode()) > LARGEST:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(text, encoding="utf-8")


def again(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Checksums of the files that the plan and the answers give now, and of the files that were run."""
    recording: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    fields = recording["request"]
    request = Request(**fields | {"mode": Mode(fields["mode"]), "runner": Runner(fields["runner"])})
    session = ReplaySession(Answers().load(recording["answers"]))
    plan = plan_file.read(json.dumps(recording["plan"]))
    scripts, _, _ = write_migration(session, plan, request, count=recording["count"], at_once=1)
    files = {name: "".join(pieces) for name, pieces in scripts}
    return checksums(files, {}), recording["files"]
