"""Recorded migrations give the same files on machines without the servers (see kept.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration import kept

FILES = sorted(kept.RECORDINGS.glob("*.json"))


def test_every_server_has_some() -> None:
    servers = [path.name.split("_")[0] for path in FILES]
    for server in ("gp6", "gp7", "pg15", "pg18", "pg19"):
        assert servers.count(server) >= 5, server


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_same_files(path: Path) -> None:
    now, ran = kept.again(path)
    assert now == ran
