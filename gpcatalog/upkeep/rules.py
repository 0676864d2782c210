"""What the owner wants of one table, ready for use: the policy, and what its partitions show."""

from __future__ import annotations

from dataclasses import dataclass

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import DAY
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.policy import Policy, ResolvedPolicy, Upkeep, check_zone, seconds, size
from gpcatalog.upkeep import naming
from gpcatalog.upkeep.habits import Habits

ANNOUNCED = 7 * DAY  # a drop is announced so long before; upkeep.part of the journal has it, too
NIGHTS_LEFT = 2  # nights that the cover lasts at least, whatever `premake_batch` says
# of each grain: how far ahead partitions are created where the policy does not say
PREMAKE_DAYS = {
    Grain.HOUR: 3.0,
    Grain.DAY: 14.0,
    Grain.WEEK: 35.0,
    Grain.MONTH: 93.0,
    Grain.QUARTER: 200.0,
    Grain.YEAR: 400.0,
}


@dataclass(frozen=True, kw_only=True)
class TableRules:
    """What holds for one table; times in microseconds.

    premake: how far ahead of now the cover reaches; batch: how far it may fall short of that
    rollups: grains that old partitions are merged into, each with its age, coarse ones first
    keep:    age at which a partition is past its retention, None: never
    hot:     partitions with anything younger are not merged
    quiet:   seconds for which partitions must not have been written before they are merged
    max_leaf: bytes of a merged partition on the fullest segment
    """

    grain: Grain
    premake: int
    batch: int
    rollups: tuple[tuple[Grain, int], ...]
    hot: int
    quiet: float
    max_leaf: int
    keep: int | None
    retention: str
    retention_schema: str
    external_location: str
    fill_gaps: bool
    move_default: bool

    @property
    def least(self) -> int:
        """How far the cover reaches at least, so that a missed night does no harm."""
        return max(self.premake - self.batch, min(self.premake, NIGHTS_LEFT * DAY))

    @property
    def cover_days(self) -> float:
        """Days of cover below which something is wrong: what a night leaves, a day later."""
        return round(max(0, min(self.least, self.premake - DAY)) / DAY, 2)


@dataclass(frozen=True, kw_only=True)
class NightLimits:
    """Limits of one night over all tables: partitions, bytes, seconds."""

    max_leaves: int
    max_rewrite: int
    window: float
    lock_wait: float
    lock_attempts: int


def limits_of(wanted: Upkeep) -> NightLimits:
    """The limits of a policy file."""
    return NightLimits(
        max_leaves=wanted.max_leaves,
        max_rewrite=size(wanted.max_rewrite),
        window=seconds(wanted.window),
        lock_wait=seconds(wanted.lock_wait),
        lock_attempts=wanted.lock_attempts,
    )


def rules_of(wishes: ResolvedPolicy, habits: Habits, *, classic: bool) -> TableRules:
    """The rules of one table.

    classic: Greenplum 6, where creating partitions locks the whole table: it is done for half of
             the cover at a time
    Lists and plain numbers are not merged: `gpcatalog plan` does that.
    """
    grain, key = habits.grain, habits.key
    premake = wishes.premake if wishes.premake is not None else PREMAKE_DAYS[grain]
    batch = wishes.premake_batch
    if batch is None:
        batch = premake / 2 if classic else min(grain.days, premake)
    keep = wishes.keep_partitions if key.width else wishes.keep
    coarsest = Grain(wishes.retention_unit) if wishes.retention_unit is not None else Grain.YEAR
    rollups = tuple(
        (Grain(g), round(age * DAY))
        for g, age in sorted(wishes.grains, reverse=True)
        if wishes.grains_named and grain < g <= coarsest and not (key.width or key.listed)
    )
    return TableRules(
        grain=grain,
        premake=round(premake * DAY),
        batch=round(batch * DAY),
        rollups=rollups,
        hot=round(wishes.hot_days * DAY),
        quiet=(wishes.quiet or 0.0) * 86400,
        max_leaf=wishes.max_leaf,
        keep=None if keep is None else round(keep * DAY),
        retention=wishes.retention,
        retention_schema=wishes.retention_schema,
        external_location=wishes.external_location,
        fill_gaps=wishes.fill_gaps,
        move_default=wishes.default_rows == "move",
    )


def without_effect(wishes: ResolvedPolicy, habits: Habits) -> tuple[str, ...]:
    """Sentences on keys of the policy that have no effect on a table."""
    key, found = habits.key, []
    kind = "plain numbers" if key.width else "lists"
    if (key.width or key.listed) and wishes.grains_named:
        found.append(f"grains has no effect on {kind}: `gpcatalog plan` merges them")
    if key.width and wishes.grain is not None:
        found.append("grain has no effect on plain numbers: the width is that of the newest ones")
    if wishes.retention != "none" and key.width and wishes.keep_partitions is None:
        found.append("keep has no effect on plain numbers: set keep_partitions")
    if wishes.retention != "none" and not key.width and wishes.keep is None:
        found.append("keep_partitions has an effect on plain numbers only: set keep")
    return tuple(found)


def check(policy: Policy) -> None:
    """Raise CatalogError for names of time zones and templates of names that are wrong."""
    for where, rule in (
        ("default", policy.default),
        *((f"table[{n}]", rule) for n, rule in enumerate(policy.table)),
    ):
        check_zone(where, rule.time_zone or "")
        try:
            if rule.name:
                naming.check(rule.name)
        except ValueError as e:
            raise CatalogError(f"policy: {where}.name: {e}") from None
