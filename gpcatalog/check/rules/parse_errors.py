"""What could not be read, and what could not be weighed."""

from __future__ import annotations

from difflib import get_close_matches

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import At, rule
from gpcatalog.dialect.script import Outcome
from gpcatalog.model.finding import Confidence, Severity


@rule("syntax-error")
def syntax_error(s: RuleContext) -> None:
    """A statement that the server will refuse.

    What it finds: text that the grammar of the chosen server does not take, with the place and what
    could have stood there.
    Why it matters: the migration stops there, and what ran before it stays unless it was in one
    transaction.
    How sure it is: the grammar is held against live servers; a statement it refuses was refused by
    them in every known case.
    What to do: correct it, or name the right server with --server.
    """
    fault = s.statement.fault
    if s.statement.outcome is not Outcome.ERROR or fault is None:
        return
    near = get_close_matches(
        fault.found.lower(), fault.expected, n=1
    )  # a word spelled wrong: its neighbour first
    expected = ", ".join([*near, *(e for e in fault.expected if e not in near)][:8])
    s.find(
        "syntax-error",
        Severity.CRITICAL,
        fault.message,
        f"expected {expected}" if expected else "the text ends or breaks off here",
        "correct the statement, or name the right server with --server",
        at=At(fault.offset, fault.offset + max(1, len(fault.found))),
        confidence=Confidence.HIGH,
    )


@rule("file-not-read")
def file_not_read(s: RuleContext) -> None:
    """A file that is part of the change and could not be read.

    What it finds: files that psql's \\i and \\ir name and that are missing, read themselves again
    or have a variable in their name; raw dbt models in a folder.
    Why it matters: what they hold is not checked and not counted; the totals are a lower bound.
    How sure it is: certain; the reason is named.
    What to do: give the file, or check what is compiled from it.
    """
    if s.statement.outcome is Outcome.NOT_READ and s.statement.fault is not None:
        s.find(
            "file-not-read",
            Severity.WARNING,
            f"not read: {s.statement.fault.message}",
            "what it holds is not checked, and the totals leave it out",
            "give the file, or check what is compiled from it",
            confidence=Confidence.HIGH,
        )


@rule("value-unknown")
def value_unknown(s: RuleContext) -> None:
    """A statement that cannot be parsed without the value of a variable.

    What it finds: statements in which a psql variable (:name) or a placeholder (${name}) without a
    value is more than one expression or clause.
    Why it matters: the statement is not checked; the totals are a lower bound.
    How sure it is: certain; the name is given.
    What to do: give the value with --set NAME=VALUE, in the property file of the tool, or with
    \\set in the script.
    """
    if s.statement.outcome is Outcome.NO_VALUE:
        names = ", ".join(s.statement.missing)
        s.find(
            "value-unknown",
            Severity.WARNING,
            f"not checked: no value for {names}",
            "the totals leave the statement out",
            "check with " + " ".join(f"--set {name}=VALUE" for name in s.statement.missing),
            confidence=Confidence.HIGH,
        )


@rule("not-understood")
def not_understood(s: RuleContext) -> None:
    """A statement of a kind that is not known here.

    What it finds: statements that begin as no statement of the chosen server's grammar does.
    Why it matters: what is not understood is not checked; passing it over in silence would be a
    lie.
    How sure it is: certain that it was not checked; the server may take it all the same.
    What to do: check it by hand, and say so with an ignore comment.
    """
    if s.statement.outcome is Outcome.NOT_UNDERSTOOD:
        words = " ".join(s.statement.words).upper()
        s.find(
            "not-understood",
            Severity.WARNING,
            f"{words}: not understood, so not checked",
            "no statement of this server begins so",
            "check it by hand",
            confidence=Confidence.HIGH,
        )


@rule("internal-error")
def internal_error(s: RuleContext) -> None:
    """A statement that gpcatalog itself failed at.

    What it finds: statements at which the program met a fault of its own; the others are checked.
    Why it matters: this one is not checked, and what it adds is not counted.
    How sure it is: certain; the title names the place in the program.
    What to do: report it with the statement, and check this one by hand.
    """
    if s.effect.failed:
        s.find(
            "internal-error",
            Severity.WARNING,
            f"not checked: {s.effect.failed}",
            "the other statements are checked; the totals leave this one out",
            "report it with the statement, and check this one by hand",
            confidence=Confidence.HIGH,
        )


@rule("cost-unknown")
def cost_unknown(s: RuleContext) -> None:
    """A statement whose cost is not fully known.

    What it finds: DDL on tables that neither the files nor a baseline know, values that only the
    server can compute.
    Why it matters: the totals are then a lower bound, and budgets hold only for the rest.
    How sure it is: certain; the reason is named.
    What to do: give a baseline snapshot, or check the files that create the table together with
    this one.
    """
    if s.effect.unknown and s.statement.tree is not None and not s.effect.failed:
        reasons = "; ".join(dict.fromkeys(s.effect.unknown))
        s.find(
            "cost-unknown",
            Severity.INFO,
            f"cost not fully known: {reasons}",
            "the totals leave it out",
            (
                "check with " + " ".join(f"--set {name}=VALUE" for name in s.statement.decisive)
                if s.statement.decisive
                else (
                    "check with --set NAME=VALUE for the variables of \\if"
                    if s.statement.reasons
                    else (
                        "give --baseline, or check the files that create the table together with"
                        " this one"
                    )
                )
            ),
            confidence=Confidence.HIGH,
        )
