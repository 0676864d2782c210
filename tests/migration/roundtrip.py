"""Forward, look, back, look again: what pg_dump says of a database before and after a migration and its rollback."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from gpcatalog.planner.plan import Plan
from tests.migration import made


def dump(binary: Path | str, dsn: str) -> dict[str, str]:
    """What pg_dump writes of the schema: text by header ("TABLE public.t")."""
    done = subprocess.run(
        [str(binary), "--schema-only", "--dbname", dsn], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = {}
    head = ""
    text = re.sub(r"(?m)^\\(un)?restrict .*$", "", done.stdout)  # a word made anew each time
    text = text.partition("\n--\n-- PostgreSQL database dump complete")[0]
    # written where a partition has no default and its table has one, if that table is older
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
    """Objects whose definition is not the same."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


# losses that a snapshot does not know
LIVE_ONLY = re.compile(
    "(statistics target of|encoding of|replica identity|CLUSTER mark of|owner|tablespace) "
    r"|storage option .* on \d"
)


def expect_alike(plan: Plan, files: made.Written) -> None:
    """What a plan says of losses and refusals is what `migrate` says."""
    refused = "; ".join(f"{step.table}: {step.reason}" for step in files.refused)
    assert not refused, f"the plan does not know that `migrate` refuses {refused}"
    planned = {t.oid: {line for step in t.steps for line in step.lost} for t in plan.tables}
    for work in files.work:
        said = {line for change in work.forward for line in getattr(change, "lost", ())}
        assert planned[work.context.root.oid] == {s for s in said if not LIVE_ONLY.match(s)}


def contents(dsn: str, tables: list[str]) -> dict[str, tuple[int, str]]:
    """Number and hash of the rows of each table."""
    return {t: made.rows_of(dsn, t) for t in tables}
