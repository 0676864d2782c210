"""Settings of the check from pyproject.toml or gpcatalog.toml; errors name the key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from gpcatalog.capacity.limits import LONG_DDL
from gpcatalog.errors import CatalogError

Word = Literal["info", "notice", "warning", "critical"]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Upper bounds; None: no bound.

    Files and rows are those of one segment (files_per_host: of one host).
    """

    leaves: NotNegative | None = None
    files: NotNegative | None = None
    files_per_host: NotNegative | None = None
    rows: NotNegative | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings of the check.

    server: greenplum6, greenplum7, cloudberry2, or postgres12 to postgres19
    segments, hosts: primary segments of the cluster, and the hosts that they run on
    time_zone: time zone of the session that will run the DDL; ranges of timestamptz depend on it
    table, change, total: budgets of one table, of the whole change, and of the cluster with a
        baseline
    every_parts: partitions that one EVERY may create without a finding
    cross_leaves: leaves that several levels may create without a finding
    lock_slots: relations that one statement may lock without a finding (0: Greenplum's defaults,
        128 × 250)
    premake_days: how many days in advance partitions may be created
    filled_columns: files on one segment that one filled column-oriented table may have
    lock_seconds: seconds that a statement may hold an AccessExclusiveLock on a table of the
        baseline without a finding
    disable, severity: disabled rules, and other severities for rules
    exclude: glob patterns of files to skip
    """

    server: str = "greenplum7"
    segments: Positive = 1
    hosts: Positive = 1
    time_zone: str = "UTC"
    table: Budget = Budget()
    change: Budget = Budget()
    total: Budget = Budget()
    every_parts: Positive = 1000
    cross_leaves: Positive = 1000
    lock_slots: NotNegative = 0
    premake_days: Positive = 731
    filled_columns: Positive = 20_000
    lock_seconds: Positive = int(LONG_DDL.value)
    disable: tuple[str, ...] = ()
    severity: dict[str, Word] = {}
    exclude: tuple[str, ...] = ()
    fail_on: Literal["info", "notice", "warning", "critical", "never"] = "warning"


def _explain(
    file: Path, prefix: str, error: msgspec.ValidationError, raw: dict[str, object]
) -> CatalogError:
    text = str(error)
    where = re.search(r" - at `\$?\.?([^`]*)`", text)
    message = text[: where.start()] if where else text
    unknown = re.match(r"Object contains unknown field `([^`]+)`", message)
    key = ".".join(k for k in (prefix, where[1] if where else "") if k)
    if unknown:
        key = ".".join(k for k in (key, unknown[1]) if k)
        known = Budget if where and where[1] in ("table", "change", "total") else Settings
        return CatalogError(
            f"{file}: unknown setting {key}",
            hint="one of: " + ", ".join(f.name for f in msgspec.structs.fields(known)),
        )
    message = message[0].lower() + message[1:]
    return CatalogError(
        f"{file}: {key}: {message}",
        hint="docs/check.md lists the settings",
    )


def read(file: Path) -> Settings | None:
    """Settings in a file; None if it has none.

    Raises CatalogError that names the invalid key.
    """
    try:
        return loads(file.read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as e:
        raise CatalogError(f"cannot read {file}: {e}") from None


def loads(text: str, file: Path) -> Settings | None:
    """Settings in the text of a file, whose name determines the table that contains them; see
    `read`.
    """
    import tomllib  # compiling its patterns takes 17 ms, and most commands read no TOML

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise CatalogError(f"{file}: {e}") from None
    prefix = "check" if file.name != "pyproject.toml" else "tool.gpcatalog.check"
    table: object = data
    for key in prefix.split("."):
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        if "cluster" in data:  # a fleet file
            return None
        if file.name == "gpcatalog.toml" and (others := sorted(data)):
            raise CatalogError(
                f"{file}: [{others[0]}] is not a valid table in this file",
                hint="put the settings of the check into [check]",
            )
        return None
    if not isinstance(table, dict):
        raise CatalogError(f"{file}: {prefix} must be a table")
    plain = {k.replace("-", "_"): v for k, v in table.items()}
    for name in ("table", "change", "total"):
        if isinstance(plain.get(name), dict):
            plain[name] = {k.replace("-", "_"): v for k, v in plain[name].items()}
    try:
        return msgspec.convert(plain, Settings, strict=True)
    except msgspec.ValidationError as e:
        raise _explain(file, prefix, e, plain) from None


def discover(start: Path) -> tuple[Settings, Path | None]:
    """Settings of the nearest gpcatalog.toml or pyproject.toml with [tool.gpcatalog.check], in a
    folder or the folders above.
    """
    for folder in (start, *start.parents):
        for name in ("gpcatalog.toml", "pyproject.toml"):
            file = folder / name
            if file.is_file():
                found = read(file)
                if found is not None:
                    return found, file
        if (folder / ".git").exists():
            break
    return Settings(), None
