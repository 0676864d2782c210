"""The migration has exactly one handler for every kind of step that a plan can have."""

from __future__ import annotations

import typing

import pytest

from gpcatalog.migration import steps
from gpcatalog.migration.classic_spelling import partition
from gpcatalog.migration.operations import NewPartition, Unit
from gpcatalog.migration.steps import registry
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
from gpcatalog.planner import operations as op
from gpcatalog.planner import plan_file
from tests.migration.test_properties import relation

MAKERS = ("pg_partman", "every", "template")  # as listed in the docstring of Reconfigure


def test_every_step_has_a_handler() -> None:
    tags = {str(kind.__struct_config__.tag) for kind in typing.get_args(op.AnyStep)}
    expected = (tags - {"reconfigure"}) | {f"reconfigure {maker}" for maker in MAKERS}
    expected |= {"create", "retire"}  # from upkeep: no plan contains them
    assert steps.kinds() == expected
    assert op.Reconfigure.__doc__ is not None
    assert all(f'"{maker}"' in op.Reconfigure.__doc__ for maker in MAKERS)


def test_every_step_has_a_line_in_plan_files() -> None:
    assert set(plan_file._LINES) == set(typing.get_args(op.AnyStep))
    assert set(plan_file._LINES.values()) == set(typing.get_args(plan_file.AnyLine))


def test_two_handlers_are_an_error() -> None:
    with pytest.raises(ValueError, match="two handlers for steps of kind merge"):
        registry.register(registry.StepHandler(lambda live, step, ask: []), "merge")


@pytest.mark.parametrize(
    ("number", "names"), [(1, "p1"), (2, "p1, p2"), (3, "p1, p2, p3"), (4, "p1, p2, p3 …")]
)
def test_a_title_names_three_partitions(number: int, names: str) -> None:
    def replacing(removed: int, created: int) -> ReplacePartitions:
        old = [relation(f"p{n}", "s", "o", "", level=n) for n in range(1, removed + 1)]
        units = (Unit(relation=r, leaves=(r,), address=partition(r.partition)) for r in old)
        new = (
            NewPartition(name=f"p{n}", partition=f"p{n}", bound="", stages=(), key="")
            for n in range(1, created + 1)
        )
        return ReplacePartitions(
            id="merge-1",
            title="",
            parent=relation("t", "s", "o", "", level=0, kind="root", key="d"),
            above="",
            gone=tuple(units),
            new_partitions=tuple(new),
            range_predicate="",
            rests_on=(),
        )

    assert replacing(number, number).summary() == f"rewrite {names}"
    assert replacing(number + 1, number).summary() == f"merge {number + 1} partitions into {names}"
