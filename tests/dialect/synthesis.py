"""Random statements that follow the synopses, and small random errors in them."""

from __future__ import annotations

import random
from collections.abc import Callable

from gpcatalog.dialect.grammar import _STATEMENTS, SYNOPSES
from gpcatalog.dialect.synopsis import Choice, Ref, Sequence, Word
from gpcatalog.dialect.version import Edition

_NAMES = [
    "a",
    "b",
    "t",
    "sales",
    '"Mixed Case"',
    "year",
    "zone",
    "name",
    "value",
    "p1",
    "été",
    "data",
]
_PARTS_OF_STATEMENTS = frozenset(
    """extension_update extension_member extension_option fdw_option force_word function_ref_one grant_option do_part
    cursor_option""".split()
)


class Maker:
    """Generates SQL text from the grammar of one edition."""

    def __init__(self, edition: Edition, seed: int) -> None:
        self.edition = edition
        self.r = random.Random(seed)
        self.depth = 0

    def pick(self, *choices: str) -> str:
        """One of the choices, at random."""
        return self.r.choice(choices)

    def name(self) -> str:
        return self.r.choice(_NAMES)

    def literal(self) -> str:
        return self.pick(
            "1",
            "0",
            "42",
            "'x'",
            "'it''s'",
            "$$b$$",
            "date '2020-01-31'",
            "1.5",
            "null",
            "true",
            "interval '1 month'",
            "E'\\n'",
            "-3",
        )

    def type(self) -> str:
        base = self.pick(
            "int", "bigint", "text", "varchar(10)", "numeric(10,2)", "timestamp", "timestamp with time zone", "date", "double precision",
            "char(3)", "my.type", "bit varying(4)", "interval", "time(3) without time zone", "boolean", "interval day to second",
        )  # fmt: skip
        return base + self.pick("", "", "", "[]", "[3]", " array")

    def expr(self) -> str:
        self.depth += 1
        try:
            if self.depth > 4:
                return self.pick(self.name(), self.literal())
            make: list[Callable[[], str]] = [
                self.name,
                self.literal,
                lambda: (
                    f"{self.expr()} {self.pick('+', '-', '*', '/', '%', '^', '=', '<', '>=', '<>', '||', '&&', '~*')} {self.expr()}"
                ),
                lambda: f"({self.expr()})",
                lambda: f"{self.name()}({self.expr()}, {self.expr()})",
                lambda: f"{self.expr()}::{self.type()}",
                lambda: f"cast({self.expr()} as {self.type()})",
                lambda: f"{self.expr()} is {self.pick('', 'not ')}null",
                lambda: f"{self.expr()} {self.pick('and', 'or')} {self.expr()}",
                lambda: f"not {self.expr()}",
                lambda: f"{self.expr()} {self.pick('', 'not ')}in ({self.expr()}, {self.expr()})",
                lambda: (
                    f"{self.expr()} {self.pick('', 'not ')}between {self.literal()} and {self.literal()}"
                ),
                lambda: (
                    f"{self.expr()} {self.pick('like', 'ilike', 'similar to', 'not like')} {self.expr()}"
                ),
                lambda: f"case when {self.expr()} then {self.expr()} else {self.expr()} end",
                lambda: f"coalesce({self.expr()}, {self.expr()})",
                lambda: f"array[{self.expr()}, {self.expr()}]",
                lambda: f"{self.name()}[{self.expr()}]",
                lambda: f"- {self.expr()}",
                lambda: f"({self.select()})",
                lambda: f"exists ({self.select()})",
                lambda: f"{self.expr()} at time zone {self.literal()}",
                lambda: f"{self.expr()} collate {self.name()}",
                lambda: (
                    f"count({self.pick('*', 'distinct ' + self.name())}) filter (where {self.expr()})"
                ),
                lambda: (
                    f"sum({self.expr()}) over (partition by {self.expr()} order by {self.expr()} desc)"
                ),
                lambda: f"extract({self.pick('year', 'epoch')} from {self.expr()})",
                lambda: f"substring({self.expr()} from {self.expr()} for {self.expr()})",
                lambda: f"{self.expr()} = any ({self.expr()})",
                lambda: f"row({self.expr()}, {self.expr()})",
                lambda: f"{self.expr()} is distinct from {self.expr()}",
                lambda: f"({self.expr()}).{self.name()}",
                lambda: "current_timestamp",
            ]
            return self.r.choice(make)()
        finally:
            self.depth -= 1

    def select(self) -> str:
        self.depth += 1
        try:
            if self.depth > 4:
                return "select 1"
            targets = ", ".join(
                self.expr() + self.pick("", f" as {self.name()}")
                for _ in range(self.r.randint(1, 3))
            )
            out = f"{self.pick('', '', f'with {self.name()} as (select 1) ')}select {self.pick('', 'distinct ', 'all ')}{targets}"
            if self.r.random() < 0.7:
                out += f" from {self.name()}"
                out += self.pick("", f" as {self.name()}", f" join {self.name()} using ({self.name()})", f", {self.name()}",
                                 f" left join {self.name()} on {self.expr()}", f" cross join ({self.select()}) q")  # fmt: skip
            out += self.pick("", f" where {self.expr()}") + self.pick(
                "", "", f" group by {self.expr()}"
            )
            out += self.pick(
                "",
                "",
                f" union all {self.select()}",
                f" order by {self.expr()} limit 3",
                " for update",
            )
            return out
        finally:
            self.depth -= 1

    def primitive(self, name: str) -> str:
        """Text for a part of the grammar that has a hand-written reader."""
        simple: dict[str, Callable[[], str]] = {
            "expr": self.expr, "b_expr": self.literal, "c_expr": self.name, "typename": self.type, "func_type": self.type,
            "select": self.select, "statement_body": self.select, "copy_query": self.select, "rule_statement": self.select,
            "explainable": self.select, "string": lambda: self.pick("'x'", "'it''s'", "$q$ a $q$"), "integer": lambda: self.pick("1", "77"),
            "signed_integer": lambda: self.pick("1", "-1"), "number": lambda: self.pick("1", "2.5", "-3"),
            "operator": lambda: self.pick("+", "=", "@@", "s.<>"), "any_op": lambda: self.pick("+", "operator(s.=)"),
            "def_elem": lambda: self.pick("compresstype=zlib", "blocksize=32768", "a", "x = 'y'", "stype = int"),
            "reloption": lambda: self.pick("appendonly=true", "orientation=column", "fillfactor=70", "toast.x = 1", "checksum"),
            "table_name": lambda: self.pick("t", "s.t", 's."T x"'), "any_name": lambda: self.pick("t", "s.t", "a.b.c"),
            "relation": lambda: self.pick("t", "only t", "s.t *", "only (t)"), "boundary_constant": self.constant, "boundary_value": self.constant,
            "column_definition": self.column, "table_constraint": lambda: self.pick("check (a > 1)", "constraint c primary key (a, b)", "unique (a)",
                                                                                   "foreign key (a) references t (b) on delete cascade"),
            "partition_key": lambda: self.pick("a", "lower(b)", "(a + 1)"), "index_element": lambda: self.pick("a", "b desc", "lower(a) text_ops"),
            "sort_key": lambda: self.pick("a", "b desc"), "default_partition": lambda: "default partition", "arg_mode": lambda: self.pick("in", "out"),
            "zone_value": lambda: self.pick("'UTC'", "local", "default"), "simple_type": lambda: self.pick("int", "bigint"),
            "strategy": lambda: self.pick("range", "list"), "distributed": lambda: self.pick("distributed by (a)", "distributed randomly", "distributed replicated"),
            "word_or_string": lambda: self.pick("'x'", "w"), "truth_or_word": lambda: self.pick("on", "true", "w"), "setting": lambda: self.pick("on", "1", "'x'", "w"),
            "def_arg": lambda: self.pick("1", "'x'", "w"), "call": lambda: "f(1)", "function_name": lambda: self.pick("f", "s.f"),
            "temp_word": lambda: self.pick("temp", "local temporary", "unlogged"), "typed_name": lambda: f"{self.name()} {self.type()}",
            "column_constraint": lambda: self.pick("not null", "check (value > 1)", "default 1"), "from_items": lambda: "t", "statistics_item": lambda: "a",
            "schema_element": lambda: self.pick("create table t (a int)", "create view v as select 1"), "trigger_number": lambda: "1",
            "sql_body": lambda: "return 1", "old_aggregate_option": lambda: self.pick("basetype = int", "sfunc = f"), "operator_option": lambda: "x = y",
            "column_ref": self.name, "variable": lambda: self.pick("a", "a.b"), "ident": lambda: self.pick("a", "zz"), "role": lambda: self.pick("r", "public"),
        }  # fmt: skip
        generate = simple.get(name)
        return generate() if generate is not None else self.pick("a", "b", "t1")

    def constant(self) -> str:
        return self.pick(
            "1", "'x'", "date '2020-01-01'", "'2020-01-01'::date", "-5", "cast('1' as int)", "1.5"
        )

    def column(self) -> str:
        tail = self.pick(
            "",
            " not null",
            " default 1",
            " primary key",
            " encoding (compresstype=zlib)",
            " unique",
            " collate c",
            " references t",
        )
        return f"{self.name()} {self.type()}{tail}"

    def rule(self, name: str) -> str:
        """Text for a rule of the grammar."""
        definition = SYNOPSES.definitions.get(name)
        if definition is None:
            return self.primitive(name)
        self.depth += 1
        try:
            return self.choice(definition.body)
        finally:
            self.depth -= 1

    def choice(self, choice: Choice) -> str:
        branches = [b for b in choice.branches if not b.guard or self.edition.holds(b.guard)]
        if not branches or (
            choice.optional and self.r.random() < (0.5 if self.depth < 8 else 0.95)
        ):
            return ""
        return self.sequence(self.r.choice(branches))

    def sequence(self, sequence: Sequence) -> str:
        out = []
        for item in sequence.items:
            if isinstance(item, Word):
                out.append(item.text.lower())
            elif isinstance(item, Ref):
                if not item.many:
                    out.append(self.rule(item.rule))
                else:
                    least = 1 if item.many[-1] == "+" else 0
                    count = self.r.randint(least, 2 if self.depth < 6 else max(least, 1))
                    out.append(
                        (", " if item.many[0] == "," else " ").join(
                            self.rule(item.rule) for _ in range(count)
                        )
                    )
            elif isinstance(item, Choice):
                out.append(self.choice(item))
        return " ".join(o for o in out if o)

    def create_table(self) -> str:
        """A CREATE TABLE with the clauses of this edition."""
        columns = ", ".join(self.column() for _ in range(self.r.randint(1, 3)))
        extra = self.pick("", ", primary key (a)", ", check (a > 0)", ", like t including all")
        out = f"create {self.pick('', 'temp ', 'unlogged ')}table {self.pick('t', 's.t')} ({columns}{extra})"
        with_ = self.pick("", f" with ({self.rule('reloption')})")
        distributed = (
            self.pick("", " " + self.rule("distributed")) if self.edition.greenplum else ""
        )
        partition = self.pick("", "", " " + self.rule("partition_by"))
        return out + with_ + distributed + partition

    def statement(self) -> str:
        """A random statement."""
        if self.r.random() < 0.25:
            return self.create_table()
        if self.r.random() < 0.1:
            return self.select()
        names = [
            n
            for n in _STATEMENTS.definitions
            if n not in _PARTS_OF_STATEMENTS and n in SYNOPSES.definitions
        ]
        statements = [n for n in names if n in _TOP]
        return self.rule(self.r.choice(statements))

    def damage(self, sql: str) -> str:
        """The statement with a token removed, repeated, swapped or inserted."""
        tokens = sql.split(" ")
        at = self.r.randrange(len(tokens))
        kind = self.r.randrange(4)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[at])
        elif kind == 2:
            other = self.r.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens.insert(
                at,
                self.pick(
                    "(",
                    ")",
                    ",",
                    "select",
                    "partition",
                    "default",
                    "by",
                    "1",
                    "'x'",
                    "not",
                    "with",
                    "a",
                    "=",
                    "for",
                ),
            )
        return " ".join(tokens)


_TOP = frozenset(n for n, d in _STATEMENTS.definitions.items() if n not in _PARTS_OF_STATEMENTS)
