"""Fuzz targets: each one accepts arbitrary bytes, and must end normally or with the documented errors of its reader.

A target raises an exception in all other cases: another exception, a tree that reads back differently, a place outside the text.
`run.py` runs the targets for hours, `test_targets.py` with the inputs saved in seeds/ (all inputs that once caused an error).
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import rich.console

from gpcatalog.check import settings
from gpcatalog.check.run import run as check_files
from gpcatalog.commands.check import CheckFormat
from gpcatalog.dialect import variables
from gpcatalog.dialect.grammar import WORDS
from gpcatalog.dialect.greenplum import Greenplum, editions, read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.script import Outcome, Source, statements
from gpcatalog.dialect.version import Edition, edition
from gpcatalog.effects import baseline, calendar
from gpcatalog.emit import (
    audit_text,
    check_text,
)
from gpcatalog.emit.metrics import exposition
from gpcatalog.errors import CatalogError
from gpcatalog.growth.chart_data import picture
from gpcatalog.model import bounds, server
from gpcatalog.model.secrets import masked
from gpcatalog.planner import plan_file, policy, workload
from gpcatalog.probes import target
from gpcatalog.services.audits import audit_snapshot
from gpcatalog.services.plans import plan_snapshot as run_plan
from gpcatalog.services.plans import read_plan
from gpcatalog.store.snapshot import Snapshot, file_errors
from tests.dialect.synthesis import Maker
from tests.hostile import stranger

FIXTURES = Path(__file__).parents[2] / "fixtures"
EDITIONS = ("gp6", "gp7", "cb2", "pg12", "pg15", "pg16", "pg17", "pg18", "pg19")
SERVERS = ("greenplum6", "greenplum7", "cloudberry2", "postgres12", "postgres15", "postgres18")


def text_of(data: bytes) -> str:
    """Text from bytes, decoded as `check` decodes a file."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _cut(data: bytes) -> tuple[int, bytes]:
    """The first byte, which selects a variant, and the other bytes."""
    return (data[0], data[1:]) if data else (0, b"")


