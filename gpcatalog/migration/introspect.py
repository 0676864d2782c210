"""The properties of a live table that a migration needs: partitions, columns, indexes and
dependent objects, read by probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar

from gpcatalog.model.names import oid_array, qualified, quote_ident
from gpcatalog.model.server import Server
from gpcatalog.model.traits import Traits, index_text

_T = TypeVar("_T")


class ProbeRunner(Protocol):
    """Runs a probe by its name, and returns the rows as dictionaries."""

    def __call__(self, name: str, /, **values: str) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that is not dropped. Generated columns are computed by the server and never
    copied.
    """

    name: str
    type: str
    not_null: bool
    generated: bool
    statistics: int
    options: str
    encoding: str


@dataclass(frozen=True)
class Index:
    """An index of one relation.

    `body` is its definition from USING on; constraint_kind: p primary, u unique, x exclusion.

    targets: (column number, statistics target) of expressions with a target of their own
    """

    name: str
    definition: str
    constraint_kind: str
    constraint_definition: str
    comment: str
    tablespace: str
    replica_identity: bool
    clustered: bool
    valid: bool
    constraint_comment: str = ""
    targets: tuple[tuple[int, int], ...] = ()

    @property
    def unique(self) -> bool:
        """Whether it is a unique index."""
        return self.definition.startswith("CREATE UNIQUE ")

    @property
    def body(self) -> str:
        """The definition after the table's name.

        >>> Index("i", 'CREATE INDEX "i x" ON public."a USING b" USING btree (v)', "", "", "", "", False, False, True).body
        'USING btree (v)'
        """
        return f"USING {self.text.removeprefix('unique ')}"

    @property
    def text(self) -> str:
        """The index as text, see `index_text`."""
        return index_text(self.definition)


@dataclass(frozen=True)
class Grant:
    """Privileges of one role on a table or one of its columns; the empty role is PUBLIC.

    grantor: the role that granted them, empty for the owner; revoked: whether the owner (`role`)
             revoked them from itself
    """

    role: str
    privileges: tuple[str, ...]
    grantable: tuple[str, ...]
    column: str = ""
    grantor: str = ""
    revoked: bool = False

    @property
    def words(self) -> list[str]:
        """Each privilege with its role, for people.

        >>> Grant("a", ("SELECT",), (), "v").words
        ['SELECT (v) of a']
        """
        where = f" ({self.column})" if self.column else ""
        by = f" granted by {self.grantor}" if self.grantor else ""
        return [
            f"{'revoked ' * self.revoked}{privilege}{where} of {self.role or 'PUBLIC'}{by}"
            for privilege in self.privileges
        ]


_PRIVILEGES = {
    "r": "SELECT",
    "a": "INSERT",
    "w": "UPDATE",
    "d": "DELETE",
    "D": "TRUNCATE",
    "x": "REFERENCES",
    "t": "TRIGGER",
    "m": "MAINTAIN",
}


def _items(acl: str) -> Iterable[str]:
    """Items of an aclitem[] as text, without the quotes of the array.

    >>> list(_items('{gpadmin=arwdDxt/gpadmin,"\\\\"a b\\\\"=r/gpadmin"}'))
    ['gpadmin=arwdDxt/gpadmin', '"a b"=r/gpadmin']
    """
    body = acl.strip()[1:-1]
    for m in re.finditer(r'"((?:[^"\\]|\\.)*)"|([^,]+)', body, re.S):
        yield re.sub(r"\\(.)", r"\1", m[1], flags=re.S) if m[1] is not None else m[2]


def _unquoted(role: str) -> str:
    return role[1:-1].replace('""', '"') if role.startswith('"') else role


@lru_cache(maxsize=4096)  # partitions have the grants of their table
def grants(acl: str | None, owner: str, column: str = "") -> tuple[Grant, ...]:
    """Privileges in an ACL of a table or column, each after the grants on which it depends. The
    owner has all privileges on the table by default, and is in the ACL of a column only if granted.

    >>> [g.words for g in grants('{me=arwdDxt/me,=r/me,"\\\\"a b\\\\"=r*w/me","you=r/\\\\"a b\\\\""}', "me")]
    [['SELECT of PUBLIC'], ['SELECT of a b', 'UPDATE of a b'], ['SELECT of you granted by a b']]
    """
    found: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for item in _items(acl) if acl else ():
        m = re.match(
            r'(?P<role>"(?:[^"]|"")*"|[^=]*)=(?P<rights>[a-zA-Z*]*)/(?P<grantor>.*)\Z', item, re.S
        )
        if m is None:
            raise ValueError(f"unknown grants: {item}")
        role, grantor = _unquoted(m["role"]), _unquoted(m["grantor"])
        if role == owner and not column:
            continue
        plain, more = found.setdefault((role, "" if grantor == owner else grantor), (set(), set()))
        for letter, star in re.findall(r"([a-zA-Z])(\*?)", m["rights"]):
            word = _PRIVILEGES.get(letter)
            if word is None:
                raise ValueError(f"unknown privilege: {letter}")
            plain.add(word)
            if star:
                more.add(word)
    words = list(_PRIVILEGES.values())
    return _in_order(
        Grant(r, tuple(sorted(p, key=words.index)), tuple(sorted(g, key=words.index)), column, by)
        for (r, by), (p, g) in found.items()
    )


