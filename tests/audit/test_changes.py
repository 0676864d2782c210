"""The differences between two audits, compared with a replay of the notifications."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpcatalog.audit.changes import Problem, compare, problems_of, unread, with_unknown
from gpcatalog.model.finding import Confidence, Finding, Severity

PLACES = ("one/a", "one/b", "two/a")
problems = st.builds(
    Problem,
    place=st.sampled_from(PLACES),
    rule=st.sampled_from(["bloat", "ages"]),
    severity=st.sampled_from(["warning", "critical"]),
    title=st.sampled_from(["3 rows", "4 rows"]),
    relation=st.sampled_from(["", "s.t"]),
    content=st.sampled_from([None, -1, 0]),
)
states = st.lists(problems, max_size=6, unique_by=lambda p: p.key)


@given(st.lists(states, min_size=1, max_size=6))
def test_a_replay_of_the_notifications_gives_the_state(nights: list[list[Problem]]) -> None:
    """The notifications alone are enough to know every problem and its severity."""
    heard: dict[str, str] = {}
    before = None
    for now in nights:
        found = compare(now, before, "t")
        for p in (*found.new, *found.worse, *found.better):
            heard[p.key] = p.severity
        for p in found.gone:
            del heard[p.key]
        assert heard == {p.key: p.severity for p in now}
        assert found.changed == (
            {p.key: p.severity for p in now} != {k: p.severity for k, p in (before or {}).items()}
        )
        assert sum(found.counts.values()) == len(now)
        assert found.state == max(
            (p.severity for p in now), key=["warning", "critical"].index, default="ok"
        )
        assert len({p.key for p in (*found.new, *found.worse, *found.better, *found.gone)}) == sum(
            map(len, (found.new, found.worse, found.better, found.gone))
        )
        before = {p.key: p for p in now}


def test_a_title_with_another_number_is_no_change() -> None:
    one = Problem(place="p", rule="r", severity="warning", title="3 rows")
    two = Problem(place="p", rule="r", severity="warning", title="4 rows")
    found = compare([two], {one.key: one}, "t")
    assert not found.changed
    assert (found.before, found.state) == ("warning", "warning")


def test_the_first_run_without_problems_is_no_change() -> None:
    found = compare([], None, "t")
    assert (found.changed, found.before, found.state) == (False, None, "ok")


@given(states, st.sampled_from(["one", "one/a", "two"]))
def test_problems_of_an_unread_place_remain(before: list[Problem], place: str) -> None:
    """Problems of a place that could not be read are neither gone nor new again."""
    known = {p.key: p for p in before}
    combined = with_unknown([unread(place, "down")], known, [place])
    found = compare(combined, known, "t")
    covered = [p for p in before if p.place == place or p.place.startswith(f"{place}/")]
    assert set(found.gone) == set(before) - set(covered)
    assert [p.rule for p in found.new] == ["unread"]
    later = {p.key: p for p in combined}
    again = compare(with_unknown(covered, later, []), later, "t")
    assert [p.rule for p in again.gone] == ["unread"]
    assert not again.new


def test_notices_are_no_problems() -> None:
    def finding(severity: Severity) -> Finding:
        return Finding(
            rule="r", severity=severity, confidence=Confidence.HIGH, title="t", detail="d",
            remedy="m", relations=("s.t", "s.u"), content=2,
        )  # fmt: skip

    found = problems_of("p", [finding(s) for s in Severity])
    assert [p.severity for p in found] == ["warning", "critical"]
    assert (found[0].relation, found[0].content, found[0].remedy) == ("s.t", 2, "m")
