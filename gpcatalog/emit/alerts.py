"""Rules for Prometheus: one alert for each rule of the audit, and forecasts of limits."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gpcatalog.audit.rules import every, page

OLD_DAYS = 2  # warning without a new snapshot for this many days; a snapshot is taken every day
SOON_DAYS = 30  # warning this many days before a limit is reached
TREND = "14d"  # period of the trend of a limit

_WHERE = "database {{ $labels.database }} on {{ $labels.server }}"


def _name(rule: str) -> str:
    """The name of an alert.

    >>> _name("long-ddl")
    'GpcatalogLongDdl'
    """
    return "Gpcatalog" + "".join(word.capitalize() for word in rule.split("-"))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _alert(
    name: str, expr: str, severity: str, annotations: dict[str, str], wait: str = "5m"
) -> Iterator[str]:
    """Lines of one alert; JSON strings are valid YAML strings."""
    yield f"      - alert: {name}"
    yield f"        expr: {json.dumps(expr)}"
    yield f"        for: {wait}"
    yield "        labels:"
    yield f"          severity: {json.dumps(severity)}"
    yield "        annotations:"
    for key, text in annotations.items():
        yield f"          {key}: {json.dumps(text, ensure_ascii=False)}"


def _of_rule(rule: str) -> Iterator[str]:
    """The alert of a rule of the audit, for findings of severity warning and critical."""
    parts = page(rule)
    title = parts[""].rstrip(".")
    yield from _alert(
        _name(rule),
        f'max by (cluster, server, database, severity) (gpcatalog_rule_findings{{rule="{rule}",'
        'severity=~"warning|critical"}) > 0',
        "{{ $labels.severity }}",
        {
            "summary": f"{title} ({_WHERE})",
            "description": _sentence(parts["Why it matters"]),
            "action": _sentence(parts["What to do"]),
            "details": f"gpcatalog audit --only {rule}; gpcatalog rules {rule}",
        },
    )


# recorded sums of a cluster, for dashboards over months: name → expression
RECORDS = {
    "gpcatalog:leaves:sum": "sum by (cluster, server) (gpcatalog_leaves)",
    "gpcatalog:catalog_bytes:sum": "sum by (cluster, server) (gpcatalog_catalog_bytes)",
    "gpcatalog:catalog_reclaimable_bytes:sum": (
        "sum by (cluster, server) (gpcatalog_catalog_reclaimable_bytes)"
    ),
    "gpcatalog:files:sum": "sum by (cluster, server) (gpcatalog_files)",
    "gpcatalog:findings:sum": "sum by (cluster, server, severity) (gpcatalog_findings)",
    "gpcatalog:limit_ratio:max": "max by (cluster, server, limit) (gpcatalog_limit_ratio)",
}


def _records() -> Iterator[str]:
    """Recording rules."""
    for name, expr in RECORDS.items():
        yield f"      - record: {name}"
        yield f"        expr: {expr}"


def _limits() -> Iterator[str]:
    """The recording rule and the alert for forecasts of limits."""
    ratio = "gpcatalog_limit_ratio"
    yield "      # days until a limit is reached, by the trend of two weeks; without growth no series"
    yield "      - record: gpcatalog:limit_days_left"
    yield f"        expr: ((1 - {ratio}) > 0) / (deriv({ratio}[{TREND}]) > 0) / 86400"
    yield from _alert(
        "GpcatalogLimitSoon",
        f"gpcatalog:limit_days_left < {SOON_DAYS}",
        "warning",
        {
            "summary": "The limit {{ $labels.limit }} will be reached in"
            f' {{{{ $value | printf "%.0f" }}}} days ({_WHERE})',
            "description": "A straight line through the values of two weeks (estimate).",
            "action": "gpcatalog growth shows which tables grow; gpcatalog plan proposes merges.",
        },
        "1h",
    )


def _snapshots() -> Iterator[str]:
    """Alerts for the job that takes snapshots."""
    yield from _alert(
        "GpcatalogSnapshotOld",
        f"time() - gpcatalog_snapshot_timestamp_seconds > {OLD_DAYS} * 86400",
        "warning",
        {
            "summary": f"No snapshot was taken for {OLD_DAYS} days ({_WHERE})",
            "description": "The other alerts describe the time of the last snapshot.",
            "action": "Look at the output of the job that runs gpcatalog metrics.",
        },
    )
    yield from _alert(
        "GpcatalogClusterNotRead",
        "gpcatalog_cluster_up == 0 or gpcatalog_cluster_databases_unread > 0",
        "critical",
        {
            "summary": "Cluster {{ $labels.cluster }} was not read completely",
            "description": "The last run over the fleet could not read the cluster or some of its"
            " databases.",
            "action": "Look at the output of the job that runs gpcatalog audit --all.",
        },
    )
    yield from _alert(
        "GpcatalogNotRead",
        'sum by (cluster, server, database) (gpcatalog_probes{status!~"read|not applicable"}) > 0',
        "notice",
        {
            "summary": f"Some probes could not be read ({_WHERE})",
            "description": "What they measure is unknown.",
            "action": "gpcatalog doctor prints the missing privileges.",
        },
    )


def rules_text() -> str:
    """The text of the rule file."""
    groups = {
        "sums": _records(),
        "limits": _limits(),
        "snapshots": _snapshots(),
        "findings": (line for rule in every() for line in _of_rule(rule)),
    }
    lines = [
        "# Written by `gpcatalog metrics --alerts`. Load it with rule_files in prometheus.yml.",
        "groups:",
    ]
    for name, body in groups.items():
        lines += [f"  - name: gpcatalog-{name}", "    rules:", *body]
    return "\n".join(lines) + "\n"
