"""Settings from TOML as typed values, with errors that name the key and the valid values."""

from __future__ import annotations

import re
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from gpcatalog.errors import CatalogError

Settings = TypeVar("Settings", bound=msgspec.Struct)


def read_text(path: Path, what: str) -> str:
    """Read a settings file. what: its name in messages, such as "policy". Raises CatalogError
    (2).
    """
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except (OSError, UnicodeDecodeError) as e:
        raise CatalogError(
            f"cannot read the {what} {path}: {getattr(e, 'strerror', None) or 'not UTF-8 text'}"
        ) from None


def parse(text: str, origin: str) -> dict[str, Any]:
    """The tables and keys of a TOML text. Raises CatalogError (2) with line and column."""
    # its import compiles patterns, which takes 17 ms, and most commands read no TOML
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise CatalogError(
            f"{origin} is not valid TOML: {e}", hint="strings need quotes, tables square brackets"
        ) from None


def _member_types(kind: Any) -> list[Any]:
    """The types that an annotation allows: members of a union, elements of a list or mapping."""
    origin = typing.get_origin(kind)
    if origin is Annotated:
        return _member_types(typing.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return [one for member in typing.get_args(kind) for one in _member_types(member)]
    if origin in (list, tuple, dict):
        return [one for member in typing.get_args(kind) for one in _member_types(member)]
    return [kind]


def _at(kind: Any, path: str) -> list[Any]:
    """The types at a path of msgspec, such as `table[...].grain`."""
    found = _member_types(kind)
    for name in filter(None, re.sub(r"\[.*?\]", "", path).split(".")):
        structs = [k for k in found if isinstance(k, type) and issubclass(k, msgspec.Struct)]
        found = [
            one
            for struct in structs
            for one in _member_types(
                typing.get_type_hints(struct, include_extras=True).get(name, object)
            )
        ]
    return found


def as_settings(
    raw: dict[str, Any], kind: type[Settings], origin: str, *, hint: str = "", table: str = ""
) -> Settings:
    """Convert parsed TOML to a value of `kind`.

    table: name of the table that is converted, for messages; empty for the whole file.
    Raises CatalogError (2) for an unknown key, a wrong type or a word that is not allowed.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as e:
        message = str(e)
    before = f"{table}." if table else ""
    word = re.search(r"Invalid enum value '(.*)' - at `\$\.(.*)`", message)
    if word:
        allowed = [
            f'"{w}"'
            for k in _at(kind, word[2])
            if typing.get_origin(k) is Literal
            for w in typing.get_args(k)
        ]
        raise CatalogError(
            f"{origin}: {before}{word[2]}: {word[1]!r} is not a valid value",
            hint=f"use one of {', '.join(allowed)}",
        )
    unknown = re.search(r"unknown field `([^`]*)`(?: - at `\$\.?([^`]*)`)?", message)
    if unknown:
        keys = ", ".join(
            field.name
            for k in _at(kind, unknown[2] or "")
            if isinstance(k, type) and issubclass(k, msgspec.Struct)
            for field in msgspec.structs.fields(k)
        )
        named = before + (unknown[2] or "")
        place = f"[{named.rstrip('.')}]" if named else "the top level"
        raise CatalogError(
            f"{origin}: unknown key {unknown[1]!r} in {place}", hint=f"known keys: {keys}"
        )
    missing = re.search(r"missing required field `([^`]*)`(?: - at `\$\.?([^`]*)`)?", message)
    if missing:
        named = before + (missing[2] or "")
        place = f"[{named.rstrip('.')}]" if named else "the file"
        raise CatalogError(f"{origin}: {place} has no key {missing[1]!r}", hint=hint)
    place = message.replace(" - at `$.", f" in `{before}").replace(" - at `$", " in `" + table)
    raise CatalogError(f"{origin}: {place}", hint=hint)
