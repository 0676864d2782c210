"""The SQL of a plan for a live server."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.migration.request import Request
from gpcatalog.model.names import quote_ident
from gpcatalog.services.notify import Notify, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from gpcatalog.migration.operations import RefusedStep, TableMigration
    from gpcatalog.planner.plan import Plan, TablePlan
    from gpcatalog.probes.by_table import ByTable
    from gpcatalog.probes.connection import Session

_T = TypeVar("_T")

MANY_LEAVES = 2_000
"""Number of leaves of a plan from which a second session is used. Opening it takes 0.01 s, and its
first statements read the catalogs into empty caches; reading 1,000 leaves takes 0.2 s.
"""


def chosen_tables(plan: Plan, only: set[str]) -> list[TablePlan]:
    """Tables with steps that `only` names, quoted or not, with or without the schema; all of them
    if it is empty.

    Raises CatalogError (2) for a name that matches no table of the plan, or several.
    """
    named: dict[str, list[TablePlan]] = {name: [] for name in only}
    for table in plan.tables:
        for name in {
            table.name,
            f"{table.schema}.{table.table}",
            table.table,
            quote_ident(table.table),
        } & only:
            named[name].append(table)
    for name, found in sorted(named.items()):
        if not found:
            known = ", ".join(t.name for t in plan.tables[:3])
            more = " …" if len(plan.tables) > 3 else ""
            raise CatalogError(
                f"the plan has no table {name}",
                hint=(f"tables of the plan: {known or 'none'}{more}"),
            )
        if len(found) > 1:
            raise CatalogError(
                f"the plan has {len(found)} tables with the name {name}",
                hint=f"give the schema too: --table '{min(t.name for t in found)}'",
            )
    chosen = {t.name for tables_ in named.values() for t in tables_}
    return [table for table in plan.tables if table.steps and (not only or table.name in chosen)]


def _in_order(tables_: Iterable[TablePlan]) -> list[TablePlan]:
    """Sort tables by the catalog rows that their steps remove per second, the most first (estimates
    of the plan).
    """
    return sorted(
        tables_,
        key=lambda t: (
            -sum(s.gain.rows for s in t.steps) / max(sum(s.cost.seconds for s in t.steps), 0.01)
        ),
    )


def _counts(session: Session, tables_: list[TablePlan], notify: Notify) -> dict[str, int]:
    """Count the rows of every leaf that a step names. A table whose count could run code of its
    owner is left out and reported.
    """
    from gpcatalog.model.names import qualified
    from gpcatalog.probes import tables

    found: dict[str, int] = {}
    for table in tables_:
        # names are from a plan file, and counting opens the indexes of the leaves
        try:
            there = tables.countable(
                session, tables.named(session, qualified(table.schema, table.table))
            )
        except CatalogError as e:
            notify(
                f"rows are not counted: {e.message}".encode("ascii", "backslashreplace").decode()
            )
            notify(f"  hint: {e.hint}".encode("ascii", "backslashreplace").decode())
            continue
        for step in table.steps:
            for leaf in step.copied_leaves():
                name = qualified(leaf.schema, leaf.name)
                if name in there:  # a missing leaf is refused later, with the step that names it
                    statement = (
                        f"/* gpcatalog:count */ SELECT pg_catalog.count(*) AS n FROM ONLY {name}"
                    )
                    found[name] = session.query(statement)[0]["n"]
    return found


def _unsafe(probes: ByTable, found: TableMigration) -> tuple[str, ...]:
    """Code of other roles that the migration of a table would run. Raises ProbeFailed."""
    return tuple(
        (
            f"{r['function']} of {r['owner']}"
            if r["risk"] == "owner"
            else f"{r['function']}, a built-in function with side effects"
        )
        for r in probes.rows("reachable_code", root=str(found.context.root.oid), ddl="true")
        if r["risk"] != "user-defined"
    )


def _side_by_side(
    probes: ByTable, work: Callable[[TablePlan], _T], tables_: list[TablePlan], at_once: int
) -> Iterator[_T]:
    """Yield the result of `work` for each table, in their order. While the server reads one table,
    this process works on another one.
    """
    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(work, tables_)
    except BaseException:
        probes.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _translated(
    session: Session,
    plan: Plan,
    tables: list[TablePlan],
    *,
    counts: dict[str, int] | None,
    growth: float,
    slots: int | None,
    window: float | None,
    at_once: int,
) -> Iterator[TableMigration | RefusedStep]:
    """Yield the operations of each table, or the reason why there are none. For a large plan, each
    table is read by a separate session, if the server has a free connection.
    """
    from gpcatalog.migration.operations import RefusedStep
    from gpcatalog.migration.translate import translate
    from gpcatalog.probes.by_table import ByTable
    from gpcatalog.probes.connection import ProbeFailed

    sessions = [session]

    def work(table: TablePlan) -> TableMigration | RefusedStep:
        try:
            found = translate(
                probes.rows,
                session.server,
                plan.id,
                table,
                counts=counts,
                growth=growth,
                slots=slots,
                window=window,
            )
            if not isinstance(found, RefusedStep):
                found.reachable = _unsafe(probes, found)
            return found
        except ProbeFailed as e:
            return RefusedStep("", table.name, "table", f"it could not be read: {e.reason}")

    with contextlib.ExitStack() as more:
        if sum(table.leaves for table in tables) >= MANY_LEAVES:
            for _ in tables[1:at_once]:
                with contextlib.suppress(ProbeFailed):
                    sessions.append(more.enter_context(session.fresh()))
        probes = ByTable(sessions, (table.oid for table in tables))
        yield from _side_by_side(probes, work, tables, at_once)


def write_migration(
    session: Session,
    plan: Plan,
    request: Request,
    *,
    count: bool = False,
    only: set[str] | None = None,
    growth: float = 1.5,
    at_once: int = 2,
    notify: Notify = silent,
) -> tuple[Generator[tuple[str, Iterable[str]]], list[TableMigration], list[RefusedStep]]:
    """Return name and text of each file in pieces, the operations in them, and the refused steps.

    Tables are read while the files of other tables are generated, on demand: both lists are
    complete after the last file.

    count: count the rows of the leaves now; only: names of tables, empty for all; growth: how far
    leaves may outgrow their planned bytes; at_once: tables that are translated at the same time;
    notify: called with a line about what was not counted Raises CatalogError: 2 for a name in
    `only` that is not in the plan, 4 if the server or database is not that of the plan.
    """
    from gpcatalog.capacity.limits import lock_slots
    from gpcatalog.migration.folder import Folder

    source = plan.source
    if session.server.generation != source.generation:
        raise CatalogError(
            f"the plan is for {source.product} {source.version}, but this server is"
            f" {session.server.product} {session.server.version}",
            exit_code=Exit.REFUSED,
        )
    if session.target["dbname"] != source.database:
        raise CatalogError(
            (
                f"the plan is for database {source.database}, but the connection is to"
                f" {session.target['dbname']}"
            ),
            exit_code=Exit.REFUSED,
        )
    tables = chosen_tables(plan, only or set())
    counts = _counts(session, tables, notify) if count else None
    slots = lock_slots({r["name"]: r["setting"] for r in session.rows("settings")})
    translated = _translated(
        session,
        plan,
        _in_order(tables),
        counts=counts,
        growth=growth,
        slots=slots,
        window=request.window,
        at_once=at_once,
    )
    folder = Folder(plan, session.server, request)
    return folder.files(translated), folder.work, folder.refused
