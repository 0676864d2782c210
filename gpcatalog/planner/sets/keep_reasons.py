"""Why units stay as they are."""

from __future__ import annotations

from enum import IntEnum


class KeepReason(IntEnum):
    """Why a unit is left as it is, whatever the optimiser would like."""

    FREE = 0
    DEFAULT = 1
    UNPARSED = 2
    HOT = 3
    EXTERNAL = 4
    HANGS_ON = 5
    UNKNOWN_SIZE = 6
    PAST_RETENTION = 7
    OTHER_DISTRIBUTION = 8
    EXTERNALISE = 9
    NOT_AGAIN = 10
    NO_LEAVES = 11


WHY_TEXT = {
    KeepReason.DEFAULT: "the default partition is never merged",
    KeepReason.UNPARSED: "its bound is not understood",
    KeepReason.HOT: "inside the hot window",
    KeepReason.EXTERNAL: "external, foreign or of an unknown storage",
    KeepReason.HANGS_ON: "a view, trigger, policy, publication or another object hangs on it",
    KeepReason.UNKNOWN_SIZE: "holds rows, but the snapshot does not say how many bytes",
    KeepReason.PAST_RETENTION: "older than its retention: the owner's clean-up will remove it",
    KeepReason.OTHER_DISTRIBUTION: "distributed otherwise than its table",
    KeepReason.EXTERNALISE: "old enough to live in files outside: proposed",
    KeepReason.NOT_AGAIN: (
        "starts EXCLUSIVE where another one ends INCLUSIVE: Greenplum 6 reports an overlap if a"
        " rollback adds it again"
    ),
    KeepReason.NO_LEAVES: "it is partitioned and has no partitions",
}


HANGING = (
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
"""Facts that keep a partition as it is: what hangs on it would be lost with it, or would hold up
DROP TABLE.
"""
