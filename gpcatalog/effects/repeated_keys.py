"""Keys that a CREATE TABLE contains twice: the server creates one index for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.keys import fold

# storage parameters and tablespaces are not compared
_NOT_COMPARED = frozenset({"kind", "expressions", "include", "definition", "tablespace", "index"})


@dataclass(frozen=True)
class _WrittenKey:
    """A key as it is written: its node, its name, and what must be equal so that it is dropped."""

    node: exp.Expression
    given: exp.Expression | None
    primary: bool
    same: tuple[object, ...]


@dataclass(frozen=True)
class RepeatedKeys:
    """The constraints of a CREATE TABLE that the server drops because they repeat others.

    dropped: identities of their nodes; names: the names that other nodes get from them
    """

    dropped: frozenset[int]
    names: dict[int, exp.Expression]

    def given(self, node: exp.Expression, own: exp.Expression | None) -> exp.Expression | None:
        """The name of a constraint that is kept: its own, or that of a dropped one that it
        replaces.
        """
        return own or self.names.get(id(node))


NONE = RepeatedKeys(frozenset(), {})


def repeated_keys(elements: Iterable[exp.Expression]) -> RepeatedKeys:
    """Find keys and exclusion constraints that equal an earlier one, or the primary key.

    As in transformIndexConstraints of the server, method, columns, condition and deferral are
    compared; names and storage parameters are not. One without a name gets the name of a dropped
    one.
    """
    kept: dict[tuple[object, ...], _WrittenKey] = {}
    dropped: set[int] = set()
    names: dict[int, exp.Expression] = {}
    stated = [one for element in elements for one in _stated(element)]
    for one in sorted(stated, key=lambda s: not s.primary):
        first = kept.setdefault(one.same, one)
        if first is one:
            continue
        dropped.add(id(one.node))
        if first.given is None and one.given is not None:
            names.setdefault(id(first.node), one.given)
    return RepeatedKeys(frozenset(dropped), names)


def _stated(element: exp.Expression) -> Iterator[_WrittenKey]:
    if isinstance(element, exp.ColumnDef):
        constraints = [
            (c, None) if not isinstance(c, exp.ColumnConstraint) else (c.args.get("kind"), c)
            for c in element.args.get("constraints") or ()
        ]
        for n, (kind, around) in enumerate(constraints):
            if isinstance(
                kind,
                exp.PrimaryKeyColumnConstraint | exp.UniqueColumnConstraint | gx.KeyConstraint,
            ):
                words = []
                for after, _ in constraints[n + 1 :]:
                    if not isinstance(after, gx.ConstraintAttribute):
                        break
                    words.append(str(after.this))
                yield _key(
                    kind,
                    around.args.get("this") if around is not None else None,
                    (fold(element.this),),
                    words,
                )
    elif isinstance(element, gx.TableConstraint):
        kind = element.args["kind"]
        attributes = element.args.get("attributes")
        words = [
            str(word)
            for trait in (attributes.expressions if attributes is not None else ())
            for word in trait.args.values()
        ]
        if isinstance(kind, gx.ExcludeConstraint):
            compared = kind.copy()
            for arg in ("definition", "tablespace"):
                compared.set(arg, None)
            same = ("exclude", compared.sql("greenplum"), *_deferral(words))
            yield _WrittenKey(kind, element.args.get("this"), False, same)
        elif isinstance(kind, gx.KeyConstraint) and kind.expressions:
            columns = tuple(fold(c) for c in kind.expressions)
            yield _key(kind, element.args.get("this"), columns, words)


def _key(
    kind: exp.Expression,
    given: exp.Expression | None,
    columns: tuple[str, ...],
    words: list[str],
) -> _WrittenKey:
    primary = isinstance(kind, exp.PrimaryKeyColumnConstraint) or (
        kind.args.get("kind") == "PRIMARY KEY"
    )
    more = tuple(
        (name, str(value))
        for name, value in sorted(kind.args.items())
        if name not in _NOT_COMPARED and value not in (None, [], False)
    )
    included = tuple(fold(c) for c in kind.args.get("include") or ())
    return _WrittenKey(kind, given, primary, (columns, included, more, *_deferral(words)))


def _deferral(words: Iterable[str]) -> tuple[bool, bool]:
    """Whether a constraint is deferrable, and whether it is initially deferred."""
    clauses = {word.upper() for word in words}
    at_first = "INITIALLY DEFERRED" in clauses
    return at_first or "DEFERRABLE" in clauses, at_first
