"""Hand-written readers of parts that synopses refer to: words, options, definitions, schema
elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.dml import Changes
from gpcatalog.dialect.lexer import FCONST, ICONST, OP, Tokens
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.synopsis import CompiledGrammar
from gpcatalog.dialect.version import Edition
from gpcatalog.dialect.vocabulary import STRINGS, Vocabulary

# statements that PostgreSQL 19 also accepts inside CREATE SCHEMA
_ELEMENTS_19 = (
    "create_domain",
    "create_function",
    "create_procedure",
    "create_aggregate",
    "create_operator",
    "create_type",
    "create_text_search",
    "create_collation",
)


class SynopsisHooks(Changes):
    """Queries, DML and the readers that synopses refer to by name; `rules` are the compiled
    synopses of the same edition.
    """

    __slots__ = ("rules",)

    if TYPE_CHECKING:  # defined in the class that reads statements

        def create(self) -> exp.Expression: ...

    def __init__(
        self, tokens: Tokens, edition: Edition, vocabulary: Vocabulary, rules: CompiledGrammar
    ) -> None:
        super().__init__(tokens, edition, vocabulary)
        self.rules = rules

    def of(self, rule: str) -> Any:
        """Read a part by its synopsis."""
        return self.rules.rule(rule)(self)

    def maybe(self, rule: str) -> Any:
        """Read a part by its synopsis; if it does not match, return None and keep the position."""
        start = self.i
        try:
            return self.rules.rule(rule)(self)
        except Mismatch:
            self.i = start
            return None

    # --- words that synopses refer to ---

    def nonreserved(self) -> exp.Identifier:
        """NonReservedWord."""
        return self._word(self.vocabulary.unreserved, "a name")

    def default_partition(self) -> str:
        """DEFAULT PARTITION without a name; the server reads any word after it as a name, and
        rejects it.
        """
        if self.kinds[self.i] != "default" or self.peek(1) != "partition":
            raise self.miss("default")
        after = self.peek(2)
        if (after in self.vocabulary.partition and after != "set") or after == "for":
            self.i += 2
            raise self.miss("no name for a default partition")
        self.i += 2
        return "DEFAULT PARTITION"

    def strategy(self) -> exp.Identifier:
        """part_strategy: a word such as RANGE, LIST or HASH."""
        if self.edition.classes.get(self.kinds[self.i], "U").upper() not in ("U",):
            raise self.miss("range or list")
        return self._word(self.vocabulary.label, "range or list")

    def old_aggregate_option(self) -> exp.Expression:
        """IDENT = def_arg."""
        name = self.ident()
        self.expect("=")
        return gx.StorageOption(this=name, value=self.def_arg())

    def operator_option(self) -> exp.Expression:
        """operator_def_elem; since PostgreSQL 17, the value is optional."""
        name = self.label()
        if self.edition.base >= 17 and self.kinds[self.i] != "=":
            return gx.StorageOption(this=name)
        self.expect("=")
        return gx.StorageOption(this=name, value=self.def_arg())

    def copy_label(self) -> exp.Identifier:
        """The name of an option of COPY."""
        # FORMAT before JSON is a token of its own, which COPY accepts since PostgreSQL 19
        if (
            16 <= self.edition.base < 19
            and self.kinds[self.i] == "format"
            and self.peek(1) == "json"
        ):
            raise self.miss("another format")
        return self.label()

    def variable(self) -> exp.Expression:
        """var_name: dotted words."""
        node: exp.Expression = self.name()
        while self.kinds[self.i] == ".":
            self.i += 1
            node = exp.Dot(this=node, expression=self.name())
        return node

    def zone_value(self) -> exp.Expression:
        """zone_value."""
        kind = self.kinds[self.i]
        if kind in STRINGS:
            return self.string()
        if kind in ("default", "local"):
            self.i += 1
            return exp.Identifier(this=kind.upper(), quoted=False)
        if kind == "interval":
            found = self._typed_literal()
            if found is None or found.args.get("fields") not in (None, "HOUR", "HOUR TO MINUTE"):
                raise self.miss("an interval of hours")
            return found
        if kind in (ICONST, FCONST, "+", "-"):
            return self.number()
        return self.ident()

    def arg_mode(self) -> str:
        """arg_class."""
        if self.kinds[self.i] == "in" and self.peek(1) == "out":
            self.i += 2
            return "IN OUT"
        kind = self.accept_any("in", "out", "inout", "variadic")
        if not kind:
            raise Mismatch
        return kind.upper()

    def arg_name(self) -> exp.Identifier:
        """param_name, if a type follows it."""
        start = self.i
        name = self.function_word()
        if self.kinds[self.i] in (")", ",", "(", ".", "=", "[", "default", "array", "%"):
            self.i = start
            raise self.miss("a type")
        return name

    def trigger_number(self) -> exp.Expression:
        """A number as a trigger's argument."""
        if self.kinds[self.i] not in (ICONST, FCONST):
            raise self.miss("a number")
        self.i += 1
        return exp.Literal(this=self.values[self.i - 1], is_string=False)

    def column_ref(self) -> exp.Expression:
        """A column's name, or its number for SET STATISTICS."""
        if self.kinds[self.i] == ICONST and self.edition.base >= 11:
            return self.integer()
        return self.name()

    def storage_word(self) -> exp.Identifier:
        """PLAIN, MAIN, …"""
        if self.kinds[self.i] == "default" and self.edition.base >= 14:
            self.i += 1
            return exp.Identifier(this=self.values[self.i - 1], quoted=False)
        return self.name()

    def column_storage_word(self) -> exp.Identifier:
        """PLAIN, MAIN, … or, since PostgreSQL 16, DEFAULT."""
        return self.storage_word() if self.edition.base >= 16 else self.name()

    def access_method_name(self) -> exp.Identifier:
        """A method, or DEFAULT."""
        return self.storage_word() if self.edition.base >= 17 else self.name()

    def vacuum_relation(self) -> exp.Expression:
        """A table to vacuum."""
        return self.relation() if self.edition.base >= 18 else self.table_name()

    def from_items(self) -> exp.Expression:
        """from_list as one node."""
        first, joins = self._from_list()
        first.set("joins", joins or None)
        return first

    def statistics_item(self) -> exp.Expression:
        """A column or expression of CREATE STATISTICS."""
        if self.edition.base < 14:
            return self.expr()
        kind = self.kinds[self.i]
        if kind == "(":
            self.i += 1
            value = exp.Paren(this=self.expr())
            self.expect(")")
            return value
        if kind in self.vocabulary.column and self.peek(1) not in ("(", "."):
            return exp.Column(this=self.name())
        return self.windowless()

    def rule_statement(self) -> exp.Expression:
        """A command that a rule can contain."""
        if self.kinds[self.i] == "notify":
            found: exp.Expression = self.of("notify")
            return found
        return self.statement_body()

    def copy_query(self) -> exp.Expression:
        """The query of COPY (…) TO."""
        return self.select() if self.edition.base < 10 else self.statement_body()

    def explainable(self) -> exp.Expression:
        """A statement that EXPLAIN accepts."""
        kind = self.kinds[self.i]
        if kind == "create":
            return self.create()
        if kind in ("declare", "execute", "refresh"):
            found: exp.Expression = self.of({"declare": "declare_cursor"}.get(kind, kind))
            return found
        return self.statement_body()

    def schema_element(self) -> exp.Expression:
        """A statement inside CREATE SCHEMA."""
        kind, after = self.kinds[self.i], self.peek(1)
        if kind == "grant":
            found: exp.Expression = self.of("grant")
            return found
        if kind == "create":
            start = self.i
            if after == "trigger" or (after == "constraint" and self.peek(2) == "trigger"):
                return self.of("create_trigger")  # type: ignore[no-any-return]
            try:
                return self.create()
            except Mismatch:
                self.i = start
            if self.edition.base >= 19 and after != "sequence":
                for rule in _ELEMENTS_19:
                    inner: exp.Expression | None = self.maybe(rule)
                    if inner is not None:
                        return inner
            return self.of("create_sequence")  # type: ignore[no-any-return]
        raise self.miss("create")

    def sql_body(self) -> exp.Expression:
        """RETURN expression, or BEGIN ATOMIC … END."""
        if self.accept("return"):
            return gx.SqlBody(expressions=[self.expr()])
        if self.kinds[self.i] != "begin" or self.peek(1) != "atomic":
            raise Mismatch
        self.i += 2
        found: list[exp.Expression] = []
        while self.kinds[self.i] != "end":
            if self.accept(";"):
                continue
            if self.kinds[self.i] == "return":
                self.i += 1
                found.append(gx.SqlBody(expressions=[self.expr()]))
            elif self.kinds[self.i] == "create":
                found.append(self.schema_element())
            else:
                found.append(self.statement_body())
            self.expect(";")
        self.i += 1
        return gx.SqlBody(expressions=found, atomic=True)

    def attribute_spec(self) -> exp.Expression:
        """ConstraintAttributeSpec: constraint attributes that do not contradict each other."""
        found: list[exp.Expression] = []
        seen: set[str] = set()
        while True:
            start = self.i
            trait = self.maybe("constraint_attribute")
            if trait is None:
                break
            words = " ".join(self.kinds[start : self.i])
            other = {
                "deferrable": ("not deferrable",),
                "not deferrable": ("deferrable", "initially deferred"),
                "initially deferred": ("initially immediate", "not deferrable"),
                "initially immediate": ("initially deferred",),
            }.get(words, ())
            if seen.intersection(other):
                self.i = start
                raise self.miss("no contradicting property")
            seen.add(words)
            found.append(trait)
        if not found:
            raise Mismatch
        return gx.AttributeSpec(expressions=found)

    # --- options ---

    def def_arg(self) -> exp.Expression:
        """def_arg."""
        kind = self.kinds[self.i]
        if kind in STRINGS or kind == "PSQLVAR":
            return self.string()
        if kind in (ICONST, FCONST) or (kind in ("+", "-") and self.peek(1) in (ICONST, FCONST)):
            return self.number()
        if kind in ("+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>", OP, "operator"):
            return self.any_op()
        if (
            kind in self.vocabulary.reserved
            or kind == "none"
            or (kind == "row" and self.edition.greenplum)
        ):
            self.i += 1
            return exp.Identifier(this=self.values[self.i - 1], quoted=False)
        return self.func_type()

    def def_elem(self) -> exp.Expression:
        """def_elem: name [= value]."""
        start = self.i
        name = self.label()
        value = self.def_arg() if self.accept("=") else None
        node = gx.StorageOption(this=name, value=value)
        node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
        return node

    def reloption(self) -> exp.Expression:
        """reloption_elem: [namespace.]name [= value]."""
        start = self.i
        name = self.label()
        namespace = None
        if self.accept("."):
            namespace, name = name, self.label()
        value = self.def_arg() if self.accept("=") else None
        node = gx.StorageOption(this=name, namespace=namespace, value=value)
        node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
        return node

    def reloptions(self) -> list[exp.Expression]:
        """(reloption, …)."""
        self.expect("(")
        found = [self.reloption()]
        while self.accept(","):
            found.append(self.reloption())
        self.expect(")")
        return found

    def definition(self) -> list[exp.Expression]:
        """(name [= value], …)."""
        self.expect("(")
        found = [self.def_elem()]
        while self.accept(","):
            found.append(self.def_elem())
        self.expect(")")
        return found
