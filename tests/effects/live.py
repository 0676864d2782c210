"""Predictions of `gpcatalog check`, statement by statement, against what a live server does with the same files.

    python -m tests.effects.live CONNINFO FILE-OR-FOLDER... [--wrong N] [--unknown N] [--only TEXT]

Every file runs in a database of its own, which is dropped afterwards: connect as superuser to a server that nobody else uses. Of each
statement that the server accepts, the rows that it adds to pg_class and pg_attribute of the coordinator and of one segment, its leaves
and the files of relations (counted by rows of pg_class that have one) are compared with the prediction:

    equal    the prediction says that it is complete, and every figure is the server's
    unknown  the prediction says what it does not know
    wrong    the prediction says that it is complete, and a figure differs

Statements that the server refuses are counted, and change nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg

from gpcatalog.capacity.model import Instance
from gpcatalog.check.inputs import read
from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, Statement, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.schema_state import SchemaState
from tests.capacity.live import Connection, Live, own_database

CATALOGS = ("pg_class", "pg_attribute")
# statements that would reach beyond the database, or would not come back
_LEFT_OUT = re.compile(
    r"\s*(?:(?:create|drop|alter)\s+(?:database|tablespace|resource\s)|alter\s+system|load\b|checkpoint|reindex\s+(?:system|database)"
    r"|listen|set\s+gp_select_invisible|vacuum|analyze\s*;?\s*$|cluster\s*;?\s*$|lock\b|copy\b.*\bprogram\b|select\s+pg_(?:terminate|cancel|reload|sleep|rotate)\w*)",
    re.IGNORECASE | re.DOTALL,
)
Figures = dict[Instance, Counter[str]]


@dataclass
class Result:
    """How the statements of some files went: each with its place, text and what is to be said of it."""

    equal: int = 0
    refused: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    unknown: list[tuple[str, str, str]] = field(default_factory=list)
    # accepted by the server, not by the grammar
    unread: list[tuple[str, str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        return self.equal + len(self.wrong) + len(self.unknown) + len(self.unread)

    def line(self, name: str) -> str:
        number = max(self.accepted, 1)
        shown = [
            ("equal", self.equal),
            ("unknown", len(self.unknown)),
            ("wrong", len(self.wrong)),
            ("not read", len(self.unread)),
        ]
        return (
            f"{name:32}"
            + "".join(f"{what} {n:6} {100 * n / number:5.1f} %   " for what, n in shown)
            + f"refused by the server {self.refused}"
        )

    def add(self, other: Result) -> None:
        """Add those of another file."""
        self.equal += other.equal
        self.refused += other.refused
        self.wrong += other.wrong
        self.unknown += other.unknown
        self.unread += other.unread

    def report(self, wrong: int, unknown: int, only: str) -> None:
        """Print the first wrong predictions that contain `only`, the commonest reasons of unknown ones, and the sums."""
        for what, rows in (("wrong", self.wrong), ("not read", self.unread)):
            for place, text, said in [r for r in rows if only in " ".join(r)][:wrong]:
                print(f"{what}: {place}: {text}\n    {said}")
        for place, text, said in [r for r in self.unknown if only and only in " ".join(r)][
            :unknown
        ]:
            print(f"unknown: {place}: {text}\n    {said}")
        reasons = Counter(
            re.sub(r"\b(table|index|relation|view|parent|of) \S+", r"\1 …", said)
            for _, _, said in self.unknown
        )
        for said, n in reasons.most_common(unknown):
            print(f"unknown: {n:5} × {said}")
        print(self.line("all"))


def figures_query(classic: bool) -> str:
    """SQL for rows of the two catalogs, files (an unlogged relation has a second one) and leaves (tables that hold rows)."""
    leaves = "relkind IN ('r', 'm') AND oid >= 16384 AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname = 'pg_bitmapindex')"
    if classic:
        leaves += """ AND relstorage IN ('h', 'a', 'c') AND NOT EXISTS (SELECT 1 FROM pg_partition p WHERE p.parrelid = c.oid)
            AND NOT EXISTS (SELECT 1 FROM pg_partition_rule r JOIN pg_partition_rule k ON k.parparentrule = r.oid
                             WHERE r.parchildrelid = c.oid)"""
    files = "count(*) + count(*) FILTER (WHERE relpersistence = 'u')"
    stored = "pg_relation_filenode(oid) IS NOT NULL" + (
        " AND relstorage NOT IN ('x', 'f', 'v')" if classic else ""
    )
    queries = [f"SELECT count(*) FROM pg_catalog.{c}" for c in CATALOGS]
    queries += [
        f"SELECT {files} FROM pg_class WHERE {stored}",
        f"SELECT count(*) FROM pg_class c WHERE {leaves}",
    ]
    return "SELECT " + ", ".join(f"({query})" for query in queries)


FIGURES = (*CATALOGS, "files", "leaves")


def counted(live: Live) -> Figures:
    """Figures of the coordinator, as the working session sees them, and of one segment."""
    query = figures_query(live.generation == "gp6")
    found: Figures = {}
    places: list[tuple[Instance, Connection]] = [(Instance.COORDINATOR, live.work)]
    places += [(Instance.SEGMENT, conn) for content, conn in live.instances.items() if content == 0]
    for instance, conn in places:
        row = conn.execute(query.encode()).fetchone()
        assert row is not None
        found[instance] = Counter({c: int(str(n)) for c, n in zip(FIGURES, row, strict=True)})
    return found


def predicted(effect: Effect, edition: Edition, instance: Instance) -> Counter[str]:
    """The same figures by the prediction."""
    found = effect.rows(edition, instance)
    found["files"] = effect.files(edition, instance=instance)
    found["leaves"] = effect.leaves_made - effect.leaves_gone
    return found


def off(
    before: Figures, after: Figures, wanted: Figures, *, whole: bool
) -> dict[str, tuple[int, int]]:
    """What differs, as (predicted, counted); within a transaction the coordinator alone can be counted."""
    found = {}
    for instance, now in after.items():
        if instance is Instance.SEGMENT and not whole:
            continue
        for catalog in (
            FIGURES if instance is Instance.COORDINATOR else FIGURES[:-1]
        ):  # segments do not know which table is a partition
            made, said = now[catalog] - before[instance][catalog], wanted[instance][catalog]
            if made != said:
                found[
                    f"{catalog} {'coordinator' if instance is Instance.COORDINATOR else 'segment'}"
                ] = (said, made)
    return found


def one(
    live: Live, state: SchemaState, edition: Edition, statement: Statement, result: Result
) -> None:
    """One statement: run, counted and compared."""
    text = statement.text
    if _LEFT_OUT.match(text):
        return
    status = live.work.info.transaction_status
    before = counted(live) if status != psycopg.pq.TransactionStatus.INERROR else {}
    inside = status != psycopg.pq.TransactionStatus.IDLE
    try:
        if statement.words[:1] == ("copy",) and re.search(
            r"\bstd(?:in|out)\b", text, re.IGNORECASE
        ):
            return  # its data is not in the statement
        live.work.execute(text.encode())
    except psycopg.OperationalError as e:
        if live.work.closed:
            raise ConnectionError(f"{statement.place}: {e}") from None
        result.refused += 1
        return
    except Exception as e:
        result.refused += 1
        result.refusals.append(f"{statement.place}: {e}")
        if before and not inside and statement.tree is not None and counted(live) != before:
            state.apply(statement.tree)  # CREATE INDEX CONCURRENTLY leaves its index behind
        return
    if (
        not before
    ):  # the transaction had failed: this statement ends it, or goes back to a savepoint
        (ended,) = statements(
            Source(text if "to" in statement.words or "savepoint" in text.lower() else "ROLLBACK"),
            (edition,),
        )
        if ended.tree is not None:
            state.apply(ended.tree)
        return
    place = (str(statement.place), " ".join(text.split())[:300])
    if statement.tree is None:
        result.unread.append((*place, str(statement.fault.message if statement.fault else "")))
        return
    effect = state.apply(statement.tree, rolled_back=True)
    whole = not inside and live.work.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    after = counted(live)
    wanted = {instance: predicted(effect, edition, instance) for instance in after}
    differences = off(before, after, wanted, whole=whole)
    if effect.unknown:
        result.unknown.append((*place, "; ".join(effect.unknown)))
    elif differences and not (
        inside and statement.words[0] in ("commit", "end", "rollback", "abort")
    ):
        result.wrong.append(
            (*place, ", ".join(f"{k} {a}:{b}" for k, (a, b) in differences.items()))
        )
    else:
        result.equal += 1


def begin(live: Live) -> None:
    """Settings with which predictions are made, and limits for statements that would not end."""
    for setting in (
        "client_min_messages = error",
        "TimeZone = 'UTC'",
        "statement_timeout = '20s'",
        "lock_timeout = '5s'",
    ):
        live.work.execute(f"SET {setting}".encode())


def run(dsn: str, file: Path) -> Result:
    """All statements of one file in a new database."""
    result = Result()
    source = read(file)
    with own_database(dsn, "gpcatalog_ddl_live") as live:
        (edition,) = editions(live.generation)
        costs = cost_edition(edition)
        state = SchemaState(costs, ZoneInfo("UTC"))
        begin(live)
        for statement in statements(source, (edition,)):
            try:
                one(live, state, costs, statement, result)
            except ConnectionError as e:
                print(f"{file.name}: the connection broke: {e}", file=sys.stderr)
                break
    return result


def files(names: list[str]) -> Iterator[Path]:
    for name in map(Path, names):
        yield from (
            sorted(p for p in name.rglob("*.sql") if p.is_file()) if name.is_dir() else [name]
        )


def main(about: str, run: Callable[[str, Path], Result]) -> None:
    """The command line: run files one by one and report; about: what `--help` says."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("conninfo")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--wrong", type=int, default=20, help="wrong predictions to show")
    parser.add_argument("--unknown", type=int, default=10, help="reasons of unknown ones to show")
    parser.add_argument("--only", default="", help="show those alone that contain this")
    given = parser.parse_args()
    total = Result()
    for file in files(given.files):
        try:
            found = run(given.conninfo, file)
        except Exception as e:  # a file must not end the others
            print(f"{file}: {type(e).__name__}: {e}", file=sys.stderr)
            continue
        print(found.line(file.name), flush=True)
        total.add(found)
    total.report(given.wrong, given.unknown, given.only)
    sys.exit(1 if total.wrong or total.unread else 0)


if __name__ == "__main__":
    main((__doc__ or "").splitlines()[0], run)
