"""Splits SQL text into tokens with offsets, exactly as the server's scanner does; in a script,
recognizes psql's variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# The kind of a token is the lower-case word for each word of the grammar, the text for punctuation,
# and one of these for all others:
(
    IDENT,
    QIDENT,
    SCONST,
    ESCONST,
    USCONST,
    NCONST,
    DOLLAR,
    BCONST,
    XCONST,
    ICONST,
    FCONST,
    PARAM,
    OP,
    PSQLVAR,
    END,
) = (
    "IDENT",
    "QIDENT",
    "SCONST",
    "ESCONST",
    "USCONST",
    "NCONST",
    "DOLLAR",
    "BCONST",
    "XCONST",
    "ICONST",
    "FCONST",
    "PARAM",
    "OP",
    "PSQLVAR",
    "END",
)

# letters, the underscore and all non-ASCII characters: written as a negated set, because re
# compiles a range up to U+10FFFF slowly
_LETTER = r"[^\x00-@\[-\^`{-\x7f]"
_LETTER_DIGIT = r"[^\x00-/:-@\[-\^`{-\x7f]"
_LETTER_DIGIT_DOLLAR = r"[^\x00-\#%-/:-@\[-\^`{-\x7f]"
_TOKEN = re.compile(
    rf"""
    (?P<space>(?:[ \t\n\r\f\v]+|--[^\n\r]*)+)
  | (?P<special>/\*|[eE]'|[bB]'|[xX]'|[nN]'|[uU]&['"]|'|")
  | (?P<word>{_LETTER}{_LETTER_DIGIT_DOLLAR}*)
  | (?P<number>(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<dollar>\$(?:{_LETTER}{_LETTER_DIGIT}*)?\$)
  | (?P<param>\$[0-9]+)
  | (?P<punct>[,()\[\];{{}}]|::|:=|:|\.\.|\.)
  | (?P<op>[~!@\#^&|`?+\-*/%<>=]+)
  | (?P<backslash>\\)
    """,
    re.VERBOSE,
)
_BODY = re.compile(r"[^']*(?:''[^']*)*'")
_ESCAPED_BODY = re.compile(r"[^'\\]*(?:(?:''|\\.)[^'\\]*)*'", re.DOTALL)
_QUOTED_BODY = re.compile(r'[^"]*(?:""[^"]*)*"')
# 'a' <newline> 'b' is one constant
_CONTINUED = re.compile(
    r"(?:[ \t\f\v]|--[^\n\r]*(?=[\n\r]))*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*(?=[\n\r]))*'"
)
_UESCAPE = re.compile(r"\s+uescape\s+'(.)'", re.IGNORECASE | re.DOTALL)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_VARIABLE = re.compile(
    rf""":(?:{_LETTER_DIGIT}+|'[A-Za-z_0-9]+'|"[A-Za-z_0-9]+"|\{{\?[A-Za-z_0-9]+\}})"""
)
_LETTERS = re.compile(_LETTER)
_NUMBER_16 = re.compile(
    r"0[xX](?:_?[0-9A-Fa-f])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|(?:[0-9](?:_?[0-9])*(?:\.(?!\.)(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
)
_SINGLE = frozenset("+-*/%^<>=")
_PAIR = {"<=": "<=", ">=": ">=", "<>": "<>", "!=": "<>", "=>": "=>"}
_KEEPS_SIGN = frozenset("~!@#%^&|`?")
_PARENTHESES = {"(": 1, ")": -1}  # change of the nesting depth
_BRACKETS = {"[": 1, "]": -1}


class LexError(Exception):
    """A token that the server's scanner rejects."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(kw_only=True)
class Tokens:
    """The tokens of one statement as parallel lists, followed by an END token; offsets refer to the
    whole text.
    """

    text: str
    kinds: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    backslash: int = -1  # offset of a psql meta-command that interrupts it, or -1
    semicolon: bool = False  # ends with a semicolon
    glued: list[int] = field(
        default_factory=list
    )  # numbers directly followed by a letter: releases read them differently

    def __len__(self) -> int:
        return len(self.kinds)

    def add(self, kind: str, value: str, start: int, end: int) -> None:
        """Append one token with its start and end offsets."""
        self.kinds.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)


def _small(digits: str) -> bool:
    """Whether an integer constant fits 32 bits."""
    digits = digits.lstrip("0")
    return len(digits) < 10 or (len(digits) == 10 and digits <= "2147483647")


def block_comment_end(text: str, start: int) -> int:
    """Offset after the comment that begins at `start`; comments can be nested."""
    depth, at = 1, start + 2
    while depth:
        edge = _COMMENT_EDGE.search(text, at)
        if edge is None:
            raise LexError("unterminated /* comment", start)
        depth += 1 if edge.group() == "/*" else -1
        at = edge.end()
    return at


def _string(text: str, start: int, body_at: int, *, escaped: bool) -> tuple[str, int]:
    """Raw text (with doubled quotes) of a string constant with its continuations, and the offset
    after it.
    """
    pattern = _ESCAPED_BODY if escaped else _BODY
    body = pattern.match(text, body_at)
    if body is None:
        raise LexError("unterminated quoted string", start)
    raw, end = text[body_at : body.end() - 1], body.end()
    more = _CONTINUED.match(text, end)
    while more is not None:
        body = pattern.match(text, more.end())
        if body is None:
            raise LexError("unterminated quoted string", start)
        raw, end = raw + text[more.end() : body.end() - 1], body.end()
        more = _CONTINUED.match(text, end)
    return raw, end


def _quoted_name(text: str, start: int, body_at: int) -> tuple[str, int]:
    """A quoted identifier without its quotes, and the offset after it.

    Raises LexError at `start` if it does not end or is empty.
    """
    body = _QUOTED_BODY.match(text, body_at)
    if body is None:
        raise LexError("unterminated quoted identifier", start)
    name = text[body_at : body.end() - 1].replace('""', '"')
    if not name:
        raise LexError("zero-length delimited identifier", start)
    return name, body.end()


def _quoted(text: str, at: int, opening: str) -> tuple[str, str, int]:
    """Kind and value of the constant or identifier that `opening` begins at `at`, and the offset
    after it.

    opening: a quote with its prefix, such as E' or U&"
    """
    end = at + len(opening)
    if opening == '"':
        name, end = _quoted_name(text, at, end)
        return QIDENT, name, end
    if opening[0] in "uU":
        return _unicode_quoted(text, at, end)
    raw, end = _string(text, at, end, escaped=opening[0] in "eE")
    if opening in ("e'", "E'"):
        if "\\u" in raw or "\\U" in raw:
            _check_surrogates(raw, at)
        return ESCONST, raw, end
    if opening[0] in "bBxX":
        return BCONST if opening[0] in "bB" else XCONST, raw, end
    return SCONST if opening == "'" else NCONST, raw.replace("''", "'"), end


def _with_escapes(text: str, at: int) -> tuple[str, str, int]:
    """Kind and value of the constant '…' at `at` in which backslashes are escapes, and the offset
    after it.
    """
    raw, end = _string(text, at, at + 1, escaped=True)
    if "\\" not in raw:
        return SCONST, raw.replace("''", "'"), end
    if "\\u" in raw or "\\U" in raw:
        _check_surrogates(raw, at)
    return ESCONST, raw, end


def _unicode_quoted(text: str, start: int, body_at: int) -> tuple[str, str, int]:
    """Kind and value of a constant U&'…' or an identifier U&"…", and the offset after it and its
    UESCAPE.
    """
    if text[body_at - 1] == "'":
        raw, end = _string(text, start, body_at, escaped=False)
        kind, raw = USCONST, raw.replace("''", "'")
    else:
        raw, end = _quoted_name(text, start, body_at)
        kind = QIDENT
    escape = "\\"
    chosen = _UESCAPE.match(text, end)
    if chosen is not None:
        escape, end = chosen.group(1), chosen.end()
        if escape in "'\"+" or escape.isspace() or escape in "0123456789abcdefABCDEF":
            raise LexError("invalid Unicode escape character", chosen.start(1))
    return kind, decode_unicode(raw, escape, start), end


def _dollar_quoted_end(text: str, start: int, delimiter: str) -> int:
    """Offset after the dollar-quoted string that begins at `start`. Raises LexError if it does not
    end.
    """
    close = text.find(delimiter, start + len(delimiter))
    if close < 0:
        raise LexError("unterminated dollar-quoted string", start)
    return close + len(delimiter)


def scan(
    text: str, at: int, words: frozenset[str], *, script: bool = False, escapes: bool = False
) -> tuple[Tokens, int]:
    """Tokens of the statement that begins at `at`, up to its semicolon, and the offset after it.

    escapes: a backslash in '…' begins an escape (standard_conforming_strings is off)

    In a script, the rules of psql also apply: a semicolon in parentheses does not end the
    statement, a backslash interrupts it, `:name` is a variable, and the body of a SQL-standard
    function (BEGIN ATOMIC … END) contains semicolons.
    """
    out = Tokens(text=text)
    kinds, values, starts, ends = out.kinds, out.values, out.starts, out.ends
    depth = brackets = atomic = 0
    match, size = _TOKEN.match, len(text)
    while at < size:
        found = match(text, at)
        if found is None:
            raise LexError(f"the character {text[at]!r} is not valid here", at)
        group = found.lastgroup
        end = found.end()
        if group == "space":
            at = end
            continue
        value = found.group()
        if group == "word":
            kind = value.lower()
            if kind not in words:
                kind = IDENT
            elif atomic or (kind == "atomic" and kinds and kinds[-1] == "begin"):
                atomic += {"atomic": 1, "case": 1, "end": -1}.get(kind, 0)
        elif group == "punct":
            kind = value
            depth += _PARENTHESES.get(value, 0)
            brackets += _BRACKETS.get(value, 0)
            if value == ";":
                if depth <= 0 and atomic <= 0:  # else in CREATE RULE … (a; b) or a function
                    out.semicolon = True
                    break
            elif value == ":" and script and brackets <= 0 and (found := _VARIABLE.match(text, at)):
                kind, value, end = PSQLVAR, found.group(), found.end()
        elif group == "special":
            if value == "/*":
                at = block_comment_end(text, at)
                continue
            if value == "'" and escapes:
                kind, value, end = _with_escapes(text, at)
            else:
                kind, value, end = _quoted(text, at, value)
        elif group in ("number", "param"):
            integer = value.isdigit() and _small(value)
            kind = PARAM if group == "param" else ICONST if integer else FCONST
            if _LETTERS.match(text, end):
                out.glued.append(len(kinds))
        elif group == "dollar":
            end = _dollar_quoted_end(text, at, value)
            kind, value = DOLLAR, text[at:end]
        elif group == "op":
            kind, value, end = _operator(value, at)
        else:  # a backslash
            if script:
                out.backslash = at
                break
            raise LexError('syntax error at or near "\\"', at)
        kinds.append(kind)
        values.append(value)
        starts.append(at)
        ends.append(end)
        at = end
    out.add(END, "", at, at)
    return out, at + 1 if out.semicolon else at


def separated(tokens: Tokens, base: int) -> Tokens:
    """The tokens as PostgreSQL 15 (no letter after a number) or 16 (0x1F, 1_000) reads them.

    Raises LexError where the server reports an error.
    """
    out = Tokens(text=tokens.text, semicolon=tokens.semicolon, backslash=tokens.backslash)
    text, number = tokens.text, 0
    glued = set(tokens.glued)
    while number < len(tokens.kinds):
        kind, start, end = tokens.kinds[number], tokens.starts[number], tokens.ends[number]
        value = tokens.values[number]
        number += 1
        if number - 1 in glued:
            number_match = _NUMBER_16.match(text, start) if base >= 16 and kind != PARAM else None
            if number_match is not None:
                end = number_match.end()
            if _LETTERS.match(text, end):
                raise LexError(
                    f"trailing junk after {'parameter' if kind == PARAM else 'numeric literal'}",
                    start,
                )
            if number_match is not None:
                value = number_match[0]
                plain = value.replace("_", "").lower()
                radix = {"0x": 16, "0o": 8, "0b": 2}.get(plain[:2], 10)
                digits = plain if radix == 10 else plain[2:]
                integer = radix != 10 or digits.isdigit()
                kind = (
                    ICONST
                    if integer and len(digits) < 40 and int(digits, radix) <= 2147483647
                    else FCONST
                )
                while number < len(tokens.kinds) - 1 and tokens.starts[number] < end:
                    number += 1
        out.add(kind, value, start, end)
    return out


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def _check_surrogates(raw: str, offset: int) -> None:
    """Raise LexError for half of a surrogate pair in an E'…' constant."""
    high_ends = -1
    for found in _ESCAPE.finditer(raw):
        code = int(found[1] or found[2] or "0", 16)
        if code > 0x10FFFF or (code == 0 and not found[3]):
            raise LexError("invalid Unicode escape value", offset)
        if high_ends >= 0 and (not 0xDC00 <= code <= 0xDFFF or found.start() != high_ends):
            raise LexError("invalid Unicode surrogate pair", offset)
        if 0xDC00 <= code <= 0xDFFF and high_ends < 0:
            raise LexError("invalid Unicode surrogate pair", offset)
        high_ends = found.end() if 0xD800 <= code <= 0xDBFF else -1
    if high_ends >= 0:
        raise LexError("invalid Unicode surrogate pair", offset)


def _operator(run: str, at: int) -> tuple[str, str, int]:
    """Kind and text of the operator at the beginning of a sequence of operator characters, and the
    offset after it. A comment ends it, and a trailing sign may not be part of it.
    """
    for mark in ("/*", "--"):
        cut = run.find(mark)
        if cut > 0:
            run = run[:cut]
    if len(run) > 1 and run[-1] in "+-" and not _KEEPS_SIGN.intersection(run):
        run = run.rstrip("+-") or run[0]
    kind = run if run in _SINGLE else _PAIR.get(run, OP)
    return kind, "<>" if kind == "<>" else run, at + len(run)


_UNICODE = re.compile(r"(?:\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4}))")


def decode_unicode(raw: str, escape: str, offset: int) -> str:
    r"""The text of a U&'…' or U&"…" constant.

    >>> decode_unicode(r"d\0061t\+000061", "\\", 0), decode_unicode("a!!b", "!", 0)
    ('data', 'a!b')
    """
    out: list[str] = []
    at = 0
    while True:
        hit = raw.find(escape, at)
        if hit < 0:
            out.append(raw[at:])
            break
        out.append(raw[at:hit])
        if raw.startswith(escape, hit + 1):
            out.append(escape)
            at = hit + 2
            continue
        code = _UNICODE.match(raw, hit + 1)
        if code is None:
            raise LexError("invalid Unicode escape value", offset)
        point = int(code.group(1) or code.group(2), 16)
        if point > 0x10FFFF:
            raise LexError("invalid Unicode escape value", offset)
        out.append(chr(point))
        at = code.end()
    text = "".join(out)
    try:  # the two halves of a surrogate pair are one character
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise LexError("invalid Unicode surrogate pair", offset) from None