@cache
def _scratch() -> Path:
    """A folder for readers that need a file; removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="gpcatalog-fuzz-")
    _FOLDERS.append(folder)
    return Path(folder.name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


class Choices(random.Random):
    """Random numbers from the input, so that the fuzzer controls what is generated; 0 after the end of the input."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def getrandbits(self, k: int, /) -> int:
        """The next bits of the input."""
        size = (k + 7) // 8
        piece = self._data[self._at : self._at + size].ljust(size, b"\0")
        self._at += size
        return int.from_bytes(piece, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """The next byte of the input, as a number from 0 to 1."""
        return self.getrandbits(8) / 256


def _round_trip(text: str, grammars: tuple[Edition, ...]) -> None:
    """Check every statement: its place is inside the text, and the SQL written from its tree reads back as the same tree."""
    for statement in statements(Source(text), grammars):
        assert 0 <= statement.start <= statement.end <= len(text) + 1, statement
        assert str(statement.place)
        if statement.outcome is not Outcome.TYPED:
            assert statement.fault is not None
            assert 0 <= statement.fault.offset <= len(text) + 1, statement.fault
            continue
        assert statement.tree is not None
        assert statement.edition is not None
        written = Greenplum().generate(statement.tree)
        again, _ = read_statement(scan(written, 0, WORDS, script=True)[0], (statement.edition,))
        assert again == statement.tree, written


def lexer(data: bytes) -> None:
    """Tokens are inside the text, in order, and do not overlap; the scanner always advances."""
    text, at = text_of(data), 0
    while at < len(text):
        try:
            tokens, following = scan(text, at, WORDS, script=True)
        except LexError as error:
            if not 0 <= error.offset <= len(text):
                raise AssertionError("an error outside the text") from error
            return
        edge = at
        for start, end in zip(tokens.starts, tokens.ends, strict=True):
            assert edge <= start <= end <= len(text)
            edge = end
        at = max(following, at + 1) if tokens.backslash < 0 else tokens.backslash + 1


def script(data: bytes) -> None:
    """A script; the first byte selects the server."""
    choice, rest = _cut(data)
    grammars = editions() if choice % 10 == 9 else (edition(EDITIONS[choice % 10]),)
    _round_trip(text_of(rest), grammars)


def made(data: bytes) -> None:
    """Statements that follow the grammar, selected by the input; every second one is damaged."""
    choice, rest = _cut(data)
    one = edition(EDITIONS[choice % len(EDITIONS)])
    maker = Maker(one, 0)
    maker.r = Choices(rest)
    sql = maker.statement()
    if choice >= 128 and sql:
        sql = maker.damage(sql)
    _round_trip(sql, (one,))


def check(data: bytes) -> None:
    """A file, checked and reported in every format."""
    choice, rest = _cut(data)
    if choice >= 128:
        maker = Maker(edition("gp6" if choice % 2 else "gp7"), 0)
        maker.r = Choices(rest)
        text = ";\n".join(maker.create_table() if n % 2 else maker.statement() for n in range(5))
    else:
        text = variables.fill(text_of(rest), {})[0]
    chosen = settings.Settings(
        server=SERVERS[choice % len(SERVERS)], segments=3, hosts=2, change=settings.Budget(leaves=5)
    )
    report = check_files([Source(text, "f.sql")], chosen, today=date(2026, 1, 1))
    lines = text.count("\n") + text.count("\r") + 1
    for found in report.findings:
        assert 1 <= found.line <= lines
        assert found.line <= found.end_line <= lines
    for output_format in CheckFormat:
        if output_format is not CheckFormat.TEXT:
            emitter = importlib.import_module(f"gpcatalog.emit.check_{output_format.value}")
            emitter.render(report)
    check_text.render(report, color=False, explain=True)


def spans(data: bytes) -> None:
    """START, END and EVERY for every type of partition key, in a time zone, by the rules of both server generations."""
    choice, rest = _cut(data)
    pieces = [piece.replace("'", "''") for piece in text_of(rest).split("\n")]
    start, end, every = (*pieces, "", "", "")[:3]
    kind = ("date", "timestamp", "timestamptz", "integer", "numeric", "text")[choice % 6]
    zone = ZoneInfo(("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")[choice % 4])
    quoted = [
        f"'{piece}'" if kind not in ("integer", "numeric") else piece for piece in (start, end)
    ]
    step = f"interval '{every}'" if kind not in ("integer", "numeric") else every
    sql = f"SELECT {quoted[0]}, {quoted[1]}, {step}"
    try:
        tree, _ = read_statement(scan(sql, 0, WORDS)[0], (edition("gp6"),))
    except Exception as error:
        if type(error).__name__ in ("SyntaxFault", "LexError"):
            return
        raise
    low, high, by = tree.expressions[:3] if len(tree.expressions) >= 3 else (None, None, None)
    if low is None or high is None or by is None:
        return
    try:
        first, last, stride = (
            calendar.value(low, kind, zone),
            calendar.value(high, kind, zone),
            calendar.stride(by, kind),
        )
        edge = None
        for number, (a, b, _) in enumerate(
            calendar.ranges(
                first,
                last,
                stride,
                classic=choice >= 128,
                closed=bool(choice & 64),
                open_start=bool(choice & 32),
            )
        ):
            assert edge is None or a == edge
            edge = b
            if number > 2000:
                break
    except calendar.Unknown:
        return


def bound(data: bytes) -> None:
    """The bound of a partition in the format of a server."""
    text = text_of(data)
    found = bounds.parse(text)
    for kind in bounds.Family:
        try:
            low, high = bounds.interval(found, kind)
        except ValueError:
            continue
        assert low < high
        for classic in (True, False):
            bounds.merged_text(found, found, classic=classic)


def wishes(data: bytes) -> None:
    """A policy file of `plan`."""
    with suppress(CatalogError):
        policy.resolve_policy(policy.loads(text_of(data)), "s", "t")


def config(data: bytes) -> None:
    """Settings of the check, as gpcatalog.toml and as pyproject.toml."""
    choice, rest = _cut(data)
    name = "pyproject.toml" if choice % 2 else "gpcatalog.toml"
    try:
        settings.loads(text_of(rest), Path(name))
    except CatalogError as error:
        if name not in error.message:
            raise AssertionError("which file is it?") from error


def banner(data: bytes) -> None:
    """The banner of a server."""
    choice, rest = _cut(data)
    number = (90426, 120012, 140004, 150018, 190000, 80300, 0, -1)[choice % 8]
    try:
        found = server.identify(text_of(rest), number, has_segments=choice >= 128)
    except server.UnsupportedServer:
        return
    assert found.generation
    server.named(text_of(rest))


@cache
def _snapshot_bytes() -> bytes:
    return (FIXTURES / "greenplum6.gpcatalog").read_bytes()


def snapshot(data: bytes) -> None:
    """A snapshot file with changed bytes (four bytes of the input set one) or truncated, read as a baseline."""
    choice, rest = _cut(data)
    content = bytearray(_snapshot_bytes())
    if choice >= 128:
        del content[int.from_bytes(rest[:4], "little") % len(content) :]
        rest = rest[4:]
    for at in range(0, len(rest) - 3, 4):
        place = int.from_bytes(rest[at : at + 3], "little")
        # half of the changes are in the first pages, which identify the file
        if content:
            place = place % min(len(content), 16384) if place & 1 else place * 37 % len(content)
            content[place] = rest[at + 3]
    file = _scratch() / "s.gpcatalog"
    file.write_bytes(content)
    with suppress(CatalogError):
        known = baseline.Baseline(file)
        known.state(edition(known.generation), ZoneInfo("UTC")).named("", "sales")
        known.close()


@cache
def _opened() -> Snapshot:
    return Snapshot(FIXTURES / "greenplum6.gpcatalog")


def queries(data: bytes) -> None:
    """A workload: SQL, or a CSV of pg_stat_statements."""
    file = _scratch() / "w.sql"
    file.write_bytes(data)
    with suppress(CatalogError):
        workload.read(str(file), _opened())


def place(data: bytes) -> None:
    """A connection string; the message about an invalid one must not contain a part of a password."""
    choice, rest = _cut(data)
    text = text_of(rest).replace("\0", "")
    if choice >= 128:
        text = (
            f"postgresql://u:s3cr3t{text}@h/d"
            if choice % 2
            else f"host=h password=s3cr3t{text} dbname=d"
        )
    masked(text)
    try:
        target.target(text)
    except CatalogError as error:
        if choice >= 128 and "s3cr3t" in masked(error.message):
            raise AssertionError(error.message) from error


@cache
def _plan() -> Any:
    """A plan of the recorded cluster, as JSON."""
    pieces: list[str] = []
    planned = run_plan(_opened(), policy_file=None, workload_file="", overrides={}, rate="")
    plan_file.write(planned.plan, planned.tables(None), pieces.append)
    return json.loads("".join(pieces))


_REPLACEMENTS = (
    None,
    -1,
    0,
    2**63,
    1e308,
    "",
    "x",
    "2020-02-31",
    "\x1b[31m",
    "a" * 5000,
    [],
    {},
    [None],
    True,
    "FOR VALUES FROM ('1') TO ('0')",
)


def plan(data: bytes) -> None:
    """A plan file: the plan of the recorded cluster with values replaced or removed, or arbitrary bytes."""
    choice, rest = _cut(data)
    draw = Choices(rest)
    file = _scratch() / "plan.json"
    if choice < 64:
        file.write_bytes(rest)
    else:
        tree = copy.deepcopy(_plan())
        for _ in range(1 + choice % 4):
            at: Any = tree
            for _ in range(12):
                keys = list(at) if isinstance(at, dict) else list(range(len(at)))
                if not keys:
                    break
                key = keys[draw.randrange(len(keys))]
                if isinstance(at[key], dict | list) and at[key] and draw.randrange(8):
                    at = at[key]
                    continue
                if draw.randrange(6):
                    at[key] = _REPLACEMENTS[draw.randrange(len(_REPLACEMENTS))]
                else:
                    del at[key]
                break
        file.write_text(json.dumps(tree))
    with suppress(CatalogError):
        read_plan(str(file))


@cache
def _strange() -> Path:
    return stranger.make(_scratch() / "strange.gpcatalog")


def report(data: bytes) -> None:
    """A snapshot with replaced values in up to four columns, from which an audit, a plan and a report page are made."""
    draw = Choices(data)
    (path := _scratch() / "altered.gpcatalog").write_bytes(_strange().read_bytes())
    with duckdb.connect(str(path)) as db:
        for _ in range(1 + draw.randrange(4)):
            table, column, value = stranger.CASES[draw.randrange(len(stranger.CASES))]
            with suppress(duckdb.Error):
                db.execute(f'UPDATE {table} SET "{column}" = {value}')
    with suppress(CatalogError), file_errors(path):
        judgement = audit_snapshot(path, forecast=False)
        for detail in audit_text.Detail:
            out = rich.console.Console(file=io.StringIO(), width=80)
            audit_text.show(judgement, out, detail)
        exposition(judgement, [], top=5)
        with Snapshot(path) as opened:
            found = run_plan(opened, policy_file=None, workload_file="", overrides={}, rate="")
            list(found.tables(None))
            picture(opened)


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        script,
        made,
        check,
        spans,
        lexer,
        bound,
        wishes,
        config,
        banner,
        snapshot,
        queries,
        place,
        plan,
        report,
    )
}
