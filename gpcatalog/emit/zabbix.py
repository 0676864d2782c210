"""A template for Zabbix 7.0: items, discovery and triggers for a file of metrics.

An agent reads the file; Zabbix extracts all other items from its text with its own preprocessing
for the format of Prometheus. Therefore one run of gpcatalog is enough for all items, and nothing
runs under the account of the agent.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NAME = "Greenplum and PostgreSQL catalogs by gpcatalog"
GROUP = "Templates/Databases"
FILE = "/var/lib/prometheus/node-exporter/gpcatalog.prom"
MASTER = 'vfs.file.contents["{$GPCATALOG.FILE}"]'
_DATABASE = ("server", "database")


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """A problem. condition: contains {item} for the key of the item; priority: a name of Zabbix."""

    name: str
    condition: str
    priority: str
    action: str = ""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One value of a discovered object.

    key:      end of the item's key
    metric:   metric and additional labels as a Prometheus pattern
    function: how samples are combined; empty: there is only one
    missing:  value if there is no sample; empty: the item then has no value
    """

    key: str
    name: str
    metric: str
    labels: tuple[str, ...] = ()
    function: str = ""
    units: str = ""
    missing: str = ""
    triggers: tuple[Trigger, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """Objects that are found by the samples of a metric. labels: those that identify one object."""

    key: str
    name: str
    metric: str
    labels: tuple[str, ...]
    title: str
    items: tuple[Item, ...]


def _findings(severity: str, priority: str) -> Discovery:
    return Discovery(
        key=f"findings.{severity}",
        name=f"Findings of severity {severity}",
        metric=f'gpcatalog_rule_findings{{severity="{severity}"}}',
        labels=(*_DATABASE, "rule"),
        title="{#SERVER} {#DATABASE}",
        items=(
            Item(
                key=f"findings.{severity}",
                name=f"{severity} findings of {{#RULE}}",
                metric="gpcatalog_rule_findings",
                labels=(f'severity="{severity}"',),
                missing="0",
                triggers=(
                    Trigger(
                        name="{#RULE} ({ITEM.LASTVALUE1} findings)",
                        condition="last({item})>0",
                        priority=priority,
                        action="gpcatalog rules {#RULE} explains the rule and what to do.",
                    ),
                ),
            ),
        ),
    )


DISCOVERIES = (
    Discovery(
        key="clusters",
        name="Clusters of the fleet",
        metric="gpcatalog_cluster_up",
        labels=("cluster",),
        title="{#CLUSTER}",
        items=(
            Item(
                key="up",
                name="cluster was read",
                metric="gpcatalog_cluster_up",
                triggers=(
                    Trigger(
                        name="the cluster could not be read",
                        condition="last({item})=0",
                        priority="HIGH",
                        action="Look at the output of the job that runs gpcatalog audit --all.",
                    ),
                ),
            ),
            Item(
                key="unread",
                name="databases that could not be read",
                metric="gpcatalog_cluster_databases_unread",
                triggers=(
                    Trigger(
                        name="{ITEM.LASTVALUE1} databases could not be read",
                        condition="last({item})>0",
                        priority="WARNING",
                        action="Look at the output of the job that runs gpcatalog audit --all.",
                    ),
                ),
            ),
        ),
    ),
    Discovery(
        key="databases",
        name="Databases",
        metric="gpcatalog_server",
        labels=_DATABASE,
        title="{#SERVER} {#DATABASE}",
        items=(
            Item(
                key="snapshot",
                name="time of the snapshot",
                metric="gpcatalog_snapshot_timestamp_seconds",
                units="unixtime",
                triggers=(
                    Trigger(
                        name="no snapshot for {$GPCATALOG.SNAPSHOT.AGE}",
                        condition="now()-last({item})>{$GPCATALOG.SNAPSHOT.AGE}",
                        priority="WARNING",
                        action="Look at the output of the job that runs gpcatalog metrics.",
                    ),
                ),
            ),
            Item(key="leaves", name="leaves", metric="gpcatalog_leaves", function="sum"),
            Item(
                key="leaves.empty",
                name="empty leaves",
                metric="gpcatalog_empty_leaves",
                function="sum",
            ),
            Item(key="files", name="files", metric="gpcatalog_files", function="sum"),
            Item(
                key="catalog.bytes",
                name="bytes of the catalogs on all instances",
                metric="gpcatalog_catalog_bytes",
                function="sum",
                units="B",
            ),
            Item(
                key="catalog.reclaimable",
                name="reclaimable bytes of the catalogs on all instances (estimate)",
                metric="gpcatalog_catalog_reclaimable_bytes",
                function="sum",
                units="B",
            ),
            Item(
                key="cover",
                name="time until the first table runs out of partitions",
                metric="gpcatalog_least_cover_seconds",
                units="s",
            ),
            Item(
                key="probes.unread",
                name="probes that could not be read",
                metric="gpcatalog_probes",
                labels=('status!~"read|not applicable"',),
                function="sum",
                missing="0",
                triggers=(
                    Trigger(
                        name="{ITEM.LASTVALUE1} probes could not be read",
                        condition="last({item})>0",
                        priority="INFO",
                        action="gpcatalog doctor prints the missing privileges.",
                    ),
                ),
            ),
        ),
    ),
    Discovery(
        key="limits",
        name="Limits",
        metric="gpcatalog_limit_ratio",
        labels=(*_DATABASE, "limit"),
        title="{#SERVER} {#DATABASE}",
        items=(
            Item(
                key="limit",
                name="limit {#LIMIT}, share used",
                metric="gpcatalog_limit_ratio",
                triggers=(
                    Trigger(
                        name="limit {#LIMIT} is exceeded",
                        condition="last({item})>={$GPCATALOG.LIMIT.HIGH}",
                        priority="HIGH",
                        action="gpcatalog audit --verbose prints the limit with its source.",
                    ),
                    Trigger(
                        name="limit {#LIMIT} is near",
                        condition="last({item})>={$GPCATALOG.LIMIT.WARN} and"
                        " last({item})<{$GPCATALOG.LIMIT.HIGH}",
                        priority="WARNING",
                        action="gpcatalog growth shows which tables grow; gpcatalog plan proposes"
                        " merges.",
                    ),
                    Trigger(
                        name="limit {#LIMIT} will be reached within {$GPCATALOG.LIMIT.SOON}",
                        condition="timeleft({item},14d,{$GPCATALOG.LIMIT.HIGH})"
                        "<{$GPCATALOG.LIMIT.SOON} and last({item})<{$GPCATALOG.LIMIT.HIGH}",
                        priority="WARNING",
                        action="A straight line through the values of two weeks (estimate).",
                    ),
                ),
            ),
        ),
    ),
    Discovery(
        key="catalogs",
        name="Catalogs of each instance",
        metric="gpcatalog_catalog_bytes",
        labels=(*_DATABASE, "content", "catalog"),
        title="{#SERVER} {#DATABASE} segment {#CONTENT}",
        items=(
            Item(
                key="bytes", name="{#CATALOG}, bytes", metric="gpcatalog_catalog_bytes", units="B"
            ),
            Item(
                key="reclaimable",
                name="{#CATALOG}, reclaimable bytes (estimate)",
                metric="gpcatalog_catalog_reclaimable_bytes",
                units="B",
            ),
        ),
    ),
    _findings("critical", "HIGH"),
    _findings("warning", "WARNING"),
)
MACROS = {
    "{$GPCATALOG.FILE}": (FILE, "File that gpcatalog metrics or audit --metrics writes."),
    "{$GPCATALOG.INTERVAL}": ("10m", "How often the file is read."),
    "{$GPCATALOG.LIMIT.HIGH}": ("1", "Share of a limit that is a problem of priority high."),
    "{$GPCATALOG.LIMIT.SOON}": (
        "30d",
        "A limit that will be reached within this time is reported.",
    ),
    "{$GPCATALOG.LIMIT.WARN}": ("0.8", "Share of a limit that is a warning."),
    "{$GPCATALOG.SNAPSHOT.AGE}": ("2d", "Age of the last snapshot that is a warning."),
}


def _id(*words: str) -> str:
    """An identifier that is the same in every export (a UUID of version 4, which Zabbix
    requires).
    """
    digest = hashlib.sha256("\0".join(("gpcatalog", *words)).encode()).digest()
    return uuid.UUID(bytes=digest[:16], version=4).hex


def _macro(label: str) -> str:
    return "{#" + label.upper() + "}"


def _item(found: Discovery, item: Item) -> dict[str, Any]:
    """An item prototype with its triggers."""
    arguments = ",".join(f'"{_macro(label)}"' for label in found.labels)
    key = f"gpcatalog.{item.key}[{arguments}]"
    labels = ",".join([*(f'{name}="{_macro(name)}"' for name in found.labels), *item.labels])
    step: dict[str, Any] = {
        "type": "PROMETHEUS_PATTERN",
        "parameters": [
            f"{item.metric}{{{labels}}}",
            "function" if item.function else "value",
            item.function,
        ],
    }
    if item.missing:
        step |= {"error_handler": "CUSTOM_VALUE", "error_handler_params": item.missing}
    else:  # an unknown value is discarded, and the item remains supported
        step |= {"error_handler": "DISCARD_VALUE"}
    fields: dict[str, Any] = {
        "uuid": _id("item", found.key, item.key),
        "name": f"{found.title}: {item.name}",
        "type": "DEPENDENT",
        "key": key,
        "delay": "0",
        "value_type": "FLOAT",
        "units": item.units,
        "preprocessing": [step],
        "master_item": {"key": MASTER},
        "tags": [{"tag": "component", "value": found.key}],
    }
    if item.triggers:
        fields["trigger_prototypes"] = [
            {
                "uuid": _id("trigger", found.key, item.key, str(n)),
                "expression": t.condition.replace("{item}", f"/{NAME}/{key}"),
                "name": f"{found.title}: {t.name}",
                "priority": t.priority,
                "description": t.action,
                "tags": [{"tag": "scope", "value": "capacity"}],
            }
            for n, t in enumerate(item.triggers)
        ]
    return {name: value for name, value in fields.items() if value != ""}


def _discovery(found: Discovery) -> dict[str, Any]:
    """A discovery rule with its item prototypes."""
    return {
        "uuid": _id("discovery", found.key),
        "name": found.name,
        "type": "DEPENDENT",
        "key": f"gpcatalog.discovery[{found.key}]",
        "delay": "0",
        "item_prototypes": [_item(found, item) for item in found.items],
        "master_item": {"key": MASTER},
        "lld_macro_paths": [
            {"lld_macro": _macro(label), "path": f"$.labels.{label}"} for label in found.labels
        ],
        "preprocessing": [
            {
                "type": "PROMETHEUS_TO_JSON",
                "parameters": [found.metric],
                # a file without such samples has no objects of this kind
                "error_handler": "CUSTOM_VALUE",
                "error_handler_params": "[]",
            }
        ],
    }


def template() -> dict[str, Any]:
    """The template in the export format of Zabbix."""
    return {
        "zabbix_export": {
            "version": "7.0",
            "template_groups": [{"uuid": "748ad4d098d447d492bb935c907f652f", "name": GROUP}],
            "templates": [
                {
                    "uuid": _id("template"),
                    "template": NAME,
                    "name": NAME,
                    "description": (
                        "Catalog bloat, partitions, files and limits of Greenplum and PostgreSQL."
                        " Link it to the host that runs gpcatalog and set {$GPCATALOG.FILE}."
                    ),
                    "groups": [{"name": GROUP}],
                    "items": [
                        {
                            "uuid": _id("master"),
                            "name": "Metrics of gpcatalog",
                            "type": "ZABBIX_PASSIVE",
                            "key": MASTER,
                            "delay": "{$GPCATALOG.INTERVAL}",
                            "history": "0",
                            "value_type": "TEXT",
                            "tags": [{"tag": "component", "value": "raw"}],
                        }
                    ],
                    "discovery_rules": [_discovery(found) for found in DISCOVERIES],
                    "tags": [{"tag": "class", "value": "database"}],
                    "macros": [
                        {"macro": macro, "value": value, "description": text}
                        for macro, (value, text) in MACROS.items()
                    ],
                }
            ],
        }
    }


def _yaml(value: Any, indent: int) -> Iterator[str]:
    """Lines of YAML; strings are JSON strings, which are valid YAML."""
    space = "  " * indent
    entries = value.items() if isinstance(value, dict) else [(None, v) for v in value]
    for key, one in entries:
        head = f"{space}{key}:" if key is not None else f"{space}-"
        if isinstance(one, dict | list):
            yield head
            yield from _yaml(one, indent + 1)
        else:
            yield f"{head} {json.dumps(one, ensure_ascii=False)}"


def template_text() -> str:
    """The template in YAML."""
    return "\n".join(_yaml(template(), 0)) + "\n"
