"""CREATE statements with columns or a query, parsed to sqlglot's Create, Schema and ColumnDef."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.reader import Mismatch
from gpcatalog.dialect.table_elements import TableElements


class Tables(TableElements):
    """CREATE of tables, views, indexes, and external and foreign tables."""

    __slots__ = ()

    # --- CREATE ---

    def _persistence(self) -> list[exp.Expression]:
        """TEMP or UNLOGGED as a property of the table, if it is present."""
        start = self.i
        try:
            word = self.temp_word()
        except Mismatch:
            self.i = start
            return []
        return [exp.UnloggedProperty() if word == "UNLOGGED" else exp.TemporaryProperty()]

    def temp_word(self) -> str:
        """TEMP in all its forms."""
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
        properties = self._persistence()
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
        if self.vocabulary.old and self.kinds[self.i] == "with" and self.peek(1) == "oids":
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
        if (
            self.kinds[self.i] == "partition"
            and self.peek(1) == "by"
            and (self.edition.base >= 10 or self.edition.greenplum)
        ):
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
            properties.append(
                exp.PartitionedOfProperty(this=parent, expression=self.of("partition_bound"))
            )
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
        return exp.Create(
            this=this,
            properties=exp.Properties(expressions=properties) if properties else None,
            **args,
        )

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

    def _maybe_ctas(
        self, name: exp.Table, properties: list[exp.Expression], args: dict[str, Any]
    ) -> exp.Expression | None:
        """CREATE TABLE name [(columns)] … AS query, or None if the statement is not CREATE TABLE
        AS.
        """
        this: exp.Expression = name
        mine = list(properties)
        if self.kinds[self.i] == "(":
            i = self.i + 1
            while self.kinds[i] in self.vocabulary.column and self.kinds[i + 1] == ",":
                i += 2
            if not (self.kinds[i] in self.vocabulary.column and self.kinds[i + 1] == ")"):
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
        return exp.Create(
            this=this,
            expression=query,
            properties=exp.Properties(expressions=mine) if mine else None,
            **args,
        )

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
            # a schema is not allowed: an index is in the schema of its table
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
        index = exp.Index(
            this=name, table=table, unique=unique or None, params=gx.IndexBody(**args)
        )
        return exp.Create(
            this=index,
            kind="INDEX",
            unique=unique or None,
            concurrently=concurrently or None,
            exists=exists or None,
        )

    def _create_external(self) -> exp.Expression:
        properties: list[exp.Expression] = []
        word = self.accept_any("writable", "readable")
        self.expect("external")
        web = self.accept("web")
        properties.append(gx.ExternalKind(this=word.upper() or None, web=web or None))
        properties += self._persistence()
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
                    elements.append(
                        exp.ColumnDef(this=column, kind=self.typename(), constraints=[])
                    )
                if not self.accept(","):
                    break
        self.expect(")")
        source = self.of("external_source")
        if word == "writable" and source.args.get("on") and source.args.get("command") is not None:
            raise self.miss("no ON clause for a writable table that runs a command")
        self.expect("format")
        properties += [
            source,
            gx.ExternalFormat(this=self.string(), options=self.maybe("format_options")),
        ]
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
            properties.append(
                exp.PartitionedOfProperty(this=parent, expression=self.of("partition_bound"))
            )
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
