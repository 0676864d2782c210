"""Handlers of plan steps: one per kind of step, registered by the module that contains its code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpcatalog.migration.introspect import ProbeRunner
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import Operation
from gpcatalog.planner import operations as op

Translation = Sequence[tuple[Operation, Operation | None]]
"""Operations of a step in their order, each with its rollback; None if none can be written."""


@dataclass(frozen=True)
class StepHandler:
    """How a migration handles one kind of step.

    translate: converts the live table and the step to operations; raises Refusal, or ValueError for
               text that is not understood
    divisible: whether it is divided into transactions that fit, so that no limit on seconds or
               locks refuses the whole step
    exchanges: whether it replaces or removes partitions, so that objects that depend on the table
               are obstacles
    removes:   whether a step only detaches or drops partitions, so that there are fewer obstacles
    alone:     divides a step into smaller ones, of which some may be possible if it is refused
    advise:    returns the sentence for a step that changes nothing on the server
    """

    translate: Callable[[LiveTable, Any, ProbeRunner], Translation]
    divisible: bool = False
    exchanges: bool = True
    removes: Callable[[Any], bool] = lambda step: False
    alone: Callable[[Any], Sequence[Any]] | None = None
    advise: Callable[[Any], str] | None = None


_HANDLERS: dict[str, StepHandler] = {}


def register(handler: StepHandler, *kinds: str) -> None:
    """Register the handler of steps of these kinds. Raises ValueError if a kind already has a
    handler.
    """
    for kind in kinds:
        if kind in _HANDLERS:
            raise ValueError(f"two handlers for steps of kind {kind}")
        _HANDLERS[kind] = handler


def handler_of(step: op.AnyStep) -> StepHandler:
    """Return the handler of a step's kind. Raises KeyError for a kind without one."""
    return _HANDLERS[step.kind]


def kinds() -> set[str]:
    """Return the kinds of steps that have a handler."""
    return set(_HANDLERS)
