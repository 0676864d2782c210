"""Errors of the option library, converted to the messages of gpcatalog."""

from __future__ import annotations

import re
from typing import Any

from gpcatalog.errors import CatalogError

# message of the library about a value, and the message of gpcatalog
_VALUES = (
    (r"^(['\"]).*\1 is not one of (.+?)\.$", r"must be one of \2"),
    (r"^(['\"]).*\1 is not a valid int(?: range)?\.$", "must be an integer"),
    (r"^(['\"]).*\1 is not a valid float(?: range)?\.$", "must be a number"),
    (r"^\S+ is not in the range x>=(\S+)\.$", r"must be \1 or more"),
    (r"^\S+ is not in the range (\S+)<=x<=(\S+)\.$", r"must be from \1 to \2"),
)
_USAGE = (
    (r"^No such command '(.*?)'\.(?: Did you mean (.+)\?)?$", r"unknown command: \1"),
    (r"^Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", r"too many arguments: \1"),
    (r"^Option '(.+)' requires an argument\.$", r"\1 needs a value"),
    (r"^Option '(.+)' requires (\d+) arguments\.$", r"\1 needs \2 values"),
    (r"^Option '(.+)' does not take a value\.$", r"\1 takes no value"),
)


def is_usage_error(error: BaseException) -> bool:
    """Whether the option library raised this error for the command line of the user."""
    return any(kind.__name__ == "UsageError" for kind in type(error).__mro__)


def _kind(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _reworded(text: str, patterns: tuple[tuple[str, str], ...]) -> str:
    for pattern, words in patterns:
        if re.search(pattern, text, re.DOTALL):
            return re.sub(pattern, words, text, flags=re.DOTALL)
    return text[:1].lower() + text[1:].rstrip(".")


def _name(error: Any) -> str:
    """The option or argument that an error is about, such as "--format" or "PLAN"."""
    hint = error.param_hint or (error.param.get_error_hint(error.ctx) if error.param else "")
    names = hint if isinstance(hint, str) else " / ".join(hint)
    return names.replace("'", "")


def in_own_words(error: Any) -> CatalogError:
    """Return the error as a CatalogError with a hint for the correct usage; exit code 2."""
    command = error.ctx.command_path if error.ctx is not None else "gpcatalog"
    hint = f"{command} --help lists the options"
    kinds = _kind(error)
    if "NoSuchOption" in kinds:
        similar = sorted(error.possibilities or ())
        if similar:
            hint = f"similar options: {', '.join(similar)}; {hint}"
        return CatalogError(f"unknown option: {error.option_name}", hint=hint)
    if "MissingParameter" in kinds:
        return CatalogError(f"{_name(error) or 'an argument'} is required", hint=hint)
    if "BadParameter" in kinds:
        return CatalogError(f"{_name(error)} {_reworded(error.message, _VALUES)}", hint=hint)
    text = error.format_message()
    suggestion = re.search(r"Did you mean (.+)\?$", text)
    if "No such command" in text:
        hint = f"{command} --help lists the commands"
        if suggestion:
            hint = f"did you mean {suggestion[1].replace(chr(39), '')}? {hint}"
    return CatalogError(_reworded(text, _USAGE), hint=hint)
