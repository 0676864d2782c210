"""Why units are not changed."""

from __future__ import annotations

from enum import IntEnum


class KeepReason(IntEnum):
    """Why a unit is not changed, independent of the optimizer."""

    FREE = 0
    DEFAULT = 1
    UNPARSED = 2
    HOT = 3
    EXTERNAL = 4
    HAS_DEPENDENTS = 5
    UNKNOWN_SIZE = 6
    PAST_RETENTION = 7
    OTHER_DISTRIBUTION = 8
    EXTERNALISE = 9
    NOT_AGAIN = 10
    NO_LEAVES = 11
    NULL_IN_LIST = 12


WHY_TEXT = {
    KeepReason.DEFAULT: "the default partition is never merged",
    KeepReason.UNPARSED: "its bound cannot be read",
    KeepReason.HOT: "recent (hot_days)",
    KeepReason.EXTERNAL: (
        "its storage is external or foreign, or its access method is not supported"
    ),
    KeepReason.HAS_DEPENDENTS: "a view, trigger, policy, publication or other object depends on it",
    KeepReason.UNKNOWN_SIZE: "it has rows, but the snapshot has no size for it",
    KeepReason.PAST_RETENTION: (
        "it is older than the retention, so the owner's cleanup removes it"
    ),
    KeepReason.OTHER_DISTRIBUTION: "its distribution differs from that of the table",
    KeepReason.EXTERNALISE: "it is old enough for external files (see the proposals)",
    KeepReason.NOT_AGAIN: (
        "it starts EXCLUSIVE where another partition ends INCLUSIVE; Greenplum 6 rejects this as"
        " an overlap in a rollback"
    ),
    KeepReason.NO_LEAVES: "it is partitioned but has no partitions",
    KeepReason.NULL_IN_LIST: "NULL is in its list; such partitions are not changed",
}


DEPENDENT_FACTS = (
    "view",
    "rule",
    "trigger",
    "own check",
    "policy",
    "row security",
    "column grants",
    "sequence",
    "needed by another object",
    "publication",
    "subscription",
    "exclusion constraint",
    "index that is not valid",
    "own index",
    "own expression",
    "own properties",
    "member of an extension",
    "security label",
    "row type",
    "pending detach",
)
"""Facts that prevent changes of a partition: the dependent object would be lost with it, or
would prevent DROP TABLE.
"""

KEY_BELOW = "partition key below"
"""Fact: the key by which a partition is partitioned, if the partitions of its level have several
keys. Partitions are merged only if all keys below them are the same.
"""
