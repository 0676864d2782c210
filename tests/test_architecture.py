"""Which package may import which: bootstrap → cli → parts → model → errors. Parts import only in the direction of the data flow, and
only the packages that own a large library import it.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpcatalog"

# package → packages that it may import; each package may also import model, errors and itself
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "model": set(),
    "capacity": set(),
    "store": {"capacity"},
    "probes": {"store", "capacity"},
    "audit": {"store", "capacity"},
    "planner": {"store", "capacity", "audit", "dialect", "effects"},
    "upkeep": {"planner", "store", "capacity"},
    "dialect": set(),
    "effects": {"dialect", "store", "capacity"},
    "check": {"effects", "dialect", "capacity"},
    "growth": {"store", "capacity", "audit"},
    "latency": {"store", "capacity", "audit"},
    "site": {"audit", "growth"},
    "doctor": set(),
    "migration": {
        "audit",
        "planner",
        "upkeep",
        "probes",
        "capacity",
        "dialect",
        "effects",
        "store",
    },
    "lab": {"store", "capacity", "probes"},
    "emit": {
        "audit",
        "planner",
        "check",
        "growth",
        "latency",
        "capacity",
        "migration",
        "store",
        "doctor",
        "upkeep",
        "site",
    },
    "services": {
        "audit",
        "planner",
        "upkeep",
        "migration",
        "probes",
        "store",
        "capacity",
        "doctor",
    },
    "fleet": {"services", "probes", "store", "planner"},
    "commands": {
        "fleet",
        "services",
        "doctor",
        "probes",
        "store",
        "audit",
        "planner",
        "dialect",
        "effects",
        "check",
        "growth",
        "latency",
        "migration",
        "upkeep",
        "lab",
        "emit",
        "capacity",
        "site",
    },
    "signals": set(),
    "cli": {"commands", "fleet", "signals"},
    "bootstrap": {"cli", "signals"},
    "__main__": {"bootstrap"},
}
# library → the only packages that may import it
OWNERS = {
    "psycopg": {"probes", "lab", "commands"},
    "duckdb": {"store"},
    "rich": {"emit"},
    "sqlglot": {"dialect", "effects", "check", "planner"},
    "typer": {"cli", "commands"},
}


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def package_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


def problems(check: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """The problems that a check finds, by module."""
    assert len(FILES) > 300
    return {str(f.relative_to(PACKAGE)): found for f in FILES if (found := list(check(f)))}


def forbidden_imports(file: Path) -> Iterator[str]:
    """Imported names that this module must not import."""
    here = package_of(file)
    for name in imports(file) if here != "__init__" else ():
        top, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if here not in OWNERS.get(top, {here}):
            yield name
        elif top == "gpcatalog" and rest and other not in (here, "model", "errors", "__version__"):
            yield from [name] if other not in ALLOWED.get(here, set()) else []


def test_imports() -> None:
    assert problems(forbidden_imports) == {}


def test_packages_are_listed() -> None:
    assert {package_of(f) for f in FILES} - {"__init__"} <= set(ALLOWED)


def test_help_needs_no_heavy_library() -> None:
    code = "import sys, gpcatalog.cli; print([m for m in ('psycopg', 'duckdb', 'sqlglot', 'numpy', 'rich.table') if m in sys.modules])"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def undocumented(file: Path) -> Iterator[str]:
    """Public functions and methods without a docstring; overrides have the docstring of their base class."""
    tree = parsed(file)
    bases = {
        "Operation",
        "PartitionOperation",
        "Writer",
        "Step",
    }  # the docstrings of their methods describe the overrides
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield from [node.name] if _silent(node) else []
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            over = {b.id for b in node.bases if isinstance(b, ast.Name)} & bases
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and _silent(method) and not over:
                    yield f"{node.name}.{method.name}"


def _silent(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_") and not ast.get_docstring(node)


def test_public_functions_say_what_they_do() -> None:
    assert problems(undocumented) == {}


def test_no_module_is_too_long() -> None:
    long = {f.name: n for f in FILES if (n := len(f.read_text().splitlines())) > 700}
    assert long == {}


def long_functions(file: Path) -> Iterator[str]:
    """Functions whose body has more than 60 lines, without signature and docstring."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body and (node.end_lineno or 0) - body[0].lineno + 1 > 60:
                yield node.name


def test_no_function_is_too_long() -> None:
    assert problems(long_functions) == {}


@pytest.mark.parametrize(
    "registry", ["audit/rules", "check/rules", "migration/steps", "effects/handlers"]
)
def test_what_registers_itself_is_imported(registry: str) -> None:
    """Each module of a registry is imported: a module without an import would do nothing, and nobody would notice."""
    folder = PACKAGE / registry
    tree = ast.parse((folder / "__init__.py").read_text())
    package = "gpcatalog." + registry.replace("/", ".")
    named = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == package
        for name in (alias.name for alias in node.names)
    }
    registering = {
        f.stem
        for f in folder.glob("*.py")
        if re.search(r"^@(?:rule|handles|acts)\(|^(?:registry\.)?register\(", f.read_text(), re.M)
    }
    assert len(registering) >= 5
    assert registering <= named
