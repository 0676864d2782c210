"""CREATE in all its forms that hold columns or a query, read into sqlglot's own Create, Schema and ColumnDef."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.dml import Changes
from gpcatalog.dialect.lexer import FCONST, ICONST, OP, Tokens
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.synopsis import CompiledGrammar
from gpcatalog.dialect.version import Edition
from gpcatalog.dialect.vocabulary import STRINGS, Vocabulary

_LIKE_OPTIONS_OLD = frozenset("defaults constraints indexes storage comments all".split())
_LIKE_OPTIONS_GP = frozenset("comments constraints defaults identity generated indexes statistics storage encoding relopt am all".split())
_LIKE_OPTIONS_PG = frozenset("comments compression constraints defaults identity generated indexes statistics storage all".split())
_ATTRIBUTES = (
    ("not", "deferrable"),
    ("deferrable",),
    ("initially", "deferred"),
    ("initially", "immediate"),
)
_ATTRIBUTES_18 = (("enforced",), ("not", "enforced"))
_ACTIONS = (("no", "action"), ("restrict",), ("cascade",), ("set", "null"), ("set", "default"))


class Tables(Changes):
    """Core plus what tables are made of; `rules` are the compiled synopses of the same edition."""

    __slots__ = ("rules",)

    def __init__(self, tokens: Tokens, edition: Edition, vocabulary: Vocabulary, rules: CompiledGrammar) -> None:
        super().__init__(tokens, edition, vocabulary)
        self.rules = rules

    def of(self, rule: str) -> Any:
        """Read by a synopsis."""
        return self.rules.rule(rule)(self)

    def maybe(self, rule: str) -> Any:
        """Read by a synopsis, or None with the cursor where it was."""
        start = self.i
        try:
            return self.rules.rule(rule)(self)
        except Mismatch:
            self.i = start
            return None

    # --- words the synopses ask for ---

    def nonreserved(self) -> exp.Identifier:
        """NonReservedWord."""
        return self._word(self.say.unreserved, "a name")

    def default_partition(self) -> str:
        """DEFAULT PARTITION, when no name follows: the server takes any word there for one, and refuses it."""
        if self.kinds[self.i] != "default" or self.peek(1) != "partition":
            raise self.miss("default")
        after = self.peek(2)
        if (after in self.say.partition and after != "set") or after == "for":
            self.i += 2
            raise self.miss("no name for a default partition")
        self.i += 2
        return "DEFAULT PARTITION"

    def strategy(self) -> exp.Identifier:
        """part_strategy: a word like RANGE, LIST or HASH."""
        if self.edition.classes.get(self.kinds[self.i], "U").upper() not in ("U",):
            raise self.miss("range or list")
        return self._word(self.say.label, "range or list")

    def old_aggregate_option(self) -> exp.Expression:
        """IDENT = def_arg."""
        name = self.ident()
        self.expect("=")
        return gx.StorageOption(this=name, value=self.def_arg())

    def operator_option(self) -> exp.Expression:
        """operator_def_elem."""
        name = self.label()
        self.expect("=")
        return gx.StorageOption(this=name, value=self.def_arg())

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
        """param_name, when a type follows it."""
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
        """PLAIN, MAIN, … or, from 16 on, DEFAULT."""
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
        if kind in self.say.column and self.peek(1) not in ("(", "."):
            return exp.Column(this=self.name())
        return self.windowless()

    def rule_statement(self) -> exp.Expression:
        """A command that a rule may hold."""
        if self.kinds[self.i] == "notify":
            found: exp.Expression = self.of("notify")
            return found
        return self.statement_body()

    def copy_query(self) -> exp.Expression:
        """The query of COPY (…) TO."""
        return self.select() if self.edition.base < 10 else self.statement_body()

    def explainable(self) -> exp.Expression:
        """What EXPLAIN takes."""
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
        """ConstraintAttributeSpec: attributes that do not contradict each other."""
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
        if kind in self.say.reserved or kind == "none" or (kind == "row" and self.edition.greenplum):
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

    # --- partition values ---

    def boundary_constant(self) -> exp.Expression:
        """A constant of a partition bound: literal, CAST, ::type or a negation of one."""
        kind = self.kinds[self.i]
        if kind == "-":
            self.i += 1
            return exp.Neg(this=self.boundary_constant())
        if kind == "cast":
            self.i += 1
            self.expect("(")
            value = self.boundary_value()
            self.expect("as")
            to = self.typename()
            self.expect(")")
            node: exp.Expression = exp.Cast(this=value, to=to)
        else:
            node = self._constant_only()
        while self.accept("::"):
            node = exp.Cast(this=node, to=self.typename())
        return node

    def _constant_only(self) -> exp.Expression:
        start = self.i
        node = self._primary()
        if not isinstance(
            node,
            exp.Literal | gx.TypedLiteral | exp.Null | exp.Boolean | gx.EscapeString | exp.Heredoc | exp.BitString | exp.HexString
            | gx.PsqlVariable | exp.National,
        ):  # fmt: skip
            self.i = start
            raise self.miss("a constant")
        return node

    def boundary_value(self) -> exp.Expression:
        """A boundary constant, or one in parentheses with ::type."""
        if self.accept("("):
            node: exp.Expression = exp.Paren(this=self.boundary_constant())
            self.expect(")")
            if self.accept("::"):
                node = exp.Cast(this=node, to=self.typename())
            return node
        return self.boundary_constant()

    def partition_key(self) -> exp.Expression:
        """part_elem."""
        element = self.index_element_core()
        if not element.args.get("collate") and not element.args.get("opclass"):
            found: exp.Expression = element.this
            if isinstance(found, exp.Column):
                name: exp.Expression = found.this
                return name
            return gx.PartitionKey(this=found)
        return gx.PartitionKey(**element.args)

    def plain_partition_key(self) -> exp.Expression:
        """A column as partition key: the classic syntax takes no expressions."""
        found = self.partition_key()
        if isinstance(found, exp.Identifier) or isinstance(found.this, exp.Column):
            return found
        raise self.miss("a column")

    def index_element_core(self) -> exp.Expression:
        """Column or expression with collation and operator class."""
        kind = self.kinds[self.i]
        if kind == "(":
            self.i += 1
            value: exp.Expression = exp.Paren(this=self.expr())
            self.expect(")")
        elif kind in self.say.column and self.peek(1) not in ("(", "."):
            value = exp.Column(this=self.name())
        else:
            value = self.windowless()
        collate = self.any_name() if self.accept("collate") else None
        opclass = self.any_name() if self.kinds[self.i] in self.say.column else None
        return gx.PartitionKey(this=value, collate=collate, opclass=opclass)

    def distributed(self) -> exp.Expression:
        """DISTRIBUTED BY (…), RANDOMLY or REPLICATED."""
        start = self.i
        self.expect("distributed")
        if self.accept("randomly"):
            node = exp.DistributedByProperty(kind="RANDOM")
        elif self.accept("replicated"):
            node = exp.DistributedByProperty(kind="REPLICATED")
        else:
            self.expect("by", "(")
            keys = [self.of("distribution_item")]
            while self.accept(","):
                keys.append(self.of("distribution_item"))
            self.expect(")")
            node = exp.DistributedByProperty(kind="HASH", expressions=keys)
        node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
        return node

    # --- columns and constraints ---

    def column_definition(self) -> exp.Expression:
        """columnDef."""
        start = self.i
        name = self.name()
        kind = self.typename()
        constraints: list[exp.Expression] = []
        if self.kinds[self.i] == "options" and self.peek(1) == "(":
            constraints.append(self.of("generic_options"))
        if self.edition.base >= 16 and self.accept("storage"):
            constraints.append(gx.ColumnStorage(kind="STORAGE", this=self.storage_word()))
        if self.edition.base >= 14 and self.accept("compression"):
            constraints.append(gx.ColumnStorage(kind="COMPRESSION", this=self.storage_word()))
        self._column_constraints(constraints)
        if self.edition.greenplum and self.accept("encoding"):
            encoding = self.of("definition")
            constraints.append(exp.ColumnConstraint(kind=gx.EncodingConstraint(this=encoding)))
        node = exp.ColumnDef(this=name, kind=kind, constraints=constraints)
        node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
        return node

    def _column_constraints(self, into: list[exp.Expression]) -> None:
        while True:
            start = self.i
            try:
                into.append(self.column_constraint())
            except Mismatch:
                if self.i != start:
                    raise
                return

    def column_constraint(self) -> exp.Expression:
        """ColConstraint; fails without moving when there is none."""
        kind = self.kinds[self.i]
        if kind == "constraint":
            self.i += 1
            name = self.name()
            found = self._column_constraint_kind()
            if found is None:
                raise self.miss("a constraint")
            return exp.ColumnConstraint(this=name, kind=found)
        if kind == "collate":
            self.i += 1
            return exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=self.any_name()))
        found = self._column_constraint_kind()
        if found is None:
            attribute = self._attribute(_ATTRIBUTES if self.edition.base < 18 else (*_ATTRIBUTES, *_ATTRIBUTES_18))
            if attribute is None:
                for each in ("not", "null", "unique", "primary", "check", "default", "references", "collate", "constraint"):
                    self.note(each)
                raise Mismatch
            found = attribute
        return exp.ColumnConstraint(kind=found)

    def _attribute(self, choices: tuple[tuple[str, ...], ...]) -> exp.Expression | None:
        for words in choices:
            if self.kinds[self.i : self.i + len(words)] == list(words):
                self.i += len(words)
                return gx.ConstraintAttribute(this=" ".join(words).upper())
        return None

    def _column_constraint_kind(self) -> exp.Expression | None:
        kind = self.kinds[self.i]
        if kind == "not" and self.peek(1) == "null":
            self.i += 2
            if self.edition.base >= 18 and self.sequence("no", "inherit"):
                return gx.OwnNotNull(no_inherit=True)
            return exp.NotNullColumnConstraint()
        if kind == "null":
            self.i += 1
            return exp.NotNullColumnConstraint(allow_null=True)
        if kind == "default":
            self.i += 1
            return exp.DefaultColumnConstraint(this=self.b_expr())
        if kind == "check":
            self.i += 1
            self.expect("(")
            value = self.expr()
            self.expect(")")
            no_inherit = self.sequence("no", "inherit")
            node = exp.CheckColumnConstraint(this=value)
            return gx.CheckConstraint(this=value, no_inherit=True) if no_inherit else node
        if kind in ("unique", "primary"):
            self.i += 1
            if kind == "primary":
                self.expect("key")
            args: dict[str, Any] = {}
            if kind == "unique" and self.edition.base >= 15 and self.accept("nulls"):
                args["nulls"] = "NOT DISTINCT" if self.accept("not") else "DISTINCT"
                self.expect("distinct")
            self._key_storage(args)
            if not args:
                return exp.PrimaryKeyColumnConstraint() if kind == "primary" else exp.UniqueColumnConstraint()
            return gx.KeyConstraint(kind="PRIMARY KEY" if kind == "primary" else "UNIQUE", **args)
        if kind == "references":
            return self._references(None)
        if kind == "generated" and self.edition.base >= 10:
            self.i += 1
            if self.accept("always"):
                when = "ALWAYS"
            else:
                self.expect("by", "default")
                when = "BY DEFAULT"
            self.expect("as")
            if self.accept("identity"):
                options = self.maybe("seq_options") if self.kinds[self.i] == "(" else None
                return gx.GeneratedConstraint(when=when, identity=True, options=options)
            if when != "ALWAYS":
                raise self.miss("identity")
            self.expect("(")
            value = self.expr()
            self.expect(")")
            if self.edition.base >= 18 and self.kinds[self.i] != "stored":
                self.accept("virtual")
                return gx.GeneratedConstraint(when=when, this=value)
            self.expect("stored")
            return gx.GeneratedConstraint(when=when, this=value, stored=True)
        return None

    def _key_storage(self, args: dict[str, Any]) -> None:
        if self.kinds[self.i] == "with" and self.peek(1) == "(":
            self.i += 1
            args["definition"] = self.definition()
        if self.kinds[self.i] == "using" and self.peek(1) == "index" and self.peek(2) == "tablespace":
            self.i += 3
            args["tablespace"] = self.name()

    def _key_columns(self) -> list[exp.Expression]:
        """(column, … [, PERIOD column])"""
        self.expect("(")
        found: list[exp.Expression] = [self.name()]
        while self.accept(","):
            if self.edition.base >= 18 and self.kinds[self.i] == "period" and self.peek(1) in self.say.column:
                self.i += 1
                found.append(gx.PeriodColumn(this=self.name()))
                break
            found.append(self.name())
        self.expect(")")
        return found

    def _references(self, columns: list[exp.Expression] | None) -> exp.Expression:
        self.expect("references")
        table = self.table_name()
        args: dict[str, Any] = {}
        if self.kinds[self.i] == "(":
            args["expressions"] = self._key_columns()
        if self.accept("match"):
            which = self.accept_any("full", "partial", "simple")
            if not which:
                raise self.miss("full")
            args["match"] = which.upper()
        actions: list[exp.Expression] = []
        seen: set[str] = set()
        while self.kinds[self.i] == "on" and self.peek(1) in ("update", "delete") and self.peek(1) not in seen:
            event = self.peek(1)
            seen.add(event)
            self.i += 2
            for words in _ACTIONS:
                if self.kinds[self.i : self.i + len(words)] == list(words):
                    self.i += len(words)
                    listed = None
                    if self.edition.base >= 15 and words[0] == "set" and self.kinds[self.i] == "(":
                        listed = self._name_list()
                    action = " ".join(words).upper()
                    actions.append(gx.ReferenceAction(event=event.upper(), action=action, expressions=listed))
                    break
            else:
                raise self.miss("cascade")
        return gx.ReferencesConstraint(columns=columns, this=table, actions=actions or None, **args)

    def table_constraint(self) -> exp.Expression:
        """TableConstraint."""
        start = self.i
        name = self.name() if self.accept("constraint") else None
        kind = self._table_constraint_kind()
        if kind is None:
            for each in ("check", "unique", "primary", "foreign", "exclude"):
                self.note(each)
            if name is None:
                self.i = start
            raise Mismatch
        attributes = self.maybe("attribute_spec")
        node = gx.TableConstraint(this=name, kind=kind, attributes=attributes)
        node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
        return node

    def _table_constraint_kind(self) -> exp.Expression | None:
        kind = self.kinds[self.i]
        if kind == "check" and self.peek(1) == "(":
            self.i += 2
            value = self.expr()
            self.expect(")")
            return gx.CheckConstraint(this=value)
        if kind in ("unique", "primary"):
            words = "UNIQUE"
            self.i += 1
            args: dict[str, Any] = {}
            if kind == "primary":
                self.expect("key")
                words = "PRIMARY KEY"
            elif self.edition.base >= 15 and self.accept("nulls"):
                args["nulls"] = "NOT DISTINCT" if self.accept("not") else "DISTINCT"
                self.expect("distinct")
            if self.kinds[self.i] == "using" and self.peek(1) == "index":
                self.i += 2
                return gx.KeyConstraint(kind=words, index=self.name(), **args)
            self.expect("(")
            columns = [self.name()]
            while self.accept(","):
                columns.append(self.name())
            if self.edition.base >= 18 and self.kinds[self.i] == "without" and self.peek(1) == "overlaps":
                self.i += 2
                args["overlaps"] = True
            self.expect(")")
            if self.edition.base >= 11 and self.accept("include"):
                args["include"] = self._name_list()
            self._key_storage(args)
            return gx.KeyConstraint(kind=words, expressions=columns, **args)
        if kind == "foreign":
            self.i += 1
            self.expect("key")
            return self._references(self._key_columns())
        if kind == "exclude":
            self.i += 1
            args = {}
            if self.accept("using"):
                args["using"] = self.name()
            self.expect("(")
            elements = [self._exclusion()]
            while self.accept(","):
                elements.append(self._exclusion())
            self.expect(")")
            if self.edition.base >= 11 and self.accept("include"):
                args["include"] = self._name_list()
            self._key_storage(args)
            if self.accept("where"):
                self.expect("(")
                args["where"] = self.expr()
                self.expect(")")
            return gx.ExcludeConstraint(expressions=elements, **args)
        if kind == "not" and self.peek(1) == "null" and self.edition.base >= 18:
            self.i += 2
            return gx.KeyConstraint(kind="NOT NULL", index=self.name())
        return None

    def _exclusion(self) -> exp.Expression:
        element = self.index_element()
        self.expect("with")
        operator = self.any_op() if self.kinds[self.i] == "operator" else self.operator()
        return gx.ExcludeElement(this=element, operator=operator)

    def _table_element(self, typed: bool) -> exp.Expression:
        kind = self.kinds[self.i]
        if kind in ("constraint", "check", "unique", "primary", "foreign", "exclude"):
            return self.table_constraint()
        if kind == "not" and self.edition.base >= 18:
            return self.table_constraint()
        if typed:
            name = self.name()
            with_options = False
            if self.kinds[self.i] == "with" and self.peek(1) == "options":
                self.i += 2
                with_options = True
            elif self.say.old:
                raise self.miss("with")
            constraints: list[exp.Expression] = []
            self._column_constraints(constraints)
            return exp.ColumnDef(this=name, constraints=constraints, with_options=with_options or None)
        if kind == "like":
            start = self.i
            self.i += 1
            table = self.table_name()
            options: list[str] = []
            allowed = _LIKE_OPTIONS_OLD if self.say.old else _LIKE_OPTIONS_GP if self.edition.greenplum else _LIKE_OPTIONS_PG
            while self.kinds[self.i] in ("including", "excluding"):
                word = self.kinds[self.i]
                self.i += 1
                if self.kinds[self.i] not in allowed:
                    raise self.miss(", ".join(sorted(allowed)))
                options.append(f"{word} {self.kinds[self.i]}".upper())
                self.i += 1
            node = gx.LikeClause(this=table, expressions=options or None)
            node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
            return node
        if self.edition.greenplum and (
            (kind == "column" and self.peek(2) == "encoding") or (kind == "default" and self.peek(1) == "column")
        ):
            return self.of("column_encoding")  # type: ignore[no-any-return]
        return self.column_definition()

    def _elements(self, typed: bool = False) -> list[exp.Expression]:
        self.expect("(")
        if not typed and self.kinds[self.i] == ")":
            self.i += 1
            return []
        found = [self._table_element(typed)]
        while self.accept(","):
            found.append(self._table_element(typed))
        self.expect(")")
        return found

    # --- CREATE ---

    def temp_word(self) -> str:
        """TEMP in all its spellings."""
        start = self.i
        scope = self.accept_any("local", "global")
        word = self.accept_any("temporary", "temp")
        if not word:
            self.i = start
            if scope or not self.accept("unlogged"):
                raise Mismatch
            return "UNLOGGED"
        return "TEMPORARY"

    def create(self) -> exp.Expression:
        """CREATE of a table, view, materialized view, index, or external or foreign table."""
        self.expect("create")
        kind = self.kinds[self.i]
        if kind in ("unique", "index"):
            return self._create_index()
        replace = self.sequence("or", "replace")
        if self.edition.greenplum and kind in ("writable", "readable", "external"):
            return self._create_external()
        if kind == "foreign" and self.peek(1) == "table":
            self.i += 2
            return self._create_foreign()
        properties: list[exp.Expression] = []
        start = self.i
        try:
            word = self.temp_word()
            properties.append(exp.UnloggedProperty() if word == "UNLOGGED" else exp.TemporaryProperty())
        except Mismatch:
            self.i = start
        if self.kinds[self.i] == "materialized" and not replace:
            return self._create_materialized(properties)
        if self.kinds[self.i] in ("view", "recursive"):
            return self._create_view(properties, replace)
        if replace:
            raise self.miss("view")
        if self.kinds[self.i] == "table":
            self.i += 1
            return self._create_table(properties)
        for each in ("table", "view", "materialized", "index"):
            self.note(each)
        raise Mismatch

    def _with_options(self, properties: list[exp.Expression]) -> bool:
        if self.kinds[self.i] == "with" and self.peek(1) == "(":
            start = self.i
            self.i += 1
            node: exp.Expression = gx.StorageOptions(expressions=self.reloptions())
            node.meta["start"], node.meta["end"] = self.starts[start], self.ends[self.i - 1]
            properties.append(node)
            return True
        if self.kinds[self.i] == "without" and self.peek(1) == "oids":
            self.i += 2
            properties.append(gx.OidsProperty(this=False))
            return True
        if self.say.old and self.kinds[self.i] == "with" and self.peek(1) == "oids":
            self.i += 2
            properties.append(gx.OidsProperty(this=True))
            return True
        self.note("with")
        return False

    def _on_commit(self, properties: list[exp.Expression]) -> None:
        if self.kinds[self.i] == "on" and self.peek(1) == "commit":
            self.i += 2
            if self.accept("drop"):
                properties.append(gx.OnCommit(this="DROP"))
            else:
                word = self.accept_any("delete", "preserve")
                if not word:
                    raise self.miss("drop")
                self.expect("rows")
                properties.append(gx.OnCommit(this=f"{word.upper()} ROWS"))

    def _tablespace(self, properties: list[exp.Expression]) -> None:
        if self.accept("tablespace"):
            properties.append(exp.TableSpaceProperty(this=self.name()))

    def _method(self, properties: list[exp.Expression]) -> None:
        if self.edition.base >= 12 and self.accept("using"):
            properties.append(gx.AccessMethod(this=self.name()))

    def _distribution(self, properties: list[exp.Expression]) -> None:
        if self.edition.greenplum and self.kinds[self.i] == "distributed":
            properties.append(self.distributed())
        else:
            self.note("distributed")

    def _partitioning(self, properties: list[exp.Expression]) -> bool:
        if self.kinds[self.i] == "partition" and self.peek(1) == "by" and (self.edition.base >= 10 or self.edition.greenplum):
            properties.append(self.of("partition_by"))
            return True
        self.note("partition")
        return False

    def _create_table(self, properties: list[exp.Expression]) -> exp.Expression:
        exists = self.sequence("if", "not", "exists")
        name = self.table_name()
        this: exp.Expression = name
        args: dict[str, Any] = {"kind": "TABLE", "exists": exists or None}
        kind = self.kinds[self.i]
        if kind == "of":
            self.i += 1
            properties.append(gx.OfType(this=self.any_name()))
            if self.kinds[self.i] == "(":
                this = exp.Schema(this=name, expressions=self._elements(typed=True))
            self._table_tail(properties)
        elif kind == "partition" and self.peek(1) == "of" and self.edition.base >= 10:
            self.i += 2
            parent = self.table_name()
            if self.kinds[self.i] == "(":
                this = exp.Schema(this=name, expressions=self._elements(typed=True))
            properties.append(exp.PartitionedOfProperty(this=parent, expression=self.of("partition_bound")))
            self._table_tail(properties, distribution=False)
        elif kind == "(":
            start = self.i
            as_query = self._maybe_ctas(name, properties, args)
            if as_query is not None:
                return as_query
            self.i = start
            this = exp.Schema(this=name, expressions=self._elements())
            if self.accept("inherits"):
                self.expect("(")
                parents = [self.table_name()]
                while self.accept(","):
                    parents.append(self.table_name())
                self.expect(")")
                properties.append(exp.InheritsProperty(expressions=parents))
            self._table_tail(properties)
        else:
            found = self._maybe_ctas(name, properties, args)
            if found is None:
                raise self.miss("(")
            return found
        return exp.Create(this=this, properties=exp.Properties(expressions=properties) if properties else None, **args)

    def _table_tail(self, properties: list[exp.Expression], distribution: bool = True) -> None:
        partitioned = self._partitioning(properties) if self.edition.base >= 10 else False
        self._method(properties)
        self._with_options(properties)
        self._on_commit(properties)
        self._tablespace(properties)
        if distribution:
            self._distribution(properties)
        if not partitioned and self.edition.greenplum:
            self._partitioning(properties)

    def _maybe_ctas(self, name: exp.Table, properties: list[exp.Expression], args: dict[str, Any]) -> exp.Expression | None:
        """CREATE TABLE name [(columns)] … AS query, or None when this is no CTAS."""
        this: exp.Expression = name
        mine = list(properties)
        if self.kinds[self.i] == "(":
            i = self.i + 1
            while self.kinds[i] in self.say.column and self.kinds[i + 1] == ",":
                i += 2
            if not (self.kinds[i] in self.say.column and self.kinds[i + 1] == ")"):
                return None
            this = exp.Schema(this=name, expressions=self._name_list())
        self._method(mine)
        self._with_options(mine)
        self._on_commit(mine)
        self._tablespace(mine)
        if not self.accept("as"):
            return None
        if self.kinds[self.i] == "execute":
            query: exp.Expression = self.of("execute")
            self._with_data(mine)
        else:
            query = self.select()
            if query.find(gx.IntoTarget):
                raise self.miss("no INTO in this query")
            self._with_data(mine)
            if not args.get("exists") or not self.edition.greenplum:
                self._distribution(mine)
                if self.edition.greenplum:
                    self._partitioning(mine)
        return exp.Create(this=this, expression=query, properties=exp.Properties(expressions=mine) if mine else None, **args)

    def _with_data(self, properties: list[exp.Expression]) -> None:
        if self.kinds[self.i] == "with" and self.peek(1) == "data":
            self.i += 2
            properties.append(gx.WithData())
        elif self.kinds[self.i] == "with" and self.peek(1) == "no" and self.peek(2) == "data":
            self.i += 3
            properties.append(gx.WithData(no=True))

    def _create_view(self, properties: list[exp.Expression], replace: bool) -> exp.Expression:
        if self.accept("recursive"):
            properties.append(gx.RecursiveView())
        self.expect("view")
        name = self.table_name()
        this: exp.Expression = name
        if self.kinds[self.i] == "(":
            this = exp.Schema(this=name, expressions=self._name_list())
        elif any(isinstance(p, gx.RecursiveView) for p in properties):
            raise self.miss("(")
        if self.kinds[self.i] == "with":
            self._with_options(properties)
        self.expect("as")
        query = self.select()
        if self.kinds[self.i] == "with" and self.peek(1) in ("check", "cascaded", "local"):
            self.i += 1
            which = self.accept_any("cascaded", "local")
            self.expect("check", "option")
            properties.append(gx.CheckOption(this=which.upper() or None))
        return exp.Create(
            this=this,
            kind="VIEW",
            replace=replace or None,
            expression=query,
            properties=exp.Properties(expressions=properties) if properties else None,
        )

    def _create_materialized(self, properties: list[exp.Expression]) -> exp.Expression:
        if any(isinstance(p, exp.TemporaryProperty) for p in properties):
            raise self.miss("table")
        self.i += 1
        self.expect("view")
        exists = self.sequence("if", "not", "exists") if self.edition.base >= 10 else False
        name = self.table_name()
        this: exp.Expression = name
        if self.kinds[self.i] == "(":
            this = exp.Schema(this=name, expressions=self._name_list())
        self._method(properties)
        if self.kinds[self.i] == "with":
            self._with_options(properties)
        self._tablespace(properties)
        self.expect("as")
        query = self.select()
        self._with_data(properties)
        self._distribution(properties)
        return exp.Create(
            this=this,
            kind="MATERIALIZED VIEW",
            exists=exists or None,
            expression=query,
            properties=exp.Properties(expressions=properties) if properties else None,
        )

    def _create_index(self) -> exp.Expression:
        unique = self.accept("unique")
        self.expect("index")
        concurrently = self.accept("concurrently")
        exists = self.sequence("if", "not", "exists") if self.edition.base >= 10 else False
        name = None
        if self.kinds[self.i] != "on":
            # a dotted name is refused: an index lives where its table lives
            name = self.name()
        elif exists:
            raise self.miss("a name")
        self.expect("on")
        table = self.relation() if self.edition.base >= 10 else self.table_name()
        args: dict[str, Any] = {}
        if self.accept("using"):
            args["using"] = self.name()
        self.expect("(")
        args["columns"] = self.index_elements()
        self.expect(")")
        if self.edition.base >= 11 and self.accept("include"):
            self.expect("(")
            args["include"] = self.index_elements()
            self.expect(")")
        if self.edition.base >= 15 and self.accept("nulls"):
            args["nulls"] = "NOT DISTINCT" if self.accept("not") else "DISTINCT"
            self.expect("distinct")
        if self.kinds[self.i] == "with":
            self.i += 1
            args["with_storage"] = self.reloptions()
        if self.accept("tablespace"):
            args["tablespace"] = self.name()
        if self.accept("where"):
            args["where"] = self.expr()
        index = exp.Index(this=name, table=table, unique=unique or None, params=gx.IndexBody(**args))
        return exp.Create(this=index, kind="INDEX", unique=unique or None, concurrently=concurrently or None, exists=exists or None)

    def _create_external(self) -> exp.Expression:
        properties: list[exp.Expression] = []
        word = self.accept_any("writable", "readable")
        self.expect("external")
        web = self.accept("web")
        properties.append(gx.ExternalKind(this=word.upper() or None, web=web or None))
        start = self.i
        try:
            temp = self.temp_word()
            properties.append(exp.UnloggedProperty() if temp == "UNLOGGED" else exp.TemporaryProperty())
        except Mismatch:
            self.i = start
        self.expect("table")
        name = self.table_name()
        self.expect("(")
        elements: list[exp.Expression] = []
        if self.kinds[self.i] != ")":
            while True:
                if self.kinds[self.i] == "like":
                    elements.append(self._table_element(False))
                else:
                    column = self.name()
                    elements.append(exp.ColumnDef(this=column, kind=self.typename(), constraints=[]))
                if not self.accept(","):
                    break
        self.expect(")")
        source = self.of("external_source")
        if word == "writable" and source.args.get("on") and source.args.get("command") is not None:
            raise self.miss("no ON clause for a writable table that runs a command")
        self.expect("format")
        properties += [source, gx.ExternalFormat(this=self.string(), options=self.maybe("format_options"))]
        if self.kinds[self.i] == "options":
            properties.append(self.of("external_options"))
        while self.kinds[self.i] == "encoding":
            properties.append(self.of("external_encoding"))
        if self.kinds[self.i] in ("log", "segment"):
            properties.append(self.of("external_errors"))
        self._distribution(properties)
        return exp.Create(
            this=exp.Schema(this=name, expressions=elements),
            kind="EXTERNAL TABLE",
            properties=exp.Properties(expressions=properties),
        )

    def _create_foreign(self) -> exp.Expression:
        properties: list[exp.Expression] = []
        exists = self.sequence("if", "not", "exists")
        name = self.table_name()
        this: exp.Expression = name
        if self.edition.base >= 10 and self.kinds[self.i] == "partition" and self.peek(1) == "of":
            self.i += 2
            parent = self.table_name()
            if self.kinds[self.i] == "(":
                this = exp.Schema(this=name, expressions=self._elements(typed=True))
            properties.append(exp.PartitionedOfProperty(this=parent, expression=self.of("partition_bound")))
            inside = False
        else:
            this = exp.Schema(this=name, expressions=self._elements())
            inside = True
            if self.edition.base >= 10 and self.accept("inherits"):
                self.expect("(")
                parents = [self.table_name()]
                while self.accept(","):
                    parents.append(self.table_name())
                self.expect(")")
                properties.append(exp.InheritsProperty(expressions=parents))
        self.expect("server")
        properties.append(gx.ServerProperty(this=self.name()))
        if self.kinds[self.i] == "options":
            properties.append(self.of("generic_options"))
        if inside and not exists:
            self._distribution(properties)
        return exp.Create(
            this=this,
            kind="FOREIGN TABLE",
            exists=exists or None,
            properties=exp.Properties(expressions=properties),
        )
