"""Session state: transactions that are rolled back, and settings that determine a table's
storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.script import Statement
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.keys import fold

SETTINGS = (
    "gp_default_storage_options",
    "default_table_access_method",
    "search_path",
    "timezone",
    "default_with_oids",
)


_SYSTEM_SCHEMAS = ("$user", "pg_catalog", "pg_temp", "information_schema")


@dataclass(frozen=True)
class Defaults:
    """Settings that determine the storage and schema of new tables, as text; "" is the server's
    default.

    later: settings of ALTER DATABASE and ALTER ROLE for later sessions
    """

    values: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        """Storage options of gp_default_storage_options.

        >>> Defaults({"gp_default_storage_options": "appendonly=true, orientation=column"}).options
        {'appendonly': 'true', 'orientation': 'column'}
        """
        pairs = (
            piece.partition("=")
            for piece in self.values.get("gp_default_storage_options", "").split(",")
        )
        return {
            name.strip().lower(): value.strip().lower() for name, _, value in pairs if name.strip()
        }

    @property
    def method(self) -> str:
        """default_table_access_method."""
        return self.values.get("default_table_access_method", "").strip().lower()

    @property
    def with_oids(self) -> bool:
        """default_with_oids of Greenplum 6."""
        return self.values.get("default_with_oids", "").lower() in ("on", "true", "yes", "1", "t")

    def zone(self, usual: ZoneInfo) -> ZoneInfo:
        """The time zone; `usual` if it is not set. Raises Unknown if it is not in the time zone
        database.
        """
        name = self.values.get("timezone", "")
        try:
            return ZoneInfo(name) if name else usual
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise Unknown(f"time zone {name}") from None

    @property
    def path(self) -> list[str]:
        """The schemas of search_path, without system schemas if it has others; empty if it is not
        set. An empty search_path has pg_catalog.
        """
        schemas = [n for n in self._listed if n not in _SYSTEM_SCHEMAS]
        return schemas or (["pg_catalog"] if self._only_system_schemas else [])

    @property
    def _only_system_schemas(self) -> bool:
        # pg_temp can contain new tables, and $user may be a schema
        return bool(self.values.get("search_path")) and not {"$user", "pg_temp"} & {*self._listed}

    @property
    def before_temporary(self) -> list[str]:
        """The schemas that search_path contains before pg_temp; empty if it does not contain
        pg_temp, which is then searched first.
        """
        names = self._listed
        return names[: names.index("pg_temp")] if "pg_temp" in names else []

    @property
    def _listed(self) -> list[str]:
        names = (name.strip().strip('"') for name in self.values.get("search_path", "").split(","))
        return [name for name in names if name]

    def with_(self, changes: dict[str, str], *, later: bool = False) -> Defaults:
        """The settings with these changes; an empty value is the server's own default."""
        if later:
            return replace(self, later={**self.later, **changes})
        return replace(self, values={**self.values, **changes})

    def reconnected(self) -> Defaults:
        """The settings of the next session."""
        return Defaults(dict(self.later), self.later)


def settings_of(node: exp.Expression | None) -> dict[str, str]:
    """The settings among SETTINGS that SET, RESET, set_config or the SET of ALTER DATABASE and
    ALTER ROLE change, with their values.
    """
    if node is None:
        return {}
    for reset in _of_kind(node, "ResetItem"):
        if str(reset.args.get("form") or "") == "ALL":
            return dict.fromkeys(SETTINGS, "")
        name = fold(reset.this) if isinstance(reset.this, exp.Identifier) else ""
        return {name: ""} if name in SETTINGS else {}
    found = {}
    for item in _of_kind(node, "SetItem"):
        if str(item.args.get("form") or "") == "SCHEMA" and isinstance(
            item.args.get("value"), exp.Literal
        ):
            found["search_path"] = _text(item.args["value"])
        if (zone := item.args.get("zone")) is not None:
            usual = isinstance(zone, exp.Identifier) and fold(zone) in ("local", "default")
            found["timezone"] = "" if usual else _text(zone)
    for setting in _of_kind(node, "GenericSet"):
        name = fold(setting.this) if isinstance(setting.this, exp.Identifier) else ""
        if name in SETTINGS:
            listed = [_text(v) for v in setting.args.get("values") or ()]
            found[name] = '""' if listed == [""] else ",".join(listed)
    for name, value in set_by_call(node):
        if name in SETTINGS and isinstance(value, exp.Literal):
            found[name] = _text(value) or '""'
    return found


