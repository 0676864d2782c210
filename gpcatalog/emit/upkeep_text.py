"""The text of `upkeep`: a policy to review, the calendar of the coming nights, and the status."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding

from gpcatalog.emit.terminal import heading, table, text
from gpcatalog.model.names import printable
from gpcatalog.model.quantity import count, duration, plural, size
from gpcatalog.planner.grid import GRAINS
from gpcatalog.upkeep.result import (
    ANNOUNCED_DAYS,
    Adoption,
    Calendar,
    Cover,
    LeftAlone,
    NightLine,
    Status,
)

NIGHTS_SHOWN = 60
FIRST = 2  # first nights with work that are shown completely
TABLES_SHOWN = 20
LEFT_SHOWN = 20


def _line(out: Console, words: str) -> None:
    out.print(Padding(text(words), (0, 0, 0, 2)))


def _cover(cover: Cover, unit: str = "days") -> str:
    if cover.until is None:
        return "the newest partition has no end"
    if cover.days is not None and cover.days <= 0:
        return "no partition for today" if unit == "days" else "no partition after the newest rows"
    return f"until {cover.until} ({cover.days:,.0f} {unit})"


def _quoted(value: str) -> str:
    """A string of TOML.

    >>> _quoted('a"b')
    '"a\\\\"b"'
    """
    import json

    return json.dumps(value, ensure_ascii=False)


def _pattern(name: str) -> str:
    """A shell pattern that matches only this name.

    >>> _pattern("public.a[1]*")
    'public.a[[]1][*]'
    """
    return "".join(f"[{c}]" if c in "[*?" else c for c in name)


def policy_text(found: Adoption) -> str:
    """The rules of all tables as a policy file, with the evidence as comments."""
    lines = [
        f"# Rules that the partitioned tables of database {printable(found.database)} seem to follow.",
        "# Review them: nothing is removed until you set retention, and nothing is merged until you",
        '# set grains, for example grains = { month = "60d", year = "2y" }.',
        "",
        "[upkeep]                 # limits of one night, over all tables",
        'max_rewrite = "50GB"     # bytes that merges copy',
        'window = "30min"         # no further merge begins after this time',
        "",
    ]
    for t in found.tables:
        lines += [
            "[[table]]",
            f"match = {_quoted(_pattern(f'{t.schema}.{t.name}'))}",
            *(f"# {printable(e)}" for e in t.evidence),
            f"# {plural(t.leaves, 'leaf partition')}; cover: {_cover(t.cover, 'partitions' if t.numbers else 'days')}",
        ]
        if t.cover.gaps:
            lines.append(
                f"# {plural(t.cover.gaps, 'gap')} in the past; fill_gaps = true fills them"
            )
        if t.cover.default_rows:
            lines.append(
                '# the default partition has rows; default_rows = "move" moves those of new ranges'
            )
        lines.append("automatic_maintenance = true")
        if t.numbers:
            lines.append(
                f"premake = {t.premake_days:g}  # partitions after the newest one with rows"
            )
        else:
            if t.grain in GRAINS:  # other ranges are continued without a rule
                lines.append(f'grain = "{t.grain}"')
            lines.append(f'premake = "{t.premake_days:g}d"')
        if t.time_zone:
            lines.append(f"time_zone = {_quoted(t.time_zone)}")
        lines += [f"name = {_quoted(t.template)}", 'retention = "none"', ""]
    if not found.tables:
        lines += ["# No table can be maintained.", ""]
    if found.left_alone:
        lines.append("# Not maintained:")
        lines += [f"#   {printable(t.table)}: {printable(t.reason)}" for t in found.left_alone]
    return "\n".join(lines).rstrip() + "\n"


def _work(n: NightLine) -> list[str]:
    merged = f"{count(n.merged)} → {count(n.into)}" if n.into else "part" if n.unfinished else ""
    gone = f"{count(n.dropped)} dropped" if n.dropped else ""
    gone = gone or (f"{count(n.detached)} detached" if n.detached else "")
    gone = gone or (f"{count(n.externalized)} to files" if n.externalized else "")
    return [
        n.table,
        n.day,
        count(n.created) if n.created else "",
        merged,
        gone,
        "?" if n.bytes is None else size(n.bytes) if n.bytes else "",
        "?" if n.lock_seconds is None else duration(n.lock_seconds) if n.lock_seconds else "",
    ]


def _nights(found: Calendar, out: Console) -> None:
    """Print the first nights, then those that do more than create partitions."""
    week = set(sorted({n.day for n in found.nights})[:FIRST])
    lines = [
        n
        for n in found.nights
        if n.day in week or n.unfinished or n.into or n.consent or n.detached or n.externalized
    ]
    rows = [_work(n) for n in lines[:NIGHTS_SHOWN]]
    heads = ["table", "night", "new", "merged", "removed", "copied", "lock"]
    used = [k for k in range(len(heads)) if k < 2 or any(row[k] for row in rows)]
    out.print()
    out.print(table("", [heads[k] for k in used], [[row[k] for k in used] for row in rows], left=2))
    if len(lines) > NIGHTS_SHOWN:
        _line(out, f"… and {len(lines) - NIGHTS_SHOWN} more lines; --format json has all")
    if any(n.lock_seconds for n in lines):
        _line(out, "lock: longest time that readers wait for one step (estimate)")
    if any(n.consent for n in found.nights):
        _line(out, "Drops need --allow-drop, and are announced seven days before.")
    if len(found.nights) > len(lines):
        rest = len(found.nights) - len(lines)
        _line(out, f"Not shown: {plural(rest, 'line')} that only create partitions")


def _left(found: list[LeftAlone], out: Console) -> None:
    if found:
        heading(out, "Not maintained")
        for t in found[:LEFT_SHOWN]:
            _line(out, f"{t.table}: {t.reason}")
        if len(found) > LEFT_SHOWN:
            _line(out, f"… and {len(found) - LEFT_SHOWN} more")


def show_calendar(found: Calendar, out: Console) -> None:
    """Print the coming nights, then the state of the tables after them."""
    nights = plural(found.days, "night")
    before = sum(t.leaves for t in found.tables)
    after = sum(t.leaves_after for t in found.tables)
    out.print(
        text(
            f"Upkeep of {plural(len(found.tables), 'table')} of {found.database}, {nights} from"
            f" {found.first}: {plural(found.days - found.idle, 'night')} with work;"
            f" {count(before)} leaf partitions now, {count(after)} afterwards (forecast)"
        )
    )
    if found.nights:
        _nights(found, out)
    if found.tables:
        heading(out, "Leaf partitions, catalog rows and files per segment (forecast)")
        largest = sorted(found.tables, key=lambda t: (-t.most, t.table))
        out.print(
            table(
                "",
                ["table", "leaves", "after", "most", "rows", "after", "files", "after"],
                [
                    [
                        t.table,
                        *(
                            "?" if number is None else count(number)
                            for number in (
                                t.leaves,
                                t.leaves_after,
                                t.most,
                                t.rows,
                                t.rows_after,
                                t.files,
                                t.files_after,
                            )
                        ),
                    ]
                    for t in largest[:TABLES_SHOWN]
                ],
            )
        )
    if found.notes:
        heading(out, "To know")
        for note in found.notes[:LEFT_SHOWN]:
            _line(out, note)
    _left(found.left_alone, out)


def show_status(found: Status, out: Console) -> None:
    """Print whether upkeep works, the last run, and the work that is due."""
    if found.problems:
        out.print(text(f"Upkeep of {found.database}: {plural(len(found.problems), 'problem')}"))
        for problem in found.problems[:LEFT_SHOWN]:
            _line(out, problem)
        if len(found.problems) > LEFT_SHOWN:
            _line(out, f"… and {len(found.problems) - LEFT_SHOWN} more")
    else:
        out.print(text(f"Upkeep of {found.database}: OK"))
    if found.last is not None:
        ended = f"ended {found.last.ended:%Y-%m-%d %H:%M}" if found.last.ended else "not ended"
        heading(out, "Last run")
        _line(
            out,
            f"begun {found.last.begun:%Y-%m-%d %H:%M}, {ended},"
            f" {plural(len(found.last.failures), 'failure')}",
        )
    if found.unfinished:
        heading(out, "Merges that go on in the next night")
        for step in found.unfinished[:LEFT_SHOWN]:
            _line(out, step)
    if found.tables:
        heading(out, "Tables")
        out.print(
            table(
                "",
                ["table", "covered", "leaves", "create", "merge", "remove"],
                [
                    [
                        t.table,
                        _cover(t.cover, t.unit),
                        count(t.leaves),
                        *(count(n) if n else "" for n in (t.create, t.merge, t.remove)),
                    ]
                    for t in found.tables
                ],
                left=2,
            )
        )
        if drops := sum(t.drop for t in found.tables):
            _line(
                out,
                f"{drops} of the partitions to remove are dropped, each"
                f" {ANNOUNCED_DAYS} days after its announcement",
            )
        if found.waiting:
            _line(
                out,
                f"{plural(found.waiting, 'partition')} exceed the limits of one night and wait",
            )
    _left(found.left_alone, out)
