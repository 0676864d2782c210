"""Check files of DDL before they run: parse every statement, compute its cost, apply the rules and
the budgets.
"""

from __future__ import annotations

import gc
import re
import traceback
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from sqlglot import exp

from gpcatalog.capacity.durations import REFERENCE, Pace
from gpcatalog.capacity.generation import NEWEST_MEASURED, generation
from gpcatalog.check import rules as checks
from gpcatalog.check.durations import of_statement
from gpcatalog.check.findings import Packer
from gpcatalog.check.inputs import included
from gpcatalog.check.report import (
    CheckReport,
    Ignore,
    LocatedFinding,
    LockHeld,
    RuleContext,
    StatementReport,
    cost_of,
    held_by,
    over_budget,
)
from gpcatalog.check.settings import Budget, Settings
from gpcatalog.check.totals import StatementPosition, Totals
from gpcatalog.dialect.grammar import SyntaxFault
from gpcatalog.dialect.script import Outcome, Piece, Source, Statement, read, split
from gpcatalog.dialect.variables import Variables
from gpcatalog.dialect.version import Edition, edition
from gpcatalog.effects.created_later import CreatedLater
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import HANDLERS
from gpcatalog.effects.keys import unknown_table
from gpcatalog.effects.live_catalog import BaselineError
from gpcatalog.effects.schema_state import SchemaState
from gpcatalog.effects.session import LEFT_OPEN, Ending, endings
from gpcatalog.effects.transactions import begin
from gpcatalog.errors import CatalogError, raise_if_interrupted
from gpcatalog.model.finding import Finding, Severity

_LAST = "internal-error"
_IGNORE = re.compile(
    r"--[ \t]*gpcatalog:[ \t]*ignore\b[ \t]*([a-z0-9-]+(?:[ \t]*,[ \t]*[a-z0-9-]+)*)?["
    r" \t]*([^\r\n]*)"
)


def server_edition(name: str) -> Edition:
    """The edition (grammar and cost model) of a --server value: greenplum6, gp7, cloudberry2,
    postgres17, …

    >>> server_edition("greenplum6").name, server_edition("postgres17").name
    ('gp6', 'pg17')
    """
    return edition(generation(name).name)


def zone_of(settings: Settings) -> ZoneInfo:
    """The time zone of the settings. Raises CatalogError for an unknown name."""
    try:
        return ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise CatalogError(
            f"unknown time zone {settings.time_zone!r}",
            hint='use an IANA name such as "Europe/Berlin" or "UTC"',
        ) from None


def cost_edition(one: Edition) -> Edition:
    """The edition whose measured costs are used for this one."""
    return (
        edition(f"pg{NEWEST_MEASURED}") if not one.greenplum and one.base > NEWEST_MEASURED else one
    )


def _longer(one: LockHeld, other: LockHeld) -> bool:
    """Whether a lock is held longer than another; a lock of unknown duration counts as the
    longest.
    """
    return other.seconds is not None and (one.seconds is None or one.seconds > other.seconds)


