"""Complete plan files of random tables and policies, compared with golden files, so that each change of a plan is noticed.

test_plan.py checks properties of thousands of other plans; this module checks the plans themselves.
GPCATALOG_TEST_UPDATE=1 pytest tests/planner/test_random_plans.py    writes the files again; check the difference before a commit
"""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from gpcatalog.emit import plan_text
from gpcatalog.errors import CatalogError
from gpcatalog.planner import plan_file, planning
from gpcatalog.planner.explain import Explainer
from gpcatalog.planner.planning import PlanResult, Request
from gpcatalog.planner.sets.reader import Root
from gpcatalog.store.snapshot import Snapshot
from tests.planner.random_plans import PlanMaker
from tests.planner.test_plan import check_plan, golden, rendered

SEEDS = 24


def lines(text: str) -> str:
    """A plan file with one table or step per line."""
    plan = json.loads(text)
    tables = plan.pop("tables")
    del plan["made_at"], plan["gpcatalog_version"]
    found = [f"{key}: {json.dumps(value)}" for key, value in plan.items()]
    for table in tables:
        steps = table.pop("steps", [])
        found.append(f"table: {json.dumps(rounded(table))}")
        found += [f"  step: {json.dumps(rounded(step))}" for step in steps]
    return "\n".join(found) + "\n"


def rounded(value: Any) -> Any:
    """Floating point numbers with 12 digits, because the last digits depend on the processor."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


EXPLAINED = 12  # rows of a table's explanation that are compared: equal rows count once


def explained(planned: PlanResult, root: Root) -> list[str]:
    """What happens to the parts of a table and the reasons, without the bars."""
    rows = Explainer(planned, root).rows()
    texts = {
        (
            r.what,
            r.coarser,
            r.finer,
        ): f"  {r.where}, {r.units} {r.leaves} {r.bytes:.12g}: {r.what} | {r.coarser} | {r.finer}\n"
        for r in reversed(rows)
    }
    return [f"  {len(rows)} rows\n", *list(reversed(texts.values()))[:EXPLAINED]]


@pytest.mark.turns
@pytest.mark.parametrize("generation", ["gp6", "gp7", "pg15"])
def test_plans(generation: str) -> None:
    output = []
    kinds: set[str] = set()
    for seed in range(SEEDS):
        make = PlanMaker(generation, seed)
        snapshot, rules, limits = make.snapshot(), make.policy(), make.limits()
        output.append(f"== seed {seed}\n")
        try:
            planned = planning.make(cast(Snapshot, snapshot), rules, Request(limits))
        except CatalogError as e:
            output.append(f"{e.exit_code} {e.message}\n{e.hint}\n")
            continue
        check_plan(planned.full(), snapshot)
        pieces: list[str] = []
        plan_file.write(planned.plan, planned.tables(), pieces.append)
        output.append(lines("".join(pieces)))
        output.append(
            rendered(
                lambda out, planned=planned: plan_text.show(  # type: ignore[misc]
                    planned.plan, planned.table_plans, planned.left(), planned.losses(), out
                )
            )
        )
        for root in planned.reader.roots:
            output.append(f"explained: {root.name}\n")
            output += explained(planned, root)
        kinds |= {step.operation for table in planned.full().tables for step in table.steps}
        snapshot.close()
    assert {"merge", "drop-empty"} <= kinds, kinds

    golden(f"random_{generation}.txt", "".join(output))
