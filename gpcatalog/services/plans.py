"""Plan a snapshot with a policy file and the limits of a call, and read a plan file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpcatalog.errors import CatalogError
from gpcatalog.services.notify import Notify, silent

if TYPE_CHECKING:
    from gpcatalog.planner.plan import Plan
    from gpcatalog.planner.planning import PlanResult
    from gpcatalog.store.snapshot import Snapshot


def plan_snapshot(
    snapshot: Snapshot,
    *,
    policy_file: Path | None,
    workload_file: str,
    overrides: dict[str, object],
    rate: str,
    progress: Notify = silent,
) -> PlanResult:
    """Plan one open snapshot with a policy file and the limits of the call.

    rate: bytes per second that one segment copies, as text, empty for the default; progress: called
          with a line about each table. Raises CatalogError.
    """
    import msgspec

    from gpcatalog.planner import planning, policy, workload

    rules = policy.read(policy_file) if policy_file else policy.Policy()
    limits = msgspec.structs.replace(
        rules.limits, **{k: v for k, v in overrides.items() if v is not None and v != ""}
    )
    policy.check_limits(limits)
    request = planning.Request(limits)
    if rate:
        try:
            bytes_a_second = policy.size(rate)
        except ValueError as e:
            raise CatalogError(f"--rate: {e}") from None
        if bytes_a_second <= 0:
            raise CatalogError("--rate must be more than 0 bytes per second")
        request = planning.Request(limits, float(bytes_a_second), True)
    queries = workload.read(workload_file, snapshot) if workload_file else None
    return planning.make(snapshot, rules, request, workload=queries, progress=progress)


def read_plan(path: str) -> Plan:
    """Read a plan from a file. Raises CatalogError (2)."""
    import msgspec

    from gpcatalog.planner import plan_file
    from gpcatalog.planner.plan import SCHEMA

    try:
        raw = Path(path).read_bytes()
    except OSError as e:
        raise CatalogError(
            f"cannot read {path}: {e.strerror or e}",
            hint="create a plan file with `gpcatalog plan --format json -o FILE`",
        ) from None
    try:
        return plan_file.read(raw)
    except plan_file.OtherSchema as e:
        raise CatalogError(
            (
                f"{path} has schema {e}, {SCHEMA} is supported"
                if str(e)
                else f"{path} is not a plan file"
            ),
            hint=(
                "create the plan again with this version: `gpcatalog plan --format json -o FILE`"
            ),
        ) from None
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as e:
        raise CatalogError(
            f"{path} is not a plan file: {e}",
            hint=("create a plan file with `gpcatalog plan --format json -o FILE`"),
        ) from None