class _Ignores:
    """The ignore comments of a file. Each belongs to the statement that contains it, or to the next
    one.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.hits = list(_IGNORE.finditer(source.text)) if "gpcatalog:" in source.text else []
        self.at = 0

    def of(self, piece: Piece, following: Piece | None) -> list[Ignore]:
        """The comments before the statement `following` (None: the end of the file) that belong to
        `piece`.
        """
        found = []
        while self.at < len(self.hits):
            hit = self.hits[self.at]
            if following is not None and hit.start() > following.start:
                break
            behind = hit.start() >= piece.end
            if behind and following is not None:
                same_line = self.source.place(piece.end).line == self.source.place(hit.start()).line
                if not same_line:
                    break  # it belongs to the following statement
            self.at += 1
            if not behind and hit.start() > piece.start and _in_token(piece, hit.start()):
                continue
            names = tuple(n.strip() for n in (hit[1] or "").split(",") if n.strip())
            found.append(Ignore(names, hit[2].strip(), hit.start(), hit.end()))
        return found


def _in_token(piece: Piece, at: int) -> bool:
    """Whether an offset is inside a token, such as a string."""
    from gpcatalog.dialect.grammar import WORDS
    from gpcatalog.dialect.lexer import LexError, scan

    try:
        tokens, _ = scan(piece.source.text, piece.start, WORDS, script=True)
    except LexError:
        return True
    number = bisect_right(tokens.starts, at) - 1
    return number >= 0 and tokens.starts[number] <= at < tokens.ends[number]


def _sets_lock_timeout(statement: Statement) -> bool | None:
    """Whether a statement sets (True) or resets (False) lock_timeout; None if it does neither."""
    if statement.words[:1] not in (("set",), ("reset",)):
        return None
    text = statement.text.lower()
    if "lock_timeout" not in text:
        return None
    if statement.words[0] == "reset":
        return False
    value = re.search(r"(?:=|\bto\b)\s*'?\s*(\w+)", text)
    return not (value and value[1] in ("0", "default"))


def _changes_state(statement: Statement) -> bool:
    """Whether a statement may change the effect of later ones; queries and new tables and views do
    not.
    """
    kind = type(statement.tree).__name__
    if isinstance(statement.tree, exp.Create):
        return statement.tree.args.get("kind") == "INDEX"
    if statement.tree is not None and kind == "AlterTable":
        actions = [
            *(statement.tree.args.get("actions") or ()),
            statement.tree.args.get("move"),
            statement.tree.args.get("action"),
        ]
        return any(type(a).__name__ != "OwnerTo" for a in actions if a is not None)
    if isinstance(statement.tree, exp.Select):
        return "set_config" in statement.text.lower()
    return kind in HANDLERS and kind not in (
        "Insert",
        "Update",
        "Delete",
        "Union",
        "Except",
        "Intersect",
        "CreateSequence",
        "Explain",
    )


def _effect(state: SchemaState, statement: Statement, ending: Ending) -> Effect:
    """Return the effect of a statement.

    An internal error is recorded in the effect, and the run continues.
    """
    if statement.source.undo:
        return Effect()
    unread = statement.tree is None and statement.outcome is not Outcome.ERROR
    if statement.other or statement.reasons or statement.decisive or unread:
        state.perhaps = True
    if statement.other:
        if _changes_state(statement):
            state.doubt = state.doubt or statement.reasons[-1]
        return Effect(unknown=["statement in another branch of \\if"])
    if statement.tree is None:
        reason = {
            Outcome.NOT_READ: "file that was not read",
            Outcome.NO_VALUE: f"value of {', '.join(statement.missing)}",
        }.get(statement.outcome, "statement that could not be parsed")
        return Effect(unknown=[reason])
    try:
        undone = ending is Ending.UNDONE
        if statement.begins:
            begin(state, rolled_back=undone)
        state.valueless = bool(statement.missing)
        effect = state.apply(statement.tree, rolled_back=undone)
    except BaselineError:
        raise
    except Exception as e:  # an error in one statement must not end the run
        raise_if_interrupted()
        return Effect(unknown=[_bug(e)], failed=_bug(e))
    if ending is Ending.OPEN:
        effect.add_unknown(LEFT_OPEN)
    if statement.command == "\\gexec":
        effect.add_unknown("statements run by \\gexec")
    if (
        (statement.reasons or statement.decisive)
        and _changes_state(statement)
        and not (effect.created or effect.removed)
    ):
        state.doubt = (
            state.doubt or (statement.reasons or [f"value of {statement.decisive[0]}"])[-1]
        )
    if effect.created or effect.removed or effect.extra or effect.unknown:
        if state.doubt:
            effect.add_unknown(state.doubt)
        for name in statement.decisive:
            effect.add_unknown(f"value of {name}")
        for reason in statement.reasons:
            effect.add_unknown(reason)
        if (statement.decisive or statement.reasons) and effect.table is not None:
            effect.table.uncounted = effect.table.uncounted or effect.unknown[-1]
    return effect


# a file without these words ends all transactions with COMMIT; no such word follows "begin" of
# PL/pgSQL
_ENDS = re.compile(
    r"\b(?:rollback|abort|autocommit|start\s+transaction|"
    r"begin\s*(?:;|work|transaction|isolation|read|not\s|deferrable))",
    re.IGNORECASE,
)
_TRANSACTION = frozenset("begin start savepoint rollback abort commit end prepare release".split())


@dataclass(kw_only=True)
class _Reader:
    """Reads files as psql does: included files at the position of the command, each time they are
    included, with the variables of one session.

    A file that is named, or found in a folder, and also included is read only once.

    names: files that were read
    done: paths of the named files that were read
    included: paths of the included files that were read
    values: values of ${placeholders}
    """

    by: Edition
    variables: Variables
    values: Mapping[str, str]
    done: set[Path]
    names: list[str]
    included: set[Path] = field(default_factory=set)
    read: int = 0  # number of statements read so far

    def pieces(
        self, source: Source, stack: tuple[Path, ...] = ()
    ) -> Iterator[tuple[Piece | Statement, list[Ignore]]]:
        """The statements and psql commands of a file and of the files that it includes, each with
        its ignore comments.
        """
        own = (source.path.resolve(),) if source.path is not None else ()
        if not stack and own and own[0] in self.done | self.included:
            return
        (self.included if stack else self.done).update(own)
        if source.file not in self.names:
            self.names.append(source.file)
        if source.skipped:
            yield _not_read(source, 0, 0, source.skipped), []
        ignores = _Ignores(source)
        # every file has its own \if; a branch around the include command applies to the whole file
        around = self.variables.enter_file()
        last: Piece | None = None
        for piece in split(source, commands=True, variables=self.variables):
            command = piece.tokens is None and piece.error is None
            if last is not None:
                yield last, ignores.of(last, piece)
                last = None
            if not command:
                last = piece
                continue
            if piece.command.split()[:1] in ([r"\q"], [r"\quit"]) and not piece.other:
                break  # psql stops reading this file
            inner = included(piece.command, source, self.values)
            if inner is None:
                yield piece, []
            elif piece.other:
                yield (
                    _not_read(
                        source, piece.start, piece.end, f"{inner.file}, in another branch of \\if"
                    ),
                    [],
                )
            elif inner.path is not None and inner.path.resolve() in (*stack, *own):
                yield (
                    _not_read(source, piece.start, piece.end, f"{inner.file} includes itself"),
                    [],
                )
            elif inner.skipped:
                yield _not_read(source, piece.start, piece.end, inner.skipped), []
            elif inner.path is None or inner.path.resolve() not in self.done:
                yield from self.pieces(inner, (*stack, *own))
        if last is not None:
            yield last, ignores.of(last, None)
        self.variables.leave_file(around)

    def endings(self, source: Source) -> dict[int, Ending]:
        """How the transactions end that statements of a file and of the files that it includes
        begin, by the number of the statement; committed ones are left out.
        """
        if self.variables.autocommit and not _ENDS.search(source.text) and "\\i" not in source.text:
            return {}
        ahead = _Reader(
            by=self.by,
            variables=self.variables.fresh(),
            values=self.values,
            done=set(self.done),
            names=[],
            included=set(self.included),
        )
        found = (
            (at, read(piece, (self.by,)) if piece.tokens.kinds[0] in _TRANSACTION else None)
            for at, (piece, _) in enumerate(ahead.pieces(source))
            if isinstance(piece, Piece)
            and piece.tokens is not None
            and not piece.other
            and (piece.begins or piece.tokens.kinds[0] in _TRANSACTION)
        )
        return endings(found)

    def statements(self, source: Source) -> Iterator[tuple[Statement, Ending, list[Ignore]]]:
        """Each statement with its ignore comments, and how the transaction or savepoint ends that
        it begins.
        """
        ends = self.endings(source)
        for at, (piece, ignores) in enumerate(self.pieces(source)):
            self.read += 1
            if self.read % _COLLECT == 0:
                _free_trees()
            yield (
                piece if isinstance(piece, Statement) else read(piece, (self.by,)),
                ends.get(at, Ending.KEPT),
                ignores,
            )


def _not_read(source: Source, start: int, end: int, reason: str) -> Statement:
    return Statement(
        source=source,
        start=start,
        end=end,
        outcome=Outcome.NOT_READ,
        fault=SyntaxFault(start, "", (), reason),
    )


def _bug(error: Exception) -> str:
    """The position in the source code where the program failed, for a bug report."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"a bug of gpcatalog: {type(error).__name__} in {last.name} of"
        f" {last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
    )


