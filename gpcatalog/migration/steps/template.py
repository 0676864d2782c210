"""Reconfigure a subpartition template (Greenplum): new partitions get the same subpartitions as
the planned ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpcatalog.migration.introspect import ProbeRunner, Relation
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import Context, Operation, WriteContext
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.template_text import elements, set_template, templates_lost
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    block,
    lock_from_readers,
)
from gpcatalog.model.names import first_lines
from gpcatalog.planner import operations as op


@dataclass(frozen=True, kw_only=True)
class SetTemplate(Operation):
    """A table gets another subpartition template; no partition and no row is changed.

    then: its elements, as SQL; was: the elements before
    """

    root: Relation
    then: tuple[str, ...]
    was: tuple[str, ...]

    def summary(self) -> str:
        return "change the subpartition template"

    def details(self) -> list[str]:
        return first_lines([f"  {element}" for element in self.then], 20)

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        lock = lock_from_readers([self.root.sql])
        phases: Phases = [
            (
                Phase.GUARD,
                writer.guard(context, self, done=writing.state, exact=False, partitions=[]),
            ),
            (Phase.EXCLUSIVE, [lock, EXCLUSIVE_SINCE]),
            (Phase.SWAP, [set_template(self.root.sql, self.then)]),
            (Phase.NOTE, writer.note(context, self, writing.state)),
        ]
        return [block(phases)]


def _translate(live: LiveTable, step: op.Reconfigure, run_probe: ProbeRunner) -> Translation:
    """New partitions get the subpartitions that the named partition has after the plan."""
    if not live.table.server.greenplum:
        raise Refusal("this server does not support subpartition templates")
    like = step.now.get("like") or ""
    parent = next(
        (r for r in live.table.relations.values() if r.name == like and r.level == 1), None
    )
    if parent is None:
        raise Refusal(f"changed since it was planned: {like} is gone")
    if not any(
        isinstance(s, op.Merge | op.DropEmpty) and s.parent_name == like for s in live.accepted
    ):
        raise Refusal(f"the steps below {like} that this step depends on were refused")
    now, then = elements(live.table, parent, live.accepted, classic=live.classic)
    if not then:
        raise Refusal("the template would be empty")
    if live.classic:
        # as the server prints it, if it does; otherwise, the template is written from the
        # partitions
        now = next(
            (
                found
                for reached, found in live.templates_now(run_probe)
                if reached == live.table.root.sql
            ),
            now,
        )
    root = live.table.root
    lost = [] if live.classic else templates_lost(live.table, run_probe, {1: now})
    forward = SetTemplate(
        id=step.id,
        title=step.explanation,
        root=root,
        then=then,
        was=now,
        rests_on=step.rests_on,
        lost=tuple(lost),
    )
    rollback = SetTemplate(
        id=f"undo-{step.id}", title=f"rollback: {step.explanation}", root=root, then=now, was=then
    )
    return [(forward, rollback)]


register(StepHandler(_translate), "reconfigure template")
