"""Statements that can crash Greenplum 7, on tables of a baseline: the snapshot of a recorded server."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from gpcatalog.check.run import cost_edition, run, server_edition
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.script import Source
from gpcatalog.effects.baseline import Baseline
from gpcatalog.model.finding import Severity
from tests.probes.replay import Answers, ReplaySession, collected
from tests.recorded import FOLDER, read

LIKE = "CREATE TABLE {name} (LIKE public.{source} INCLUDING ALL{more}) DISTRIBUTED RANDOMLY;\n"


def test_like_of_row_oriented_tables_of_a_baseline(tmp_path: Path) -> None:
    """LIKE of row-oriented tables of a baseline is reported, because it is not known whether a column was added to them."""
    _, *entries = read(FOLDER / "truth_gp7.json")
    file = collected(ReplaySession(Answers().load(entries)), tmp_path / "now.gpcatalog")
    known = Baseline(file)
    text = (
        LIKE.format(name="a", source="events", more="")
        + LIKE.format(name="b", source="events_1_prt_2", more="")
        + LIKE.format(name="c", source="events_1_prt_2", more=" EXCLUDING ENCODING")
        + LIKE.format(name="d", source="events_1_prt_2", more=" EXCLUDING ALL")
        + LIKE.format(name="e", source="events", more=" EXCLUDING ALL INCLUDING ENCODING")
        + LIKE.format(name="f", source="events", more=" EXCLUDING ENCODING INCLUDING STORAGE")
    )
    settings = Settings(server=known.generation)
    state = known.state(cost_edition(server_edition(settings.server)), ZoneInfo("UTC"))
    report = run([Source(text, "f.sql")], settings, state=state, baseline=known.totals)
    found = {
        f.line: (f.finding.severity, f.finding.relations)
        for f in report.findings
        if f.finding.rule == "encoding-crash"
    }
    assert found == {
        1: (Severity.WARNING, ("public.events",)),
        2: (Severity.WARNING, ("public.events_1_prt_2",)),
        5: (Severity.WARNING, ("public.events",)),
    }