_COLLECT = 500  # number of statements after which the memory of their trees is freed


def _free_trees() -> None:
    """Free the trees of the statements so far.

    Nodes reference their parents, so reference counts alone never free them. The garbage collector
    examines old objects less and less often while the report grows. Therefore live objects are
    frozen, so that each collection examines new objects only. A tree that is in use at this moment
    would never be freed."""
    gc.collect()
    gc.freeze()


def _apply_rule(name: str, check: checks.Check, subject: RuleContext) -> None:
    """Apply a rule to a statement; an error of the program in it does not end the run."""
    try:
        check(subject)
    except BaselineError:
        raise
    except Exception as e:
        raise_if_interrupted()
        subject.effect.failed = subject.effect.failed or f"{_bug(e)}, rule {name}"


class _Run:
    """The state of a run: totals and findings so far."""

    def __init__(
        self,
        settings: Settings,
        by: Edition,
        state: SchemaState,
        changed: dict[str, list[tuple[int, int]]] | None,
        *,
        today: date,
        listed: bool,
        pace: Pace,
    ) -> None:
        self.settings = settings
        self.server = by.name
        self.pace = pace
        self.costs = cost_edition(by)
        self.state = state
        self.changed = changed
        self.today = today
        self.listed = listed
        every = checks.every()
        for unknown in (*settings.disable, *settings.severity):
            if unknown not in every:
                raise CatalogError(
                    f"unknown rule: {unknown}", hint=("`gpcatalog check --rules` lists all rules")
                )
        self.rules = {
            name: check
            for name, check in every.items()
            if name not in settings.disable and name != _LAST
        }
        self.last = (
            every[_LAST] if _LAST not in settings.disable else None
        )  # it also reports rules that failed
        self.statements: list[StatementReport] = []
        self.totals = Totals()
        self.found = Packer()
        self.outcomes: Counter[Outcome] = Counter()
        self.ignored = 0
        self.number = 0
        self.guarded = False
        self.leaves_left: dict[tuple[str, str, str, int], int] = {}
        self.optional: dict[
            int, list[tuple[str, str]]
        ] = {}  # by statement: tables that it drops if they exist
        self.recreated: set[int] = set()  # those whose tables are all created by the script

    def check_statement(self, statement: Statement, ending: Ending, ignores: list[Ignore]) -> None:
        """Apply one statement to the schema state and apply the rules to it."""
        if statement.outcome is Outcome.COMMAND:
            words = statement.command.split()
            if words[0] in ("\\c", "\\connect"):
                # the objects of another database are not known
                self.state.opaque = self.state.opaque or words[1:2] not in ([], ["-"])
                if not statement.other:
                    self.state.reconnect()
            return
        self.number += 1
        self.outcomes[statement.outcome] += 1
        effect = _effect(self.state, statement, ending)
        timeout = _sets_lock_timeout(statement)
        self.guarded = self.guarded if timeout is None else timeout
        if self.changed is not None:
            first, last = (
                statement.place.line,
                statement.source.place(max(statement.end - 1, statement.start)).line,
            )
            if not any(
                a <= last and b >= first for a, b in self.changed.get(statement.source.file, [])
            ):
                self.leaves_left.clear()  # the rules did not count the leaves of this statement
                return
        held = tuple(
            (part, lock)
            for part in effect.parts or [effect]
            if (lock := held_by(part, self.state, self.server, self.pace)) is not None
        )
        self._find(
            RuleContext(
                statement=statement,
                effect=effect,
                state=self.state,
                settings=self.settings,
                edition=self.costs,
                number=self.number,
                guarded=self.guarded,
                today=self.today,
                held=held,
                leaves_left=self.leaves_left,
                left_open=ending is Ending.OPEN,
            ),
            ignores,
        )
        self._add_cost(statement, effect, held)

    def _find(self, subject: RuleContext, ignores: list[Ignore]) -> None:
        """Apply all rules to a statement."""
        effect = subject.effect
        if effect.may_exist and not effect.exclusive:
            self.optional[self.number] = effect.may_exist
        for name, check in self.rules.items():
            _apply_rule(name, check, subject)
        if self.last is not None:
            self.last(subject)
        kept: list[tuple[Finding, int, int]] = []
        for finding, start, end in subject.findings:
            matching = next((i for i in ignores if finding.rule in i.rules and i.reason), None)
            if matching is not None and finding.rule not in checks.NEVER_IGNORED:
                matching.used.add(finding.rule)
                self.ignored += 1
                continue
            kept.append((finding, start, end))
        subject.findings = []
        for ignore in ignores:
            checks.check_ignore(subject, ignore)
        for finding, start, end in kept + subject.findings:
            self.found.append(
                _locate(subject.statement.source, self.settings, finding, start, end, self.number)
            )

    def _add_cost(
        self, statement: Statement, effect: Effect, locks: Sequence[tuple[Effect, LockHeld]]
    ) -> None:
        """Add the cost of a statement; locks: on tables of the baseline, by part of the effect."""
        cost = cost_of(effect, self.costs)
        table = effect.table.title if effect.table is not None else unknown_table(statement.tree)
        source = statement.source
        self.totals.add(
            cost, StatementPosition(source, statement.start, statement.end, self.number)
        )
        not_counted = tuple(dict.fromkeys(effect.minor))
        self.totals.add_left_out(not_counted, effect.unknown)
        # the longest lock, if a statement runs several
        held: LockHeld | None = None
        seconds, complete = 0.0, True
        word = statement.words[0] if statement.words else ""
        for part in effect.parts or [effect]:
            lock = next((lock for of, lock in locks if of is part), None)
            time = of_statement(part, self.state, self.server, self.pace, first_word=word)
            seconds, complete = seconds + time.seconds, complete and time.complete
            title = part.table.title if part.table is not None else part.named
            title = title if effect.parts else table
            if title:
                part_cost = cost if part is effect else cost_of(part, self.costs)
                self.totals.add_to_table(title, part_cost, lock, exclusive=part.exclusive)
            if lock is not None and (held is None or _longer(lock, held)):
                held = lock
        self.totals.add_seconds(seconds, complete=complete)
        if self.listed:
            kind = type(statement.tree).__name__ if statement.tree is not None else ""
            line, outcome = statement.place.line, statement.outcome.value
            self.statements.append(
                StatementReport(
                    number=self.number,
                    file=source.file,
                    line=line,
                    outcome=outcome,
                    kind=kind,
                    table=table,
                    cost=cost,
                    unknown=tuple(effect.unknown),
                    not_counted=not_counted,
                    held=held,
                    seconds=round(seconds, 4) if complete else None,
                )
            )

    def end(self) -> None:
        """Finish after the last statement: free the schema state, which the report does not
        need.
        """
        self.recreated = {
            n
            for n, tables in self.optional.items()
            if all(self.state.creates(*table) for table in tables)
        }
        del self.state

    def report(self, server: str, names: list[str], baseline: dict[str, float]) -> CheckReport:
        """The result, with its findings in the order of the files."""
        for one in _budget_findings(self.settings, self.totals, baseline):
            self.found.append(one)
        pairs = zip(self.found.keys, self.found.statements, strict=True)
        harmless = {
            at
            for at, (key, n) in enumerate(pairs)
            if key[-1] == "exclusive-without-lock-timeout" and n in self.recreated
        }
        budgets = {"change": self.settings.change, "table": self.settings.table}
        return CheckReport(
            server=server,
            segments=self.settings.segments,
            hosts=self.settings.hosts,
            files=tuple(names),
            statements=tuple(self.statements),
            findings=self.found.sorted(names, harmless),
            total=self.totals.cost,
            typed=self.outcomes[Outcome.TYPED],
            not_understood=self.outcomes[Outcome.NOT_UNDERSTOOD],
            errors=self.outcomes[Outcome.ERROR],
            ignored=self.ignored,
            not_counted=dict(self.totals.not_counted.most_common()),
            rejected=self.totals.rejected,
            partly_unknown=self.totals.partly_unknown,
            baseline=baseline,
            seconds=round(self.totals.seconds, 3),
            seconds_complete=self.totals.seconds_complete,
            pace=self.pace,
            tables=self.totals.tables(),
            budgets={
                n: {k: v for k, v in msgspec.structs.asdict(b).items() if v is not None}
                for n, b in budgets.items()
            },
        )


