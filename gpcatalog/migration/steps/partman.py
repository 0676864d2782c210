"""Reconfigure pg_partman: from then on, it creates partitions of the plan's grain, after a
partition that fills the gap before the first of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from gpcatalog.migration.introspect import ProbeRunner, Relation
from gpcatalog.migration.journal import SCHEMA, proof
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import Context, Operation, WriteContext
from gpcatalog.migration.partman_names import COLUMNS, SUFFIXES, UNITS
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.writer import Writer, array, call, dollar_tag, literal, lock_from_readers
from gpcatalog.planner import operations as op


@dataclass(frozen=True, kw_only=True)
class PartmanReconfigure(Operation):
    """pg_partman creates partitions of another grain.

    home:  quoted schema of pg_partman; version: its major version
    table: as in part_config; time: whether it is partitioned by time, otherwise by a number
    now, wanted: columns of part_config; is_rollback: whether the old values are restored
    """

    home: str
    version: int
    table: str
    root: Relation
    time: bool
    now: tuple[tuple[str, str | None], ...]
    wanted: tuple[tuple[str, str], ...]
    is_rollback: bool = False

    def summary(self) -> str:
        return "change the configuration of pg_partman"

    def details(self) -> list[str]:
        return [f"  {k}: {v}" for k, v in (self.now if self.is_rollback else self.wanted)]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        return _reconfigure(context, self, done=writing.state)


def _configuration(
    live: LiveTable, step: op.Reconfigure, run_probe: ProbeRunner, *, home: dict[str, Any]
) -> dict[str, Any]:
    """The table's row of part_config. Raises Refusal if it has none, or one that the step cannot
    change.

    home: row of the probe partman_home
    """
    row = next(
        (
            r
            for r in run_probe("partman", schema=home["schema"], schema_name=home["schema_name"])
            if r["root"] == live.table.root.oid
        ),
        None,
    )
    if row is None:
        raise Refusal("changed since it was planned: pg_partman no longer maintains it")
    now: dict[str, Any] = msgspec.json.decode(row["detail"])
    if str(now["partition_interval"]) != step.now.get("partition_interval"):
        raise Refusal(f"changed since it was planned: its interval is {now['partition_interval']}")
    if now["partition_type"] not in ("native", "range"):
        raise Refusal(
            f"its partition_type is {now['partition_type']}; only native and range are supported"
        )
    if now["epoch"] != "none":
        raise Refusal("its key is a number of seconds since 1970 (epoch), which is not supported")
    if any(r.level > 1 for r in live.table.relations.values()):
        raise Refusal(
            "pg_partman maintains several levels of it; changing part_config_sub is not supported"
        )
    return now


def _translate(live: LiveTable, step: op.Reconfigure, run_probe: ProbeRunner) -> Translation:
    """Adapt pg_partman's configuration to the plan."""
    if not any(isinstance(s, op.Merge) for s in live.accepted):
        raise Refusal("the merges that this step depends on were refused")
    home = run_probe("partman_home")
    if not home:
        raise Refusal("pg_partman is not installed any more")
    version = int(str(home[0]["version"]).split(".")[0])
    if version not in (4, 5):
        raise Refusal(f"pg_partman {home[0]['version']} is not supported (only 4 and 5)")
    now = _configuration(live, step, run_probe, home=home[0])
    interval = step.wanted["partition_interval"]
    time = interval in UNITS
    if not time and not interval.isdigit():
        raise Refusal(f"the interval {interval} is neither a calendar interval nor a number")
    kept = tuple((k, None if now[k] is None else str(now[k])) for k in COLUMNS)
    forward = PartmanReconfigure(
        id=step.id,
        title=step.explanation,
        home=home[0]["schema"],
        version=version,
        table=now["parent_table"],
        root=live.table.root,
        time=time,
        now=kept,
        wanted=tuple(sorted(step.wanted.items())),
        rests_on=step.rests_on,
    )
    return [
        (
            forward,
            replace(
                forward,
                id=f"undo-{step.id}",
                title=f"rollback: {forward.title}",
                is_rollback=True,
                rests_on=(),
            ),
        )
    ]


register(StepHandler(_translate), "reconfigure pg_partman")


