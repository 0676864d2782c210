"""Predictions of `gpcatalog check`, statement by statement, against what a live server does with the same files.

    python -m tests.effects.live CONNINFO FILE-OR-FOLDER... [--wrong N] [--unknown N] [--only TEXT]

Every file runs in a separate database, which is dropped afterwards. Connect as superuser to a server that nobody else uses. For each
statement that the server accepts, these figures are compared with the prediction: the rows that it adds to pg_class and pg_attribute on
the coordinator and on one segment, its leaves, and the files of relations (counted as rows of pg_class that have one). Rows of the other
catalogs of the cost model are compared, too, unless the prediction states that some of them are not counted. The results are:

    equal    the prediction is complete, and every figure equals that of the server
    unknown  the prediction states what is unknown
    wrong    the prediction is complete, and a figure differs

Statements that the server rejects are counted, and change nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from gpcatalog.capacity.model import Instance
from gpcatalog.check.inputs import read
from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, Statement, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.created_later import CreatedLater
from gpcatalog.effects.effect import REJECTED, Effect
from gpcatalog.effects.schema_state import SchemaState
from tests.capacity.live import Connection, Live, own_database
from tests.recorded import Recording

CATALOGS = ("pg_class", "pg_attribute")
_ALL = """pg_index pg_constraint pg_type pg_depend pg_attrdef pg_inherits pg_rewrite pg_trigger""".split()
_POSTGRES = [*_ALL, "pg_partitioned_table", "pg_sequence"]
_GREENPLUM = ["pg_appendonly", "pg_attribute_encoding", "gp_distribution_policy"]
_CLASSIC = ["pg_partition", "pg_partition_rule", "pg_partition_encoding"]
# statements that would affect more than the database, or would not end
_LEFT_OUT = re.compile(
    r"\s*(?:(?:create|drop|alter)\s+(?:database|tablespace|resource\s)|alter\s+system|load\b|checkpoint|reindex\s+(?:system|database)"
    r"|listen|set\s+gp_select_invisible|vacuum|analyze\s*;?\s*$|cluster\s*;?\s*$|lock\b|copy\b.*\bprogram\b|select\s+pg_(?:terminate|cancel|reload|sleep|rotate)\w*)",
    re.IGNORECASE | re.DOTALL,
)
Figures = dict[Instance, Counter[str]]


@dataclass
class Result:
    """The results of the statements of some files: each statement with its place, text and a message."""

    equal: int = 0
    refused: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    unknown: list[tuple[str, str, str]] = field(default_factory=list)
    # accepted by the server, not by the grammar
    unread: list[tuple[str, str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    # predictions of statements that the server accepted
    said: list[str] = field(default_factory=list)

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
        """Add the results of another file."""
        self.equal += other.equal
        self.refused += other.refused
        self.wrong += other.wrong
        self.unknown += other.unknown
        self.unread += other.unread

    def report(self, wrong: int, unknown: int, only: str) -> None:
        """Print the first wrong predictions that contain `only`, the most common reasons of unknown ones, and the totals."""
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


def other_catalogs(generation: str) -> list[str]:
    """The catalogs of the cost model other than pg_class and pg_attribute."""
    if generation == "gp6":
        return [*_ALL, *_GREENPLUM, *_CLASSIC]
    return [*_POSTGRES, *_GREENPLUM, "gp_partition_template"] if generation == "gp7" else _POSTGRES


def figures_query(generation: str, *, others: bool = True) -> str:
    """SQL that counts rows of pg_class and pg_attribute, files, leaves and rows of the other catalogs.

    An unlogged relation has a second file. Leaves are tables that hold rows.
    """
    classic = generation == "gp6"
    leaves = "relkind IN ('r', 'm') AND oid >= 16384 AND relname !~ '^pg_bm_\\d+'"
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
    if others:
        queries += [f"SELECT count(*) FROM pg_catalog.{c}" for c in other_catalogs(generation)]
    return "SELECT " + ", ".join(f"({query})" for query in queries)


FIGURES = (*CATALOGS, "files", "leaves")


def counted(live: Live) -> Figures:
    """Counted figures of the coordinator, as the working session sees them, and of one segment."""
    query = figures_query(live.generation)
    names = (*FIGURES, *other_catalogs(live.generation))
    found: Figures = {}
    places: list[tuple[Instance, Connection]] = [(Instance.COORDINATOR, live.work)]
    places += [(Instance.SEGMENT, conn) for content, conn in live.instances.items() if content == 0]
    for instance, conn in places:
        row = conn.execute(query.encode()).fetchone()
        assert row is not None
        found[instance] = Counter({c: int(str(n)) for c, n in zip(names, row, strict=True)})
    return found


def predicted(effect: Effect, edition: Edition, instance: Instance) -> Counter[str]:
    """The same figures from the prediction."""
    found = effect.rows(edition, instance)
    found["files"] = effect.files(edition, instance=instance)
    found["leaves"] = effect.leaves_created - effect.leaves_removed
    return found


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The observed effect of one statement on a server.

    outcome: "accepted"; "refused"; "refused in part" (a part of its effect remains); "ended" (the transaction had failed: the statement
             ends it, or rolls back to a savepoint)
    inside:  the statement ran in a transaction that had begun before
    whole:   no transaction was open before or after, so segments could be counted, too
    made:    {"coordinator" or "segment": {figure: difference}} of accepted statements; unchanged figures are left out
    others:  the same for the other catalogs; None if they were not counted
    """

    text: str
    outcome: str
    inside: bool = False
    whole: bool = False
    made: dict[str, dict[str, int]] = field(default_factory=dict)
    others: dict[str, dict[str, int]] | None = None
    refusal: str = ""


