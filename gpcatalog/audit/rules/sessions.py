"""Rules about the start and the memory of sessions, and the age of transactions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from gpcatalog.audit.places import where
from gpcatalog.audit.report import Age, Report
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.audit.statement_times import EXCLUSIVE
from gpcatalog.capacity import limits, session_start, wraparound
from gpcatalog.capacity.limits import MIB
from gpcatalog.capacity.memory import OPERATOR_BYTES, OTHER_OPERATORS
from gpcatalog.model import generations
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.names import listed
from gpcatalog.model.quantity import count, duration, plural, size


def _repair(report: Report) -> str:
    cluster = "CLUSTER pg_catalog.pg_attribute USING pg_attribute_relid_attnum_index"
    locks = "locks pg_attribute for about as long as VACUUM FULL of it"
    if not report.server.segments:
        return f"as superuser, at a quiet time: SET lock_timeout = '60s'; {cluster} (it {locks})"
    return (
        "run the script that `gpcatalog audit --maintenance FILE` writes: it prints the command for"
        f" each instance ({cluster} in utility mode; it {locks})"
    )


@rule("bootstrap-rows-displaced", Harm.SLOW)
def bootstrap_rows_displaced(report: Report) -> Iterator[Finding]:
    """Sessions start slowly because the rows that they need first are at the end of pg_attribute.

    What it finds: instances where a session start reads more than 16 MB of pg_attribute; with rows
    in order it reads 1.0 to 1.6 MB. From 160 MB on it is a warning.
    Why it matters: a session that finds no valid pg_internal.init scans pg_attribute from the front
    for eleven relations. Every VACUUM or REINDEX of a catalog makes that file invalid, and on
    Greenplum each query process on each segment is a session. VACUUM FULL of pg_attribute can move
    these rows to the end when another scan is in progress; they stay there.
    How sure it is: the pages are counted, and equal to the blocks that the servers themselves count
    (PostgreSQL 15, 18, 19, Greenplum 6, 7). Milliseconds are an estimate for pages in memory;
    `gpcatalog latency --startup` measures an upper bound.
    What to do: run the script of `gpcatalog audit --maintenance FILE`. It sets synchronize_seqscans
    = off before VACUUM FULL. On PostgreSQL it also runs CLUSTER pg_attribute USING
    pg_attribute_relid_attnum_index, which moves the rows to the front; on Greenplum it prints that
    command for each instance.
    """
    starts = report.session_starts or ()
    slow = [s for s in starts if s.bytes >= limits.BOOTSTRAP_ROWS_DISPLACED.value]
    if not slow:
        return
    worst = max(slow, key=lambda s: (s.bytes, -s.content))
    low, high = session_start.milliseconds(worst.bytes)
    severe = worst.bytes >= limits.BOOTSTRAP_ROWS_SLOW.value
    limit = size(limits.BOOTSTRAP_ROWS_DISPLACED.value)
    others = f"{len(slow)} of {plural(len(starts), 'instance')} exceed {limit}. "
    yield Finding(
        rule="bootstrap-rows-displaced",
        severity=Severity.WARNING if severe else Severity.NOTICE,
        confidence=Confidence.HIGH,
        title=(
            f"a session start reads {size(worst.bytes)} of pg_attribute on"
            f" {where(worst.content, report)}: the rows that it needs first are not in front"
        ),
        detail=(
            (others if report.server.segments else "")
            + f"{count(worst.pages)} pages, about {low:.0f} to {high:.0f} ms for each start without"
            f" pg_internal.init (estimate; {session_start.SOURCE})."
        ),
        remedy=_repair(report),
        relations=("pg_catalog.pg_attribute",),
        relations_total=1,
        figures=(
            Figure("bytes read at a start", worst.bytes, "bytes", "derived"),
            Figure("limit", limits.BOOTSTRAP_ROWS_DISPLACED.value, "bytes", "limit"),
            Figure("time, lowest", round(low, 1), "ms", "estimate"),
            Figure("time, highest", round(high, 1), "ms", "estimate"),
        ),
        source=limits.BOOTSTRAP_ROWS_DISPLACED.source,
        content=worst.content,
    )


TEMPLATE = " (allow connections to template0 for this, and forbid them again afterwards)"
NAMED = 10  # databases that the remedy lists


def _holder_remedy(report: Report, worst: Age) -> str:
    """The remedy for what prevents VACUUM from freezing on that instance: end the oldest
    transaction if it is about as old; "" if there is none, and on a standby, which shows only its
    own sessions.
    """
    if report.server.standby:
        return ""
    old = [
        h
        for h in report.holders
        if h.content in (worst.content, -1) and (h.xid_age or 0) >= worst.xid_age // 2
    ]
    if not old:
        return ""
    oldest = max(old, key=lambda h: h.xid_age or 0)
    return f"end {oldest.holder} {oldest.name} ({plural(oldest.xid_age or 0, 'transaction')} old), then "


@rule("transactions-age", Harm.OUTAGE)
def transactions_age(report: Report) -> Iterator[Finding]:
    """The oldest transaction or multixact of a database is too old.

    What it finds: instances with a database whose datfrozenxid or datminmxid is older than twice
    the age at which autovacuum freezes, or, on Greenplum 6 and on Greenplum 7 without autovacuum,
    than half of the age at which the server warns. From the age of the server's warning on, it is
    critical. Every instance is checked: segments count transactions of their own.
    Why it matters: near 2 billion, the instance refuses new transactions, and with it the cluster.
    How sure it is: read from pg_database of every instance. Greenplum 6 has no function for the age
    of multixacts.
    What to do: end old transactions, commit or roll back prepared transactions, drop unused slots,
    then run vacuumdb --freeze on the database. A database that does not allow connections
    (template0) must allow them meanwhile. If the server refuses new ones already, act at once on
    all databases that the finding names: VACUUM without FULL and FREEZE on PostgreSQL. On
    Greenplum, lower xid_stop_limit for the time of VACUUM FREEZE.
    """
    databases = [a for a in report.ages or () if a.kind == "database"]
    kinds = (
        ("transaction", wraparound.transactions(report.server.generation, report.settings), {a: a.xid_age for a in databases}),
        ("multixact", wraparound.multixacts(report.server.generation, report.settings),
         {a: a.multixact_age for a in databases if a.multixact_age is not None}),
    )  # fmt: skip
    for word, found, ages in kinds:
        threshold = found.finding
        old = {a: n for a, n in ages.items() if n >= threshold}
        if not old:
            continue
        worst, age = max(old.items(), key=lambda pair: (pair[1], -pair[0].content, pair[0].name))
        refused = sorted({a.name for a, n in old.items() if n >= found.stop})
        yield Finding(
            rule="transactions-age",
            severity=Severity.CRITICAL if age >= found.warn else Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"the oldest {word} of database {worst.name} on {where(worst.content, report)} is"
                f" {plural(age, word)} old; "
                + (
                    f"the server refuses new ones (limit {count(found.stop)})"
                    if refused
                    else f"from {count(found.stop)} on, the server refuses new ones"
                )
            ),
            detail=_detail(report, worst, old, word),
            remedy=(
                _remedy_of_refused(report, worst, refused, word)
                if refused
                else (_holder_remedy(report, worst) if word == "transaction" else "")
                + f"run vacuumdb --freeze {shlex.quote(worst.name)} at a quiet time"
                + (TEMPLATE if worst.name == "template0" else "")
            ),
            figures=(
                Figure("age", age, f"{word}s", "measured"),
                Figure("finding from", threshold, f"{word}s", "limit"),
                Figure("server warns from", found.warn, f"{word}s", "limit"),
                Figure("server refuses from", found.stop, f"{word}s", "limit"),
            ),
            source=found.source,
            content=worst.content,
        )


def _remedy_of_refused(report: Report, worst: Age, names: Sequence[str], word: str) -> str:
    """What to do once the server refuses new transactions or multixacts.

    names: the databases that are so old. PostgreSQL: VACUUM without FULL and FREEZE, as its manual
    advises; before version 14, truncation needs a transaction and would fail. Greenplum: as its
    manual advises, with a temporarily lower xid_stop_limit.
    """
    transactions = word == "transaction"
    greenplum = generations.is_greenplum(report.server.generation)
    old = transactions and not greenplum and generations.known(report.server.generation).base < 14
    fails = "statements that write" if transactions else f"statements that need a new {word}"
    steps = []
    if others := [shlex.quote(name) for name in names if name != "template0"]:
        vacuum = (
            "VACUUM (TRUNCATE off)"
            if old
            else "vacuumdb --freeze"
            if greenplum
            else "vacuumdb without --full and --freeze"
        )
        each = "each of the databases" if len(others) > 1 else "database"
        steps.append(f"as superuser, run {vacuum} on {each} {listed(others, NAMED)}")
    if "template0" in names:
        # ALTER DATABASE needs a transaction ID
        steps.append(
            "for template0, wait for autovacuum, or run VACUUM in single-user mode (postgres --single)"
            if transactions and not greenplum
            else f"run vacuumdb --freeze on template0{TEMPLATE}"
        )
    todo = "; ".join(steps)
    if greenplum and transactions:
        todo = (
            "lower xid_stop_limit by 10,000,000 on all instances and restart the cluster;"
            f" {todo}; then set xid_stop_limit as before and restart"
        )
    return (
        f"act now, {fails} fail already: "
        + (_holder_remedy(report, worst) if transactions else "")
        + todo
    )


def _detail(report: Report, worst: Age, old: dict[Age, int], word: str) -> str:
    """The number of databases that are too old, and the oldest relation of this one."""
    databases = plural(len({a.name for a in old}), "database")
    instances = plural(len({a.content for a in old}), "instance")
    parts = [f"{databases} on {instances} {'is' if len(old) == 1 else 'are'} too old."]
    oldest = next(
        (a for a in report.ages or () if a.kind == "relation" and a.content == worst.content), None
    )
    if oldest is not None and worst.name == report.server.database and word == "transaction":
        parts.append(f"The oldest relation there is {oldest.name} ({count(oldest.xid_age)}).")
    return " ".join(parts)


@rule("statement-memory", Harm.OUTAGE)
def statement_memory(report: Report) -> Iterator[Finding]:
    """Queries over whole tables fail because their plans do not fit into statement_mem.

    What it finds: on Greenplum, tables with so many leaves that a plan over all of them needs more
    than statement_mem: 100 KB for each leaf, 1,278 leaves at the default of 125 MB. A notice where
    optimizer is on.
    Why it matters: such a statement, EXPLAIN too, fails with "insufficient memory reserved for
    statement". A join of two partitioned tables may need the sum of both.
    How sure it is: equal to what Greenplum 6.25.3 and 7.0.0 accept, for plans of the Postgres
    planner. Plans of GPORCA have one operator for all leaves, but statements that it cannot plan go
    to the Postgres planner. A resource queue with a memory limit may give a statement more.
    What to do: let queries name the partition key, merge leaves, or increase statement_mem for
    these statements.
    """
    memory = report.session_memory
    if memory is None or memory.statement_mem is None or not memory.beyond:
        return
    widest = memory.widest
    if widest is None or widest.statement_mem is None:
        return
    orca = report.settings.get("optimizer") == "on"
    most = (memory.statement_mem // OPERATOR_BYTES) - OTHER_OPERATORS
    yield Finding(
        rule="statement-memory",
        severity=Severity.NOTICE if orca else Severity.WARNING,
        confidence=Confidence.MEDIUM if orca else Confidence.HIGH,
        title=(
            f"queries over all leaves of {plural(memory.beyond, 'table')} need more than"
            f" statement_mem ({size(memory.statement_mem)}) and fail"
            + (" where GPORCA does not plan them" if orca else "")
        ),
        detail=(
            f"The Postgres planner needs 100 KB for each leaf, so {count(most)} leaves fit."
            f" {widest.schema}.{widest.name} has {plural(widest.leaves, 'leaf', 'leaves')} and needs"
            f" {size(widest.statement_mem)}."
        ),
        remedy=(
            "let queries name the partition key, merge leaves (`gpcatalog plan`), or SET"
            f" statement_mem = '{-(-widest.statement_mem // MIB)}MB' for these statements"
        ),
        relations=(f"{widest.schema}.{widest.name}",),
        relations_total=memory.beyond,
        figures=(
            Figure("tables", memory.beyond, "tables", "derived"),
            Figure("needed", widest.statement_mem, "bytes", "derived"),
            Figure("statement_mem", memory.statement_mem, "bytes", "limit"),
        ),
        source=limits.STATEMENT_MEM.source,
    )


@rule("session-memory", Harm.SLOW)
def session_memory(report: Report) -> Iterator[Finding]:
    """A session that queries a whole table keeps much memory until it ends.

    What it finds: tables of which a session keeps more than 256 MB after a query over all leaves
    and columns, on the coordinator or on each segment. From 1 GB on it is a warning.
    Why it matters: sessions that stay open, as those of connection pools, add up. They reach
    gp_vmem_protect_limit on Greenplum, where statements then fail, or the memory of the host.
    How sure it is: an estimate from the numbers of leaves, columns and indexes; memory measured on
    test servers (Greenplum 6 and 7, PostgreSQL 15, 18, 19) was within 1.5 times of it, from 100 to
    5,000 leaves with a few rows. Append-optimized leaves with more data keep more: up to 66 KB for
    each column on each segment. What the statement sorts or hashes comes on top.
    What to do: merge leaves, let queries name the partition key, end idle sessions earlier.
    """
    memory = report.session_memory
    if memory is None:
        return
    large = [t for t in memory.most if t.most >= limits.SESSION_MEMORY.value]
    if not large:
        return
    worst = large[0]
    on_segment = worst.segment_bytes is not None and worst.segment_bytes >= worst.bytes
    greenplum = worst.segment_bytes is not None
    place = (" on each segment" if on_segment else " on the coordinator") if greenplum else ""
    sessions = ""
    if memory.vmem is not None:
        n = memory.vmem // worst.most
        sessions = (
            f" {plural(n, 'such session')} fill{'s' if n == 1 else ''} gp_vmem_protect_limit"
            f" ({size(memory.vmem)})."
            if n
            else f" gp_vmem_protect_limit is {size(memory.vmem)}."
        )
    yield Finding(
        rule="session-memory",
        severity=(
            Severity.WARNING if worst.most >= limits.SESSION_MEMORY_HIGH.value else Severity.NOTICE
        ),
        confidence=Confidence.MEDIUM,
        title=(
            f"a session keeps at least about {size(worst.most)}{place} after a query over all of"
            f" {worst.schema}.{worst.name}"
        ),
        detail=(
            f"{plural(worst.leaves, 'leaf', 'leaves')}, {worst.most / worst.leaves / 1024:,.0f} KB"
            f" each (estimate).{sessions}"
        ),
        remedy="merge leaves (`gpcatalog plan`), let queries name the partition key, end idle sessions",
        relations=tuple(f"{t.schema}.{t.name}" for t in large[:10]),
        relations_total=len(large),
        figures=(
            Figure("memory kept", worst.most, "bytes", "estimate"),
            Figure("limit", limits.SESSION_MEMORY.value, "bytes", "limit"),
        ),
        source=limits.SESSION_MEMORY.source,
    )


@rule("long-ddl", Harm.SLOW)
def long_ddl(report: Report) -> Iterator[Finding]:
    """DDL on a table locks it for more than a minute.

    What it finds: tables with so many leaves that ADD COLUMN, TRUNCATE or DROP takes more than 60
    seconds without any rows.
    Why it matters: the statement holds an AccessExclusiveLock on the table and all leaves until its
    transaction ends, so that no other session can read or write them. Sessions that wait for it
    make others wait.
    How sure it is: an estimate from the numbers of leaves, columns and indexes, measured on test
    servers (Greenplum 6 and 7, PostgreSQL 15, 18, 19; most were within a factor of 2), at the speed
    of this server. Rows that are rewritten come on top.
    What to do: merge leaves; `gpcatalog plan` proposes which, with the times before and after. Until
    then, change the leaves in groups, each in its own transaction, and set lock_timeout.
    """
    times = report.statement_times
    if times is None or not times.long:
        return
    worst = times.tables[0]
    seconds, action = worst.longest
    shown = [t for t in times.tables if t.longest[0] > limits.LONG_DDL.value]
    limit = duration(limits.LONG_DDL.value)
    others = f"{plural(times.long, 'table')} exceed{'s' if times.long == 1 else ''} {limit}. "
    yield Finding(
        rule="long-ddl",
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        title=(
            f"{EXCLUSIVE[action]} of {worst.schema}.{worst.name} would lock it for about"
            f" {duration(seconds)}"
        ),
        detail=(
            f"{others}It has {plural(worst.leaves, 'leaf', 'leaves')}; rows come on top (estimate;"
            f" {times.pace.words})."
        ),
        remedy=(
            "merge leaves (`gpcatalog plan`), or change the leaves in groups, each in its own"
            " transaction, with a lock_timeout"
        ),
        relations=tuple(f"{t.schema}.{t.name}" for t in shown),
        relations_total=times.long,
        figures=(
            Figure("seconds", round(seconds, 1), "s", "estimate"),
            Figure("limit", limits.LONG_DDL.value, "s", "limit"),
        ),
        source=limits.LONG_DDL.source,
    )
