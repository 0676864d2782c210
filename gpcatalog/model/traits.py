"""Rules that merge the properties of partitions (defaults, storage, comments, constraints, …),
and the resulting losses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gpcatalog.model.names import listed

Traits = Mapping[tuple[str, str], str]
"""(what, name) → value, as returned by the probe `migration_traits`: ("default", "v") →
"'x'::text".
"""


_HEAP_OPTIONS = ("fillfactor", "parallel_workers", "toast_tuple_target", "user_catalog_table")


def of_heap(option: str) -> bool:
    """Whether append-optimized tables do not support a storage option, such as "fillfactor=80", or
    accept and do not store it (tested on Greenplum 6.25.3 and 7.0.0).

    >>> of_heap("fillfactor=80"), of_heap("autovacuum_enabled"), of_heap("compresslevel")
    (True, True, False)
    """
    return option.partition("=")[0] in _HEAP_OPTIONS or option.startswith(
        ("autovacuum_", "log_autovacuum_", "vacuum_")
    )


# if these differ, the newest partition determines how its rows are stored and sampled
_NEWEST = ("storage", "compression", "options", "toast options")
OF_STATISTICS = (
    "statistics",
    *("statistics name", "statistics owner", "statistics target", "statistics comment"),
)
"""Properties of a statistics object. Its owner is included only if its table has a different
owner.
"""
_WORDS = {
    "default": "default of column",
    "storage": "storage of column",
    "compression": "compression of column",
    "options": "options of column",
    "toast options": "options of the TOAST table",
    "comment": "comment on column",
    "not null": "NOT NULL of column",
    "check comment": "comment on constraint",
    "not null comment": "comment on NOT NULL of column",
    "trigger comment": "comment on trigger",
    "statistics": "statistics object",
}


_OF_OBJECTS = {
    "statistics owner": "owner",
    "statistics target": "statistics target",
    "statistics comment": "comment",
}
"""Properties of a statistics object that its replacement may not have → their words."""


class TraitConflict(Exception):
    """Partitions differ in a property that no rule can merge."""


def merged(parts: Sequence[Traits], root: Traits) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return the properties of a partition that is merged from `parts`, oldest first, and sentences
    on what is lost.

    A property that all parts share is kept. Where they differ, these rules apply: the default of
    the root; NOT NULL if all parts have it; storage, compression and options of the newest part.
    Comments and statistics objects that differ are lost and listed. A CHECK that is not validated
    on one part is not validated afterwards.

    Raises Differ if a trigger is not enabled in the same way on all parts.
    """
    found: dict[tuple[str, str], str] = {}
    lost: list[str] = []
    newest = parts[-1]
    different = [newest] if all(p is newest for p in parts) else parts
    for key in dict.fromkeys(k for p in different for k in p):
        what, name = key
        if what.startswith("statistics"):
            continue
        values = [p.get(key) for p in different]
        value = values[0] if all(v == values[0] for v in values) else None
        if value is not None:
            found[key] = value
        elif what == "default":
            if key in root:
                found[key] = root[key]
            if any(v != root.get(key) for v in values):
                lost.append(
                    _sentence(
                        what,
                        name,
                        values,
                        root.get(key),
                        "the value of the table applies"
                        if key in root
                        else ("the new partition has none"),
                    )
                )
        elif what == "not null":
            if all(v is not None for v in values):
                found[key] = next((v for v in values if v and v.endswith("NOT VALID")), newest[key])
            elif key in root:
                found[key] = root[key]
            else:
                lost.append(_sentence(what, name, values, None, "the new partition has none"))
        elif what == "check":
            found[key] = next(
                (v for v in values if v and v.endswith("NOT VALID")),
                newest.get(key) or root.get(key, ""),
            )
            if not found[key]:
                raise TraitConflict(
                    f"constraint {name} is neither on the table nor on its newest partition"
                )
        elif what == "trigger":
            raise TraitConflict(f"trigger {name} does not have the same state on all partitions")
        elif what in _NEWEST:
            if key in newest:
                found[key] = newest[key]
            lost.append(
                _sentence(
                    what,
                    name,
                    values,
                    newest.get(key),
                    ("the value of the newest partition applies"),
                )
            )
        else:
            lost.append(_sentence(what, name, values, None, "the new partition has none"))
    return found | _statistics(parts, lost), lost


