"""Names that the server truncates."""

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
    """Whether a statement may have a name of more than 63 bytes. A quick test before its tree is
    searched; the value of a variable is not in the text.
    """
    return (
        not text.isascii() or ":" in text or "U&" in text.upper() or _LONG.search(text) is not None
    )


@rule("name-cut")
def name_cut(s: RuleContext) -> None:
    """A name is longer than 63 bytes.

    What it finds: identifiers that the server truncates, and leaves whose generated name does not
    contain the full name of their parent. Equal names after truncation are reported too.
    Why it matters: two long names may become equal. Scripts that compute the name of a leaf do not
    find it.
    How sure it is: high: names are computed as the server does it.
    What to do: shorten the name of the table or of the partition.
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
                (
                    f"the name {name[:40]}… has {len(name.encode())} bytes and is truncated to"
                    f" {NAMEDATALEN}"
                ),
                "two long names may become equal",
                "shorten the name",
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
            f"{plural(len(cut_off), 'leaf name')} truncated to {NAMEDATALEN} bytes"
            + (f", {collide} collide" if collide else f", for example {cut_off[0].name}"),
            "the name of a leaf no longer contains the full name of its parent",
            "shorten the name of the table or of the partition",
            confidence=Confidence.HIGH,
        )
