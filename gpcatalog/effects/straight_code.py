"""Bodies of functions and DO blocks whose statements run one after the other: their effect is the
sum of the statements' effects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.keys import fold
from gpcatalog.effects.plpgsql import inside, pieces, sql
from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@dataclass(frozen=True)
class Routine:
    """A function of a script.

    signature: its qualified name and the types of its arguments as text
    plain:     it runs once where it is called, with the settings of the session
    """

    signature: str
    language: str
    body: str
    plain: bool


def signature_of(tree: exp.Expression) -> str:
    """Return the name of a function as it is written and the types of its arguments, in CREATE or
    DROP FUNCTION.
    """
    arguments = [
        a.this if isinstance(a.this, exp.Expression) else a for a in tree.args.get("args") or ()
    ]
    types = [
        a.args["kind"].sql("greenplum")
        for a in arguments
        if isinstance(a.args.get("kind"), exp.Expression)
        and str(a.args.get("mode") or "").upper() != "OUT"
    ]
    return f"{tree.this.sql('greenplum').lower()}({', '.join(types)})"


def statements_of(
    body: str, language: str, edition: Edition, harmless: Callable[[str], bool]
) -> list[exp.Expression] | None:
    """Trees of the statements of a body in their order; None where they are not all run, each once.

    harmless: whether a text that is no statement of this grammar surely runs no DDL
    """
    found = pieces(body) if language in ("sql", "plpgsql") else None
    if found is not None and language == "plpgsql":
        found = inside(found)
    if found is None:
        return None
    trees = []
    for piece in found:
        text = sql(piece) if language == "plpgsql" else " ".join(piece)
        if text is None:
            return None
        if not text:
            continue
        try:
            tree, _ = read_statement(scan(text, 0, WORDS)[0], (edition,))
        except (CatalogError, SyntaxFault, LexError, ValueError, RecursionError):
            if harmless(" ".join(piece)):
                continue
            return None
        trees.append(tree)
    return trees


def forget_routines(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    """Forget what functions are and give that a statement drops or renames."""
    if kind in ("DropFunction", "DropRoutine"):
        for one in tree.args.get("functions") or ():
            name = fold(
                one.this if isinstance(one.this, exp.Identifier) else one.this.args.get("this")
            )
            if state.results.get(name) is not None:
                del state.results[name]
            known = state.code.get(name)
            anyone = str(one.args.get("form")) == "/1"  # without arguments
            if known is not None and (anyone or known.signature == signature_of(one)):
                del state.code[name]
    elif kind in ("AlterFunction", "AlterRoutine"):
        state.results = dict.fromkeys(state.results)
        state.code = dict.fromkeys(state.code)