def _in_order(unordered: Iterable[Grant]) -> tuple[Grant, ...]:
    """Sort grants: each after those that allow its grantor to grant. Grants that nobody may
    grant are left out.
    """
    left, found = list(unordered), list[Grant]()
    while left:
        may = {(g.role, g.column, p) for g in found for p in g.grantable}
        ready = [
            g
            for g in left
            if not g.grantor
            or all({(g.grantor, g.column, p), (g.grantor, "", p)} & may for p in g.privileges)
        ]
        if not ready:
            break
        found += ready
        left = [g for g in left if g not in ready]
    return tuple(found)


@lru_cache(maxsize=4096)
def _all_grants(
    acl: str | None,
    owner: str,
    column_grants: tuple[tuple[str, str], ...],
    revoked: tuple[str, ...],
) -> tuple[Grant, ...]:
    found = [
        *grants(acl, owner),
        *(g for column, of in column_grants for g in grants(of, owner, column)),
    ]
    own = [Grant(owner, revoked, (), revoked=True)] if revoked else []
    return (*own, *_in_order(found))


def common_grants(parts: Sequence[Iterable[Grant]]) -> tuple[Grant, ...]:
    """Privileges that all relations grant: a merged leaf never gives a role access that one of its
    parts did not give.

    >>> common_grants([[Grant("a", ("SELECT", "UPDATE"), ())], [Grant("a", ("SELECT",), ()), Grant("b", ("SELECT",), ())]])
    (Grant(role='a', privileges=('SELECT',), grantable=(), column='', grantor='', revoked=False),)
    """
    maps = [{(g.role, g.column, g.grantor, g.revoked): g for g in part} for part in parts]
    found = []
    for key, first in maps[0].items():
        rest = [m.get(key) for m in maps[1:]]
        rights = tuple(p for p in first.privileges if all(r and p in r.privileges for r in rest))
        more = tuple(p for p in first.grantable if all(r and p in r.grantable for r in rest))
        if rights:
            found.append(replace(first, privileges=rights, grantable=more))
    return _in_order(found)


