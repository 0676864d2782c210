"""A signal that a library converts to its own error is reported neither as a bug nor as a damaged file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

# DuckDB raises RuntimeError ("Query interrupted") when a signal's handler raises during a query
QUERY = """
        one_thread = duckdb.connect(config={"threads": 1})  # it waits for what others have begun
        one_thread.execute("SELECT count(*) FROM range(1000000000000) t(n) WHERE n % 7 = 3")
"""

OVER = f"""
    def work(*_):
        soon()
        {QUERY.strip()}

    one = ClusterRun(name="one", snapshots={{"a": Path("a"), "b": Path("b")}})
    FleetRun(fleet=None, clusters={{}}, runs=[one], stored=True, until=None).over(work)
"""
WORKER = f"""
    def take(*_):
        soon()
        {QUERY.strip()}

    worker._databases = lambda *_: ["a", "b"]
    worker._take_snapshot = take
    job = Job(conninfo="dbname=a", databases=["*"], exclude=[], folder="", statement_ms=1,
              lock_ms=1, files=FileChoice())
    worker.read_cluster(job, print)
"""
CHECK = f"""
    def rule(subject):
        soon()
        {QUERY.strip()}

    run._apply_rule("cost", rule, None)
"""


@pytest.mark.parametrize("part", [OVER, WORKER, CHECK], ids=["results", "worker", "rule"])
def test_it_ends_the_run(part: str) -> None:
    code = """
        import os, signal, sys, threading
        from pathlib import Path
        import duckdb
        from gpcatalog import cli
        from gpcatalog.check import run
        from gpcatalog.commands.fleet import FleetRun
        from gpcatalog.fleet import worker
        from gpcatalog.fleet.messages import Job
        from gpcatalog.fleet.run import ClusterRun
        from gpcatalog.model.file_choice import FileChoice

        def soon():
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()

        def test():
    """
    code = textwrap.dedent(code) + part + "\ncli._run = test\ncli.main()\n"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=60
    )
    assert process.returncode == 128 + signal.SIGTERM, process.stderr
    assert process.stderr == "gpcatalog: interrupted; no files were left behind\n"
    assert "failed" not in process.stdout.lower()