def run(
    sources: Iterable[Source],
    settings: Settings,
    *,
    changed: dict[str, list[tuple[int, int]]] | None = None,
    state: SchemaState | None = None,
    today: date | None = None,
    baseline: dict[str, float] | None = None,
    values: Mapping[str, str] | None = None,
    listed: bool = True,
    pace: Pace = REFERENCE,
) -> CheckReport:
    """Check files in order, as one change.

    changed: the rules and totals include only statements that overlap these line ranges; the others
        are only applied to the schema state
    values: values of psql variables and ${placeholders}
    pace: speed of the server, for the time of statements
    listed: the report contains each statement; otherwise only their sums
    """
    by = server_edition(settings.server)
    state = state or SchemaState(cost_edition(by), zone_of(settings))
    state.before = set(state.tables)
    names: list[str] = []
    found = _Run(
        settings, by, state, changed, today=today or date.today(), listed=listed, pace=pace
    )
    reader = _Reader(by=by, variables=Variables(), values=values or {}, done=set(), names=names)
    try:
        for top in sources:
            state.reconnect()
            state.created_later = CreatedLater(top)
            reader.variables = Variables(dict(values or {}))
            for piece in reader.statements(top):
                found.check_statement(*piece)
                del piece  # its tree must be unreferenced when the next statement is read
    finally:
        gc.unfreeze()
    found.end()
    del state
    return found.report(by.name, names, baseline or {})