def _reconfigure(context: Context, change: PartmanReconfigure, *, done: str) -> list[str]:
    """The transaction that changes the configuration, or restores it."""
    forward_id = change.id.removeprefix("undo-")
    sign = "=" if done == "done" else "<>"
    plan, table = literal(context.plan), literal(change.table)
    config = f"{change.home}.part_config"
    body = [
        *proof(),
        f"IF {SCHEMA}.state({plan}, {literal(forward_id)}) {sign} 'done' THEN RETURN; END IF;",
        "-- guard: pg_partman must not be running, and its configuration must not have changed",
        call("expect_extension", literal("pg_partman")),
        call("expect_trusted", array([context.root.sql]), array([config])),
        (
            "IF NOT pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtext('pg_partman"
            " run_maintenance')) THEN"
        ),
        (
            "    RAISE EXCEPTION 'pg_partman''s maintenance is running: run this file again"
            " after it has ended';"
        ),
        "END IF;",
        (
            f"SELECT * INTO c FROM {change.home}.part_config p WHERE p.parent_table = {table} FOR"
            " UPDATE;"
        ),
        (
            "IF NOT FOUND THEN RAISE EXCEPTION 'changed since it was planned: pg_partman no longer"
            f" maintains %', {table}; END IF;"
        ),
    ]
    if change.is_rollback:
        assignments = ", ".join(
            f"{column} = {'NULL' if value is None else literal(value)}"
            for column, value in change.now
        )
        body += [
            "-- swap: restore the old configuration; new partitions are kept",
            f"UPDATE {change.home}.part_config SET {assignments} WHERE parent_table = {table};",
        ]
    else:
        body += _forward(change)
    body += [
        "-- note: record the step in the journal, in the same transaction",
        call("note", plan, literal(change.id), literal(done), literal(context.root.sql), "NULL"),
    ]
    text = "\n".join(
        [
            "#variable_conflict use_column",
            "DECLARE",
            "    c record;",
            "    last_end text;",
            "    first_new text;",
            "    filler text;",
            "BEGIN",
            *("    " + line for line in body),
            "END",
        ]
    )
    tag = dollar_tag(text)
    return [f"BEGIN ISOLATION LEVEL READ COMMITTED;\nDO {tag}\n{text}\n{tag};\nCOMMIT;\n"]


def _forward(change: PartmanReconfigure) -> list[str]:
    """The statements that set the new grain, after a partition that fills the gap before its
    first whole cell.
    """
    interval = literal(dict(change.wanted)["partition_interval"])
    new = f"{interval}::{'interval' if change.time else 'bigint'}"
    return [
        *_as_planned(change),
        lock_from_readers([change.root.sql]),
        # compute boundaries as pg_partman does: in the time zone of the server, not of this session
        "EXECUTE 'SET LOCAL TimeZone TO DEFAULT';",
        (
            "-- swap: create a partition up to the start of the first new interval, change the"
            " configuration, create the next partition"
        ),
        *_last_end(change),
        *_first_cell(change, new),
        *_filler(change),
        *_configured(change, new),
        *_first_partition(change),
        "PERFORM pg_catalog.set_config('TimeZone', 'UTC', true);",
    ]


def _as_planned(change: PartmanReconfigure) -> list[str]:
    """The statements that stop the step if the interval has changed, or if the template does
    not exist.
    """
    kind = "interval" if change.time else "bigint"
    planned = literal(str(dict(change.now)["partition_interval"]))
    return [
        f"IF c.partition_interval::{kind} <> {planned}::{kind} THEN",
        (
            "    RAISE EXCEPTION 'changed since it was planned: pg_partman''s interval is % and"
            f" was %', c.partition_interval, {planned};"
        ),
        "END IF;",
        # its template contains other properties of new partitions; maintenance ignores a missing
        # template without a message
        "IF c.template_table IS NOT NULL AND pg_catalog.to_regclass(c.template_table) IS NULL THEN",
        (
            "    RAISE EXCEPTION 'pg_partman''s template table % does not exist any more',"
            " c.template_table;"
        ),
        "END IF;",
    ]


def _last_end(change: PartmanReconfigure) -> list[str]:
    """The statements that determine the end of the last partition: `last_end`."""
    ends = (
        "(pg_catalog.regexp_match(pg_catalog.pg_get_expr(p.relpartbound, 0), $r$TO"
        " \\('?([^')]+)'?\\)$r$))[1]"
    )
    value = "timestamptz" if change.time else "bigint"
    return [
        f"SELECT pg_catalog.max({ends}::{value})::text INTO last_end",
        "  FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid",
        (
            f" WHERE i.inhparent = {literal(change.root.sql)}::pg_catalog.regclass AND"
            " pg_catalog.pg_get_expr(p.relpartbound, 0) <> 'DEFAULT'"
        ),
        "       AND pg_catalog.pg_get_expr(p.relpartbound, 0) NOT LIKE '%(MAXVALUE)';",
        (
            "IF last_end IS NULL THEN RAISE EXCEPTION 'no partition has an upper bound, so the"
            " start of the new interval is unknown'; END IF;"
        ),
    ]


