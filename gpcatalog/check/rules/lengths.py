"""Names that the server cuts."""

from __future__ import annotations

import re

from sqlglot import exp

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import rule, walk
from gpcatalog.model.finding import Confidence, Severity
from gpcatalog.model.names import NAMEDATALEN
from gpcatalog.model.quantity import plural

_LONG = re.compile(rf'[\w$]{{{NAMEDATALEN + 1}}}|"[^"]{{{NAMEDATALEN + 1}}}')


def _may_be_cut(text: str) -> bool:
    """Whether a statement may have a name of more than 63 bytes, before its tree is searched; a
    variable's value is not in the text.
    """
    return (
        not text.isascii() or ":" in text or "U&" in text.upper() or _LONG.search(text) is not None
    )


@rule("name-cut")
def name_cut(s: RuleContext) -> None:
    """Names longer than 63 bytes.

    What it finds: identifiers that the server cuts, leaves whose generated name cuts that of their
    parent, and such that then collide.
    Why it matters: two long names may become one; scripts that address a leaf by name miss it.
    How sure it is: names are computed as the server does.
    What to do: shorten the table's or the partition's name.
    """
    tree = s.statement.tree
    if tree is None:
        return
    for node in tree.find_all(exp.Identifier) if _may_be_cut(s.statement.text) else ():
        name = str(node.this)
        if (
            len(name) > 15
            and len(name.encode()) > NAMEDATALEN
            and not name.upper().startswith("INTERVAL")
        ):
            s.find(
                "name-cut",
                Severity.WARNING,
                f"the name {name[:40]}… has {len(name.encode())} bytes and is cut at {NAMEDATALEN}",
                "two long names may become one",
                "shorten it",
                confidence=Confidence.HIGH,
            )
            return
    table = s.effect.table
    if table is None or not s.effect.new_parts:
        return
    cut_off = [p for p in walk(s.effect.new_parts) if not p.name.startswith(table.name + "_1_prt_")]
    if cut_off:
        names = [p.name for p in table.relations()]
        collide = len(names) - len(set(names))
        s.find(
            "name-cut",
            Severity.CRITICAL if collide else Severity.WARNING,
            f"{plural(len(cut_off), 'leaf name')} cut at {NAMEDATALEN} bytes"
            + (f", {collide} collide" if collide else f", e.g. {cut_off[0].name}"),
            "a leaf can no longer be found by its parent's name",
            "shorten the table's or the partition's name",
            confidence=Confidence.HIGH,
        )
