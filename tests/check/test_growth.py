"""Long files: twice the length needs at most about twice the work, measured in function calls, not in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.script import Source

CASES: dict[str, Callable[[int], str]] = {
    "partitions added": lambda n: (
        "CREATE TABLE t (a int) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (0) END (1));"
        + "".join(
            f"ALTER TABLE t ADD PARTITION p{i} START ({i}) END ({i + 1});" for i in range(1, n)
        )
    ),
    "tables made, others altered": lambda n: "".join(
        f"CREATE TABLE t{i} (a int, b text) DISTRIBUTED BY (a); ALTER TABLE x{i} ADD COLUMN b int;"
        for i in range(n)
    ),
    "ignore comments": lambda n: "".join(
        f"-- gpcatalog: ignore distribution-missing why {i}\nCREATE TABLE t{i} (a int);\n"
        for i in range(n)
    ),
    "quotes that close late": lambda n: "SELECT 'a;\n" * n,
    "dollars": lambda n: "SELECT $a;\n" * n,
    "sums": lambda n: "SELECT 1" + " + 1" * n,
    "joins": lambda n: "SELECT * FROM a" + " JOIN b ON x" * n,
    "rows": lambda n: "INSERT INTO t VALUES " + ",".join("(1, 'x', 2.5)" for _ in range(n)),
    "columns": lambda n: (
        "CREATE TABLE t ("
        + ",".join(f"c{i} int CHECK (c{i} > 0)" for i in range(n))
        + ") DISTRIBUTED BY (c1)"
    ),
    "subqueries": lambda n: (
        "SELECT * FROM " + "(SELECT * FROM " * (n // 20) + "t" + ") q" * (n // 20)
    ),
    "parentheses": lambda n: "SELECT " + "(" * (n // 10) + "1" + ")" * (n // 10),
}


def work(sql: str) -> int:
    """Number of function calls while the text is checked."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run([Source(sql)], Settings(server="greenplum6", segments=2))
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", CASES)
def test_work_grows_with_the_text(name: str) -> None:
    work(CASES[name](40))  # fill the caches
    small, large = work(CASES[name](200)), work(CASES[name](400))
    assert large < 2.6 * small, (small, large)
