"""Statements that could not be read, and statements whose cost is unknown."""

from __future__ import annotations

import re
from difflib import get_close_matches

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import TextRange, rule
from gpcatalog.dialect.script import Outcome
from gpcatalog.effects.effect import REJECTED
from gpcatalog.effects.session import LEFT_OPEN
from gpcatalog.model.finding import Confidence, Severity

# reasons that a baseline does not resolve (effects/calendar.py)
_OF_VALUES = re.compile(
    r"(EVERY|END INCLUSIVE|step|number|time|date|timestamp|interval|fraction of|more than|value that)\b"
)


@rule("syntax-error")
def syntax_error(s: RuleContext) -> None:
    """The server rejects a statement.

    What it finds: text that the grammar of the chosen server does not accept, with the position and
    the expected words.
    Why it matters: the migration stops there. Earlier statements remain in effect unless they are
    in the same transaction.
    How sure it is: high: the grammar was compared with live servers, which rejected the same
    statements.
    What to do: correct the statement, or give the correct server with --server.
    """
    fault = s.statement.fault
    if s.statement.outcome is not Outcome.ERROR or fault is None:
        return
    similar = get_close_matches(
        fault.found.lower(), fault.expected, n=1
    )  # a misspelled word: the most similar one first
    expected = ", ".join([*similar, *(e for e in fault.expected if e not in similar)][:8])
    s.find(
        "syntax-error",
        Severity.CRITICAL,
        fault.message,
        f"expected {expected}" if expected else "unexpected end of the statement",
        "correct the statement, or give the correct server with --server",
        at=TextRange(fault.offset, fault.offset + max(1, len(fault.found))),
        confidence=Confidence.HIGH,
    )


@rule("file-not-read")
def file_not_read(s: RuleContext) -> None:
    """A file of the change was not read.

    What it finds: files in \\i and \\ir that do not exist, include themselves or have a variable in
    their name; dbt models with Jinja.
    Why it matters: their statements are not checked and not counted. The totals are a lower bound.
    How sure it is: certain. The finding gives the reason.
    What to do: provide the file, or check the SQL that the tool generates from it.
    """
    if s.statement.outcome is Outcome.NOT_READ and s.statement.fault is not None:
        s.find(
            "file-not-read",
            Severity.WARNING,
            f"not read: {s.statement.fault.message}",
            "its statements are not checked, and the totals do not include them",
            "provide the file, or check the SQL that the tool generates from it",
            confidence=Confidence.HIGH,
        )


@rule("value-unknown")
def value_unknown(s: RuleContext) -> None:
    """A statement cannot be parsed without the value of a variable.

    What it finds: statements with a psql variable (:name) or a placeholder (${name}) that has no
    value and may represent more than one expression.
    Why it matters: the statement is not checked. The totals are a lower bound.
    How sure it is: certain. The finding names the variable.
    What to do: give the value with --set NAME=VALUE, in the property file of the tool, or with
    \\set in the script.
    """
    if s.statement.outcome is Outcome.NO_VALUE:
        names = ", ".join(s.statement.missing)
        s.find(
            "value-unknown",
            Severity.WARNING,
            f"not checked: no value for {names}",
            "the totals do not include the statement",
            "check with " + " ".join(f"--set {name}=VALUE" for name in s.statement.missing),
            confidence=Confidence.HIGH,
        )


@rule("not-understood")
def not_understood(s: RuleContext) -> None:
    """A statement has an unknown kind, or is nested too deeply.

    What it finds: statements whose first words do not begin any statement of the chosen server, and
    statements with more levels of parentheses or subqueries than this program can read.
    Why it matters: the statement is not checked and not counted.
    How sure it is: certain. The server may still accept the statement.
    What to do: check it manually, and add an ignore comment.
    """
    if s.statement.outcome is Outcome.NOT_UNDERSTOOD:
        words = " ".join(s.statement.words).upper()
        deep = s.statement.fault is not None and s.statement.fault.deep
        s.find(
            "not-understood",
            Severity.WARNING,
            "not checked: nested too deeply" if deep else f"not checked: unknown statement {words}",
            (
                "gpcatalog cannot read so many levels of parentheses or subqueries; the server may"
                " accept them"
                if deep
                else "no statement of this server begins with these words"
            ),
            "check it manually",
            confidence=Confidence.HIGH,
        )


@rule("internal-error")
def internal_error(s: RuleContext) -> None:
    """gpcatalog failed while it checked a statement.

    What it finds: statements that caused an internal error. All others are checked.
    Why it matters: this statement is not checked and not counted.
    How sure it is: certain. The title gives the position in the source code of gpcatalog.
    What to do: report the statement and the title as a bug, and check the statement manually.
    """
    if s.effect.failed:
        s.find(
            "internal-error",
            Severity.WARNING,
            f"not checked: {s.effect.failed}",
            "the other statements are checked; the totals do not include this one",
            "report the statement as a bug, and check it manually",
            confidence=Confidence.HIGH,
        )


