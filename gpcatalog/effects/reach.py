"""Functions, relations and types of a script that may run DDL: by their own text, or through what
they call, read or write, directly or indirectly.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum


class Use(Enum):
    """A way to use a named object.

    CALL: a function, procedure or aggregate
    READ: a view, a domain or type, a table with policies: in any query that names it
    WRITE: rows of a table or view, in any way
    INSERT, UPDATE, DELETE, TRUNCATE: rows of a table or view, in this way: its triggers
    BUILD: indexes of a table
    REFRESH: a materialized view
    ANY: any statement that reads or writes rows; its name is ""
    """

    CALL = "call"
    READ = "read"
    WRITE = "write"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    TRUNCATE = "truncate"
    BUILD = "build"
    REFRESH = "refresh"
    ANY = "any"


EVENTS = (Use.INSERT, Use.UPDATE, Use.DELETE, Use.TRUNCATE)  # that fire triggers
# ways in which the text of a function may use a name in it
IN_TEXT = (Use.CALL, Use.READ, Use.WRITE, *EVENTS)


@dataclass
class Reach:
    """Uses of objects that may run DDL, with the reason, and uses that may run DDL if another one
    may.

    reasons: by use, name to what may run DDL, such as "a trigger of t"
    users: a use of a name to the uses that imply it, with their reasons
    """

    reasons: dict[Use, dict[str, str]] = field(default_factory=lambda: {use: {} for use in Use})
    users: dict[tuple[Use, str], list[tuple[Use, str, str]]] = field(default_factory=dict)

    def copy(self) -> Reach:
        """Return an independent copy."""
        return Reach(
            {use: dict(known) for use, known in self.reasons.items()},
            {key: list(users) for key, users in self.users.items()},
        )

    def __bool__(self) -> bool:
        """Whether anything may run DDL."""
        return any(self.reasons.values())

    def calls(self, name: str) -> bool:
        """Whether a function of that name may run DDL."""
        return name in self.reasons[Use.CALL]

    def named_in(self, words: Collection[str]) -> bool:
        """Whether a text with these words may run DDL through the objects that it names."""
        return any(not self.reasons[use].keys().isdisjoint(words) for use in IN_TEXT)

    def relations(self) -> set[str]:
        """Names of relations and types that may run DDL."""
        uses = (Use.READ, Use.WRITE, Use.REFRESH, *EVENTS)
        return {name for use in uses for name in self.reasons[use]}

    def mark(self, use: Use, name: str, what: str) -> None:
        """Record that this use may run DDL, and all uses that imply it."""
        pending = [(use, name, what)]
        while pending:
            use, name, what = pending.pop()
            if name not in self.reasons[use]:
                self.reasons[use][name] = what
                pending += self.users.get((use, name), ())

    def link(self, use: Use, name: str, what: str, words: Collection[str], *on: Use) -> None:
        """Record that a use implies the uses `on` of all names among the words except its own
        name.
        """
        for word in words:
            for other in on if word != name else ():
                self.users.setdefault((other, word), []).append((use, name, what))
                if word in self.reasons[other]:
                    self.mark(use, name, what)

    def forget(self, name: str) -> None:
        """Record that a relation of that name does not exist any more."""
        for use in set(Use) - {Use.CALL, Use.ANY}:
            self.reasons[use].pop(name, None)
        for key, users in self.users.items():
            self.users[key] = [one for one in users if one[1] != name or one[0] is Use.CALL]

    def link_writes(self, name: str, what: str, words: Collection[str]) -> None:
        """Record that a change of rows of `name` is the same change of those of all other names
        among the words.
        """
        for use in (Use.WRITE, *EVENTS):
            self.link(use, name, what, words, use)

    def rename(self, old: str, new: str) -> None:
        """Record that an object has two names."""
        for use in Use:
            for this, other in ((old, new), (new, old)):
                what = self.reasons[use].get(other, "").replace(other, this)
                self.link(use, this, what or f"{this}, which was {other}", {other}, use)
