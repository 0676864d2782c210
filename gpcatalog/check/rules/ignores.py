"""Comments that ignore findings."""

from __future__ import annotations

from gpcatalog.check.report import Ignore, RuleContext
from gpcatalog.check.rules.registry import TextRange, every, rule
from gpcatalog.model.finding import Confidence, Severity


def check_ignore(s: RuleContext, ignore: Ignore) -> None:
    """Report an ignore comment that has no reason, no rule or an unknown rule, or that is
    unused.
    """
    at = TextRange(ignore.start, ignore.end)
    known = every()
    if not ignore.rules:
        s.find(
            "ignore-without-reason",
            Severity.WARNING,
            "the ignore comment names no rule",
            "the form is: -- gpcatalog: ignore RULE reason",
            "name the rule and give a reason",
            at=at,
            confidence=Confidence.HIGH,
        )
        return
    for name in ignore.rules:
        if name not in known:
            s.find(
                "ignore-unknown-rule",
                Severity.WARNING,
                f"unknown rule: {name}",
                "the comment has no effect",
                "`gpcatalog check --rules` lists all rules",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif not ignore.reason:
            s.find(
                "ignore-without-reason",
                Severity.WARNING,
                f"the ignore comment for {name} has no reason",
                "the finding is reported until the comment has a reason",
                "write the reason after the rule",
                at=at,
                confidence=Confidence.HIGH,
            )
        elif name not in ignore.used and name not in s.settings.disable:
            s.find(
                "ignore-unused",
                Severity.WARNING,
                f"the ignore comment for {name} is not needed",
                "the statement has no finding of this rule",
                "remove the comment",
                at=at,
                confidence=Confidence.HIGH,
            )


@rule("ignore-without-reason")
def ignore_without_reason(s: RuleContext) -> None:
    """An ignore comment has no rule or no reason.

    What it finds: `-- gpcatalog: ignore RULE` without a reason after the rule.
    Why it matters: other readers of the file need to know why the finding is ignored.
    How sure it is: certain.
    What to do: write the reason after the rule.
    """


@rule("ignore-unused")
def ignore_unused(s: RuleContext) -> None:
    """An ignore comment has no effect.

    What it finds: ignore comments for a rule that has no finding in their statement.
    Why it matters: the comment would suppress a later finding that nobody has reviewed.
    How sure it is: certain.
    What to do: remove the comment.
    """


@rule("ignore-unknown-rule")
def ignore_unknown_rule(s: RuleContext) -> None:
    """An ignore comment names a rule that does not exist.

    What it finds: ignore comments with an unknown rule name.
    Why it matters: the comment has no effect.
    How sure it is: certain.
    What to do: correct the name.
    """
