"""A second signal does not interrupt the cleanup after the first one: no file is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CODE = """
    import os, signal, sys, time
    from pathlib import Path
    from gpcatalog import cli
    from gpcatalog.services import series as services
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import Writer

    numbers = [signal.Signals[name] for name in sys.argv[2].split()]
    reserved_only = sys.argv[3] == "reserved"
    services.series_of_session = lambda session: Path(sys.argv[1])

    def test():
        with services.place_for(None, store=True) as path:
            if reserved_only:
                at_once()
            with Writer(path) as writer:
                writer.insert("coverage", [{"probe": "x", "status": "read"}])
                at_once()

    def at_once():
        # both signals have arrived before the first handler runs
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            os.kill(os.getpid(), number)
        assert set(os.listdir(sys.argv[1]))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        time.sleep(30)  # another thread may receive the signal a moment later

    cli._run = test
    cli.main()
"""


@pytest.mark.parametrize("numbers", ["SIGINT SIGTERM", "SIGTERM SIGINT", "SIGINT", "SIGTERM"])
@pytest.mark.parametrize("when", ["reserved", "writing"])
def test_nothing_is_left(numbers: str, when: str, tmp_path: Path) -> None:
    folder = tmp_path / "series"
    folder.mkdir()
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CODE), str(folder), numbers, when],
        capture_output=True, text=True, env=os.environ, timeout=60,
    )  # fmt: skip
    assert process.stderr == "gpcatalog: interrupted; no files were left behind\n"
    # of two signals that have both arrived, Python may handle either one first
    assert process.returncode in {128 + signal.Signals[name] for name in numbers.split()}
    assert os.listdir(folder) == []


def test_signals_during_the_cleanup(tmp_path: Path) -> None:
    """Signals that arrive while files are removed have no effect, also on programs that the cleanup starts."""
    code = """
        import os, signal, subprocess, sys
        from gpcatalog import cli

        def test():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                for number in 3 * (signal.SIGINT, signal.SIGTERM):
                    os.kill(os.getpid(), number)
                subprocess.run(["sh", "-c", f"kill -INT $$; kill -TERM $$; : > {sys.argv[1]}"])

        cli._run = test
        cli.main()
    """
    file = tmp_path / "done"
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(file)],
        capture_output=True, text=True, env=os.environ, timeout=60,
    )  # fmt: skip
    assert process.stderr == "gpcatalog: interrupted; no files were left behind\n"
    assert process.returncode == 143
    assert file.exists()