def _sentence(
    what: str, name: str, values: Sequence[str | None], kept: str | None, then: str
) -> str:
    number = sum(v != kept for v in values)
    subject = f"{_WORDS.get(what, what)} {name}".strip()
    return f"{subject} on {number} of {len(values)} partitions: {then}"


def _statistics(parts: Sequence[Traits], lost: list[str]) -> dict[tuple[str, str], str]:
    """Statistics objects that all partitions have, under the names of the newest partition's
    objects.
    """
    found: dict[tuple[str, str], str] = {}
    distinct = {id(p): p for p in parts}.values()
    texts = [{v for (w, _), v in p.items() if w == "statistics"} for p in distinct]
    common = set.intersection(*texts)
    for (what, name), text in parts[-1].items():
        if what == "statistics" and text in common:
            common.discard(text)
            found |= {
                (w, name): parts[-1][w, name] for w in OF_STATISTICS if (w, name) in parts[-1]
            }
    kept = {v for (w, _), v in found.items() if w == "statistics"}
    gone = []
    for p in parts:
        seen = set[str]()  # of several objects for the same columns, one is kept
        for name, text in _objects(p):
            if text not in kept or (text in seen and ("statistics", name) not in found):
                gone.append(name)
            seen.add(text)
    if gone:
        lost.append(
            f"statistics {'object' if len(gone) == 1 else 'objects'} {listed(gone, 3)}: the partitions do"
            " not all have the same ones"
        )
    lost += _statistics_replaced(parts, found)
    return found


def _objects(traits: Traits) -> list[tuple[str, str]]:
    """Statistics objects: (name, text of their kinds and columns)."""
    return [(name, text) for (what, name), text in traits.items() if what == "statistics"]


def _statistics_replaced(parts: Iterable[Traits], then: Traits) -> list[str]:
    """Return sentences on the targets, owners and comments of statistics objects that an object
    for the same columns replaces. then: properties that contain the latter
    """
    kept = {text: name for name, text in reversed(_objects(then))}
    found = []
    for what in _OF_OBJECTS:
        other = [
            name
            for p in parts
            for name, text in _objects(p)
            if text in kept and (what, name) in p and p[what, name] != then.get((what, kept[text]))
        ]
        if other:
            word = "object" if len(other) == 1 else "objects"
            found.append(
                f"statistics {word} {listed(other, 3)}: the new object has another"
                f" {_OF_OBJECTS[what]} or none"
            )
    return found


def without_statistics(traits: Traits) -> Traits:
    """Return these properties without statistics objects."""
    return {k: v for k, v in traits.items() if k[0] not in OF_STATISTICS}


def replaced(
    parts: Sequence[Traits],
    then: Traits,
    none: str = "the table has none",
    other: str = "the value of the table applies",
) -> list[str]:
    """Return sentences on the properties that partitions lose when a relation with other properties
    replaces them.

    none, other: text for a relation that has no value, or another value
    """
    found = []
    for what, name in dict.fromkeys(k for p in parts for k in p):
        if what in OF_STATISTICS[1:]:
            continue
        values = [p.get((what, name)) for p in parts]
        kept = then.get((what, name))
        if what == "statistics":
            if not any(v == text for v in values for (w, _), text in then.items() if w == what):
                found.append(f"statistics object {name}: it belonged to a partition and is lost")
        elif any(v is not None and v != kept for v in values):
            found.append(_sentence(what, name, values, kept, none if kept is None else other))
    return found + _statistics_replaced(parts, then)


