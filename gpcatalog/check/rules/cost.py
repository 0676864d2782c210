"""Leaves, files and budgets."""

from __future__ import annotations

from math import ceil

from sqlglot import exp

from gpcatalog.capacity import limits
from gpcatalog.capacity.model import FILLED, relation_files
from gpcatalog.check.report import Cost, RuleContext, cost_of, over_budget
from gpcatalog.check.rules.registry import rule, walk
from gpcatalog.check.settings import Budget
from gpcatalog.check.trees import exceeds
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.relations import Table
from gpcatalog.errors import CatalogError
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, plural
from gpcatalog.model.storage import Storage


@rule("budget-exceeded")
def budget_exceeded(s: RuleContext) -> None:
    """More leaves, files or catalog rows than the project allows.

    What it finds: tables whose leaves, files (per segment or per host) or catalog rows exceed the
    budget [table]; a change that exceeds [change]; with a baseline, a cluster that exceeds [total].
    Why it matters: all tables of a cluster share its catalogs and file systems. Partitions are
    easier to create than to remove.
    How sure it is: exact where the cost of every statement is known. Otherwise the finding says
    that the figure is incomplete: statements of unknown effect may add or remove more. Of
    partitions that are separate tables (PARTITION OF), the leaves are added up for the root; files
    and rows are those of each partition.
    What to do: make larger partitions, remove empty ones, or raise the budget deliberately.
    """

    table = s.effect.table
    budget = s.settings.table
    tree = exceeds(s, "budget", budget.leaves) if budget.leaves is not None else None
    if tree is not None:
        root, leaves = tree
        found = over_budget(
            f"table {root.title}", Budget(leaves=budget.leaves), Cost(leaves=leaves), s.settings
        )
        s.findings += [(f, s.statement.start, s.statement.end) for f in found]
    if table is None or not s.effect.leaves_created:
        return
    cost = cost_of(s.effect, s.edition)
    if s.effect.verb != "create" and table.parts:
        import msgspec

        cost = msgspec.structs.replace(cost, leaves=table.numbers[1])
    for finding in over_budget(f"table {table.title}", budget, cost, s.settings):
        s.findings.append((finding, s.statement.start, s.statement.end))


@rule("leaves-over-guideline")
def leaves_over_guideline(s: RuleContext) -> None:
    """A table has more leaves than the documentation recommends, or a level is over its limit.

    What it finds: tables with more than 20,000 leaves, and levels with more than 32,767 partitions.
    Why it matters: planning time, DDL time and locks grow with the number of leaves. Every instance
    stores their catalog rows.
    How sure it is: partitions are expanded and counted as the server does it. The limits come from
    the documentation.
    What to do: choose a larger interval, or fewer levels.
    """
    table = s.effect.table
    over = next((u for u in s.effect.unknown if u.startswith("more than")), "")
    if over:
        s.find(
            "leaves-over-guideline",
            Severity.CRITICAL,
            f"this creates {over}",
            f"the limit of a level is {count(limits.LEAVES_PER_LEVEL.value)}",
            "choose a larger interval or fewer levels",
            confidence=Confidence.HIGH,
            source=limits.LEAVES_PER_LEVEL.source,
        )
        return
    excess = exceeds(s, "leaves-over-guideline", int(limits.LEAVES_PER_TABLE.value))
    if excess is not None:
        _too_many_leaves(s, excess[0], excess[1], limits.LEAVES_PER_TABLE, Severity.WARNING)
        return
    if table is None or not s.effect.leaves_created or not table.parts:
        return
    leaves = table.numbers[1]
    # a change is compared with the known maximum; otherwise a long script would count all
    # partitions again at every statement
    creates = s.effect.verb == "create"
    widest = max(
        len(table.parts),
        table.widest,
        *(len(p.children) for p in (table.relations() if creates else ())),
        0,
    )
    for amount, limit, severity in (
        (widest, limits.LEAVES_PER_LEVEL, Severity.CRITICAL),
        (leaves, limits.LEAVES_PER_TABLE, Severity.WARNING),
    ):
        if amount > limit.value:
            _too_many_leaves(s, table, amount, limit, severity)
            return


def _too_many_leaves(
    s: RuleContext, table: Table, amount: int, limit: limits.Limit, severity: Severity
) -> None:
    s.find(
        "leaves-over-guideline",
        severity,
        f"{table.title} has {plural(amount, 'leaf', 'leaves')} ({limit.note or limit.id}:"
        f" {count(limit.value)})",
        "planning time, locks and the catalogs of every instance grow with the number of leaves",
        "choose a larger interval or fewer levels",
        confidence=Confidence.HIGH,
        figures=(
            Figure("leaves", amount, "leaves", "derived"),
            Figure(limit.id, limit.value, limit.unit, "limit"),
        ),
        source=limit.source,
        relation=table.title,
    )


