"""The project's own dialect types every statement that a migration writes, without syntax errors for its server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Outcome, Source, split, statements
from gpcatalog.migration.request import Mode, Request, Runner
from tests.conftest import fresh_database
from tests.dialect.test_oracle import Oracle
from tests.migration import made, zoo

GENERATION = {"gp6_dsn": "gp6", "gp7_dsn": "gp7", "pg_dsn": "pg15", "pgnew_dsn": "pg18"}
_BODY = re.compile(r"DO (\$gpcatalog\d*\$)\n(.*?)\n?\1;", re.S)
_SQL = re.compile(
    r"(CREATE|ALTER|DROP|INSERT|TRUNCATE|DELETE|UPDATE|GRANT|REVOKE|COMMENT|ANALYZE|LOCK|PERFORM)\b",
    re.I,
)
# keywords of PL/pgSQL before a statement, but not those in quotes
_TO = r"""(?:'[^']*'|"[^"]*"|[^'"])*?"""
_BEFORE = re.compile(
    rf"(?:#variable_conflict use_column\s+)?(?:DECLARE\b{_TO}\bBEGIN\b|BEGIN\b|IF\b{_TO}\bTHEN\b|ELSE\b|END IF\b|LOOP\b)\s*",
    re.I,
)
_KNOWN = re.compile(
    r"(IF|END|FOR|RAISE|RETURN|EXCEPTION|began|held|EXECUTE|DECLARE|#variable_conflict|BEGIN|SELECT|\w+ (record|text|timestamptz|bigint)|\w+ :=)",
    re.I,
)


def inside(text: str) -> Iterator[str]:
    """SQL statements inside the blocks of a file."""
    for found in _BODY.finditer(text):
        body = re.sub(r"^\s*-- .*\n", "", found[2], flags=re.M)
        for piece in split(Source(body)):
            one = body[piece.start : piece.end].strip().rstrip(";").strip()
            while not _SQL.match(one):
                before = _BEFORE.match(one)
                if before is None or not one[before.end() :]:
                    break
                one = one[before.end() :].lstrip()
            if _SQL.match(one):
                yield re.sub(r"^PERFORM\b", "SELECT", one)
            elif one:
                assert _KNOWN.match(one), one


def written_for(dsn: str, generation: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Write every file for plans of the zoo: both modes, both runners, all operations."""
    names = zoo.make(dsn, generation)
    assert names
    rules = {
        "merge": made.EAGER + "merge_lists = 10\n",
        "plain": made.EAGER + 'unpartition_below = "1GB"\nflatten = true\n',
        "drop": made.EAGER.replace('empty = "keep"', 'empty = "drop"').replace(
            'grains = {month = "0d"}', 'grains = {day = "0d"}'
        ),
        "outside": made.EAGER.replace('"0d"', '"90000d"') + "externalise_after = 30\n",
    }
    made.execute(
        dsn,
        *(
            f"DELETE FROM {n} WHERE d = '2020-01-27'"
            for n in names
            if n in ("aoco", "plain", "with_default")
        ),
    )
    for what, rule in rules.items():
        plan = made.plan_of(dsn, rule)
        for mode in (Mode.LOCKED, Mode.ONLINE) if what == "merge" else (Mode.LOCKED,):
            for runner in Runner:
                files = made.written(
                    dsn,
                    folder / f"{what}{mode}{runner}",
                    plan,
                    request=Request(mode=mode, runner=runner),
                    count=True,
                )
                for name in files.names:
                    if name.endswith(".sql"):
                        yield f"{what} {mode} {runner} {name}", (files.folder / name).read_text()


@pytest.mark.parametrize("fixture", GENERATION)
def test_grammars(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = GENERATION[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_grammar")
    oracle, grammars = Oracle(dsn), editions(generation)
    number: Counter[str] = Counter()
    seen: set[str] = set()
    for name, text in written_for(dsn, generation, tmp_path):
        plain = "".join(
            line for line in text.splitlines(keepends=True) if not line.startswith("\\")
        )
        outer = [plain[p.start : p.end] for p in split(Source(plain))]
        for where, one in [*(("file", s) for s in outer), *(("block", s) for s in inside(plain))]:
            if one in seen:
                continue
            seen.add(one)
            number[where] += 1
            for statement in statements(Source(one, name), grammars):
                assert statement.outcome is Outcome.TYPED, (name, statement.outcome, one[:2000])
            accepted, message = oracle.says(one)
            assert accepted, (name, message, one[:2000])
    print(
        f"{generation}: {dict(number)} distinct statements typed by the dialect and parsed by the server"
    )
    assert number["file"] > 50
    assert number["block"] > 300