def set_by_call(node: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    """The name and the value in each call of set_config; the name is "" if it is not a constant."""
    for call in node.find_all(exp.Anonymous, gx.FunctionCall):
        words = call.expressions
        called = str(call.this if isinstance(call, exp.Anonymous) else call.this.name).lower()
        if called == "set_config" and len(words) >= 2:
            yield _text(words[0]).lower() if isinstance(words[0], exp.Literal) else "", words[1]


def _of_kind(node: exp.Expression, kind: str) -> Iterator[exp.Expression]:
    return (one for one in node.find_all(exp.Expression) if type(one).__name__ == kind)


def _text(value: exp.Expression) -> str:
    return (
        str(value.this)
        if isinstance(value, exp.Literal)
        else fold(value)
        if isinstance(value, exp.Identifier)
        else value.sql("greenplum")
    )


LEFT_OPEN = "whether the transaction is committed"  # for a statement that begins one


class Ending(Enum):
    """The end of a transaction that a statement begins."""

    KEPT = "committed, or none begins here"
    UNDONE = "rolled back, all of it or to the savepoint that is set here"
    OPEN = "not before the end of the file"


def endings(statements: Iterable[tuple[int, Statement | None]]) -> dict[int, Ending]:
    """Return the ends of the transactions and savepoints that are rolled back or stay open, by the
    numbers of the statements that begin them.

    statements: transaction statements, each with its number; None for another statement that begins
        a transaction if none is open (AUTOCOMMIT off)
    """
    found: dict[int, Ending] = {}
    opened: list[
        tuple[str, int]
    ] = []  # the transaction itself, which has no name, and its savepoints
    for at, statement in statements:
        tree = statement.tree if statement is not None else None
        kind = type(tree).__name__
        if (kind == "BeginWork" or statement is None) and not opened:
            opened.append(("", at))
        elif tree is None or not opened:
            continue
        elif kind == "Savepoint":
            name = fold(tree.this)
            if str(tree.args.get("form")) == "SAVEPOINT":
                opened.append((name, at))
            elif depth := _depth(opened, name):  # RELEASE
                del opened[depth:]
        elif kind == "EndWork":
            if (savepoint := tree.args.get("savepoint")) is not None:
                depth = _depth(opened, fold(savepoint))
                found[opened[depth][1]] = Ending.UNDONE
                del opened[depth + 1 :]
            else:
                if not commits(tree):
                    found[opened[0][1]] = Ending.UNDONE
                opened = [("", at)] if chains(tree) else []
    if opened:
        found[opened[0][1]] = Ending.OPEN
    return found


def _depth(opened: Sequence[tuple[str, int]], name: str) -> int:
    """The index of the last savepoint of that name; 0, the index of the transaction, if there is
    none.
    """
    return max((n for n, (label, _) in enumerate(opened) if n and label == name), default=0)


def chains(tree: exp.Expression) -> bool:
    """Whether the end of a transaction begins the next one."""
    return str(tree.args.get("and_chain") or "").upper() == "AND CHAIN"


def commits(tree: exp.Expression) -> bool:
    """Whether the end of a transaction commits it; PREPARE TRANSACTION is assumed to be committed
    later.
    """
    return str(tree.args.get("commit") or "COMMIT").upper() not in ("ROLLBACK", "ABORT")


def reverse(effects: Sequence[Effect]) -> Effect:
    """Return the effect of rolling back these statements."""
    found = Effect(verb="rollback")
    for effect in effects:
        found.reverse(effect)
        for reason in effect.unknown:
            found.add_unknown(f"state before the transaction: {reason}")
    found.created, found.removed = found.created - found.removed, found.removed - found.created
    return found
