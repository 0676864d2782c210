"""Comments that excuse findings."""

from __future__ import annotations

from gpcatalog.check.report import Ignore, RuleContext
from gpcatalog.check.rules.registry import At, every, rule
from gpcatalog.model.finding import Confidence, Severity


def judge_ignore(s: RuleContext, ignore: Ignore) -> None:
    """Findings about an ignore comment itself: without reason, without rule, of an unknown rule, or
    unused.
    """
    at = At(ignore.start, ignore.end)
    known = every()
    if not ignore.rules:
        s.find(
            "ignore-without-reason",
            Severity.WARNING,
            "the ignore comment names no rule",
            "write -- gpcatalog: ignore RULE reason",
            "name the rule",
            at=at,
            confidence=Confidence.HIGH,
        )
        return
    for name in ignore.rules:
        if name not in known:
            s.find(
                "ignore-unknown-rule",
                Severity.WARNING,
                f"no rule is called {name}",
                "the comment has no effect",
                "`gpcatalog check --rules` lists them",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif not ignore.reason:
            s.find(
                "ignore-without-reason",
                Severity.WARNING,
                f"ignore {name} gives no reason",
                "the finding stays until the reason is written",
                "write why, after the rule",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif name not in ignore.used and name not in s.settings.disable:
            s.find(
                "ignore-unused",
                Severity.WARNING,
                f"ignore {name} excuses nothing",
                "the statement has no such finding",
                "remove the comment",
                at=at,
                confidence=Confidence.HIGH,
            )


@rule("ignore-without-reason")
def ignore_without_reason(s: RuleContext) -> None:
    """An ignore comment without a rule or without a reason.

    What it finds: `-- gpcatalog: ignore RULE` with nothing behind it.
    Why it matters: the next reader has to know why.
    How sure it is: certain.
    What to do: write the reason after the rule.
    """


@rule("ignore-unused")
def ignore_unused(s: RuleContext) -> None:
    """An ignore comment that excuses nothing.

    What it finds: ignore comments whose rule has no finding in their statement.
    Why it matters: it would hide the next one.
    How sure it is: certain.
    What to do: remove it.
    """


@rule("ignore-unknown-rule")
def ignore_unknown_rule(s: RuleContext) -> None:
    """An ignore comment for a rule that does not exist.

    What it finds: names that are no rule.
    Why it matters: it does nothing.
    How sure it is: certain.
    What to do: correct the name.
    """
