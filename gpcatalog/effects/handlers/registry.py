"""The handler of each kind of statement, and the kinds that need no handler.

A kind is the class name of a statement's node, as in the synopses of the grammar. A kind that is in
none of these lists has an unknown effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gpcatalog.effects.effect import Effect

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

Handler = Callable[["SchemaState", Any], Effect]
HANDLERS: dict[str, Handler] = {}


AFTER: list[Callable[[SchemaState, Any, Effect], None]] = []
"""Functions that are called for each statement after its handler."""
DROPS: dict[str, Handler] = {}  # handlers of DROP, by the kind of object


Function = TypeVar("Function", bound=Callable[..., Any])


def registered(
    registry: dict[str, Function], kinds: tuple[str, ...]
) -> Callable[[Function], Function]:
    """Register a function for these kinds. Raises ValueError if one already has a function."""

    def register(handler: Function) -> Function:
        for kind in kinds:
            if kind in registry:
                raise ValueError(f"{kind} has two handlers")
            registry[kind] = handler
        return handler

    return register


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of these kinds of statements.

    Raises ValueError if one already has a handler.
    """
    return registered(HANDLERS, kinds)


def drops(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of DROP for these kinds of objects.

    Raises ValueError if one already has a handler.
    """
    return registered(DROPS, kinds)


# statements that change no relation, column or file
NO_EFFECT = frozenset(
    """AlterAggregate AlterCollation AlterConversion AlterEventTrigger AlterForeignDataWrapper AlterFunction AlterGroup AlterLanguage
    AlterLargeObject AlterProtocol AlterResourceGroup AlterResourceQueue AlterRule AlterServer AlterStatistics AlterSubscription
    AlterSystem AlterTablespace AlterTrigger AlterUserMapping Analyze Checkpoint CloseCursor CommentOn Copy CreateAssertion
    CreateDatabase CreateGroup CreateResourceGroup CreateResourceQueue CreateRole CreateTablespace Deallocate DeclareCursor
    DropAssertion DropDatabase DropResource DropRole DropTablespace Execute Fetch Grant GrantRole Listen Load Lock Move Notify
    Prepare ReassignOwned Refresh Reindex Retrieve Revoke RevokeRole SecurityLabel SetConstraints ShowVariable Unlisten Values
    TableQuery MergeRows Wait""".split()
)
# the same, unless CASCADE drops dependent objects
UNLESS_CASCADE = frozenset("DropAggregate DropCast DropLanguage DropOperator DropTransform".split())
# statements that create or change objects that are not relations: their rows are not counted
MINOR = {
    "CreateFunction": "catalog rows of a function",
    "CreateProcedure": "catalog rows of a procedure",
    "CreateAggregate": "catalog rows of an aggregate",
    "CreateTrigger": "catalog rows of a trigger",
    "CreateRule": "catalog rows of a rule",
    "CreatePolicy": "catalog rows of a policy",
    "CreateStatistics": "catalog rows of extended statistics",
    "CreateStatisticsUnnamed": "catalog rows of extended statistics",
    "AlterDefaultPrivileges": "catalog rows of default privileges",
    "CreateAccessMethod": "catalog rows of an access method",
    "CreateCast": "catalog rows of a cast",
    "CreateCollation": "catalog rows of a collation",
    "CreateConversion": "catalog rows of a conversion",
    "CreateEventTrigger": "catalog rows of an event trigger",
    "CreateForeignDataWrapper": "catalog rows of a foreign data wrapper",
    "CreateLanguage": "catalog rows of a language",
    "CreateOperator": "catalog rows of an operator",
    "CreateOperatorClass": "catalog rows of an operator class",
    "CreateOperatorFamily": "catalog rows of an operator family",
    "CreateProtocol": "catalog rows of a protocol",
    "CreatePublication": "catalog rows of a publication",
    "CreateServer": "catalog rows of a foreign server",
    "CreateSubscription": "catalog rows of a subscription",
    "CreateTextSearch": "catalog rows of text search objects",
    "CreateTransform": "catalog rows of a transform",
    "CreateUserMapping": "catalog rows of a user mapping",
    "AlterOperator": "catalog rows of an operator",
    "AlterPolicy": "catalog rows of a policy",
    "AlterPublication": "catalog rows of a publication",
    "AlterTextSearch": "catalog rows of text search objects",
    "DropSubscription": "catalog rows of a subscription",
    "DropUserMapping": "catalog rows of a user mapping",
}
NO_RELATIONS = frozenset(
    """FUNCTION PROCEDURE AGGREGATE TRIGGER RULE POLICY STATISTICS OPERATOR CAST COLLATION CONVERSION ROLE USER GROUP LANGUAGE PUBLICATION
    SUBSCRIPTION ROUTINE TRANSFORM SERVER""".split()
) | {
    "ACCESS METHOD",
    "EVENT TRIGGER",
    "FOREIGN DATA WRAPPER",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
}
# statements whose created objects are unknown
NOT_COUNTED = {
    "ImportForeignSchema": "foreign tables created by IMPORT FOREIGN SCHEMA",
}
DROPPED = "catalog rows of the dropped objects"


def without_handler(kind: str, *, cascade: bool) -> Effect:
    """The effect of a statement of a kind without a handler; cascade: the statement has CASCADE."""
    if kind in MINOR:
        return Effect(minor=[MINOR[kind]])
    if kind in NO_EFFECT:
        return Effect()
    if kind in UNLESS_CASCADE and not cascade:
        return Effect(minor=[DROPPED])
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).upper()
    return Effect(unknown=[NOT_COUNTED.get(kind) or f"effect of {words}"])
