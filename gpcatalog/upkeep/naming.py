"""Templates of partition names: with p{%Y%m%d}, the partition that begins on 2024-01-31 is
named p20240131.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpcatalog.model.names import NAMEDATALEN, cut

TABLE = "{table}"
_FORMATS = (
    "%Y%m%d%H",
    "%Y_%m_%d_%H",
    "%Y%m%d_%H",
    "%Y%m%d%H%M",
    "%Y_%m_%d",
    "%Y%m%d",
    "%y%m%d",
    "%d%m%Y",
    "%Y_%m",
    "%Ym%m",
    "%Y%m",
    "%y%m",
    "%Gw%V",  # before %Y: weeks belong to ISO years
    "%G_w%V",
    "%Yw%V",
    "%Yq%Q",
    "%Y_q%Q",
    "%Y",
)
LAST = "last:"  # before a date format: of the last day of the partition
NUMBERS = ("low", "high", "last")  # of plain numbers: start, end, last number
_LAST_FORMATS = tuple(LAST + form for form in _FORMATS)
_KNOWN = frozenset("YymdHMVGQjb")
AGREE = 0.9  # share of names that a template must reproduce


Moment = datetime | int
"""What a name contains: a date and time, or a plain number."""


def _shown(form: str, low: Moment, high: Moment) -> str:
    """The text for a format in the name of the partition [low, high)."""
    if isinstance(low, int) or isinstance(high, int):
        assert isinstance(low, int)
        assert isinstance(high, int)
        return str({"low": low, "high": high, "last": high - 1}[form])
    if form.startswith(LAST):
        return _written(form.removeprefix(LAST), high - timedelta(microseconds=1))
    return _written(form, low)


def _written(form: str, moment: datetime) -> str:
    """Format a moment as strftime does, with %Q for the quarter; always in English."""
    quarter = str((moment.month + 2) // 3)
    month = "jan feb mar apr may jun jul aug sep oct nov dec".split()[moment.month - 1]
    form = form.replace("%Q", quarter).replace("%b", month)
    return moment.strftime(form.replace("%Y", f"{moment.year:04d}"))


@dataclass(frozen=True)
class NameTemplate:
    """A template of partition names.

    text: with {table} for the name of the parent and strftime formats in braces, such as
          {table}_p{%Y%m%d}, or {last:%Y%m%d} for the last day of the range instead of the first;
          for plain numbers {low}, {high} or {last}

    >>> NameTemplate("{table}_p{%Y%m%d}").name("sales", datetime(2024, 1, 31), datetime(2024, 2, 1))
    'sales_p20240131'
    >>> NameTemplate("p{last:%d%m}").name("", datetime(2024, 1, 1), datetime(2024, 2, 1))
    'p3101'
    >>> NameTemplate("p{low}").name("", 1000, 2000)
    'p1000'
    """

    text: str

    def name(self, parent: str, low: Moment, high: Moment) -> str:
        """Name of the partition [low, high) below a parent, at most 63 bytes."""
        form = "|".join(NUMBERS) if isinstance(low, int) else "[^{}]*%[^{}]*"
        body = re.sub(
            rf"\{{({form})\}}",
            lambda m: _shown(m[1], low, high),
            self.text.replace(TABLE, "\0"),
        )
        head, mark, tail = body.partition("\0")
        if not mark:
            return cut(body)
        tail = tail.replace("\0", parent)
        bytes_left = NAMEDATALEN - len((head + tail).encode())
        return cut(head + cut(parent, max(bytes_left, 1)) + tail)


def check(text: str) -> None:
    """Raise ValueError for a template without a date or number, or with an unknown date format."""
    strange = next((c for c in text if ord(c) < 32 or ord(c) == 127), "")
    if strange:
        raise ValueError(f"{text!r} contains the control character {strange!r}")
    bare = text.replace(TABLE, "")
    for number in NUMBERS:
        bare = bare.replace(f"{{{number}}}", "{%Y}")
    formats = re.findall(r"\{([^{}]*)\}", bare)
    if not any("%" in f for f in formats):
        raise ValueError(
            f"{text!r} has no date in it; write for example p{{%Y%m%d}} or {{table}}_{{%Y_%m}},"
            " or {low} for plain numbers"
        )
    for form in formats:
        form = form.removeprefix(LAST)
        unknown = [c for c in re.findall(r"%(.)", form) if c not in _KNOWN]
        # each % begins a format
        if unknown or "%" in re.sub("%.", "", form) or "%" not in form:
            raise ValueError(
                f"{text!r}: {{{form}}} is not a date format; use %Y %y %m %d %H %V %G %Q %j %b, with"
                " last: before them for the last day of a partition"
            )


def same_name(
    template: NameTemplate, parent: str, cells: Sequence[tuple[Moment, Moment]]
) -> tuple[str, Moment, Moment] | None:
    """The first name that two of these ranges below a parent would have, and their starts; None if
    all names differ.
    """
    starts: dict[str, Moment] = {}
    for low, high in cells:
        name = template.name(parent, low, high)
        if name in starts:
            return name, starts[name], low
        starts[name] = low
    return None


def default_template(form: str | None, *, classic: bool) -> NameTemplate:
    """The template for tables whose partition names follow none.

    form: strftime format; None for plain numbers; classic: Greenplum 6, where the server makes the relation name
           from the partition name
    """
    body = "p{low}" if form is None else f"p{{{form}}}"
    return NameTemplate(body if classic else f"{TABLE}_{body}")


def infer(
    names: Sequence[tuple[str, str, Moment, Moment]], *, classic: bool
) -> tuple[NameTemplate | None, int]:
    """The template that reproduces the most names, and how many; None if their share is below
    AGREE.

    names: parent, name, start and end of each partition, the newest last
    """
    if not names:
        return None, 0
    best: tuple[NameTemplate | None, int] = (None, 0)
    seen: set[str] = set()
    for parent, name, low, high in names[-3:]:
        stem, rest = ("", name)
        if not classic and name.startswith(parent) and name != parent:
            stem, rest = TABLE, name[len(parent) :]
        for form in NUMBERS if isinstance(low, int) else (*_FORMATS, *_LAST_FORMATS):
            shown = _shown(form, low, high)
            at = rest.rfind(shown) if isinstance(low, int) else rest.find(shown)
            if at < 0 or "{" in rest:
                continue
            text = stem + rest[:at] + f"{{{form}}}" + rest[at + len(shown) :]
            if text in seen:
                continue
            seen.add(text)
            template = NameTemplate(text)
            agree = sum(template.name(p, lo, hi) == n for p, n, lo, hi in names)
            # if two partitions get the same name, the format is too coarse
            generated = {template.name(p, lo, hi) for p, _, lo, hi in names}
            if agree > best[1] and len(generated) == len({(p, lo) for p, _, lo, _ in names}):
                best = template, agree
    if best[1] < AGREE * len(names):
        return None, best[1]
    return best
