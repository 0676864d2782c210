"""Every kind of step that a plan can have is known to the migration, once."""

from __future__ import annotations

import typing

import pytest

from gpcatalog.migration import steps
from gpcatalog.migration.steps import registry
from gpcatalog.planner import operations as op
from gpcatalog.planner import plan_file

MAKERS = ("pg_partman", "every", "template")  # as the docstring of Reconfigure lists them


def test_every_step_has_a_handler() -> None:
    tags = {str(kind.__struct_config__.tag) for kind in typing.get_args(op.AnyStep)}
    expected = (tags - {"reconfigure"}) | {f"reconfigure {maker}" for maker in MAKERS}
    expected |= {"create", "retire"}  # of upkeep: no plan has them
    assert steps.kinds() == expected
    assert op.Reconfigure.__doc__ is not None
    assert all(f'"{maker}"' in op.Reconfigure.__doc__ for maker in MAKERS)


def test_every_step_has_a_line_in_plan_files() -> None:
    assert set(plan_file._LINES) == set(typing.get_args(op.AnyStep))
    assert set(plan_file._LINES.values()) == set(typing.get_args(plan_file.AnyLine))


def test_two_handlers_are_an_error() -> None:
    with pytest.raises(ValueError, match="two handlers for steps of kind merge"):
        registry.register(registry.StepHandler(lambda live, step, ask: []), "merge")
