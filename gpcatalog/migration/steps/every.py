"""Reconfigure steps for scripts that add partitions with EVERY: nothing is changed on the
server. A sentence is written for the person who runs the scripts.
"""

from __future__ import annotations

from gpcatalog.migration.introspect import ProbeRunner
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.planner import operations as op


def _nothing(live: LiveTable, step: op.Reconfigure, run_probe: ProbeRunner) -> Translation:
    return []


def _advise(step: op.Reconfigure) -> str:
    return (
        f"{step.explanation} (the last partitions were added with EVERY"
        f" {step.now.get('every') or 'unknown'})"
    )


register(StepHandler(_nothing, advise=_advise), "reconfigure every")
