"""Registry of rules: each rule is one function with an ID, and its docstring is its page."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from gpcatalog.errors import CatalogError

PARTS = ("What it finds", "Why it matters", "How sure it is", "What to do")
"""The parts of every rule's docstring, in this order, after its title."""

Check = TypeVar("Check", bound=Callable[..., object])


def parts_of(text: str) -> dict[str, str]:
    """Split a rule's docstring: its title under "", then its four parts."""
    pieces = re.split(rf"^({'|'.join(PARTS)}):", text, flags=re.MULTILINE)
    found = {"": " ".join(pieces[0].split())}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        found[name] = " ".join(body.split())
    return found


def pages_in(folder: Path) -> dict[str, dict[str, str]]:
    """The pages of all rules in the modules of a folder, sorted by ID.

    The modules are not imported: otherwise, listing rules would load everything that the rules need
    to run.
    """
    found = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for one in node.decorator_list:
                named = one.func if isinstance(one, ast.Call) else None
                if isinstance(named, ast.Name) and named.id == "rule" and isinstance(one, ast.Call):
                    id = ast.literal_eval(one.args[0])
                    found[id] = parts_of(ast.get_docstring(node) or "")
    return dict(sorted(found.items()))


class RuleRegistry(Generic[Check]):
    """Rules of one part of the program, by ID."""

    def __init__(self, listing: str) -> None:
        """listing: the command that lists the rules, for hints."""
        self._listing = listing
        self._rules: dict[str, Check] = {}

    def rule(self, id: str) -> Callable[[Check], Check]:
        """Register a function under this ID. Raises ValueError if the ID is already used."""

        def keep(check: Check) -> Check:
            if id in self._rules:
                raise ValueError(f"two rules have the ID {id}")
            self._rules[id] = check
            return check

        return keep

    def every(self) -> dict[str, Check]:
        """Return all rules by ID, sorted."""
        return dict(sorted(self._rules.items()))

    def page(self, id: str) -> dict[str, str]:
        """Return a rule's docstring: its title under "", then its four parts.

        Raises CatalogError if no rule has this ID.
        """
        check = self._rules.get(id)
        if check is None:
            raise CatalogError(f"unknown rule: {id}", hint=(f"`{self._listing}` lists all rules"))
        return parts_of(inspect.getdoc(check) or "")
