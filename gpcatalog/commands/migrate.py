"""The command `gpcatalog migrate`: from a plan file to a folder of SQL."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.migration.request import Mode, Request, Runner
from gpcatalog.model.names import quote_ident

if TYPE_CHECKING:
    from gpcatalog.migration.operations import RefusedStep, TableMigration
    from gpcatalog.planner.plan import Plan, TablePlan
    from gpcatalog.probes.connection import Session


def read_plan(path: str) -> Plan:
    """The plan in a file. Raises CatalogError (2)."""
    import msgspec

    from gpcatalog.emit import plan_json
    from gpcatalog.planner.plan import SCHEMA

    try:
        raw = Path(path).read_bytes()
    except OSError as e:
        raise CatalogError(
            f"cannot read {path}: {e.strerror or e}",
            hint="`gpcatalog plan --format json -o FILE` writes one",
        ) from None
    try:
        return plan_json.read(raw)
    except plan_json.OtherSchema as e:
        raise CatalogError(
            (
                f"{path} is of schema {e}, {SCHEMA} is understood"
                if str(e)
                else f"{path} does not say that it is a plan"
            ),
            hint="plan again with this version: `gpcatalog plan --format json -o FILE`",
        ) from None
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as e:
        raise CatalogError(
            f"{path} is no plan: {e}", hint="`gpcatalog plan --format json -o FILE` writes one"
        ) from None


def _chosen(plan: Plan, only: set[str]) -> list[TablePlan]:
    """Tables with steps that `only` names, quoted or not, with the schema or without; all of them
    where it is empty.

    Raises CatalogError (2) for a name that no table of the plan has, or several.
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
                f"the plan has no table named {name}", hint=f"it has {known or 'none'}{more}"
            )
        if len(found) > 1:
            raise CatalogError(
                f"the plan has {len(found)} tables named {name}",
                hint=f"name the schema too: --table '{min(t.name for t in found)}'",
            )
    chosen = {t.name for tables_ in named.values() for t in tables_}
    return [table for table in plan.tables if table.steps and (not only or table.name in chosen)]


def _counts(session: Session, tables_: list[TablePlan]) -> dict[str, int]:
    """Rows of every leaf that a step names, counted now; a table whose count could run code of its
    owner is left out, and named.
    """
    from gpcatalog.model.names import qualified
    from gpcatalog.probes import tables

    found: dict[str, int] = {}
    for table in tables_:
        # names come from a plan file, and counting opens the leaves' indexes
        try:
            there = tables.countable(
                session, tables.named(session, qualified(table.schema, table.table))
            )
        except CatalogError as e:
            streams.say(f"not counted: {e.message}".encode("ascii", "backslashreplace").decode())
            streams.say(f"  hint: {e.hint}".encode("ascii", "backslashreplace").decode())
            continue
        for step in table.steps:
            for leaf in step.copied_leaves():
                name = qualified(leaf.schema, leaf.name)
                if (
                    name in there
                ):  # a leaf that is gone is refused later, with the step that names it
                    statement = (
                        f"/* gpcatalog:count */ SELECT pg_catalog.count(*) AS n FROM ONLY {name}"
                    )
                    found[name] = session.query(statement)[0]["n"]
    return found


def build(
    session: Session,
    plan: Plan,
    request: Request,
    *,
    count: bool = False,
    only: set[str] | None = None,
    growth: float = 1.5,
) -> tuple[dict[str, str], list[TableMigration], list[RefusedStep]]:
    """Texts of all files, the work in them, and what was refused.

    Raises CatalogError (4) when nothing is left to do.
    """
    from gpcatalog.capacity.limits import lock_slots
    from gpcatalog.migration.folder import Folder
    from gpcatalog.migration.operations import RefusedStep
    from gpcatalog.migration.translate import translate

    source = plan.source
    if session.server.generation != source.generation:
        raise CatalogError(
            f"the plan is for {source.product} {source.version}, this server is"
            f" {session.server.product} {session.server.version}",
            exit_code=Exit.REFUSED,
        )
    if session.target["dbname"] != source.database:
        raise CatalogError(
            f"the plan is for database {source.database}, this is {session.target['dbname']}",
            exit_code=Exit.REFUSED,
        )
    wanted = _chosen(plan, only or set())
    counts = _counts(session, wanted) if count else None
    slots = lock_slots({r["name"]: r["setting"] for r in session.rows("settings")})
    done: list[TableMigration] = []
    refused: list[RefusedStep] = []
    for table in wanted:
        found = translate(
            session.rows,
            session.server,
            plan.id,
            table,
            counts=counts,
            growth=growth,
            slots=slots,
            window=request.window,
        )
        if isinstance(found, RefusedStep):
            refused.append(found)
            continue
        refused += found.refused
        unsafe = session.rows("reachable_code", root=str(found.context.root.oid), ddl="true")
        found.reachable = tuple(
            (
                f"{r['function']} of {r['owner']}"
                if r["risk"] == "owner"
                else f"{r['function']}, a function of the server with side effects"
            )
            for r in unsafe
            if r["risk"] != "user-defined"
        )
        done.append(found)
    return Folder(plan, session.server, done, refused, request).files(), done, refused


def write(folder: Path, files: dict[str, str]) -> None:
    """Write the files, all of them or none.

    Raises CatalogError where the folder is not empty or cannot be written.
    """
    draft: Path | None = None
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CatalogError(
                f"{folder} is not empty", hint="name a new folder: files of two plans must not mix"
            )
        there = folder.is_dir()
        draft = (
            folder if there else folder.absolute().parent
        ) / f".{folder.absolute().name}.{os.getpid()}.partial"
        for name, text in files.items():
            place = draft / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        if there:
            for place in sorted(draft.iterdir()):
                os.replace(place, folder / place.name)
        else:
            os.replace(draft, folder)
        streams.kept.append(str(folder))
    except OSError as e:
        raise CatalogError(
            f"cannot write {folder}: {e.strerror or e}", hint="no file was left there"
        ) from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


