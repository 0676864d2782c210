"""Leaves, files and budgets."""

from __future__ import annotations

from math import ceil

from sqlglot import exp

from gpcatalog.capacity import limits
from gpcatalog.capacity.model import FILLED, relation_files
from gpcatalog.check.report import RuleContext, cost_of, over_budget
from gpcatalog.check.rules.registry import rule, walk
from gpcatalog.dialect import expressions as gx
from gpcatalog.errors import CatalogError
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, plural
from gpcatalog.model.storage import Storage


@rule("budget-exceeded")
def budget_exceeded(s: RuleContext) -> None:
    """More leaves, files or catalog rows than the project allows.

    What it finds: tables whose leaves, files on a segment or a host, or catalog rows go over
    [table]; the whole change over [change]; and with a baseline the cluster over [total].
    Why it matters: the catalogs and files of a cluster are shared by all its tables, and partitions
    are easier made than removed.
    How sure it is: counts are exact where the statement could be weighed; it says when it could
    not.
    What to do: make coarser partitions, drop what is empty, or raise the budget on purpose.
    """

    table = s.effect.table
    if table is None or not s.effect.leaves_made:
        return
    cost = cost_of(s.effect, s.edition)
    if s.effect.verb != "create" and table.parts:
        import msgspec

        cost = msgspec.structs.replace(cost, leaves=table.numbers[1])
    for finding in over_budget(f"table {table.title}", s.settings.table, cost, s.settings):
        s.findings.append((finding, s.statement.start, s.statement.end))


@rule("leaves-over-guideline")
def leaves_over_guideline(s: RuleContext) -> None:
    """More leaves in one table than the server's makers advise, or than a level can hold.

    What it finds: tables with more than 20,000 leaves, and levels with more than 32,767 partitions.
    Why it matters: every query on the table plans over its leaves, every DDL locks them, every
    instance keeps their catalog rows.
    How sure it is: leaves are counted by spelling out the partitions as the server does; the limits
    are the documentation's.
    What to do: choose a coarser step, or fewer levels.
    """
    table = s.effect.table
    over = next((u for u in s.effect.unknown if u.startswith("more than")), "")
    if over:
        s.find(
            "leaves-over-guideline",
            Severity.CRITICAL,
            f"this makes {over}",
            f"a level holds at most {count(limits.LEAVES_PER_LEVEL.value)}",
            "choose a coarser step or fewer levels",
            confidence=Confidence.HIGH,
            source=limits.LEAVES_PER_LEVEL.source,
        )
        return
    if table is None or not s.effect.leaves_made or not table.parts:
        return
    leaves = table.numbers[1]
    # what is added is weighed against what was known before, or a long script would count all again
    # at every statement
    whole = s.effect.verb == "create"
    widest = max(
        len(table.parts),
        table.widest,
        *(len(p.children) for p in (table.relations() if whole else ())),
        0,
    )
    for amount, limit, severity in (
        (widest, limits.LEAVES_PER_LEVEL, Severity.CRITICAL),
        (leaves, limits.LEAVES_PER_TABLE, Severity.WARNING),
    ):
        if amount > limit.value:
            s.find(
                "leaves-over-guideline",
                severity,
                f"{table.title} has {plural(amount, 'leaf', 'leaves')}, {limit.note or limit.id} is"
                f" {count(limit.value)}",
                "planning, locking and the catalogs of every instance grow with it",
                "choose a coarser step or fewer levels",
                confidence=Confidence.HIGH,
                figures=(
                    Figure("leaves", amount, "leaves", "derived"),
                    Figure(limit.id, limit.value, limit.unit, "limit"),
                ),
                source=limit.source,
            )
            return


