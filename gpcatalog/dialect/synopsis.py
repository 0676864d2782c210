"""Synopses: a grammar in the form of the manual, for parsing text and for writing trees as text.

A rule is `name:Class = body`, continued on indented lines. In a body:

    WORD            a keyword
    '('             punctuation
    ref             a rule or a primitive, stored in the node under its own name
    label:ref       stored under another name
    ref* ref+       repeated
    ref,* ref,+     a comma-separated list
    [ a b ]         optional
    ( a | b )       one of several branches
    @guard a b      only in editions for which the guard is true (as the first item of a branch)

Optional groups and choices that contain only keywords leave a mark in the node (`label:[ IF EXISTS
]`, or a name made of the words), so that the same line can write the node again. A rule `~name`
creates no node: it returns the value of its branch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from gpcatalog.dialect.reader import Mismatch, Reader

Matcher = Callable[[Reader, dict[str, Any]], bool]
Rule = Callable[[Any], Any]

_GUARD = re.compile(r"!*(?:gp|gp6|gp7|pg|v\d+)")  # in the form that Edition.holds accepts
_ITEM = re.compile(
    r"\s*(?:(?P<punct>'[^']+')|(?P<guard>@[!\w]+)|(?P<open>(?:(?P<mark>\w+):)?[\[(])|(?P<close>[\])])|(?P<bar>\|)"
    r"|(?P<word>[A-Z][A-Z_0-9]*)(?![\w:])|(?:(?P<label>\w+):)?(?P<ref>[a-z]\w*)(?P<rep>,[+*]|[+*])?)"
)
_HEAD = re.compile(r"^(~?)(\w+)(?::(\w+))?\s*=", re.MULTILINE)


@dataclass
class Word:
    """A keyword or a punctuation mark."""

    text: str


@dataclass
class Ref:
    """A reference to another rule; `many` is "", "*", "+", ",*" or ",+"."""

    label: str
    rule: str
    many: str = ""


@dataclass
class Choice:
    """One of several branches; an optional group is a choice with one branch and `optional` set."""

    branches: list[Sequence]
    label: str = ""
    optional: bool = False
    marked: bool = False


@dataclass
class Sequence:
    """Items one after the other, with an optional guard."""

    items: list[Word | Ref | Choice] = field(default_factory=list)
    guard: str = ""

    def words(self) -> str:
        """The keywords of a branch, in order."""
        return " ".join(i.text for i in self.items if isinstance(i, Word) and i.text[0].isalpha())

    mark: str = ""

    def captures(self) -> bool:
        """Whether some item of it is always stored in the node, so that the node shows that it is
        present.
        """
        return any(
            (isinstance(i, Ref) and i.many in ("", "+", ",+"))
            or (isinstance(i, Choice) and i.marked and not i.optional)
            for i in self.items
        )


@dataclass
class Definition:
    """A rule: its body and the node class that it creates (None: it returns the value of its
    branch).
    """

    name: str
    body: Choice
    node: type[exp.Expression] | None


def _read_body(text: str, name: str) -> Choice:
    stack: list[Choice] = [Choice([Sequence()])]
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _ITEM.match(text, at)
        if found is None:
            raise SyntaxError(f"rule {name}: cannot read {text[at : at + 30]!r}")
        at = found.end()
        here = stack[-1].branches[-1]
        if found["punct"]:
            here.items.append(Word(found["punct"][1:-1]))
        elif found["guard"]:
            here.guard = found["guard"][1:]
            if _GUARD.fullmatch(here.guard) is None:
                raise SyntaxError(f"rule {name}: no such guard @{here.guard}")
        elif found["open"]:
            group = Choice([Sequence()], found["mark"] or "", found["open"].endswith("["))
            here.items.append(group)
            stack.append(group)
        elif found["close"]:
            stack.pop()
        elif found["bar"]:
            stack[-1].branches.append(Sequence())
        elif found["word"]:
            here.items.append(Word(found["word"]))
        else:
            here.items.append(Ref(found["label"] or found["ref"], found["ref"], found["rep"] or ""))
    if len(stack) != 1:
        raise SyntaxError(f"rule {name}: brackets do not match")
    return stack[0]


def _bare(branch: Sequence) -> bool:
    """Whether a branch is one reference without repetition: its node shows which branch it was."""
    return len(branch.items) == 1 and isinstance(branch.items[0], Ref) and not branch.items[0].many


def _label(body: Choice, label_counts: dict[str, int]) -> None:
    """Give a name to each group whose branch would otherwise not be visible in the node."""
    for branch in body.branches:
        for item in branch.items:
            if not isinstance(item, Choice):
                continue
            _label(item, label_counts)
            _mark(item)
            if item.label and all(_bare(b) for b in item.branches):
                for b in item.branches:
                    ref = b.items[0]
                    assert isinstance(ref, Ref)
                    ref.label = item.label
                continue
            plain = all(
                not any(isinstance(i, Ref | Choice) for i in b.items) for b in item.branches
            )
            if item.optional and len(item.branches) == 1:
                item.marked = not item.branches[0].captures()
            else:
                item.marked = not all(_bare(b) for b in item.branches) or plain
            if item.marked and not item.label:
                stem = (
                    "_".join(item.branches[0].words().lower().split())
                    if len(item.branches) == 1 or plain
                    else "form"
                )
                stem = stem or "form"
                label_counts[stem] = label_counts.get(stem, 0) + 1
                item.label = stem if label_counts[stem] == 1 else f"{stem}_{label_counts[stem]}"


def _references(body: Choice) -> set[str]:
    """Labels under which references store values."""
    out: set[str] = set()
    for branch in body.branches:
        for item in branch.items:
            if isinstance(item, Ref):
                out.add(item.label)
            elif isinstance(item, Choice):
                out |= _references(item) | ({item.label} if item.label else set())
    return out


def _mark(choice: Choice) -> None:
    """Set the mark that each branch leaves in the node: its words, and its number if two branches
    have the same words.
    """
    words = [branch.words() for branch in choice.branches]
    for number, branch in enumerate(choice.branches):
        branch.mark = (
            words[number]
            if words[number] and words.count(words[number]) == 1
            else f"{words[number]}/{number}"
        )


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _arguments(body: Choice, into: dict[str, bool]) -> None:
    for branch in body.branches:
        for item in branch.items:
            if isinstance(item, Ref):
                into[item.label] = False
            elif isinstance(item, Choice):
                if item.marked:
                    into[item.label] = False
                _arguments(item, into)


class Synopses:
    """A grammar: its definitions by name. `CompiledGrammar` compiles them for one edition."""

    def __init__(
        self, text: str, classes: dict[str, type[exp.Expression]], base: type[exp.Expression]
    ) -> None:
        self.definitions: dict[str, Definition] = {}
        self.words: set[str] = set()
        text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
        heads = list(_HEAD.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            silent, name, class_name = head.groups()
            body = _read_body(
                text[head.end() : following.start() if following else len(text)], name
            )
            # a mark never gets the name of a value that the rule stores
            label_counts: dict[str, int] = dict.fromkeys(_references(body), 1)
            node = None
            if silent:
                for branch in body.branches:
                    for item in branch.items:
                        if isinstance(item, Choice):
                            raise SyntaxError(
                                f"rule {name}: a rule that makes no node holds plain branches only"
                            )
            else:
                top = Choice([Sequence([body])]) if len(body.branches) > 1 else body
                if len(body.branches) > 1:
                    _label(top, label_counts)
                    body = top
                else:
                    _label(body, label_counts)
                class_name = class_name or _camel(name)
                node = classes.get(class_name)
                if node is None:
                    arguments: dict[str, bool] = {}
                    _arguments(body, arguments)
                    node = type(
                        class_name,
                        (base,),
                        {"arg_types": arguments, "__module__": base.__module__, "__doc__": ""},
                    )
                    classes[class_name] = node
            self.definitions[name] = Definition(name, body, node)
            self._collect(body)

    def _collect(self, body: Choice) -> None:
        for branch in body.branches:
            for item in branch.items:
                if isinstance(item, Word) and item.text[0].isalpha():
                    self.words.add(item.text.lower())
                elif isinstance(item, Choice):
                    self._collect(item)

    def writers(self) -> Iterator[tuple[type[exp.Expression], Choice]]:
        """Each node class with the body that writes it as SQL."""
        for definition in self.definitions.values():
            if definition.node is not None:
                yield definition.node, definition.body


def _nothing(p: Reader, kept: dict[str, Any]) -> bool:
    """The matcher of a rule that this edition does not have: it never matches."""
    return False


class CompiledGrammar:
    """The rules of one edition, compiled when first used."""

    def __init__(
        self, synopses: Synopses, primitives: dict[str, Rule], holds: Callable[[str], bool]
    ) -> None:
        self.synopses = synopses
        self.primitives = primitives
        self.holds = holds
        self._rules: dict[str, Rule] = {}

    def rule(self, name: str) -> Rule:
        """The function that reads `name`."""
        parser = self._rules.get(name)
        if parser is not None:
            return parser
        if name in self.primitives:
            parser = self.primitives[name]
        elif name in self.synopses.definitions:
            parser = self._define(self.synopses.definitions[name])
        else:
            raise SyntaxError(f"no rule {name}")
        self._rules[name] = parser
        return parser

    def _define(self, definition: Definition) -> Rule:
        node = definition.node
        if node is None:
            return self._silent(definition)
        only = definition.body.branches[0]
        if len(definition.body.branches) > 1:
            body = self._choice(definition.body)
        elif only.guard and not self.holds(only.guard):
            body = _nothing
        else:
            body = self._sequence(only)

        def rule(p: Reader) -> exp.Expression:
            start = p.i
            kept: dict[str, Any] = {}
            if not body(p, kept):
                p.i = start
                raise Mismatch
            tree = node(**kept)
            meta = tree.meta
            meta["start"], meta["end"] = p.starts[start], p.ends[p.i - 1]
            return tree

        return rule

    def _silent(self, definition: Definition) -> Rule:
        branches: list[tuple[Matcher, str, str]] = []
        for branch in definition.body.branches:
            if branch.guard and not self.holds(branch.guard):
                continue
            refs = [i for i in branch.items if isinstance(i, Ref)]
            text = " ".join(i.text for i in branch.items if isinstance(i, Word))
            branches.append((self._sequence(branch), refs[0].label if refs else "", text))

        def rule(p: Reader) -> Any:
            start = p.i
            for matcher, label, text in branches:
                kept: dict[str, Any] = {}
                if matcher(p, kept):
                    return kept[label] if label else text
                p.i = start
            raise Mismatch

        return rule

    def _item(self, item: Word | Ref | Choice) -> Matcher:
        if isinstance(item, Word):
            return _word(item.text)
        if isinstance(item, Ref):
            return self._ref(item)
        return self._choice(item)

    def _sequence(self, sequence: Sequence) -> Matcher:
        parts = [self._item(item) for item in sequence.items]
        if len(parts) == 1:
            return parts[0]

        def matcher(p: Reader, kept: dict[str, Any]) -> bool:
            return all(part(p, kept) for part in parts)

        return matcher

    def _ref(self, ref: Ref) -> Matcher:
        label, name, many = ref.label, ref.rule, ref.many
        lookup = self.rule
        if not many:

            def one(p: Reader, kept: dict[str, Any]) -> bool:
                try:
                    kept[label] = lookup(name)(p)
                except Mismatch:
                    return False
                return True

            return one
        comma, least = many[0] == ",", 1 if many[-1] == "+" else 0

        def several(p: Reader, kept: dict[str, Any]) -> bool:
            rule = lookup(name)
            found: list[Any] = []
            while True:
                before = p.i
                if comma and found:
                    if p.kinds[p.i] != ",":
                        p.note('","')
                        break
                    p.i += 1
                try:
                    found.append(rule(p))
                except Mismatch:
                    p.i = before
                    break
                if p.i == before:
                    break
            if len(found) < least:
                return False
            if found:
                kept[label] = found
            return True

        return several

    def _choice(self, choice: Choice) -> Matcher:
        branches = [
            (self._sequence(branch), branch.mark, _first(branch))
            for branch in choice.branches
            if not branch.guard or self.holds(branch.guard)
        ]
        label = choice.label if choice.marked else ""
        flag = choice.optional and len(choice.branches) == 1
        optional = choice.optional

        def matcher(p: Reader, kept: dict[str, Any]) -> bool:
            start = p.i
            kind = p.kinds[start]
            for branch, words, first in branches:
                if first is not None and first != kind:
                    p.note(first)
                    continue
                trial: dict[str, Any] = {}
                if branch(p, trial):
                    kept.update(trial)
                    if label:
                        kept[label] = True if flag else words
                    return True
                p.i = start
            return optional

        return matcher


def _first(branch: Sequence) -> str | None:
    head = branch.items[0] if branch.items else None
    if isinstance(head, Word):
        return head.text.lower()
    return None


def _word(text: str) -> Matcher:
    kind = text.lower()

    def matcher(p: Reader, kept: dict[str, Any]) -> bool:
        if p.kinds[p.i] == kind:
            p.i += 1
            return True
        p.note(kind)
        return False

    return matcher


class Unwritable(Exception):
    """A node has no value that its rule needs to write it."""


def write(body: Choice, args: dict[str, Any], sql: Callable[[Any], str]) -> str:
    """The SQL of a node, from the body of its rule and the args of the node."""
    parts: list[str] = []
    if len(body.branches) > 1:
        _write_choice(body, args, sql, parts)
    else:
        _write_sequence(body.branches[0], args, sql, parts)
    return join(parts)


def join(parts: list[str]) -> str:
    """Join parts with single blanks, without blanks inside parentheses and before commas.

    >>> join(["a", "(", "b", ",", "c", ")"])
    'a (b, c)'
    """
    out: list[str] = []
    tight = True
    for part in parts:
        if not part:
            continue
        if not tight and part not in (")", ","):
            out.append(" ")
        out.append(part)
        tight = part[-1] == "("
    return "".join(out)


def _write_sequence(
    sequence: Sequence, args: dict[str, Any], sql: Callable[[Any], str], parts: list[str]
) -> None:
    for item in sequence.items:
        if isinstance(item, Word):
            parts.append(item.text)
        elif isinstance(item, Ref):
            value = args.get(item.label)
            if value is None or (value == [] and item.many):
                if item.many in ("*", ",*"):
                    continue
                raise Unwritable(item.label)
            if item.many:
                texts = [sql(v) for v in value]
                parts.append(", ".join(texts) if item.many[0] == "," else " ".join(texts))
            else:
                parts.append(sql(value))
        else:
            _write_choice(item, args, sql, parts)


def _write_choice(
    choice: Choice, args: dict[str, Any], sql: Callable[[Any], str], parts: list[str]
) -> None:
    if choice.marked:
        mark = args.get(choice.label)
        if not mark:
            if choice.optional:
                return
            raise Unwritable(choice.label)
        for branch in choice.branches:
            if mark is True or branch.mark == mark:
                trial: list[str] = []
                try:
                    _write_sequence(branch, args, sql, trial)
                except Unwritable:
                    continue
                parts.extend(trial)
                return
        raise Unwritable(choice.label)
    for branch in choice.branches:
        trial = []
        try:
            _write_sequence(branch, args, sql, trial)
        except Unwritable:
            continue
        parts.extend(trial)
        return
    if not choice.optional:
        raise Unwritable(str(choice))