_LOST_SHOWN = 5  # lines a table


def _say(line: str) -> None:
    """Report a line with names of a server in it, for a terminal of any encoding."""
    streams.say(line.encode("ascii", "backslashreplace").decode())


def migrate(
    plan: Annotated[
        str,
        typer.Argument(metavar="PLAN", help="A plan file: `gpcatalog plan --format json -o PLAN`."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="A new folder for the files.")
    ],
    conninfo: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="CONNINFO",
            help="The server, as psql takes it; default: server and role of the plan.",
            show_default=False,
        ),
    ] = "",
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help=(
                "locked: writers wait while leaves are copied; online: only while they are looked"
                " at again."
            ),
        ),
    ] = Mode.LOCKED,
    runner: Annotated[
        Runner, typer.Option("--runner", help="psql, or plain for anything that sends SQL.")
    ] = Runner.PSQL,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", metavar="TABLE", help="Only this table; may be repeated.", show_default=False
        ),
    ] = None,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help=(
                "Count the rows of leaves now; scripts stop where the number changed. Not as"
                " superuser on tables of others."
            ),
        ),
    ] = False,
    new_leaves: Annotated[
        bool,
        typer.Option(
            "--accept-new-leaves",
            help="Go on where the table has got or lost partitions that no step touches.",
        ),
    ] = False,
    growth: Annotated[
        float,
        typer.Option(
            "--growth",
            metavar="FACTOR",
            help="Stop where leaves have outgrown their planned bytes this many times.",
            min=1.0,
        ),
    ] = 1.5,
    lock_attempts: Annotated[
        int,
        typer.Option("--lock-attempts", metavar="N", help="How often a lock is tried for.", min=1),
    ] = 300,
    lock_wait: Annotated[
        int,
        typer.Option(
            "--lock-wait", metavar="MS", help="How long one try waits, and lets others wait.", min=1
        ),
    ] = 300,
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="TIME",
            help=(
                "Such as 4h: a run of the files begins no step that would not end in it (estimate)."
            ),
            show_default=False,
        ),
    ] = "",
    merge_partitions: Annotated[
        float,
        typer.Option(
            "--merge-partitions",
            metavar="SECONDS",
            help=(
                "PostgreSQL 19: MERGE PARTITIONS for merges of at most so long (estimate); readers"
                " wait all the while. 0: never."
            ),
            min=0.0,
        ),
    ] = 0.0,
    run_owner_code: Annotated[
        bool,
        typer.Option(
            "--run-owner-code",
            help=(
                "Let a superuser who runs the files run functions of the tables' owners. Off: they"
                " stop."
            ),
        ),
    ] = False,
) -> None:
    """Write the SQL of a plan: one file a table, with index, verification, rollback and clean-up.

    Reads the plan and, in a read-only session, the tables it names; changes nothing: you run the
    files. What cannot be done safely is refused with its reason, and the exit code is 4.

    Example: gpcatalog migrate plan.json -o sales-migration --server "host=mdw dbname=sales"
    """
    from gpcatalog.planner import policy
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo

    read = read_plan(plan)
    source = read.source
    _chosen(read, set(table or ()))  # a mistyped name is reported before a server is needed
    place = (
        {}
        if conninfo
        else {"host": source.host, "port": str(source.port), "dbname": source.database}
    )
    if not conninfo and not os.environ.get("PGUSER"):
        place["user"] = source.role
    if (
        place
        and os.environ.get("PGPASSWORD")
        and source.host
        and os.environ.get("PGHOST") != source.host
    ):
        raise CatalogError(
            f"the plan was made on host {source.host}, and PGPASSWORD would be sent there",
            hint="name the server: --server CONNINFO, or PGHOST",
        )
    try:
        seconds = policy.seconds(window) if window else None
    except ValueError as e:
        raise CatalogError(f"--window: {e}", exit_code=Exit.USAGE) from None
    request = Request(
        mode,
        runner,
        not new_leaves,
        lock_attempts,
        lock_wait,
        window=seconds,
        merge_seconds=merge_partitions,
        run_owner_code=run_owner_code,
    )
    with connect(
        as_conninfo(conninfo), timeouts=None, **{k: v for k, v in place.items() if v}
    ) as session:
        files, work, refused = build(
            session, read, request, count=count, only=set(table or ()), growth=growth
        )
    steps = sum(len(w.forward) for w in work)
    for r in refused:
        _say(f"refused: {r.table} {r.operation} {r.id}: {r.reason}")
    for w in work:
        lost = list(
            dict.fromkeys(line for change in w.forward for line in getattr(change, "lost", ()))
        )
        for line in lost[:_LOST_SHOWN]:
            _say(f"lost: {w.context.root.sql}: {line}")
        if len(lost) > _LOST_SHOWN:
            _say(
                f"lost: {w.context.root.sql}: {len(lost) - _LOST_SHOWN} more, behind LOST in its"
                " file"
            )
    if steps:
        write(Path(output), files)
        streams.say(
            f"{steps} steps of {sum(bool(w.forward) for w in work)} tables in {output}; start with"
            f" {output}/0000_prepare.sql"
        )
    if refused:
        raise CatalogError(
            f"{len(refused)} steps were refused"
            + (f"; the other {steps} are written" if steps else ""),
            hint="the reasons are above" + (" and in the index" if steps else ""),
            exit_code=Exit.REFUSED,
        )
    if not steps:
        streams.say("the plan has no steps: nothing was written")
