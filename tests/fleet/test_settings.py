"""The fleet file: valid contents, and messages about invalid contents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpcatalog.check import settings as check
from gpcatalog.emit.metrics import clusters, text_format
from gpcatalog.errors import CatalogError
from gpcatalog.fleet import settings
from gpcatalog.fleet.patterns import choose
from tests.test_cli import FIXTURE, run

GOOD = """
jobs = 2
timeout = "90min"
schedule = "daily"
labels = { site = "berlin" }

[cluster.dwh]
conninfo = "service=dwh"
databases = ["sales", "dwh_*"]
exclude = ["*_old"]
policy = "dwh.policy.toml"
limits = { max_rewrite = "2TB", window = "6h" }
labels = { team = "bi", site = "bonn" }
schedule = "hourly"

[cluster.crm-1]
conninfo = "host=crm dbname=postgres user=monitor"
"""


def test_a_file_is_read_completely(tmp_path: Path) -> None:
    fleet = settings.loads(GOOD, tmp_path / "gpcatalog.toml")
    assert (fleet.jobs, fleet.timeout) == (2, 5400.0)
    assert list(fleet.clusters) == ["dwh", "crm-1"]
    dwh, crm = fleet.clusters.values()
    assert dwh.labels == {"site": "bonn", "team": "bi"}
    assert crm.labels == {"site": "berlin"}
    assert dwh.limits.max_rewrite == "2TB"
    assert fleet.policy_of(dwh) == tmp_path / "dwh.policy.toml"
    assert fleet.policy_of(crm) is None
    assert (fleet.schedule_of(dwh), fleet.schedule_of(crm)) == ("hourly", "daily")
    there = ["dwh_new", "dwh_old", "sales", "x"]
    assert choose(there, dwh.databases, dwh.exclude) == (["dwh_new", "sales"], [])
    assert choose(there, crm.databases, crm.exclude) == (there, [])
    assert list(fleet.chosen(["crm-1"])) == ["crm-1"]
    with pytest.raises(CatalogError, match="has no cluster 'web'") as caught:
        fleet.chosen(["web"])
    assert caught.value.hint == "clusters: dwh, crm-1"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "lists no cluster", r"\[cluster\.NAME\]"),
        ("[cluster.a]", r"\[cluster.a\] has no key 'conninfo'", "patterns"),
        ("[cluster.a]\nconninfo = 'password=x'", r"\[cluster.a\]: conninfo has a password", "pgpass"),
        ("[cluster.a]\nconninfo = 'postgresql://u:secret@h/d'", "conninfo has a password", "pgpass"),
        ("[cluster.a]\nconninfo = 'hots=x'", r"\[cluster.a\]: conninfo: not a connection", "psql"),
        ("[cluster.a]\nconninfo = ''\ndatabase = ['x']", r"'database' in \[cluster.a\]", "databases"),
        ("[cluster.a]\nconninfo = ''\ndatabases = 'x'", "Expected `array`.*cluster.a.databases", ""),
        ("[cluster.a]\nconninfo = ''\nlimits = {max = 1}", r"'max' in \[cluster.a.limits\]", "window"),
        ("[cluster.a]\nconninfo = ''\nlimits = {window = 'soon'}", r"cluster.a.*window.*'soon'", ""),
        ("[cluster.'a b']\nconninfo = ''", "'a b' is not the name of a cluster", "letters"),
        ("[cluster.'../x']\nconninfo = ''", "'../x' is not the name of a cluster", "letters"),
        ("[cluster.a]\nconninfo = ''\nlabels = {server = 'x'}", "have a label 'server'", "another"),
        ("labels = {'a-b' = 'x'}\n[cluster.a]\nconninfo = ''", "'a-b' is not the name of a label", ""),
        ("jobs = 0\n[cluster.a]\nconninfo = ''", "Expected `int` >= 1.*jobs", ""),
        ("timeout = 'later'\n[cluster.a]\nconninfo = ''", "timeout: 'later' is not a period", ""),
        ("jobz = 1", "unknown key 'jobz' in the top level", "jobs, timeout"),
        ("[cluster.a", "is not valid TOML", "quotes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, message: str, hint: str) -> None:
    with pytest.raises(CatalogError) as caught:
        settings.loads(text, Path("fleet.toml"))
    assert caught.value.message.startswith("fleet.toml")
    assert re.search(message, caught.value.message), caught.value.message
    assert re.search(hint, caught.value.hint), caught.value.hint
    assert "secret" not in caught.value.message + caught.value.hint


def test_where_the_file_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{tmp_path / 'site'}:{tmp_path / 'more'}")
    with pytest.raises(CatalogError, match="there is no fleet file") as caught:
        settings.find("")
    assert str(tmp_path / "user/gpcatalog/gpcatalog.toml") in caught.value.message
    for folder in ("more", "site", "user"):
        place = tmp_path / folder / "gpcatalog"
        place.mkdir(parents=True)
        (place / "gpcatalog.toml").write_text(GOOD)
        assert settings.find("") == place / "gpcatalog.toml"
    assert settings.find("x.toml") == Path("x.toml")


def test_labels_of_metrics_are_reserved() -> None:
    """Every label of a metric is reserved, because a fleet label with this name would be a duplicate."""
    result = run("metrics", "--snapshot", str(FIXTURE), "--top", "3")
    fleet = text_format([clusters([({"cluster": "a"}, 1, 0, 1.0)])])
    there = set(re.findall(r'[{,]([a-z_]+)="', result.stdout + fleet))
    assert there
    assert there <= settings.OWN_LABELS


def test_databases_that_are_named_and_not_there() -> None:
    there = ["dwh_1", "dwh_2", "old", "other", "sales"]
    names = ["sales", "gone", "old", "dwh_*", "none_*"]
    assert choose(there, names, ["old", "dwh_2*"]) == (["dwh_1", "sales"], ["gone"])


def test_a_file_of_the_check_may_have_the_same_name(tmp_path: Path) -> None:
    """gpcatalog.toml may be a fleet file and a settings file of check: each command reads its own tables."""
    file = tmp_path / "gpcatalog.toml"
    both = GOOD + "\n[check]\npremake-days = 5\n"
    assert len(settings.loads(both, file).clusters) == 2
    found = check.loads(both, file)
    assert found is not None
    assert found.premake_days == 5
    assert check.loads(GOOD, file) is None