@dataclass(frozen=True, kw_only=True)
class Relation:
    """One relation of a partitioned table: the root, an intermediate or a leaf.

    `key`: names of the columns by which it is partitioned.
    """

    oid: int
    parent: int | None
    level: int
    kind: str
    schema: str
    name: str
    bound: str
    partition: str
    is_default: bool
    owner: str
    acl: str | None
    storage: str
    options: str
    tablespace: str
    persistence: str
    comment: str
    replica_identity: str
    distribution: str
    strategy: str
    key: tuple[str, ...]
    column_grants: tuple[tuple[str, str], ...]
    has_oids: bool
    has_template: bool
    # Greenplum 7, PostgreSQL: the text after PARTITION BY as the server prints it; None if reading
    # it would run code of a user
    split: str | None = ""
    access_method: str = ""  # Greenplum 7: also of roots and intermediates, which store nothing
    revoked: tuple[str, ...] = ()  # privileges that its owner revoked from itself
    # a column of its key whose values the scripts cannot compare as the server does, see odd_key.part
    odd_key: str = ""
    checks: int = 0  # CHECK constraints; on Greenplum 6, with one for each bound on its path
    toast: bool = False  # whether it has a TOAST relation

    @property
    def split_by_columns(self) -> bool:
        """Whether its partition key consists only of columns, without expressions."""
        return bool(self.key) and all(self.key)

    # not cached: a value in addition to the fields of a relation takes 1.5 KB

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Privileges of other roles than the owner on it and its columns, and privileges that
        the owner revoked from itself.
        """
        return _all_grants(self.acl, self.owner, self.column_grants, self.revoked)

    @property
    def sql(self) -> str:
        """Its qualified name, quoted."""
        return qualified(self.schema, self.name)


@dataclass(frozen=True)
class Dependency:
    """An object that depends on a relation: a view, a trigger, a foreign key, a publication …"""

    oid: int
    what: str
    detail: str


@dataclass(kw_only=True)
class Table:
    """A partitioned table as it is now.

    columns, indexes, traits: by OID of the relations that were read in detail
    checksums: of all properties that are lost when such a relation is dropped
    code: (schema, name) of user-defined functions, operators, operator classes and types that those
          relations use
    """

    server: Server
    root: Relation
    relations: dict[int, Relation]
    dependencies: tuple[Dependency, ...]
    columns: dict[int, tuple[Column, ...]] = field(default_factory=dict)
    checksums: dict[int, str] = field(default_factory=dict)
    indexes: dict[int, tuple[Index, ...]] = field(default_factory=dict)
    traits: dict[int, Traits] = field(default_factory=dict)
    code: set[tuple[str, str]] = field(default_factory=set)

    def children(self, oid: int) -> list[Relation]:
        """Partitions directly below a relation, lowest OID first."""
        return self._children.get(oid, [])

    @cached_property
    def _children(self) -> dict[int, list[Relation]]:
        found: dict[int, list[Relation]] = {}
        for r in self.relations.values():
            if r.parent is not None:
                found.setdefault(r.parent, []).append(r)
        return found

    @cached_property
    def dependents(self) -> dict[int, list[Dependency]]:
        """Dependent objects of each relation."""
        found: dict[int, list[Dependency]] = {}
        for h in self.dependencies:
            found.setdefault(h.oid, []).append(h)
        return found

    @cached_property
    def oids_of(self) -> dict[str, set[int]]:
        """Relations of each name; their schemas may differ."""
        found: dict[str, set[int]] = {}
        for r in self.relations.values():
            found.setdefault(r.name, set()).add(r.oid)
        return found

    def leaves(self, oid: int) -> list[Relation]:
        """Leaves at or below a relation."""
        here = self.relations[oid]
        if here.kind == "leaf":
            return [here]
        return [leaf for child in self.children(oid) for leaf in self.leaves(child.oid)]

    def path_between(self, oid: int, top: int) -> list[Relation]:
        """Relations from just below `top` down to `oid`."""
        found: list[Relation] = []
        at = self.relations[oid]
        while at.oid != top:
            found.append(at)
            assert at.parent is not None
            at = self.relations[at.parent]
        return found[::-1]

    def default_of(self, parent: int) -> Relation | None:
        """The default partition directly below a relation."""
        return next((r for r in self.children(parent) if r.is_default), None)

    def path_key(self, oid: int) -> list[Relation]:
        """Relations from below the root down to `oid`, including the relation itself."""
        return self.path_between(oid, self.root.oid)


def column_signature(columns: tuple[Column, ...]) -> str:
    """Columns in the form that the guard compares: quoted name, type, NOT NULL."""
    return ", ".join(
        f"{quote_ident_always(c.name)} {c.type}{' NOT NULL' if c.not_null else ''}" for c in columns
    )


def quote_ident_always(name: str) -> str:
    """Quote a name even if it needs no quotes: the server and this program may have different lists
    of keywords.

    >>> quote_ident_always('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


class Unsafe(Exception):
    """The reason why reading a table would run code of another role."""


def read(run_probe: ProbeRunner, server: Server, root: int) -> Table | None:
    """Read the table as it is now; None if no partitioned table has this OID. Raises Unsafe."""
    rows = list(run_probe("migration_tree", root=str(root)))
    relations: dict[int, Relation] = {}
    known: dict[str, str] = {}  # partitions have many equal texts: each is kept once
    rows.reverse()
    while rows:  # a row takes more memory than its relation
        r: dict[str, Any] = {
            name: known.setdefault(value, value) if isinstance(value, str) else value
            for name, value in rows.pop().items()
        }
        relations[r["oid"]] = Relation(
            oid=r["oid"],
            parent=r["parent"],
            level=r["level"],
            kind=r["kind"],
            schema=r["schema"],
            name=r["name"],
            bound=r["bound"] or "",
            partition=r["partition_name"] or "",
            is_default=r["is_default"],
            owner=r["owner"],
            acl=r["acl"],
            storage=r["storage"],
            options=r["options"],
            tablespace=r["tablespace"],
            persistence=r["persistence"],
            comment=r["comment"],
            replica_identity=r["replica_identity"],
            distribution=r["distribution"] or "",
            strategy=r["strategy"] or "",
            key=tuple(r["key"].split("\x1f")) if r["key"] else (),
            column_grants=tuple(json.loads(r["column_grants"] or "{}").items()),
            has_oids=r["has_oids"],
            has_template=r["has_template"],
            split=r["split"],
            access_method=r.get("access_method") or "",
            revoked=tuple(r["revoked"].split(",")) if r["revoked"] else (),
            odd_key=r["odd_key"] or "",
            checks=r["checks"],
            toast=r["toast"],
        )
    if root not in relations or len(relations) < 2:
        return None
    # reading anything else of the table opens it
    if unread := [r for r in relations.values() if r.split is None]:
        raise Unsafe(
            f"the key of {unread[0].name} has an operator class with functions of a role that is"
            " not a superuser; the server runs them when it opens the table, so run migrate as"
            " their owner"
        )
    dependencies = tuple(
        Dependency(r["oid"], r["fact"], r["detail"] or "")
        for r in run_probe("migration_hanging", roots=str(root))
    )
    return Table(
        server=server, root=relations[root], relations=relations, dependencies=dependencies
    )


BATCH = 2_000  # number of relations whose details one statement reads


def read_details(run_probe: ProbeRunner, table: Table, oids: Iterable[int]) -> None:
    """Read columns, indexes and properties of these relations and of the root into `table`."""
    upper = {r.oid for r in table.relations.values() if r.kind != "leaf"}
    missing = sorted({*oids, *upper} - table.columns.keys())
    # leaves have equal columns: they are kept once
    known: dict[tuple[Column, ...], tuple[Column, ...]] = {}
    for start in range(0, len(missing), BATCH):
        part = missing[start : start + BATCH]
        text = oid_array(part)
        table.code |= {
            (row["schema"], row["name"]) for row in run_probe("migration_code", oids=text)
        }
        table.traits |= _by_oid(part, run_probe("migration_traits", oids=text), _traits)
        columns = _by_oid(part, run_probe("migration_columns", oids=text), _columns)
        distinct = {id(found): found for found in columns.values()}  # a hash reads all columns
        once = {at: known.setdefault(found, found) for at, found in distinct.items()}
        table.columns |= {oid: once[id(found)] for oid, found in columns.items()}
        table.checksums |= {
            row["id"]: row["checksum"] for row in run_probe("migration_checksums", oids=text)
        }
        for oid in part:
            table.indexes[oid] = ()
        for r in run_probe("migration_indexes", oids=text):
            index = Index(
                r["name"],
                r["definition"],
                r["constraint_kind"],
                r["constraint_definition"],
                r["comment"],
                r["tablespace"],
                r["replica_identity"],
                r["clustered"],
                r["valid"],
                r["constraint_comment"],
                tuple(
                    (int(n), int(t))
                    for n, _, t in (pair.partition(" ") for pair in r["targets"].split(",") if pair)
                ),
            )
            table.indexes[r["oid"]] += (index,)


def _by_oid(
    oids: Iterable[int],
    rows: Sequence[dict[str, Any]],
    build: Callable[[Sequence[dict[str, Any]]], _T],
) -> dict[int, _T]:
    """For each relation, the result of `build` for the rows that contain its OID. Relations in
    the same rows share one result.
    """
    named: dict[int, list[int]] = {oid: [] for oid in oids}
    for at, row in enumerate(rows):
        for oid in row["oids"]:
            named[oid].append(at)
    found: dict[int, _T] = {}
    known: dict[tuple[int, ...], _T] = {}
    for oid, places in named.items():
        key = tuple(places)
        if key not in known:
            known[key] = build([rows[at] for at in places])
        found[oid] = known[key]
    return found


def _traits(rows: Iterable[dict[str, Any]]) -> Traits:
    return {(row["what"], row["name"]): row["value"] for row in rows}


def _columns(rows: Iterable[dict[str, Any]]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=r["name"],
            type=r["type"],
            not_null=r["not_null"],
            generated=r["generated"],
            statistics=r["statistics"],
            options=r["options"],
            encoding=r["encoding"],
        )
        for r in rows
    )


def statistics_targets(columns: Iterable[Column]) -> tuple[tuple[str, int], ...]:
    """Statistics targets that are set, by quoted column."""
    return tuple((quote_ident_always(c.name), c.statistics) for c in columns if c.statistics >= 0)


def role_sql(role: str) -> str:
    """A role in GRANT."""
    return quote_ident(role) if role else "PUBLIC"
