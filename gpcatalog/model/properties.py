"""Properties of partitions that are not those of their table, as facts of a snapshot."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from gpcatalog.model.traits import Traits

FACT = "property"
LONGEST = 200  # characters of a value that a snapshot keeps


def facts(table: Traits, partitions: Mapping[int, Traits]) -> list[str]:
    """Return what differs as JSON texts: [what, name, value, oids].

    Without a value (null) these partitions do not have the property. Without oids (null) the table
    has this value, and so has every partition that no other text names.

    >>> facts({("default", "v"): "1"}, {7: {("default", "v"): "1"}, 8: {}})
    ['["default", "v", "1", null]', '["default", "v", null, [8]]']
    """
    differing: dict[tuple[str, str], dict[str | None, list[int]]] = {}
    for oid, own in partitions.items():
        for key in {**table, **own}:
            if own.get(key) != table.get(key):
                differing.setdefault(key, {}).setdefault(own.get(key), []).append(oid)
    found = []
    for key, values in sorted(differing.items()):
        if key in table:
            found.append(json.dumps([*key, _short(table[key]), None]))
        found += [json.dumps([*key, _short(value), sorted(oids)]) for value, oids in values.items()]
    return found


def _short(value: str | None) -> str | None:
    """Return the value, or what tells a long text, such as a comment, from others; only NOT VALID
    at its end is looked at again.
    """
    if value is None or len(value) <= LONGEST:
        return value
    end = " NOT VALID" if value.endswith(" NOT VALID") else ""
    return f"sha256 {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}{end}"


class Properties:
    """Properties in which partitions of one table differ from each other or from the table, by
    oid.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._table: dict[tuple[str, str], str | None] = {}
        self._others: dict[int, dict[tuple[str, str], str | None]] = {}
        for text in texts:
            what, name, value, oids = json.loads(text)
            if oids is None:
                self._table[what, name] = value
            for oid in oids or ():
                self._others.setdefault(oid, {})[what, name] = value

    def of(self, oid: int = 0) -> dict[tuple[str, str], str]:
        """What one partition has of these properties; what the table has where no partition is
        named.
        """
        both = self._table | self._others.get(oid, {})
        return {key: value for key, value in both.items() if value is not None}

    def uneven(self, what: str, leaves: int) -> list[tuple[int, str]]:
        """Partitions whose property of this kind is not that of the table, with its name, unless
        all `leaves` have it alike.
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
    """Properties in which partitions of a table differ, from its facts; None where there are
    none.
    """
    texts = [detail for _, detail in found.get(FACT, ())]
    return Properties(texts) if texts else None