@rule("grain-too-fine")
def grain_too_fine(s: RuleContext) -> None:
    """One EVERY clause creates very many partitions.

    What it finds: a range that EVERY expands into more partitions than the setting `every_parts`.
    Why it matters: an almost empty partition has the same catalog rows, files and locks as a full
    one.
    How sure it is: the count is exact. The limit is a setting of this project.
    What to do: use the next larger interval. Daily partitions have seven times the catalog rows of
    weekly ones.
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
            f"{step} creates {plural(each, 'partition')} in this range",
            "an almost empty partition has the same catalog rows, files and locks as a full one",
            f"use an interval at least {ceil(each / s.settings.every_parts)} times as large;"
            f" the limit is {count(s.settings.every_parts)} partitions",
            at=bound.args["every"],
            confidence=Confidence.HIGH,
            figures=(
                Figure("partitions", each, "leaves", "derived"),
                Figure("every_parts", s.settings.every_parts, "leaves", "limit"),
            ),
            source="setting every_parts",
        )


@rule("level-cross-product")
def level_cross_product(s: RuleContext) -> None:
    """The levels of a table multiply its number of leaves.

    What it finds: tables with two or more levels that have more leaves than the setting
    `cross_leaves`.
    Why it matters: every value of one level exists below every value of the other, with or without
    rows.
    How sure it is: the count is exact.
    What to do: remove a level and use an index instead, or define subpartitions only for the
    partitions that need them.
    """
    table = s.effect.table
    if table is None or s.effect.verb != "create" or len(table.levels) < 2:
        return
    leaves = table.numbers[1]
    if leaves <= s.settings.cross_leaves:
        return
    sizes = [len(table.parts)]
    children = table.parts
    while children and children[0].children:
        sizes.append(max(len(p.children) for p in children))
        children = children[0].children
    s.find(
        "level-cross-product",
        Severity.WARNING,
        f"{' × '.join(count(n) for n in sizes)} partitions make {plural(leaves, 'leaf', 'leaves')}",
        "every value of one level exists below every value of the other, with or without rows",
        "remove a level, or define subpartitions only for the partitions that need them",
        confidence=Confidence.HIGH,
        figures=(Figure("leaves", leaves, "leaves", "derived"),),
        source="setting cross_leaves",
    )


@rule("columnar-file-explosion")
def columnar_file_explosion(s: RuleContext) -> None:
    """Many columns in many column-oriented leaves create very many files.

    What it finds: column-oriented tables that, when filled, have more files per segment than the
    setting `filled_columns`, or more files per host than the guideline of 100,000.
    Why it matters: the first row of a leaf creates one file per column on each segment. File
    systems, backup and recovery slow down with the number of files.
    How sure it is: high: the number of files was measured for one writer. Every concurrent writer
    adds as many again.
    What to do: use fewer leaves, row orientation for leaves with few rows, or column orientation
    for old leaves only.
    """
    table = s.effect.table
    if table is None or not s.effect.leaves_created or not table.columns:
        return
    if not table.known or not s.edition.greenplum:
        return
    try:
        each = relation_files(s.edition.name, table.shape(s.edition, Storage.AO_COLUMN), FILLED)
    except CatalogError:
        return  # this table cannot be column-oriented on this server
    segments_a_host = -(-s.settings.segments // s.settings.hosts)
    guide = limits.FILES_PER_HOST
    most = max(table.numbers[1], 1) * each
    if most <= s.settings.filled_columns and most * segments_a_host <= guide.value:
        return  # not exceeded even if every leaf were column-oriented
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
        f"{plural(columnar, 'column-oriented leaf', 'column-oriented leaves')} of"
        f" {plural(len(table.columns), 'column')} have {count(files)} files per segment and"
        f" {count(host)} per host when filled",
        "the first row of a leaf creates one file per column on each segment; every concurrent"
        " writer adds as many",
        "use fewer leaves, or row orientation for leaves with few rows",
        confidence=Confidence.HIGH,
        figures=(
            Figure("files a segment", files, "files", "derived"),
            Figure("files a host", host, "files", "derived"),
            Figure(guide.id, guide.value, guide.unit, "limit"),
        ),
        source=guide.source if over else "setting filled_columns",
    )