_CORRECT_IT = "correct the statement"
# what to do about a rejected statement, by its reason
_CORRECT = [
    (
        re.compile(r" exists$"),
        "use another name, or write IF NOT EXISTS (a view: OR REPLACE) if the object may exist",
    ),
    (re.compile(r" without USING$"), "write USING with an expression that converts the values"),
    (
        re.compile(r"the default of column .* is not converted"),
        "write DROP DEFAULT before the change of the type and SET DEFAULT after it",
    ),
    (
        re.compile(r"depends? on column "),
        "drop the dependent object first and create it again afterwards (DROP COLUMN … CASCADE drops"
        " it, too)",
    ),
    (
        re.compile(r" depends? on "),
        "drop the dependent object first, or write CASCADE to drop it, too",
    ),
    (re.compile(r" in a transaction$"), "run the statement outside a transaction"),
    (re.compile(r"the bound overlaps|bounds of two partitions overlap"), "change the bounds"),
    (re.compile(r" is inherited$"), "change the column in the parent table"),
    (re.compile(r" does not exist$"), "correct the name, or write IF EXISTS if it may be missing"),
]


@rule("rejected-statement")
def rejected_statement(s: RuleContext) -> None:
    """The server rejects a statement because of what the statements before it did.

    What it finds: statements that fail, independent of the rows of the tables: names that already
    exist, columns that do not exist, overlapping bounds of partitions, keys without the columns of
    the partition or distribution key, CONCURRENTLY in a transaction.
    Why it matters: the migration stops there, or psql continues without the statement. It is not
    counted, and it has no effect on the statements after it.
    How sure it is: high: each reason was compared with live servers, which rejected the same
    statements. It needs the definition of the tables, from the files or a baseline; without it
    nothing is reported.
    What to do: correct the statement. If the object may exist, write IF NOT EXISTS, or drop the
    object before. If another object depends on it, drop that one before, or write CASCADE.
    """
    for reason in dict.fromkeys(s.effect.unknown):
        if reason.startswith(REJECTED):
            s.find(
                "rejected-statement",
                # it may be intended that the object exists: psql continues after the error
                Severity.WARNING if reason.endswith(" exists") else Severity.CRITICAL,
                reason,
                "the statement is not counted; psql stops here (ON_ERROR_STOP) or goes on without it",
                next((remedy for words, remedy in _CORRECT if words.search(reason)), _CORRECT_IT),
                confidence=Confidence.HIGH,
            )


@rule("open-transaction")
def open_transaction(s: RuleContext) -> None:
    """A transaction does not end in the file that begins it.

    What it finds: BEGIN, or the first statement with `\\set AUTOCOMMIT off`, without COMMIT or
    ROLLBACK after it.
    Why it matters: at the end of the file psql rolls back everything since then, without an error.
    The totals include the statements as if they were committed.
    How sure it is: high for psql. A tool that runs the file may commit.
    What to do: write COMMIT at the end of the file, or an ignore comment if a tool commits.
    """
    if s.left_open:
        s.find(
            "open-transaction",
            Severity.WARNING,
            "the transaction that begins here does not end in this file",
            "psql rolls it back at the end of the file; the totals include its statements",
            "write COMMIT at the end of the file, or an ignore comment if a tool commits",
            confidence=Confidence.HIGH,
        )


def _cost_remedy(s: RuleContext, reasons: list[str]) -> str:
    """What to do so that the cost of the statement is known; reasons: why it is unknown."""
    if s.statement.decisive:
        return "check with " + " ".join(f"--set {name}=VALUE" for name in s.statement.decisive)
    if s.statement.reasons:
        return "give values for the variables of \\if with --set NAME=VALUE"
    if all(_OF_VALUES.match(reason) for reason in reasons):
        return (
            "write values that need no server (dates in ISO 8601, exact steps, IANA time zones), or"
            " run the statement on a test server and compare two audits"
        )
    if all(reason.startswith("whether search_path has schema ") for reason in reasons):
        return "write the schema before the name, or set search_path in the script"
    if any(reason.startswith("earlier change to ") for reason in reasons):
        return (
            "an earlier statement is the cause: run the script on a test server and compare two"
            " audits"
        )
    if all(reason.startswith("effect of ") for reason in reasons):
        return "run the statement on a test server and compare two audits"
    baseline = (
        "give --baseline"
        if s.state.existing is None
        else "take a new snapshot (`gpcatalog snapshot take`) and give it as --baseline"
    )
    return f"{baseline}, or check this file together with the files that create the table"


@rule("cost-unknown")
def cost_unknown(s: RuleContext) -> None:
    """The cost of a statement is not fully known.

    What it finds: DDL on tables that are neither in the files nor in a baseline, and values that
    only the server can compute.
    Why it matters: the totals contain only the known part, and budgets are checked against it.
    How sure it is: certain. The finding gives the reason.
    What to do: give a baseline snapshot, or check this file together with the files that create the
    table. Write values that need no server: dates in ISO 8601, exact steps, IANA time zones.
    """
    reasons = [
        r for r in dict.fromkeys(s.effect.unknown) if r != LEFT_OPEN and not r.startswith(REJECTED)
    ]
    if reasons and s.statement.tree is not None and not s.effect.failed:
        s.find(
            "cost-unknown",
            Severity.INFO,
            f"cost not fully known: {'; '.join(reasons)}",
            "the totals do not include the unknown part",
            _cost_remedy(s, reasons),
            confidence=Confidence.HIGH,
        )
