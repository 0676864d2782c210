"""Compare the output of pg_dump before and after a migration and its rollback."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from gpcatalog.planner.plan import Plan
from tests.migration import made


def dump(binary: Path | str, dsn: str) -> dict[str, str]:
    """The schema as pg_dump prints it: text by header ("TABLE public.t")."""
    done = subprocess.run(
        [str(binary), "--schema-only", "--dbname", dsn], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = {}
    head = ""
    text = re.sub(r"(?m)^\\(un)?restrict .*$", "", done.stdout)  # a key that differs in each dump
    text = text.partition("\n--\n-- PostgreSQL database dump complete")[0]
    # printed if a partition has no default, but its table has one and is older
    text = re.sub(r"(?m) DEFAULT NULL(,?)$", r"\1", text)
    for block in re.split(r"\n--\n-- (?=Name: )", text)[1:]:
        head, _, body = block.partition("\n--\n")
        m = re.match(r"Name: (.*?); Type: (.*?); Schema: (.*?); Owner", head)
        assert m is not None, head
        if "gpcatalog_journal" in (m[1] + m[3]):
            continue
        name = f"{m[2]} {m[3]}.{m[1]}"
        found[name] = found.get(name, "") + body.strip()
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Objects whose definitions differ."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


# losses that a snapshot does not contain
LIVE_ONLY = re.compile(
    "(statistics target of|encoding of|replica identity|CLUSTER mark of|owner|tablespace) "
    r"|storage option .* on \d|what distinguishes the subpartition template|comment on index .* of |index .*: a rollback"
)


def expect_alike(plan: Plan, files: made.Written) -> None:
    """Check that the plan and `migrate` report the same losses, and that `migrate` refuses nothing."""
    refused = "; ".join(f"{step.table}: {step.reason}" for step in files.refused)
    assert not refused, f"the plan does not know that `migrate` refuses {refused}"
    planned = {t.oid: {line for step in t.steps for line in step.lost} for t in plan.tables}
    for work in files.work:
        reported = {line for change in work.forward for line in getattr(change, "lost", ())}
        assert planned[work.context.root.oid] == {s for s in reported if not LIVE_ONLY.match(s)}


def contents(dsn: str, tables: list[str]) -> dict[str, tuple[int, str]]:
    """Number of rows and hash of each table."""
    return {t: made.rows_of(dsn, t) for t in tables}
