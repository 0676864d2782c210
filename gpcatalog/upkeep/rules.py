"""The rules of one table, from the policy and from the properties of its partitions."""

from __future__ import annotations

from dataclasses import dataclass

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import DAY
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.policy import Policy, ResolvedPolicy, Upkeep, check_zone, seconds, size
from gpcatalog.upkeep import naming
from gpcatalog.upkeep.habits import Habits
from gpcatalog.upkeep.spacing import Spacing

# how long before a drop it is announced; upkeep.part of the journal has the same value
ANNOUNCED = 7 * DAY
NIGHTS_LEFT = 2  # nights that the cover lasts at least, for any value of `premake_batch`
# by grain: how far ahead partitions are created if the policy does not set it
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
    """Rules of one table; times in microseconds.

    premake: how far ahead of now the cover reaches; batch: how much shorter it may become
    rollups: grains into which old partitions are merged, each with the minimum age, coarse ones
             first
    keep:    age at which a partition is past its retention; None: never
    keep_months: the same in calendar months; 0 if it is not a whole number of them
    hot:     age; partitions that contain anything younger are not merged
    quiet:   seconds without writes after which partitions may be merged
    max_leaf: maximum size of a merged partition on the fullest segment, in bytes
    retention_rule: the rule of the policy that sets the retention
    unmoved: why rows of default partitions are not moved, although the policy requires it
    """

    spacing: Spacing
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
    retention_rule: str = ""
    keep_months: int = 0
    unmoved: str = ""

    @property
    def least(self) -> int:
        """The minimum cover after now, so that a missed night does no harm."""
        return max(self.premake - self.batch, min(self.premake, NIGHTS_LEFT * DAY))

    @property
    def cover_days(self) -> float:
        """Days of cover below which something is wrong: the minimum after a night, one day
        later.
        """
        return round(max(0, min(self.least, self.premake - DAY)) / DAY, 2)


@dataclass(frozen=True, kw_only=True)
class NightLimits:
    """Limits of one night for all tables: partitions, bytes, seconds."""

    max_leaves: int
    max_rewrite: int
    window: float
    lock_wait: float
    lock_attempts: int


LONGEST_WINDOW = 30 * 86400
LONGEST_WAIT = 3600  # seconds for which a lock may be waited for in one attempt
MOST_ATTEMPTS = 100_000  # a second apart: more than a day


def check_limits(settings: Upkeep) -> None:
    """Raise CatalogError for limits of the night that no script can have."""
    for key, least, most, shown in (
        ("window", 1.0, LONGEST_WINDOW, "from 1 s to 30 days"),
        ("lock_wait", 0.001, LONGEST_WAIT, "from 1 ms to 1 hour"),
    ):
        text = getattr(settings, key)
        try:
            value = seconds(text)
        except ValueError as e:
            raise CatalogError(f"policy: upkeep.{key}: {e}") from None
        if not least <= value <= most:  # false for nan, too
            raise CatalogError(
                f"policy: upkeep.{key}: {text!r} is not a time {shown}",
                hint=f'write for example {key} = "{"30min" if key == "window" else "300ms"}"',
            )
    if settings.lock_attempts > MOST_ATTEMPTS:
        raise CatalogError(
            f"policy: upkeep.lock_attempts: {settings.lock_attempts} is more than {MOST_ATTEMPTS}",
            hint="write for example lock_attempts = 60",
        )


def limits_of(settings: Upkeep) -> NightLimits:
    """The limits of a policy file."""
    return NightLimits(
        max_leaves=settings.max_leaves,
        max_rewrite=size(settings.max_rewrite),
        window=seconds(settings.window),
        lock_wait=seconds(settings.lock_wait),
        lock_attempts=settings.lock_attempts,
    )


def rules_of(
    policy: ResolvedPolicy, habits: Habits, *, classic: bool, published: str = ""
) -> TableRules:
    """The rules of one table.

    published: publication that publishes the rows of default partitions; empty: none. Rows of such
               partitions are not moved
    classic: Greenplum 6, where creating partitions locks the whole table: it is done for half of
             the cover at a time
    Lists and plain numbers are not merged: `gpcatalog plan` does that.
    """
    spacing, key = habits.spacing, habits.key
    grain = spacing.grain
    premake = policy.premake if policy.premake is not None else PREMAKE_DAYS[grain]
    batch = policy.premake_batch
    if batch is None:
        batch = premake / 2 if classic else min(spacing.days, premake)
    keep = policy.keep_partitions if key.width else policy.keep
    coarsest = Grain(policy.retention_unit) if policy.retention_unit is not None else Grain.YEAR
    rollups = tuple(
        (Grain(g), round(age * DAY))
        for g, age in sorted(policy.grains, reverse=True)
        if policy.grains_named and grain < g <= coarsest and not (key.width or key.listed)
    )
    return TableRules(
        spacing=spacing,
        premake=round(premake * DAY),
        batch=round(batch * DAY),
        rollups=rollups,
        hot=round(policy.hot_days * DAY),
        quiet=(policy.quiet or 0.0) * 86400,
        max_leaf=policy.max_leaf,
        keep=None if keep is None else round(keep * DAY),
        keep_months=0 if key.width else policy.keep_months,
        retention=policy.retention,
        retention_rule=policy.retention_rule,
        retention_schema=policy.retention_schema,
        external_location=policy.external_location,
        fill_gaps=policy.fill_gaps,
        move_default=policy.default_rows == "move" and not published,
        unmoved=_unmoved(published) if policy.default_rows == "move" and published else "",
    )


def _unmoved(published: str) -> str:
    return (
        f"publication {published} publishes the rows of the default partition, and subscribers"
        " would delete the rows that are moved and not get them again"
    )


def without_effect(
    policy: ResolvedPolicy, habits: Habits, *, published: str = ""
) -> tuple[str, ...]:
    """Sentences on policy keys that have no effect on a table. published: see `rules_of`."""
    key, found = habits.key, []
    if policy.default_rows == "move" and published:
        found.append(f'default_rows = "move" acts like "report": {_unmoved(published)}')
    if policy.premake == 0:
        found.append("premake = 0: no partitions are created for the future")
    kind = "plain numbers" if key.width else "lists"
    if (key.width or key.listed) and policy.grains_named:
        found.append(f"grains has no effect on {kind}: `gpcatalog plan` merges them")
    if key.width and policy.grain is not None:
        found.append("grain has no effect on plain numbers: the width is that of the newest ones")
    if policy.retention != "none" and key.width and policy.keep_partitions is None:
        found.append("keep has no effect on plain numbers: set keep_partitions")
    if policy.retention != "none" and not key.width and policy.keep is None:
        found.append("keep_partitions has an effect on plain numbers only: set keep")
    return tuple(found)


def check(policy: Policy) -> None:
    """Raise CatalogError for invalid limits, time zone names and name templates."""
    check_limits(policy.upkeep)
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
