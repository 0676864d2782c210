"""Elements and clauses of CREATE TABLE: partition values, columns, constraints, storage options."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.synopsis_hooks import SynopsisHooks

_LIKE_OPTIONS_OLD = frozenset("defaults constraints indexes storage comments all".split())
_LIKE_OPTIONS_GP = frozenset(
    "comments constraints defaults identity generated indexes statistics storage encoding relopt"
    " am all".split()
)
_LIKE_OPTIONS_PG = frozenset(
    "comments compression constraints defaults identity generated indexes statistics storage all".split()
)
_ATTRIBUTES = (
    ("not", "deferrable"),
    ("deferrable",),
    ("initially", "deferred"),
    ("initially", "immediate"),
)
_ATTRIBUTES_18 = (("enforced",), ("not", "enforced"))
_ACTIONS = (("no", "action"), ("restrict",), ("cascade",), ("set", "null"), ("set", "default"))


class TableElements(SynopsisHooks):
    """Columns, constraints, bounds and distribution."""

    __slots__ = ()

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
        """A column as partition key: the classic syntax accepts no expressions."""
        found = self.partition_key()
        if isinstance(found, exp.Identifier) or isinstance(found.this, exp.Column):
            return found
        raise self.miss("a column")

    def index_element_core(self) -> exp.Expression:
        """Column or expression with collation and operator class."""
        value = self.index_value()
        collate = self.any_name() if self.accept("collate") else None
        opclass = self.any_name() if self.kinds[self.i] in self.vocabulary.column else None
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
        """ColConstraint; raises Mismatch at the same position if there is none."""
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
            attribute = self._attribute(
                _ATTRIBUTES if self.edition.base < 18 else (*_ATTRIBUTES, *_ATTRIBUTES_18)
            )
            if attribute is None:
                for each in (
                    "not",
                    "null",
                    "unique",
                    "primary",
                    "check",
                    "default",
                    "references",
                    "collate",
                    "constraint",
                ):
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
                return (
                    exp.PrimaryKeyColumnConstraint()
                    if kind == "primary"
                    else exp.UniqueColumnConstraint()
                )
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
        if (
            self.kinds[self.i] == "using"
            and self.peek(1) == "index"
            and self.peek(2) == "tablespace"
        ):
            self.i += 3
            args["tablespace"] = self.name()

    def _key_columns(self) -> list[exp.Expression]:
        """(column, … [, PERIOD column])"""
        self.expect("(")
        found: list[exp.Expression] = [self.name()]
        while self.accept(","):
            if (
                self.edition.base >= 18
                and self.kinds[self.i] == "period"
                and self.peek(1) in self.vocabulary.column
            ):
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
        while (
            self.kinds[self.i] == "on"
            and self.peek(1) in ("update", "delete")
            and self.peek(1) not in seen
        ):
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
                    actions.append(
                        gx.ReferenceAction(event=event.upper(), action=action, expressions=listed)
                    )
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
            return self._key()
        if kind == "foreign":
            self.i += 1
            self.expect("key")
            return self._references(self._key_columns())
        if kind == "exclude":
            return self._exclude()
        if kind == "not" and self.peek(1) == "null" and self.edition.base >= 18:
            self.i += 2
            return gx.KeyConstraint(kind="NOT NULL", index=self.name())
        return None

    def _key(self) -> exp.Expression:
        """UNIQUE or PRIMARY KEY of a table."""
        args: dict[str, Any] = {}
        words = "UNIQUE"
        primary = self.kinds[self.i] == "primary"
        self.i += 1
        if primary:
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
        if (
            self.edition.base >= 18
            and self.kinds[self.i] == "without"
            and self.peek(1) == "overlaps"
        ):
            self.i += 2
            args["overlaps"] = True
        self.expect(")")
        if self.edition.base >= 11 and self.accept("include"):
            args["include"] = self._name_list()
        self._key_storage(args)
        return gx.KeyConstraint(kind=words, expressions=columns, **args)

    def _exclude(self) -> exp.Expression:
        """EXCLUDE of a table."""
        self.i += 1
        args: dict[str, Any] = {}
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
            elif self.vocabulary.old:
                raise self.miss("with")
            constraints: list[exp.Expression] = []
            self._column_constraints(constraints)
            return exp.ColumnDef(
                this=name, constraints=constraints, with_options=with_options or None
            )
        if kind == "like":
            start = self.i
            self.i += 1
            table = self.table_name()
            options: list[str] = []
            allowed = (
                _LIKE_OPTIONS_OLD
                if self.vocabulary.old
                else _LIKE_OPTIONS_GP
                if self.edition.greenplum
                else _LIKE_OPTIONS_PG
            )
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
            (kind == "column" and self.peek(2) == "encoding")
            or (kind == "default" and self.peek(1) == "column")
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