def _locate(
    source: Source, settings: Settings, finding: Finding, start: int, end: int, number: int
) -> LocatedFinding:
    severity = settings.severity.get(finding.rule)
    if severity is not None:
        finding = msgspec.structs.replace(finding, severity=Severity[severity.upper()])
    begin, finish = source.place(start), source.place(max(end, start))
    return LocatedFinding(
        finding=finding,
        file=source.file,
        line=begin.line,
        column=begin.column,
        end_line=finish.line,
        end_column=finish.column,
        source_line=source.line(begin.line),
        statement=number,
    )


def _budget_findings(
    settings: Settings, totals: Totals, baseline: dict[str, float]
) -> list[LocatedFinding]:
    """Findings about the whole change, at the position of the statement that adds most."""
    if totals.first is None or "budget-exceeded" in settings.disable:
        return []
    out: list[LocatedFinding] = []
    budgets: list[tuple[str, Budget, dict[str, float]]] = [("the change", settings.change, {})]
    if baseline:
        budgets.append(("the cluster after the change", settings.total, baseline))
    for what, budget, base in budgets:
        for finding in over_budget(what, budget, totals.cost, settings, base):
            spot = (
                totals.most_leaves if "leaves" in finding.title else totals.most_files
            ) or totals.first
            out.append(_locate(spot.source, settings, finding, spot.start, spot.end, spot.number))
    return out