def observe(live: Live, text: str, known: Figures) -> Observation:
    """Run a statement and count its changes. Raises ConnectionError when the server ends the session.

    known: the figures before the statement, if the caller has them; replaced by those after it, if they were counted
    """
    idle, failed = psycopg.pq.TransactionStatus.IDLE, psycopg.pq.TransactionStatus.INERROR
    status = live.work.info.transaction_status
    before = (dict(known) or counted(live)) if status != failed else {}
    inside = status != idle
    known.clear()
    try:
        live.work.execute(text.encode())
    except Exception as e:
        if isinstance(e, psycopg.OperationalError) and live.work.closed:
            raise ConnectionError(str(e)) from None
        # a failed CREATE INDEX CONCURRENTLY leaves its index behind
        if before and not inside:
            known.update(counted(live))
        part = bool(known) and known != before
        return Observation(
            text=text, outcome="refused in part" if part else "refused", refusal=str(e)
        )
    if not before:
        return Observation(text=text, outcome="ended")
    known.update(counted(live))
    made: dict[str, dict[str, int]] = {}
    others: dict[str, dict[str, int]] = {}
    for instance, now in known.items():
        changed = {c: d for c, n in now.items() if (d := n - before[instance][c])}
        name = instance.name.lower()
        made[name] = {c: d for c, d in changed.items() if c in FIGURES}
        others[name] = {c: d for c, d in changed.items() if c not in FIGURES}
    whole = not inside and live.work.info.transaction_status == idle
    return Observation(
        text=text, outcome="accepted", inside=inside, whole=whole, made=made, others=others
    )


def off(found: Observation, wanted: Figures, generation: str = "") -> dict[str, tuple[int, int]]:
    """Figures that differ, as (predicted, counted); within a transaction, only the coordinator can be counted.

    generation: if given, the other catalogs are compared, too, if they were counted
    """
    differences = {}
    for name, made in found.made.items():
        instance = Instance[name.upper()]
        if instance is Instance.SEGMENT and not found.whole:
            continue
        # segments do not know which table is a partition
        figures = [*(FIGURES if instance is Instance.COORDINATOR else FIGURES[:-1])]
        if generation and found.others is not None:
            figures += other_catalogs(generation)
            made = made | found.others[name]
        for figure in figures:
            counted_now = made.get(figure, 0)
            if counted_now != wanted[instance][figure]:
                differences[f"{figure} {name}"] = (wanted[instance][figure], counted_now)
    return differences


def described(effect: Effect, edition: Edition) -> str:
    """A prediction as one line of text; rows of catalogs other than pg_class and pg_attribute as a checksum."""
    words = [effect.verb or "nothing", effect.table.title if effect.table is not None else ""]
    for instance in Instance:
        rows = effect.rows(edition, instance)
        named = [f"{catalog[3:]}{rows.pop(catalog):+}" for catalog in CATALOGS if catalog in rows]
        rest = zlib.crc32(repr(sorted(rows.items())).encode()) if rows else 0
        files = [
            effect.files(edition, filled=filled, instance=instance) for filled in (False, True)
        ]
        words.append(
            f"{instance.value}: {' '.join(named)} {rest:x} files {files[0]:+}/{files[1]:+},"
        )
    words.append(f"leaves +{effect.leaves_created}-{effect.leaves_removed} locks {effect.locks}")
    words += ["exclusive"] * effect.exclusive + ["rewritten"] * effect.rewritten
    words += [f"may exist: {sorted(effect.may_exist)}"] * bool(effect.may_exist)
    words += [f"{len(effect.parts)} parts"] * bool(effect.parts)
    words += [f"minor: {sorted(set(effect.minor))}"] * bool(effect.minor)
    words += [f"unknown: {effect.unknown}"] * bool(effect.unknown)
    return " ".join(" ".join(words).split())


