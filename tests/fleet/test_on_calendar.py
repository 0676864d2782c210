"""The check of OnCalendar expressions accepts what systemd accepts, and refuses the rest."""

from __future__ import annotations

import random
import subprocess

import pytest

from gpcatalog.emit.on_calendar import is_on_calendar
from tests.conftest import program

# the examples of systemd.time(7), and expressions near the bounds of each component
ACCEPTED = """Sat,Thu,Mon..Wed,Sat..Sun|Mon,Sun 12-*-* 2,1:23|Wed *-1|Wed..Wed,Wed *-1|Wed, 17:48
Wed..Sat,Tue 12-10-15 1:2:3|*-*-7 0:0:0|10-15|monday *-12-* 17:00|Mon,Fri *-*-3,1,2 *:30:45
12,14,13,12:20,10,30|12..14:10,20,30|mon,fri *-1/2-1,3 *:30:45|03-05 08:05:40|08:05:40|05:40
Sat,Sun 12-05 08:05:40|Sat,Sun 08:05:40|2003-03-05 05:40|05:40:23.4200004/3.1700005
2003-02..04-05|2003-03-05 05:40 UTC|2003-03-05|03-05|hourly|daily UTC|monthly|*:2/3|*-*~07/1
weekly Pacific/Auckland|*-02~03|2199-1-1|99-1-1|Mon UTC|1..5/2:00|0:0:58.5/1|*:1..5/5|001:00"""
REFUSED = """bogus day|bogus|25:00|Mon Tue|*-13-01|UTC|Mon..Fri 02:30 Nowhere/City|02:60|1.5:00|..
02:30 daily|Mon,,Tue|3 days|@daily|02:00 ../UTC|*/4:00|*-*-*/2|*-2~29|2250-1-1|100-1-1|Sun..Mon
0:0:59/1|1:2:60.5|*-1/2..5-1|Mon.. Tue|1,:0|23/1:00|20-*,4-14|1960-*-1|~|-|:|/|,"""


def _cases(text: str) -> list[str]:
    return text.replace("\n", "|").split("|")


def test_examples() -> None:
    assert [case for case in _cases(ACCEPTED) if not is_on_calendar(case)] == []
    assert [case for case in ["", " ", *_cases(REFUSED)] if is_on_calendar(case)] == []


@pytest.fixture
def analyze() -> str:
    return program("systemd-analyze", "systemd")


def _component(dice: random.Random, low: int, high: int) -> str:
    """A component of a date or time: mostly valid, and often near its bounds."""
    a, b = dice.randint(low, high + 1), dice.randint(low, high)
    every = ["*", str(a), f"{a}..{b}", f"{a}/{dice.randint(0, 5)}", f"*/{b}", f"{a},{b}"]
    return dice.choices(every, [4, 5, 2, 2, 1, 2])[0]


def test_random_expressions_as_systemd(analyze: str) -> None:
    dice = random.Random(5)
    cases = {*_cases(ACCEPTED), *_cases(REFUSED)}
    while len(cases) < 300:
        month, day, hour, minute, second = (
            _component(dice, *bounds) for bounds in ((1, 12), (1, 31), (0, 23), (0, 59), (0, 59))
        )
        year = dice.choice(["*-", "", "2020-", "20-", "1969-", "2198-", "2020..2030-", "70-"])
        words = [
            dice.choice(["", "Mon", "monday", "Mon..Fri", "Mon-Fri", "Fri..Mon", "Sun,", "Foo"]),
            dice.choice(["", f"{year}{month}-{day}", f"{month}~{day}", f"{year}{month}~{day}"]),
            dice.choice(["", f"{hour}:{minute}", f"{hour}:{minute}:{second}"]),
            dice.choice(["", "", "", "UTC", "utc", "Europe/Berlin", "Nowhere"]),
        ]
        cases.add(" ".join(filter(None, words)) or "*")
    other = {
        case: found
        for case in sorted(cases)
        if (found := is_on_calendar(case)) is not _accepts(analyze, case)
    }
    assert other == {}


def _accepts(analyze: str, case: str) -> bool:
    done = subprocess.run([analyze, "calendar", "--", case], capture_output=True, check=False)
    return done.returncode == 0