def converted(
    traits: Traits, storage: str, options: str
) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return the properties that a partition keeps when its storage is converted, and sentences on
    those that it loses.

    options: its storage options, as in the catalog

    >>> converted({("toast options", ""): "fillfactor=90"}, "ao_row", "fillfactor=80")
    ({}, ['storage option fillfactor=80: ao_row does not support it', 'options of the TOAST table: ao_row does not support them'])
    """
    key = ("toast options", "")
    if storage == "heap":
        return dict(traits), []
    found = [
        f"storage option {o}: {storage} does not support it"
        for o in options.split(", ")
        if of_heap(o)
    ]
    if key in traits:
        found.append(f"options of the TOAST table: {storage} does not support them")
    return {k: v for k, v in traits.items() if k != key}, found


def privileges_lost(
    parts: Sequence[Collection[str]], kept: Collection[str], where: str
) -> list[str]:
    """Return a sentence for each privilege, such as "SELECT of reader", that some parts grant and
    `where` does not grant.

    "revoked INSERT of me" is a privilege that the owner revoked from itself.

    >>> privileges_lost([{"SELECT of a"}, set()], set(), "the new one")
    ['SELECT of a on 1 of 2 partitions: not granted on the new one']
    """
    granted: dict[str, int] = {}
    for part in parts:
        for privilege in part:
            granted[privilege] = granted.get(privilege, 0) + 1
    return [
        f"{privilege} on {number} of {len(parts)} partitions:"
        f" {'' if privilege.startswith('revoked ') else 'not '}granted on {where}"
        for privilege, number in granted.items()
        if privilege not in kept
    ]


def index_text(definition: str) -> str:
    """Return the definition of an index from pg_get_indexdef, without its name and table. Raises
    ValueError.

    >>> index_text('CREATE UNIQUE INDEX "i x" ON public."a USING b" USING btree (v)')
    'unique btree (v)'
    """
    name = r'(?:"(?:[^"]|"")*"|[^\s".(]+)'
    found = re.match(
        rf"CREATE (UNIQUE )?INDEX {name} ON (?:ONLY )?{name}(?:\.{name})? USING (.*)\Z",
        definition,
        re.S,
    )
    if found is None:
        raise ValueError(definition)
    return ("unique " if found[1] else "") + found[2]


_INDEX_OPTIONS = re.compile(r" WITH \([^()]*\)")


def indexes_lost(parts: Sequence[Iterable[str]], kept: Iterable[str], where: str) -> list[str]:
    """Return a sentence for each index, by `index_text`, that some of the parts have and the
    relation that replaces them does not have.

    >>> indexes_lost([["btree (v)"], []], [], "the new one")
    ['index btree (v) on 1 of 2 partitions: not on the new one']
    >>> indexes_lost([["btree (v) WITH (fillfactor='70')"]], ["btree (v)"], "the new one")
    ["index btree (v) WITH (fillfactor='70') on 1 of 1 partitions: the new one has it with other options"]
    """
    there: dict[str, int] = {}
    for part in parts:
        for text in dict.fromkeys(part):
            there[text] = there.get(text, 0) + 1
    left = set(kept)
    alike = {_INDEX_OPTIONS.sub("", text) for text in left}
    return [
        f"index {text} on {number} of {len(parts)} partitions: "
        + (
            f"{where} has it with other options"
            if _INDEX_OPTIONS.sub("", text) in alike
            else f"not on {where}"
        )
        for text, number in sorted(there.items())
        if text not in left
    ]


def others_lost(
    parts: Sequence[Mapping[str, str]], kept: Mapping[str, str], where: str, other: str
) -> list[str]:
    """Return a sentence for each property, by its name, that some parts have and the relation that
    replaces them does not have.

    other: text for a relation that has another value

    >>> others_lost([{"replica identity": "FULL"}, {}], {}, "the new partition", "that of p2")
    ['replica identity on 1 of 2 partitions: the new partition has none']
    >>> others_lost([{"replica identity": "n"}, {}], {"replica identity": "n"}, "the new partition", "that of p2")
    ['replica identity on 1 of 2 partitions: the new partition has that of p2']
    """
    found = []
    for name in dict.fromkeys(k for p in (*parts, kept) for k in p):
        then = kept.get(name)
        # a part without replica identity has the default one
        has_it = [p for p in parts if name in p or name == "replica identity"]
        if number := sum(p.get(name) != then for p in has_it):
            has = "none" if then is None else other
            found.append(f"{name} on {number} of {len(parts)} partitions: {where} has {has}")
    return found


def index_properties_lost(parts: Sequence[object], kept: object, like: str) -> list[str]:
    """Return a sentence if comments and statistics targets of the parts' indexes are not those of
    the partition named `like`.

    An empty or missing value means that a part's indexes have neither.
    """
    number = sum(bool(p) and p != kept for p in parts)
    text = (
        f"comments and statistics targets of indexes on {number} of {len(parts)} partitions: the"
        f" new partition has those of {like}"
    )
    return [text] if number else []
