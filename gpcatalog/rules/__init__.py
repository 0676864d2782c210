"""Snapshot to findings: every rule is one documented function, found by its decorator."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator

from gpcatalog.audit.report import Report
from gpcatalog.errors import CatalogError
from gpcatalog.model.finding import Finding

Check = Callable[[Report], Iterator[Finding]]

_RULES: dict[str, Check] = {}

# The parts that every rule's docstring has, in order
PARTS = ("What it finds", "Why it matters", "How sure it is", "What to do")


def rule(id: str) -> Callable[[Check], Check]:
    """Register a rule under its id. The docstring is its page: `gpcatalog rules ID` prints it."""

    def keep(check: Check) -> Check:
        if id in _RULES:
            raise ValueError(f"two rules are called {id}")
        _RULES[id] = check
        return check

    return keep


def every() -> dict[str, Check]:
    """All rules by id."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_RULES.items()))


def page(id: str) -> dict[str, str]:
    """A rule's docstring: its title under "", then its four parts.

    Raises CatalogError when no rule has this id.
    """
    check = every().get(id)
    if check is None:
        raise CatalogError(f"no rule is called {id}", hint="`gpcatalog rules` lists them")
    text = inspect.getdoc(check) or ""
    pieces = re.split(rf"^({'|'.join(PARTS)}):", text, flags=re.M)
    parts = {"": " ".join(pieces[0].split())}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts[name] = " ".join(body.split())
    return parts


def run(report: Report, only: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Findings of all rules, or of those named, the worst first.

    Raises CatalogError when a name is no rule's.
    """
    checks = every()
    wanted = list(only) or list(checks)
    for id in wanted:
        if id not in checks:
            raise CatalogError(f"no rule is called {id}", hint="`gpcatalog rules` lists them")
    found = [finding for id in wanted for finding in checks[id](report)]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                -f.severity,
                f.rule,
                f.content if f.content is not None else -2,
                f.title,
            ),
        )
    )