def _first_cell(change: PartmanReconfigure, new: str) -> list[str]:
    """The statements that determine the start of the first whole cell, `first_new`, and the end
    of the name of the partition before it, `filler`. new: the interval, as SQL
    """
    if not change.time:
        return [
            f"first_new := (pg_catalog.ceil(last_end::numeric / {new}) * {new})::bigint::text;",
            "filler := last_end;",
        ]
    unit = UNITS[dict(change.wanted)["partition_interval"]]
    return [
        f"first_new := pg_catalog.date_trunc({literal(unit)}, last_end::timestamptz)::text;",
        (
            "IF first_new::timestamptz < last_end::timestamptz THEN first_new :="
            f" (first_new::timestamptz + {new})::text; END IF;"
        ),
        "filler := pg_catalog.to_char(last_end::timestamptz, c.datetime_string);",
    ]


def _filler(change: PartmanReconfigure) -> list[str]:
    """The statements that create a partition up to the first whole cell, if there is a gap."""
    home, table, root = change.home, literal(change.table), change.root
    schema, name = literal(root.schema), literal(root.name)
    return [
        "IF first_new <> last_end THEN",
        f"    filler := {home}.check_name_length({name}, filler, true);",
        (
            "    EXECUTE pg_catalog.format('CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%L)"
            " TO (%L)',"
        ),
        f"                              {schema}, filler, {literal(root.sql)}, last_end, first_new);",
        "    EXECUTE pg_catalog.format('ALTER TABLE %I.%I OWNER TO %I',",
        f"                              {schema}, filler, {literal(root.owner)});",
        f"    PERFORM {home}.inherit_template_properties({table}, {schema}, filler);",
        (
            f"    IF c.inherit_privileges THEN PERFORM {home}.apply_privileges({schema}, {name},"
            f" {schema}, filler); END IF;"
        ),
        "END IF;",
    ]


def _configured(change: PartmanReconfigure, new: str) -> list[str]:
    """The statement that sets the new configuration; new: the interval, as SQL."""
    values = dict(change.wanted)
    old = f"c.partition_interval::{'interval' if change.time else 'bigint'}"
    ratio = (
        f"extract(epoch FROM {old}) / extract(epoch FROM {new})"
        if change.time
        else f"{old}::numeric / {new}"
    )
    # as far ahead as before, unless the plan specifies the number
    ahead = (
        f"GREATEST(1, pg_catalog.ceil(c.premake * {ratio}))"
        if "premake" not in values
        else literal(values["premake"])
    )
    sets = [f"partition_interval = ({new})::text", f"premake = {ahead}::int"]
    if change.time and change.version >= 5:
        sets.append(
            "datetime_string = (SELECT x.datetime_string FROM"
            f" {change.home}.calculate_time_partition_info({new}, first_new::timestamptz) x)"
        )
    elif change.time:
        sets.append(f"datetime_string = {literal(SUFFIXES[UNITS[values['partition_interval']]])}")
    if "retention" in values:
        sets.append(f"retention = {literal(values['retention'])}")
    return [
        f"UPDATE {change.home}.part_config SET {', '.join(sets)} WHERE parent_table ="
        f" {literal(change.table)};"
    ]


def _first_partition(change: PartmanReconfigure) -> list[str]:
    """The statements that make pg_partman create the first partition of the new grain, and
    check it.
    """
    function, kind = (
        ("create_partition_time", "timestamptz")
        if change.time
        else ("create_partition_id", "bigint")
    )
    return [
        f"PERFORM {change.home}.{function}({literal(change.table)}, ARRAY[first_new]::{kind}[]);",
        (
            "IF NOT EXISTS (SELECT 1 FROM"
            f" {SCHEMA}.partitions({literal(change.root.sql)}::pg_catalog.regclass) p WHERE p.bound"
            " LIKE"
        ),
        (
            "               'FOR VALUES FROM (%' AND pg_catalog.strpos(p.bound,"
            " pg_catalog.split_part(first_new, ' ', 1)) > 0) THEN"
        ),
        (
            "    RAISE EXCEPTION 'pg_partman did not create a partition that starts at %',"
            " first_new;"
        ),
        "END IF;",
    ]
