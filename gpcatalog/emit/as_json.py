"""JSON of any result: versioned by its `schema` field, indented, keys as in the structs."""

from __future__ import annotations

from typing import Any

import msgspec

from gpcatalog.model.names import json_safe


def _plain(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def encode(result: msgspec.Struct | dict[str, Any]) -> str:
    """Return the result as JSON text that ends in a newline.

    Severities are words, not numbers.
    """
    plain = msgspec.to_builtins(result, builtin_types=())
    return (
        json_safe(
            msgspec.json.format(
                msgspec.json.encode(_words(plain), enc_hook=_plain), indent=1
            ).decode()
        )
        + "\n"
    )


def _words(value: Any) -> Any:
    """Replace the number in `severity` of findings by its word, which people and jq need."""
    from gpcatalog.model.finding import Severity

    if isinstance(value, dict):
        return {
            k: Severity(v).word if k == "severity" and isinstance(v, int) else _words(v)
            for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_words(v) for v in value]
    return value


def json_schema(kind: type[msgspec.Struct]) -> str:
    """The JSON Schema of a result as `encode` writes it."""
    from gpcatalog.model.finding import Severity

    schema = msgspec.json.schema(kind)
    for one in schema.get("$defs", {}).values():
        if one.get("title") == "Severity":
            one["enum"] = [s.word for s in Severity]
    return msgspec.json.format(msgspec.json.encode(schema), indent=1).decode() + "\n"