@rule("grain-too-fine")
def grain_too_fine(s: RuleContext) -> None:
    """One EVERY that makes very many partitions.

    What it finds: a range spelled out by EVERY into more partitions than `every_parts` of the
    settings.
    Why it matters: the cost of a partition does not depend on how little it holds.
    How sure it is: the count is exact; that it is too many is this project's own setting.
    What to do: take the next coarser step; a week of days costs seven times a week.
    """
    tree = s.statement.tree
    if tree is None or s.effect.table is None:
        return
    seen: dict[int, int] = {}
    nodes: dict[int, exp.Expression] = {}
    for part in walk(s.effect.new_parts):
        if part.node is not None:
            key = id(part.node)
            nodes[key] = part.node
            seen[key] = seen.get(key, 0) + 1
    seen = {
        key: n
        for key, n in seen.items()
        if n > 1 and nodes[key].find(gx.PartitionEvery) is not None
    }
    for key, number in seen.items():
        bound = nodes[key].args.get("bound")
        parents = (
            1
            if nodes[key].args.get("role") != "SUBPARTITION"
            and not isinstance(nodes[key], gx.TemplateElement)
            else None
        )
        if parents is None:
            parents = max(
                1,
                sum(
                    1
                    for p in walk(s.effect.new_parts)
                    if any(id(c.node) == key for c in p.children)
                ),
            )
        each = number // parents
        if each <= s.settings.every_parts or bound is None:
            continue
        step = bound.args["every"].sql("greenplum")
        s.find(
            "grain-too-fine",
            Severity.WARNING,
            f"{step} makes {plural(each, 'partition')} over this span",
            "each costs the same in catalog rows, files and locks, however little it holds",
            f"a step {ceil(each / s.settings.every_parts)} times as wide or wider stays within"
            f" {count(s.settings.every_parts)}",
            at=bound.args["every"],
            confidence=Confidence.HIGH,
            figures=(
                Figure("partitions", each, "leaves", "derived"),
                Figure("every_parts", s.settings.every_parts, "leaves", "limit"),
            ),
            source="every_parts of the settings",
        )


@rule("level-cross-product")
def level_cross_product(s: RuleContext) -> None:
    """Levels of partitions that multiply.

    What it finds: tables of two or more levels whose leaves are more than `cross_leaves` of the
    settings.
    Why it matters: every value of one level exists under every value of the other, filled or not.
    How sure it is: the count is exact.
    What to do: leave out a level and cluster or index by it, or give the template only to the parts
    that need it.
    """
    table = s.effect.table
    if table is None or s.effect.verb != "create" or len(table.levels) < 2:
        return
    leaves = table.numbers[1]
    if leaves <= s.settings.cross_leaves:
        return
    sizes = [len(table.parts)]
    below = table.parts
    while below and below[0].children:
        sizes.append(max(len(p.children) for p in below))
        below = below[0].children
    s.find(
        "level-cross-product",
        Severity.WARNING,
        f"{' × '.join(count(n) for n in sizes)} partitions make {plural(leaves, 'leaf', 'leaves')}",
        "every value of one level exists under every value of the other, whether it holds rows"
        " or not",
        "leave out a level, or subpartition only the parts that need it",
        confidence=Confidence.HIGH,
        figures=(Figure("leaves", leaves, "leaves", "derived"),),
        source="cross_leaves of the settings",
    )


@rule("columnar-file-explosion")
def columnar_file_explosion(s: RuleContext) -> None:
    """Many columns times many columnar leaves.

    What it finds: column-oriented tables whose leaves, once they hold rows, come to more files on a
    segment than `filled_columns`, or on a host than the documentation's 100,000.
    Why it matters: the first row of a leaf makes a file for each column on each segment; file
    systems, backups and recovery pay by the file.
    How sure it is: measured: filled files are exact for one writer; each further concurrent writer
    adds as many again.
    What to do: fewer leaves, row-oriented storage for leaves of few rows, or columnar storage for
    old leaves only.
    """
    table = s.effect.table
    if table is None or not s.effect.leaves_made or not table.columns:
        return
    if not table.known or not s.edition.greenplum:
        return
    try:
        each = relation_files(s.edition.name, table.shape(s.edition, Storage.AO_COLUMN), FILLED)
    except CatalogError:
        return  # no such table can be columnar there
    segments_a_host = -(-s.settings.segments // s.settings.hosts)
    guide = limits.FILES_PER_HOST
    most = max(table.numbers[1], 1) * each
    if most <= s.settings.filled_columns and most * segments_a_host <= guide.value:
        return  # were every leaf columnar
    columnar = (
        sum(1 for p in table.leaves() if p.storage is Storage.AO_COLUMN)
        if table.parts
        else int(table.storage is Storage.AO_COLUMN)
    )
    if not columnar:
        return
    files = columnar * each
    host = files * segments_a_host
    if files <= s.settings.filled_columns and host <= guide.value:
        return
    over = host > guide.value
    s.find(
        "columnar-file-explosion",
        Severity.CRITICAL if over else Severity.WARNING,
        f"{plural(columnar, 'columnar leaf', 'columnar leaves')} of"
        f" {plural(len(table.columns), 'column')} come to {count(files)} files on a segment,"
        f" {count(host)} on a host, once filled",
        "each column of each leaf is a file on each segment as soon as one row arrives, and again"
        " for every concurrent writer",
        "fewer leaves, or row-oriented storage where leaves hold few rows",
        confidence=Confidence.HIGH,
        figures=(
            Figure("files a segment", files, "files", "derived"),
            Figure("files a host", host, "files", "derived"),
            Figure(guide.id, guide.value, guide.unit, "limit"),
        ),
        source=guide.source if over else "filled_columns of the settings",
    )
