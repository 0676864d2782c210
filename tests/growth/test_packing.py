"""Packing and unpacking of names and bounds does not lose a character."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcatalog.store.schema import columns_of
from gpcatalog.store.snapshot import Snapshot, Writer

HOSTILE = [
    "\r", "a\r\nb\r", "", "a", "007", "0", "a0b00c000d", "%", "%d", "%%s%04d", "{}", "{0}", "x" * 63, "9" * 18, "9" * 19, "a" + "1" * 30,
    "1a2b3c4d5e6f7g8h9i", "²³", "٣", "日本7", "a\nb\t1", "it's \"q\" \\ 5", "\x01 1", "-5", "1_prt_2_2_prt_3",
    "START ('2020-01-01'::date) END ('2020-02-01'::date)",
    "FOR VALUES IN (" + ", ".join(str(n) for n in range(40)) + ")",
]  # fmt: skip


def relation(oid: int, name: str, bound: str | None) -> dict[str, object]:
    return {
        "oid": oid, "schema": name, "name": name, "root": oid // 3, "parent": None if oid % 2 else 1, "level": 1, "kind": "leaf",
        "storage": "heap", "columns": 3, "toast": False, "indexes": 0, "index_columns": 0, "block_directory": False, "persistence": "p",
        "owner": 10, "tablespace": 0, "pages": 0, "tuples": 0.5, "options": name, "bound": bound, "partition_name": None,
        "is_default": False, "filled": None, "files": None, "bytes": 2**50 + oid, "max_segment_bytes": 7,
    }  # fmt: skip


def stored(path: Path, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    with Writer(path) as writer:
        writer.insert("relation", rows)
        header: dict[str, object] = dict.fromkeys(columns_of("snapshot"))
        writer.insert(
            "snapshot",
            [
                header
                | {
                    "schema_version": 1,
                    "snapshot_id": "x",
                    "gpcatalog_version": "0",
                    "taken_at": "2026-01-01 00:00:00",
                    "banner": "b",
                }
                | {
                    "product": "PostgreSQL",
                    "version": "15",
                    "generation": "pg15",
                    "version_num": 150000,
                    "database": "d",
                }
                | {"database_oid": 1, "block_size": 8192, "grain": "leaf"}
            ],
        )
        writer.finish()
    with Snapshot(path) as snapshot:
        return snapshot.rows("SELECT * EXCLUDE (bound_key) FROM relation ORDER BY oid")


def test_hostile_texts_come_back(tmp_path: Path) -> None:
    rows = [relation(n, text, text) for n, text in enumerate(HOSTILE)] + [
        relation(1000, "no bound", None)
    ]
    assert stored(tmp_path / "a.gpcatalog", rows) == rows


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=80)
BOUND = st.from_regex(r"([a-z%_' ]{0,5}[0-9]{0,21}){0,15}", fullmatch=True)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(TEXT | BOUND, st.none() | TEXT | BOUND), min_size=1, max_size=40))
def test_any_text_comes_back(tmp_path: Path, texts: list[tuple[str, str | None]]) -> None:
    rows = [relation(n, name, bound) for n, (name, bound) in enumerate(texts)]
    path = tmp_path / "b.gpcatalog"
    path.unlink(missing_ok=True)
    assert stored(path, rows) == rows
