"""DDL scripts on live servers, statement by statement; their effects are recorded and compared on machines without the servers.

Random scripts (scripts.py) are the most general test of predictions. GPCATALOG_TEST_SEEDS=100-120 runs other random scripts.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.effects import edges, live_baseline
from tests.effects import test_live as written
from tests.effects.live import Result, replay, run
from tests.effects.partition_scripts import DeclarativeScriptMaker, PartitionScriptMaker
from tests.effects.scripts import ScriptMaker
from tests.effects.test_dependents import SCRIPT
from tests.recorded import FIXTURES, Recording, read, recorded, share, turn

GOLDEN = Path(__file__).parent / "golden"
LEFT_BEHIND = 300  # statements that create the tables of a baseline
STATEMENTS = 1500  # statements of a random script; the server rejects about half
SEEDS = (1, 2, 3)
UNKNOWN = 0.2  # share of accepted statements of a random script whose effect may be unknown
_WRITTEN = {
    "gp6": (written.BOTH_GREENPLUMS, written.SIX),
    "gp7": (written.BOTH_GREENPLUMS, written.SEVEN, written.MODERN),
    "pg15": (written.MODERN, written.ALONE),
    "pg18": (written.MODERN, written.ALONE, written.NEWER),
    "pg19": (written.MODERN, written.ALONE, written.NEWER),
}
_EDGES = {
    "gp6": (edges.BOTH_GREENPLUMS, edges.SIX),
    "gp7": (edges.BOTH_GREENPLUMS, edges.MODERN, edges.SEVEN),
    "pg15": (edges.MODERN,),
    "pg18": (edges.MODERN, edges.EXCLUDING),
    "pg19": (edges.MODERN, edges.EXCLUDING, edges.NEWEST),
}


def seeds() -> list[int]:
    """The seeds of every recording, or the range in GPCATALOG_TEST_SEEDS."""
    asked = os.environ.get("GPCATALOG_TEST_SEEDS", "")
    first, _, last = asked.partition("-")
    return list(range(int(first), int(last or first) + 1)) if asked else list(SEEDS)


def live_seeds() -> list[int]:
    """All seeds if results are recorded, otherwise one: predictions for the others are compared with the recordings."""
    recording = os.environ.get("GPCATALOG_TEST_RECORD") or os.environ.get("GPCATALOG_TEST_SEEDS")
    return seeds() if recording else [SEEDS[turn() % len(SEEDS)]]


def scripts(server: str, made: list[int], number: int) -> dict[str, str]:
    """The text of each script by its name. made: seeds of the random scripts; number: their number of statements."""
    found = {
        "written": "".join((written.EVERYWHERE, *_WRITTEN[server])),
        "dropped along": SCRIPT,
        "edges": "".join((edges.EVERYWHERE, *_EDGES[server])),
    }
    greenplum = server in ("gp6", "gp7")
    maker = (PartitionScriptMaker if greenplum else DeclarativeScriptMaker)(server, made[0])
    found[f"made of partitions {made[0]}"] = maker.script(number // 4)
    return found | {f"made {n}": ScriptMaker(server, n).script(number) for n in made}


def banner(dsn: str) -> str:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT pg_catalog.version()").fetchone()
    return str(row[0]) if row else ""


def judge(name: str, result: Result, *, part: int = 1) -> None:
    """Check the result of a script. part: a random script was generated with one in this number of its statements."""
    made = name.startswith("made")
    print(result.line(name))
    assert result.wrong == [], name
    assert result.unread == [], name
    enough = 30 if name == "edges" or "partitions" in name else 60
    assert result.equal >= enough // (part if made else 1), name
    if made:
        assert len(result.unknown) <= UNKNOWN * result.accepted, name


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_scripts(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn, server = request.getfixturevalue(fixture), FIXTURES[fixture]
    recording = None
    for name, text in scripts(server, live_seeds(), STATEMENTS // share()).items():
        file = tmp_path / "script.sql"
        file.write_text(text)
        recording = recording or Recording("scripts", server, banner(dsn))
        recording.add({"script": name, "crc": zlib.crc32(text.encode())})
        judge(name, run(dsn, file, recording), part=share())
    assert recording is not None
    if not os.environ.get("GPCATALOG_TEST_SEEDS"):
        recording.save()


@pytest.mark.parametrize("path", recorded("scripts"), ids=lambda p: p.stem)
def test_scripts_did_what_is_predicted(path: Path) -> None:
    """Predictions agree with the recorded effects, and have not changed (GPCATALOG_TEST_UPDATE=1 rewrites them); needs no server."""
    server = path.stem.rpartition("_")[2]
    runs: dict[str, list[dict[str, Any]]] = {}
    written_now = scripts(server, list(SEEDS), STATEMENTS)
    for entry in read(path):
        if "script" in entry:
            now = runs.setdefault(entry["script"], [])
            text = written_now.pop(entry["script"])
            assert entry["crc"] == zlib.crc32(text.encode()), (
                "the script has changed: record it again"
            )
        else:
            now.append(entry)
    assert not written_now
    said = []
    for name, entries in runs.items():
        result = replay(entries, server)
        judge(name, result)
        said += [f"script {name}", *result.said]
    unchanged(path.stem, said)


def unchanged(name: str, said: list[str]) -> None:
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("\n".join(said) + "\n")
    assert said == golden.read_text().splitlines()


def judge_baseline(result: Result, *, part: int = 1) -> None:
    print(result.line("baseline"))
    assert result.wrong == []
    assert result.unread == []
    assert result.equal >= 150 // part
    assert len(result.unknown) <= UNKNOWN * result.accepted


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_baselines(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Predictions for statements of every kind on each table that a random script leaves in the database, from a snapshot of it."""
    dsn, server = request.getfixturevalue(fixture), FIXTURES[fixture]
    recording = Recording("baseline", server, banner(dsn))
    for seed in [seed + 50 for seed in seeds()[:1]]:
        file = tmp_path / f"{seed}.sql"
        file.write_text(ScriptMaker(server, seed).script(LEFT_BEHIND // share()))
        judge_baseline(live_baseline.run(dsn, file, recording), part=share())
    if not os.environ.get("GPCATALOG_TEST_SEEDS"):
        recording.save()


@pytest.mark.parametrize("path", recorded("baseline"), ids=lambda p: p.stem)
def test_baselines_were_what_is_predicted(path: Path) -> None:
    result = live_baseline.replay(read(path), path.stem.rpartition("_")[2])
    judge_baseline(result)
    unchanged(path.stem, result.said)
