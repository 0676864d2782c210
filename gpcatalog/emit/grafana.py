"""A Grafana dashboard of the metrics: fleet, database, catalogs of each instance, and durations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_ALL = 'cluster=~"$cluster",server=~"$server",database=~"$database"'
_SERVERS = 'cluster=~"$cluster",server=~"$server"'
WIDTH = 24  # columns of a dashboard


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel.

    kind: "stat", "table", "timeseries" or "bargauge"; legend: of each series; width: of 24 columns
    thresholds: lowest values that are shown in yellow and in red
    """

    title: str
    kind: str
    expr: str
    unit: str = "short"
    legend: str = ""
    width: int = 12
    description: str = ""
    thresholds: tuple[float, float] | None = None


_INSTANCE = "{{server}} {{database}} segment {{content}}"
ROWS: dict[str, tuple[Panel, ...]] = {
    "Fleet": (
        Panel(
            title="Clusters not read",
            kind="stat",
            expr='sum(1 - gpcatalog_cluster_up{cluster=~"$cluster"})',
            width=4,
            thresholds=(1, 1),
            description="Clusters of the fleet file that the last run could not read.",
        ),
        Panel(
            title="Critical findings",
            kind="stat",
            expr=f'sum(gpcatalog_findings{{{_ALL},severity="critical"}})',
            width=4,
            thresholds=(1, 1),
        ),
        Panel(
            title="Warnings",
            kind="stat",
            expr=f'sum(gpcatalog_findings{{{_ALL},severity="warning"}})',
            width=4,
            thresholds=(1, 1e9),
        ),
        Panel(title="Leaves", kind="stat", expr=f"sum(gpcatalog_leaves{{{_ALL}}})", width=4),
        Panel(
            title="Reclaimable",
            kind="stat",
            expr=f"sum(gpcatalog_catalog_reclaimable_bytes{{{_ALL}}})",
            unit="bytes",
            width=4,
            description="Bytes of catalogs on all instances that VACUUM FULL and REINDEX would free"
            " (estimate).",
        ),
        Panel(
            title="Oldest snapshot",
            kind="stat",
            expr=f"max(time() - gpcatalog_snapshot_timestamp_seconds{{{_ALL}}})",
            unit="s",
            width=4,
            thresholds=(86400 * 1.5, 86400 * 2),
        ),
        Panel(
            title="Limits",
            kind="table",
            expr=f"topk(20, max by (cluster, server, database, limit) (gpcatalog_limit_ratio{{{_ALL}}}))",
            unit="percentunit",
            thresholds=(0.8, 1),
            description="Current value divided by the limit.",
        ),
        Panel(
            title="Days until a limit is reached",
            kind="table",
            expr=f"bottomk(20, gpcatalog:limit_days_left{{{_ALL}}})",
            unit="d",
            description="A straight line through two weeks (estimate). Needs the recording rules.",
        ),
        Panel(
            title="Leaves of each server",
            kind="timeseries",
            expr=f"sum by (cluster, server) (gpcatalog_leaves{{{_SERVERS}}})",
            legend="{{cluster}} {{server}}",
        ),
        Panel(
            title="Files of each server",
            kind="timeseries",
            expr=f"sum by (cluster, server) (gpcatalog_files{{{_SERVERS}}})",
            legend="{{cluster}} {{server}}",
        ),
    ),
    "Database": (
        Panel(
            title="Findings",
            kind="table",
            expr=f"max by (cluster, server, database, rule, severity) (gpcatalog_rule_findings{{{_ALL}}})",
            description="gpcatalog rules RULE explains a rule.",
        ),
        Panel(
            title="Tables with the most catalog rows",
            kind="table",
            expr=f"max by (server, database, schema, table) (gpcatalog_table_catalog_rows{{{_ALL}}})",
        ),
        Panel(
            title="Leaves by storage",
            kind="timeseries",
            expr=f"sum by (storage) (gpcatalog_leaves{{{_ALL}}})",
            legend="{{storage}}",
        ),
        Panel(
            title="Empty leaves by storage",
            kind="timeseries",
            expr=f"sum by (storage) (gpcatalog_empty_leaves{{{_ALL}}})",
            legend="{{storage}}",
        ),
        Panel(
            title="Files by size",
            kind="bargauge",
            expr=f"sum by (max_bytes) (gpcatalog_files_by_size{{{_ALL}}})",
            legend="up to {{max_bytes}} bytes",
        ),
        Panel(
            title="Files of each host",
            kind="timeseries",
            expr=f"sum by (cluster, host) (gpcatalog_host_files{{{_ALL}}})",
            legend="{{cluster}} {{host}}",
            description="Greenplum's documentation recommends at most 100,000.",
        ),
        Panel(
            title="Partitions ahead",
            kind="timeseries",
            expr=f"gpcatalog_least_cover_seconds{{{_ALL}}}",
            unit="s",
            legend="{{server}} {{database}}",
            description="Time until the first table runs out of partitions.",
        ),
        Panel(
            title="Time since the last upkeep",
            kind="timeseries",
            expr=f"time() - gpcatalog_upkeep_last_end_timestamp_seconds{{{_ALL}}}",
            unit="s",
            legend="{{server}} {{database}}",
        ),
    ),
    "Catalogs of each instance": (
        Panel(
            title="Bytes of the catalogs",
            kind="timeseries",
            expr=f"sum by (server, database, content) (gpcatalog_catalog_bytes{{{_ALL}}})",
            unit="bytes",
            legend=_INSTANCE,
            description="Segment -1 is the coordinator or the server.",
        ),
        Panel(
            title="Reclaimable bytes of the catalogs (estimate)",
            kind="timeseries",
            expr=f"sum by (server, database, content) (gpcatalog_catalog_reclaimable_bytes{{{_ALL}}})",
            unit="bytes",
            legend=_INSTANCE,
        ),
        Panel(
            title="Rows of pg_attribute",
            kind="timeseries",
            expr=f'gpcatalog_catalog_rows{{{_ALL},catalog="pg_attribute"}}',
            legend=_INSTANCE,
        ),
        Panel(
            title="Rows written to catalogs per second",
            kind="timeseries",
            expr=f"sum by (server, database, content) (rate(gpcatalog_catalog_rows_written_total{{{_ALL}}}[2d]))",
            legend=_INSTANCE,
            description="By the server's statistics, as the rate of two days.",
        ),
        Panel(
            title="Age of the oldest transaction",
            kind="timeseries",
            expr=f"gpcatalog_oldest_transaction_age{{{_ALL}}}",
            legend=_INSTANCE,
        ),
        Panel(
            title="Transactions that VACUUM must keep",
            kind="timeseries",
            expr=f"gpcatalog_horizon_transactions{{{_ALL}}}",
            legend="{{server}} {{database}}",
        ),
    ),
    "Times": (
        Panel(
            title="Catalog queries, median",
            kind="timeseries",
            expr=f'gpcatalog_latency_seconds{{{_ALL},statistic="median"}}',
            unit="s",
            legend="{{server}} {{database}} {{what}}",
        ),
        Panel(
            title="Estimated duration of statements on a whole table",
            kind="table",
            expr=f"topk(20, gpcatalog_table_statement_seconds{{{_ALL}}})",
            unit="s",
        ),
        Panel(
            title="Memory that a session keeps after a query over a whole table",
            kind="table",
            expr=f"topk(20, gpcatalog_table_session_bytes{{{_ALL}}})",
            unit="bytes",
        ),
        Panel(
            title="Catalog queries of clients, median",
            kind="timeseries",
            expr=f"gpcatalog_client_seconds{{{_ALL}}}",
            unit="s",
            legend="{{server}} {{database}} {{client}}",
            description="Measured by gpcatalog latency --clients.",
        ),
    ),
}
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHT = {"stat": 4, "table": 9, "timeseries": 8, "bargauge": 8}


