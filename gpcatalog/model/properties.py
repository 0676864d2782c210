"""Properties of partitions that differ from those of their table, as facts of a snapshot."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from gpcatalog.model.traits import OF_STATISTICS, Traits

FACT = "property"
LONGEST = 200  # characters of a value that a snapshot keeps

_NOT_TAKEN_OVER = frozenset(
    ("comment", "table comment", "check comment", "not null comment", "trigger comment")
).union(("index properties", "toast options"), OF_STATISTICS)
"""Kinds of properties that partitions do not take over from their table. A partition that the
probe uneven_partitions does not return has no such property.
"""
_OF_COLUMN = re.compile(r"\w+ \(")  # start of a column privilege: SELECT (column) of …


def facts(
    table: Traits,
    partitions: Mapping[int, Traits],
    *,
    granted: bool = True,
    columns_granted: bool = True,
) -> list[str]:
    """Return the differences as JSON texts: [what, name, value, oids].

    partitions: those that may differ from their table; granted, columns_granted: whether a
                partition of the table has privileges of its own, on itself or on columns

    If the value is null, these partitions do not have the property. If oids is null, the table has
    this value, and so does every partition that no other text lists. If oids is an empty list, only
    the table has it.

    >>> facts({("default", "v"): "1"}, {7: {("default", "v"): "1"}, 8: {}})
    ['["default", "v", "1", null]', '["default", "v", null, [8]]']
    >>> facts({("comment", "v"): "a"}, {7: {("comment", "v"): "a"}, 8: {}})
    ['["comment", "v", "a", []]', '["comment", "v", "a", [7]]']
    """

    def usual(key: tuple[str, str]) -> str | None:
        """The value that partitions outside `partitions` have."""
        what, name = key
        of_table = what not in _NOT_TAKEN_OVER
        if what == "privilege":
            of_table = columns_granted if _OF_COLUMN.match(name) else granted
        return table.get(key) if of_table else None

    differing: dict[tuple[str, str], dict[str | None, list[int]]] = {}
    for oid, own in partitions.items():
        for key in {**table, **own}:
            value = own.get(key)
            if value is None and key[0] == "trigger":
                continue  # the table's trigger is FOR EACH STATEMENT: partitions do not have it
            if value != usual(key):
                differing.setdefault(key, {}).setdefault(value, []).append(oid)
    found = []
    for key, values in sorted(differing.items()):
        if key in table:
            every = None if usual(key) is not None else list[int]()
            found.append(json.dumps([*key, _short(table[key]), every]))
        found += [json.dumps([*key, _short(value), sorted(oids)]) for value, oids in values.items()]
    return found


def _short(value: str | None) -> str | None:
    """Return the value, or a hash of a long text such as a comment. Of a long text, only NOT
    VALID at its end is kept, because only that is read again.
    """
    if value is None or len(value) <= LONGEST:
        return value
    end = " NOT VALID" if value.endswith(" NOT VALID") else ""
    return f"sha256 {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}{end}"


class Properties:
    """Properties in which partitions of one table differ from each other or from the table, by
    OID.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._table: dict[tuple[str, str], str | None] = {}
        self._table_alone: dict[tuple[str, str], str | None] = {}
        self._others: dict[int, dict[tuple[str, str], str | None]] = {}
        for text in texts:
            what, name, value, oids = json.loads(text)
            if not oids:
                known = self._table if oids is None else self._table_alone
                known[what, name] = value
            for oid in oids or ():
                self._others.setdefault(oid, {})[what, name] = value

    def of(self, oid: int = 0) -> dict[tuple[str, str], str]:
        """Return these properties of one partition, or of the table if no partition is
        specified.
        """
        both = self._table | (self._others.get(oid, {}) if oid else self._table_alone)
        return {key: value for key, value in both.items() if value is not None}

    def uneven(self, what: str, leaves: int) -> list[tuple[int, str]]:
        """Partitions whose property of this kind differs from that of the table, with the
        property's name. A property that all `leaves` have with the same value is skipped.
        """
        values: dict[str, dict[int, str | None]] = {}
        for oid, own in self._others.items():
            for (kind, name), value in own.items():
                if kind == what:
                    values.setdefault(name, {})[oid] = value
        return [
            (oid, name)
            for name, of in values.items()
            if len(set(of.values())) > 1 or len(of) < leaves
            for oid in of
        ]


def of_facts(found: Mapping[str, Sequence[tuple[int, str]]]) -> Properties | None:
    """Properties in which partitions of a table differ, from the table's facts; None if there
    are none.
    """
    texts = [detail for _, detail in found.get(FACT, ())]
    return Properties(texts) if texts else None
