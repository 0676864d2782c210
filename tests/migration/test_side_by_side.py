"""Two tables of a migration are worked on at a time: in order, and stopped together."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from gpcatalog.probes.by_table import ByTable
from gpcatalog.probes.connection import ProbeFailed, connect
from gpcatalog.services.migrations import _side_by_side


def test_results_are_in_the_order_of_the_tables(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        asked = ByTable(session, ())

        def work(number: int) -> int:
            for _ in range(10 - number):
                assert asked.rows("settings")
            return number

        assert list(_side_by_side(asked, work, list(range(10)), 2)) == list(range(10))  # type: ignore[arg-type]


def test_an_interrupt_stops_both(pg_dsn: str) -> None:
    ended = []
    with connect(pg_dsn) as session:
        asked = ByTable(session, ())

        def work(number: int) -> None:
            try:
                while True:
                    asked.rows("settings")
            except ProbeFailed:
                ended.append(number)
                raise

        # what runs the tests may ignore it, as nohup does
        was = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                list(_side_by_side(asked, work, [1, 2, 3], 2))  # type: ignore[arg-type]
        finally:
            signal.signal(signal.SIGINT, was)
        assert sorted(ended) == [1, 2]  # the third was never begun
        assert session.query("SELECT 1 AS n") == [{"n": 1}]
