"""The sqlglot dialect `greenplum`: Greenplum 6 and 7, Cloudberry 2 and PostgreSQL 12-19, as strict
as the server.
"""

from __future__ import annotations

import sys
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError
from sqlglot.generator import Generator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.grammar import WORDS, SyntaxFault, fault, grammar
from gpcatalog.dialect.lexer import LexError, Tokens, scan
from gpcatalog.dialect.version import ANY, Edition, edition
from gpcatalog.dialect.writer import WRITERS
from gpcatalog.errors import CatalogError
from gpcatalog.model import generations

if "sqlglotc" in sys.modules:  # pragma: no cover - the compiled classes cannot be subclassed
    raise CatalogError(
        "the compiled sqlglot (package sqlglotc) does not support dialects written in Python",
        hint="uninstall sqlglotc (or sqlglot[c]) in this environment",
    )

# a version number is enough: those of the products do not overlap; Greenplum 5 is parsed as 6
_VERSIONS = {one.version: one.name for one in generations.GENERATIONS} | {"5": "gp6"}


def editions(version: object = None) -> tuple[Edition, ...]:
    """The edition that a setting names ("6", "7", "gp6", "cb2", "17"); without a name, those to
    try, in order.

    >>> [e.name for e in editions("6")], [e.name for e in editions()]
    (['gp6'], ['gp7', 'gp6', 'pg19'])
    """
    if version is None:
        return tuple(edition(name) for name in ANY)
    name = str(version).split(".")[0]
    known = generations.named(name)
    found = _VERSIONS.get(name) or (known.name if known else None)
    if found is None:
        raise CatalogError(
            f"there is no grammar for version {version}",
            hint=('use "6", "7", "gp6", "gp7", "cb2" or "pgNN"'),
        )
    return (edition(found),)


def read_statement(
    tokens: Tokens, candidates: tuple[Edition, ...]
) -> tuple[exp.Expression, Edition]:
    """The tree of one statement by the first edition that accepts it. Raises the SyntaxFault with
    the furthest position.
    """
    best = None
    for each in candidates:
        tree, reader = grammar(each).read(tokens)
        if tree is not None:
            return tree, each
        if best is None or reader.furthest > best.furthest:
            best = reader
    assert best is not None
    raise fault(best)


def read_all(sql: str, candidates: tuple[Edition, ...]) -> list[exp.Expression]:
    """All statements of a text that contains only SQL. Raises SyntaxFault."""
    out: list[exp.Expression] = []
    at = 0
    while at < len(sql):
        try:
            tokens, at = scan(sql, at, WORDS)
        except LexError as error:
            raise SyntaxFault(error.offset, "", (), error.message) from None
        if len(tokens) > 1:
            out.append(read_statement(tokens, candidates)[0])
    return out


def _as_parse_error(sql: str, found: SyntaxFault) -> ParseError:
    line = sql.count("\n", 0, found.offset) + 1
    column = found.offset - (sql.rfind("\n", 0, found.offset) + 1) + 1
    expected = f"; expected {', '.join(found.expected[:8])}" if found.expected else ""
    message = f"{found.message}{expected}. Line {line}, Col: {column}."
    return ParseError.new(
        message,
        description=found.message,
        line=line,
        col=column,
        start_context=sql[max(0, found.offset - 100) : found.offset],
        highlight=found.found,
        end_context=sql[found.offset + len(found.found) : found.offset + len(found.found) + 100],
    )


_PROPERTIES = [
    node for node in vars(gx).values() if isinstance(node, type) and issubclass(node, exp.Property)
]


class _NodeGenerator(PostgresGenerator):
    """Writes trees that this dialect parsed: it relies on the node shapes of the parser."""

    TRANSFORMS = {**PostgresGenerator.TRANSFORMS, **WRITERS}  # type: ignore[dict-item]  # noqa: RUF012

    def plain(self, expression: exp.Expr) -> str:
        """Return the SQL text; the tree is not copied, because nothing in it is changed."""
        return self.sql(expression).strip()


def _register_unsupported_properties() -> None:
    """Make sqlglot's other generators omit the properties of this dialect with a warning, as they
    do with other unsupported properties.
    """
    pending: list[type[Generator]] = [Generator]
    while pending:
        one = pending.pop()
        pending += one.__subclasses__()
        for node in _PROPERTIES:
            one.PROPERTIES_LOCATION.setdefault(node, exp.Properties.Location.UNSUPPORTED)


class Greenplum(Postgres):
    """PostgreSQL with Greenplum's DDL.

    `read="greenplum"` accepts what any supported server accepts; `read="greenplum, version=6"` only
    what this version accepts (2: Cloudberry, 6 and 7: Greenplum, 12 … 19: PostgreSQL).
    """

    class Tokenizer(Postgres.Tokenizer):
        """The tokenizer of sqlglot. The parser of this dialect does not use it; it scans the text
        by the server's rules.
        """

    class Parser(PostgresParser):
        """Parses whole statements with the grammar, and fragments (`into=`) with sqlglot's
        PostgreSQL parser.
        """

        def parse(self, raw_tokens: Any, sql: str) -> list[exp.Expr | None]:
            """Return the trees of all statements of the text."""
            found: list[exp.Expr | None] = self.dialect.parse(sql)
            return found

    class Generator(PostgresGenerator):
        """Writes SQL that the server parses to the same tree; trees of other dialects are written
        by sqlglot's PostgreSQL generator.
        """

        TRANSFORMS = {  # noqa: RUF012
            **PostgresGenerator.TRANSFORMS,
            **{node: writer for node, writer in WRITERS.items() if node.__module__ == gx.__name__},
            exp.DistributedByProperty: WRITERS[exp.DistributedByProperty],
        }
        PROPERTIES_LOCATION = {  # noqa: RUF012
            **PostgresGenerator.PROPERTIES_LOCATION,
            **dict.fromkeys(_PROPERTIES, exp.Properties.Location.POST_SCHEMA),
            exp.DistributedByProperty: exp.Properties.Location.POST_SCHEMA,
        }

        def generate(self, expression: exp.Expr, copy: bool = True) -> str:
            """Return the SQL text of a tree."""
            if expression.root().meta.get("greenplum"):
                faithful = _NodeGenerator(
                    dialect=self.dialect,
                    pretty=self.pretty,
                    identify=self.identify,
                    comments=self.comments,
                )
                return faithful.plain(expression)
            return super().generate(expression, copy=copy)

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """Return the trees of the statements in `sql`. Raises sqlglot's ParseError with line,
        column and what was expected.
        """
        try:
            return [
                *read_all(
                    sql, editions(None if self.version[0] == sys.maxsize else self.version[0])
                )
            ]
        except SyntaxFault as found:
            # at every error level: a partial tree would be treated as a complete one
            raise _as_parse_error(sql, found) from None


_register_unsupported_properties()