def _variable(name: str, label: str, metric: str) -> dict[str, Any]:
    """A variable with the values of a label; "All" matches series without the label, too."""
    query = f"label_values({metric}, {name})"
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _thresholds(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.thresholds is not None:
        yellow, red = panel.thresholds
        if yellow < red:
            steps.append({"color": "orange", "value": yellow})
        steps.append({"color": "red", "value": red})
    return {"mode": "absolute", "steps": steps}


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    """The panel in the format of Grafana."""
    instant = panel.kind != "timeseries"
    table = panel.kind == "table"
    fields: dict[str, Any] = {
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "type": panel.kind,
        "datasource": _SOURCE,
        "gridPos": {"h": _HEIGHT[panel.kind], "w": panel.width, "x": x, "y": y},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": panel.expr,
                "legendFormat": panel.legend or "__auto",
                "instant": instant,
                "range": not instant,
                "format": "table" if table else "time_series",
            }
        ],
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "thresholds": _thresholds(panel)},
            "overrides": [],
        },
        "options": {},
    }
    if table:
        fields["transformations"] = [
            {"id": "organize", "options": {"excludeByName": {"Time": True, "__name__": True}}},
            {"id": "sortBy", "options": {"sort": [{"field": "Value", "desc": True}]}},
        ]
    if panel.kind in ("stat", "bargauge"):
        fields["options"] = {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "orientation": "horizontal" if panel.kind == "bargauge" else "auto",
        }
    if panel.kind == "timeseries":
        # snapshots are taken once an hour or once a day: draw a line between them
        fields["fieldConfig"]["defaults"]["custom"] = {"spanNulls": True, "showPoints": "auto"}
    return fields


def dashboard() -> str:
    """The dashboard as JSON, for import into Grafana 9 or later."""
    panels: list[dict[str, Any]] = []
    y = number = 0
    for row, members in ROWS.items():
        number += 1
        panels.append(
            {
                "id": number,
                "type": "row",
                "title": row,
                "collapsed": False,
                "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y},
                "panels": [],
            }
        )
        y += 1
        x = height = 0
        for panel in members:
            if x + panel.width > WIDTH:
                x, y, height = 0, y + height, 0
            number += 1
            panels.append(_panel(panel, number, x, y))
            x, height = x + panel.width, max(height, _HEIGHT[panel.kind])
        y += height
    found = {
        "title": "gpcatalog",
        "uid": "gpcatalog",
        "description": "Catalogs of Greenplum and PostgreSQL: bloat, partitions, files and limits.",
        "tags": ["greenplum", "postgresql", "gpcatalog"],
        "schemaVersion": 37,
        "editable": True,
        "time": {"from": "now-30d", "to": "now"},
        "refresh": "",
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {},
                },
                _variable("cluster", "Cluster", "gpcatalog_server"),
                _variable("server", "Server", 'gpcatalog_server{cluster=~"$cluster"}'),
                _variable("database", "Database", f"gpcatalog_server{{{_SERVERS}}}"),
            ]
        },
        "panels": panels,
    }
    return json.dumps(found, indent=2) + "\n"
