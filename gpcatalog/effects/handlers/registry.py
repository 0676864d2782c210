"""Which function handles which kind of statement, and the kinds that need no handler.

A kind is the class name of a statement's node, as the grammar's synopses name it.
A kind that is in none of these lists has an unknown effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gpcatalog.effects.effect import Effect

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

Handler = Callable[["SchemaState", Any], Effect]
HANDLERS: dict[str, Handler] = {}


AFTER: list[Callable[[SchemaState, Any, Effect], None]] = []
"""What looks at every statement behind its handler."""
DROPS: dict[str, Handler] = {}  # of DROP, by the kind of object


Function = TypeVar("Function", bound=Callable[..., Any])


def registered(
    registry: dict[str, Function], kinds: tuple[str, ...]
) -> Callable[[Function], Function]:
    """Register a function under these kinds. Raises ValueError if one has a function."""

    def register(handler: Function) -> Function:
        for kind in kinds:
            if kind in registry:
                raise ValueError(f"{kind} has two handlers")
            registry[kind] = handler
        return handler

    return register


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of these kinds of statements.

    Raises ValueError if one has a handler.
    """
    return registered(HANDLERS, kinds)


def drops(*kinds: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of DROP for these kinds of objects.

    Raises ValueError if one has a handler.
    """
    return registered(DROPS, kinds)


# statements that change no relation, column or file
NO_EFFECT = frozenset(
    """AlterAggregate AlterCollation AlterConversion AlterDefaultPrivileges AlterDomain AlterEventTrigger AlterForeignDataWrapper
    AlterFunction AlterGroup AlterLanguage AlterLargeObject AlterOperator AlterPolicy AlterProtocol AlterPublication AlterResourceGroup
    AlterResourceQueue AlterRule AlterServer AlterStatistics AlterSubscription AlterSystem AlterTablespace AlterTextSearch
    AlterTrigger AlterUserMapping Analyze Checkpoint CloseCursor CommentOn Copy CreateAccessMethod CreateAssertion CreateCast
    CreateCollation CreateConversion CreateDatabase CreateEventTrigger CreateForeignDataWrapper CreateGroup CreateLanguage CreateOperator
    CreateOperatorClass CreateOperatorFamily CreateProtocol CreatePublication CreateResourceGroup CreateResourceQueue CreateRole
    CreateServer CreateSubscription CreateTablespace CreateTextSearch CreateTransform CreateUserMapping Deallocate DeclareCursor
    DropAssertion DropDatabase DropResource DropRole DropSubscription DropTablespace DropUserMapping Execute Fetch Grant GrantRole Listen
    Load Lock Move Notify Prepare ReassignOwned Refresh Reindex Retrieve Revoke RevokeRole SecurityLabel SetConstraints ShowVariable
    Unlisten Values TableQuery MergeRows Wait""".split()
)
# the same, unless CASCADE drops dependent objects
UNLESS_CASCADE = frozenset("DropAggregate DropCast DropLanguage DropOperator DropTransform".split())
# statements that create objects that are not relations: their rows are not counted
MINOR = {
    "CreateFunction": "catalog rows of a function",
    "CreateProcedure": "catalog rows of a procedure",
    "CreateAggregate": "catalog rows of an aggregate",
    "CreateTrigger": "catalog rows of a trigger",
    "CreateRule": "catalog rows of a rule",
    "CreatePolicy": "catalog rows of a policy",
    "CreateStatistics": "catalog rows of extended statistics",
    "CreateStatisticsUnnamed": "catalog rows of extended statistics",
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