def compare(
    found: Observation,
    statement: Statement,
    state: SchemaState,
    edition: Edition,
    result: Result,
) -> None:
    """Predict the effect of a statement and compare it with the observed effect."""
    place = (str(statement.place), " ".join(statement.text.split())[:300])
    if found.outcome.startswith("refused"):
        result.refused += 1
        result.refusals.append(f"{statement.place}: {found.refusal}")
        if found.outcome == "refused in part" and statement.tree is not None:
            state.apply(statement.tree)
        return
    if found.outcome == "ended":
        back = "to" in statement.words or "savepoint" in statement.text.lower()
        (ended,) = statements(Source(statement.text if back else "ROLLBACK"), (edition,))
        if ended.tree is not None:
            state.apply(ended.tree)
        return
    if statement.tree is None:
        result.unread.append((*place, str(statement.fault.message if statement.fault else "")))
        return
    effect = state.apply(statement.tree, rolled_back=True)
    wanted = {
        instance: predicted(effect, edition, instance)
        for instance in (Instance[name.upper()] for name in found.made)
    }
    differences = off(found, wanted, "" if effect.minor else edition.name)
    result.said.append(described(effect, edition))
    ends = found.inside and statement.words[0] in ("commit", "end", "rollback", "abort")
    if any(reason.startswith(REJECTED) for reason in effect.unknown):
        result.wrong.append((*place, f"accepted, but {effect.unknown}"))
    elif effect.unknown:
        result.unknown.append((*place, "; ".join(effect.unknown)))
    elif differences and not ends:
        said = ", ".join(f"{k} {a}:{b}" for k, (a, b) in differences.items())
        result.wrong.append((*place, said))
    else:
        result.equal += 1


def left_out(statement: Statement) -> bool:
    """Whether a statement would affect more than the database, would not end, or is a COPY from stdin or to stdout."""
    text = statement.text
    data = re.search(r"\bstd(?:in|out)\b", text, re.IGNORECASE)
    return bool(_LEFT_OUT.match(text) or (statement.words[:1] == ("copy",) and data))


def begin(live: Live) -> None:
    """Set the settings that predictions assume, and timeouts for statements that would not end."""
    for setting in (
        "client_min_messages = error",
        "TimeZone = 'UTC'",
        "statement_timeout = '20s'",
        "lock_timeout = '5s'",
    ):
        live.work.execute(f"SET {setting}".encode())


def run(dsn: str, file: Path, recording: Recording | None = None) -> Result:
    """Run and compare all statements of one file in a new database."""
    source = read(file)
    with own_database(dsn, "gpcatalog_ddl_live") as live:
        begin(live)
        return follow(live, source, recording)


def follow(live: Live, source: Source, recording: Recording | None = None) -> Result:
    """Run and compare all statements of one text in a session."""
    result = Result()
    (edition,) = editions(live.generation)
    costs = cost_edition(edition)
    state = SchemaState(costs, ZoneInfo("UTC"))
    state.created_later = CreatedLater(source)
    known: Figures = {}
    for statement in statements(source, (edition,)):
        if left_out(statement):
            continue
        try:
            found = observe(live, statement.text, known)
            if recording is not None and found.outcome != "refused":
                recording.add({k: v for k, v in vars(found).items() if v})
            compare(found, statement, state, costs, result)
        except ConnectionError as e:
            print(f"{statement.place}: the session ended: {e}", file=sys.stderr)
            break
    return result


def replay(entries: list[dict[str, Any]], generation: str) -> Result:
    """The same comparison with recorded results; needs no server."""
    result = Result()
    (edition,) = editions(generation)
    costs = cost_edition(edition)
    state = SchemaState(costs, ZoneInfo("UTC"))
    state.created_later = CreatedLater(Source(";\n".join(entry["text"] for entry in entries)))
    for number, entry in enumerate(entries):
        found = Observation(**entry)
        (statement,) = statements(Source(found.text, f"statement {number + 1}"), (edition,))
        compare(found, statement, state, costs, result)
    return result


def files(names: list[str]) -> Iterator[Path]:
    for name in map(Path, names):
        yield from (
            sorted(p for p in name.rglob("*.sql") if p.is_file()) if name.is_dir() else [name]
        )


def main(about: str, run: Callable[[str, Path], Result]) -> None:
    """The command line: run files one by one and report the results. about: the text of `--help`."""
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
        except Exception as e:  # an error in one file must not prevent the others
            print(f"{file}: {type(e).__name__}: {e}", file=sys.stderr)
            continue
        print(found.line(file.name), flush=True)
        total.add(found)
    total.report(given.wrong, given.unknown, given.only)
    sys.exit(1 if total.wrong or total.unread else 0)


if __name__ == "__main__":
    main((__doc__ or "").splitlines()[0], run)
