"""Coverage-guided fuzzing of the targets for a given time.

    python -m venv ~/fuzz && ~/fuzz/bin/pip install atheris -e .
    ~/fuzz/bin/python -m tests.fuzz.run --work ~/fuzz/work --hours 2           # all targets in turn, repeatedly
    ~/fuzz/bin/python -m tests.fuzz.run --work ~/fuzz/work --hours 1 script    # one target

Each target has a corpus under --work that grows with each run. It starts with seeds/ and the statements of fixtures/ddl. An input that
raises an exception, or takes more than --limit seconds of processor time, is saved in --work/TARGET/found. Its name is the place of the
error; the shortest input per place is kept. Then fuzzing continues. A crash below Python ends only the turn; libFuzzer writes its input
to --work/TARGET. To fix an error, add the input to tests/fuzz/seeds/TARGET, where the tests run it, and correct the reader.
Executions and seconds are added up in --work/total.json. The exit code is 1 if something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

HERE = Path(__file__).parent
SLICE = 300  # seconds of one turn of a target


class Hang(BaseException):
    """An input took too long. A BaseException, so that no `except Exception` of a target catches it."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Hang("too long")


def _place(error: BaseException) -> str:
    """The innermost line of gpcatalog or of the targets, and the exception; for a hang only "Hang", because it can stop anywhere."""
    if isinstance(error, Hang):
        return "Hang"
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "gpcatalog/" in f.filename or "fuzz/targets" in f.filename
    ]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"


def _keep(folder: Path, data: bytes, error: BaseException) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = _place(error)
    if name == "Hang":  # keep several
        name += "-" + hashlib.sha1(data).hexdigest()[:6]
        if len([*folder.glob("Hang-*.input")]) >= 20:
            return
    file = folder / f"{name}.input"
    if file.exists() and file.stat().st_size <= len(data):
        return
    file.write_bytes(data)
    (folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)))


def _seeds(name: str, corpus: Path) -> None:
    """Write the first corpus: the saved seeds, and statements of fixtures/ddl for targets that read SQL."""
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in sorted((HERE / "seeds" / name).glob("*")):
        (corpus / f"seed-{seed.name}").write_bytes(seed.read_bytes())
    if name not in ("script", "check", "lexer", "queries"):
        return
    from gpcatalog.dialect.script import Source, split

    for file in sorted((HERE.parents[1] / "fixtures" / "ddl").glob("*.sql")):
        text = file.read_text()
        for number, piece in enumerate(split(Source(text))):
            head = b"" if name in ("lexer", "queries") else bytes([number % 9])
            (corpus / f"{file.stem}-{number}").write_bytes(
                head + text[piece.start : piece.end].encode()
            )


def _words(file: Path) -> Path:
    """Write a dictionary for libFuzzer with every word of the grammar."""
    from gpcatalog.dialect.grammar import WORDS

    marks = [
        "::",
        ":=",
        "..",
        "/*",
        "*/",
        "--",
        "$$",
        "$q$",
        "E'",
        "U&'",
        "''",
        "(",
        ")",
        ",",
        ";",
        "\\\\.",
        "'1 month'",
        "'2020-01-31'",
    ]
    file.write_text(
        "".join(f'"{w} "\n' for w in sorted(WORDS)) + "".join(f'"{m}"\n' for m in marks)
    )
    return file


def one(name: str, work: Path, seconds: int, limit: float) -> None:
    """Fuzz one target in this process; never returns (libFuzzer ends the process)."""
    atheris = importlib.import_module("atheris")  # not a dependency of the project
    with atheris.instrument_imports(include=["gpcatalog"], enable_loader_override=False):
        from tests.fuzz.targets import TARGETS
    target, folder = TARGETS[name], work / name
    _seeds(name, folder / "corpus")
    signal.signal(signal.SIGVTALRM, _stop)
    done, began = 0, time.monotonic()
    tally = folder / "tally.json"

    def feed(data: bytes) -> None:
        nonlocal done
        done += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        try:
            target(data)
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            _keep(folder / "found", data, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if done % 100 == 0:
            tally.write_text(json.dumps({"executions": done, "seconds": time.monotonic() - began}))

    arguments = [
        f"-max_total_time={seconds}",
        "-max_len=2048",
        "-timeout=120",
        "-rss_limit_mb=3000",
        f"-artifact_prefix={folder}/native-",
    ]
    if name in ("script", "check", "lexer", "queries"):
        arguments.append(f"-dict={_words(folder / 'words')}")
    atheris.Setup(
        [sys.argv[0], *arguments, str(folder / "corpus")], feed, enable_python_coverage=True
    )
    atheris.Fuzz()


def main() -> int:
    """Fuzz the targets in turn until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for corpora, findings and the tally"
    )
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument(
        "--limit", type=float, default=10.0, help="seconds of processor time one input may take"
    )
    parser.add_argument("--slice", type=int, default=SLICE, help="seconds of a turn")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    work: Path = chosen.work
    if chosen.here:
        one(chosen.targets[0], work, chosen.slice, chosen.limit)
    from tests.fuzz.targets import TARGETS

    names = chosen.targets or [*TARGETS]
    for name in names:
        if name not in TARGETS:
            parser.error(f"no target {name}; one of: {', '.join(TARGETS)}")
    total_file = work / "total.json"
    total: dict[str, dict[str, float]] = (
        json.loads(total_file.read_text()) if total_file.exists() else {}
    )
    end, turn = time.monotonic() + chosen.hours * 3600, 0
    while time.monotonic() < end:
        name = names[turn % len(names)]
        turn += 1
        folder = work / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tally.json").unlink(missing_ok=True)
        seconds = max(1, min(chosen.slice, int(end - time.monotonic())))
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.run",
            "--here",
            "--work",
            str(work),
            "--slice",
            str(seconds),
        ]
        with (folder / "log").open("wb") as log:
            code = subprocess.run(
                [*command, "--limit", str(chosen.limit), name], stdout=log, stderr=log, check=False
            ).returncode
        tally = (
            json.loads((folder / "tally.json").read_text())
            if (folder / "tally.json").exists()
            else {"executions": 0, "seconds": 0}
        )
        mine = total.setdefault(name, {"executions": 0, "seconds": 0, "turns": 0, "crashed": 0})
        for key in ("executions", "seconds"):
            mine[key] += tally[key]
        mine["turns"] += 1
        mine["crashed"] += code != 0
        if not tally["executions"]:
            time.sleep(5)  # the target does not start: do not retry at once
        total_file.write_text(json.dumps(total, indent=1))
        found = len([*(folder / "found").glob("*.input")])
        print(
            f"{name}: {tally['executions']:,.0f} executions in {tally['seconds']:.0f} s, {found} found",
            flush=True,
        )
    return 1 if any((work / name / "found").glob("*.input") for name in names) else 0


if __name__ == "__main__":
    sys.exit(main())
