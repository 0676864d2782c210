"""The template for Zabbix: its patterns with a real Prometheus, its form by the rules of Zabbix's importer.

The importer itself (Zabbix 7.0.22) accepted the template when it was written: docs/monitoring.md has the date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpcatalog.emit.zabbix import DISCOVERIES, MACROS, MASTER, template
from tests.report.prometheus import Prometheus
from tests.test_cli import run

pytestmark = pytest.mark.xdist_group("prometheus")  # one server for all tests
PROTOTYPES = [
    (rule, item)
    for rule in template()["zabbix_export"]["templates"][0]["discovery_rules"]
    for item in rule["item_prototypes"]
]


def uuids(value: Any) -> Iterator[str]:
    """All UUIDs in a template."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "uuid":
            yield one
        elif isinstance(one, dict | list):
            yield from uuids(one)


def test_the_yaml_is_the_template() -> None:
    result = run("metrics", "--zabbix")
    assert result.returncode == 0, result.stderr
    assert yaml.safe_load(result.stdout) == template()


def test_what_the_importer_refuses() -> None:
    """Identifiers are of version 4 and unique, keys are unique, and macros are defined."""
    found = list(uuids(template()))
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", one) for one in found)
    keys = [item["key"] for _, item in PROTOTYPES]
    assert len(set(keys)) == len(keys)
    text = str(template())
    assert set(re.findall(r"\{\$[A-Z.]+\}", text)) == set(MACROS)
    for rule, item in PROTOTYPES:
        own = {path["lld_macro"] for path in rule["lld_macro_paths"]}
        assert set(re.findall(r"\{#\w+\}", str(item))) == own
        assert item["master_item"] == rule["master_item"] == {"key": MASTER}
        for trigger in item.get("trigger_prototypes", ()):
            assert item["key"] in trigger["expression"]


@pytest.mark.parametrize("key", [d.key for d in DISCOVERIES])
def test_every_pattern_finds_its_samples(prometheus: Prometheus, key: str) -> None:
    """Each discovered object has exactly one sample of each value, or several that are summed."""
    (discovery,) = [d for d in DISCOVERIES if d.key == key]
    objects = prometheus.values(discovery.metric)
    if key == "findings.critical":
        assert not objects  # the recorded database has no critical findings
        return
    assert objects
    seen: set[tuple[str, bool]] = set()
    for found in objects:
        for rule, item in PROTOTYPES:
            if rule["key"] != f"gpcatalog.discovery[{key}]":
                continue
            step = item["preprocessing"][0]
            pattern, output, _ = step["parameters"]
            for label in discovery.labels:
                pattern = pattern.replace(f"{{#{label.upper()}}}", found["metric"][label])
            samples = prometheus.values(pattern)
            unknown = "reclaimable" in pattern or "unread" in pattern
            if output == "value":
                assert len(samples) == 1 or (unknown and not samples), pattern
            else:
                assert samples or "error_handler_params" in step, pattern
            if "error_handler_params" not in step:
                seen.add((pattern.partition("{")[0], bool(samples)))
    shown = {tuple(o["metric"][label] for label in discovery.labels) for o in objects}
    assert len(shown) == len(objects)
    assert {name for name, there in seen if not there} <= {name for name, there in seen if there}
