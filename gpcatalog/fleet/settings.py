"""The fleet file: clusters with their connections, databases, policies and labels, in TOML."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from gpcatalog.errors import CatalogError
from gpcatalog.model import toml_settings
from gpcatalog.planner.policy import Limits, check_limits, seconds
from gpcatalog.probes.target import parameters

NAME = "gpcatalog.toml"
CLUSTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# labels of the metrics of a report; a test compares them
OWN_LABELS = frozenset(
    "beyond catalog client cluster content database generation host kind limit max_bytes part port product"
    " rule schema server severity state statement statistic status storage subject table"
    " version what".split()
)
_FORMS = 'databases are patterns such as ["sales", "dwh_*"], times "90min" or "2h"'


class ClusterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One cluster.

    conninfo:  a connection string or URI without a password, such as "service=sales"
    databases: patterns of databases; templates and databases without CONNECT are never read
    exclude:   patterns of databases that are not read
    policy:    policy file for plans, relative to the fleet file
    limits:    limits of plans, as in a policy, instead of those of the policy
    labels:    labels of this cluster in metrics and JSON, in addition to those of the fleet
    schedule:  time of the scheduled audit: "hourly", "daily", "weekly" or an OnCalendar expression
    """

    conninfo: str
    databases: list[str] = msgspec.field(default_factory=lambda: ["*"])
    exclude: list[str] = []
    policy: str = ""
    limits: Limits = Limits()
    labels: dict[str, str] = {}
    schedule: str = ""


class FleetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file as written; each cluster is converted separately, so that messages name it."""

    jobs: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    timeout: str | float = ""
    schedule: str = ""
    labels: dict[str, str] = {}
    cluster: dict[str, dict[str, Any]] = {}


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The clusters of a fleet file, in the order of the file.

    jobs:    clusters that are read at the same time
    timeout: seconds for a whole run; None: no limit
    """

    file: Path
    jobs: int
    timeout: float | None
    schedule: str
    clusters: dict[str, ClusterSettings]

    def chosen(self, names: list[str]) -> dict[str, ClusterSettings]:
        """The given clusters in the order of the file; all if no name is given. Raises CatalogError
        (2).
        """
        for name in names:
            if name not in self.clusters:
                raise CatalogError(
                    f"{self.file} has no cluster {name!r}",
                    hint="clusters: " + ", ".join(self.clusters),
                )
        return {k: v for k, v in self.clusters.items() if not names or k in names}

    def policy_of(self, cluster: ClusterSettings) -> Path | None:
        """The path of the policy file of a cluster; policies are relative to the fleet file."""
        return self.file.parent / Path(cluster.policy).expanduser() if cluster.policy else None

    def schedule_of(self, cluster: ClusterSettings) -> str:
        """The schedule of the audit of a cluster: its own, else that of the fleet, else daily."""
        return cluster.schedule or self.schedule or "daily"


def places() -> list[Path]:
    """Paths where the fleet file is searched, by the XDG base directory specification."""
    user = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    system = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    return [Path(folder) / "gpcatalog" / NAME for folder in (user, *filter(None, system))]


def find(named: str) -> Path:
    """The path of the fleet file: the given one, or the first that exists. Raises CatalogError
    (2).
    """
    if named:
        return Path(named)
    for path in places():
        if path.is_file():
            return path
    raise CatalogError(
        "there is no fleet file: " + " and ".join(map(str, places())) + " do not exist",
        hint="write one, or give --config FILE; docs/fleet.md has an example",
    )


def _without_password(conninfo: str, where: str) -> None:
    """Raise CatalogError for a connection string that is invalid or contains a password."""
    try:
        found = parameters(conninfo)
    except CatalogError as e:
        raise CatalogError(f"{where}: conninfo: {e.message}", hint=e.hint) from None
    secret = sorted(k for k in found if k in ("password", "sslpassword") and found[k])
    if secret:
        raise CatalogError(
            f"{where}: conninfo has a {secret[0]}",
            hint="put passwords in ~/.pgpass or in a service file",
        )


def _labels(labels: dict[str, str], where: str) -> None:
    """Raise CatalogError for a label that Prometheus does not allow or that metrics of a report
    already use.
    """
    for name in labels:
        if not _LABEL.fullmatch(name) or name.startswith("__"):
            raise CatalogError(
                f"{where}: {name!r} is not the name of a label",
                hint="use letters, digits and _, not beginning with a digit or __",
            )
        if name in OWN_LABELS:
            raise CatalogError(
                f"{where}: metrics have a label {name!r} of their own",
                hint="use another name, such as site, team or stage",
            )


def _cluster(
    name: str, raw: dict[str, Any], labels: dict[str, str], origin: str
) -> ClusterSettings:
    """Convert one cluster of the file and add the labels of the fleet. Raises CatalogError (2)."""
    table = f"cluster.{name}"
    if not CLUSTER_NAME.fullmatch(name):
        raise CatalogError(
            f"{origin}: {name!r} is not the name of a cluster",
            hint="use letters, digits, _, . and -, beginning with a letter or digit",
        )
    found = toml_settings.as_settings(raw, ClusterSettings, origin, hint=_FORMS, table=table)
    where = f"{origin}: [{table}]"
    _without_password(found.conninfo, where)
    _labels(found.labels, f"{where}: labels")
    try:
        check_limits(found.limits)
    except CatalogError as e:
        raise CatalogError(f"{where}: {e.message}", hint=e.hint) from None
    return msgspec.structs.replace(found, labels={**labels, **found.labels})


def loads(text: str, file: Path) -> Fleet:
    """Parse the fleet file from a TOML text.

    Raises CatalogError (2) for an unknown key, a password, or a label that metrics already use.
    """
    origin = str(file)
    tables = toml_settings.parse(text, origin)
    tables.pop("check", None)  # the same file may also contain settings of `gpcatalog check`
    raw = toml_settings.as_settings(tables, FleetFile, origin, hint=_FORMS)
    if not raw.cluster:
        raise CatalogError(
            f"{origin} lists no cluster",
            hint='add one: [cluster.NAME] with conninfo = "service=NAME"',
        )
    _labels(raw.labels, f"{origin}: labels")
    try:
        timeout = seconds(raw.timeout) if raw.timeout != "" else None
    except ValueError as e:
        raise CatalogError(f"{origin}: timeout: {e}") from None
    return Fleet(
        file=file,
        jobs=raw.jobs,
        timeout=timeout,
        schedule=raw.schedule,
        clusters={
            name: _cluster(name, one, raw.labels, origin) for name, one in raw.cluster.items()
        },
    )


def read(named: str = "") -> Fleet:
    """Read the given fleet file, or the one that is found. Raises CatalogError (2)."""
    file = find(named)
    return loads(toml_settings.read_text(file, "fleet file"), file)
