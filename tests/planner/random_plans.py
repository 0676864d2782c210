"""Random partitioned tables, facts, policies and limits, of few kinds so that combinations are frequent."""

from __future__ import annotations

import itertools
import json
import random
from datetime import date, datetime, timedelta
from typing import Any

from gpcatalog.planner.policy import Limits, Policy, Rule, Weights
from gpcatalog.planner.policy import Workload as WorkloadSettings
from tests.planner.made import FakeSnapshot, LeafSpec, TableSpec

MIB = 1 << 20
_INDEX = '{"columns": %d, "constraint": %s}'


class PlanMaker:
    """Tables, policies and limits for one server. generation: "gp6", "gp7" or "pg15"."""

    def __init__(self, generation: str, seed: int) -> None:
        self.r = random.Random(seed * 31 + len(generation) * 7 + ord(generation[-1]))
        self.generation = generation
        self.classic = generation == "gp6"

    def size(self) -> int:
        return int((2 * 1024 * MIB) ** self.r.random())

    def leaf(self, bound: str, **more: Any) -> LeafSpec:
        filled = self.r.random() > 0.25
        size = self.size() if filled else 0
        if self.r.random() < 0.03:
            return LeafSpec(bound, None, None, **more)
        if self.r.random() < 0.08:
            more["storage"] = self.r.choice(("heap", "ao_row", "ao_column"))
        return LeafSpec(bound, filled, size, **more)

    def ranged(self, low: str, high: str, kind: str) -> str:
        if not self.classic:
            return f"FOR VALUES FROM ({low}) TO ({high})"
        if kind == "integer":
            return f"START ({low}) END ({high})"
        words = ("EXCLUSIVE", "INCLUSIVE")
        suffix = f" {self.r.choice(words)}" if self.r.random() < 0.03 and kind == "date" else ""
        return f"START ({low}::{kind}) END ({high}::{kind}){suffix}"

    def spans(self) -> tuple[list[str], str]:
        """Successive bounds, some of them left out, and the type of the key."""
        kind = self.r.choice(("date", "date", "hours", "integer"))
        number = self.r.randint(3, 60)
        found = []
        if kind == "integer":
            at, width = self.r.choice((0, 20200101, -500)), self.r.choice((1, 10, 1000))
            edges = [str(at + n * width) for n in range(number + 1)]
        elif kind == "hours":
            first = datetime(2026, 6, self.r.randint(1, 28))
            edges = [f"'{first + timedelta(hours=n)}'" for n in range(number + 1)]
        else:
            day = date(self.r.choice((2019, 2024, 2025, 2026)), self.r.randint(1, 12), self.r.choice((1, 1, 15)))  # fmt: skip
            step = self.r.choice((1, 1, 7, 30, 91))
            edges = []
            for n in range(number + 1):
                month = day.month - 1 + n * (step // 30)
                edges.append(
                    f"'{day + timedelta(days=n * step)}'"
                    if step < 30
                    else f"'{date(day.year + month // 12, month % 12 + 1, 1)}'"
                )
        type_ = {"integer": "integer", "hours": "timestamp without time zone", "date": "date"}[kind]
        for low, high in itertools.pairwise(edges):
            if self.r.random() > 0.04:
                found.append(self.ranged(low, high, type_))
        return found or [self.ranged(edges[0], edges[1], type_)], type_

    @staticmethod
    def columns_of(name: str) -> int:
        """Number of index columns beyond one per index; not random, so that the other random values stay the same."""
        return int(name[1:]) % 4

    def table(self, name: str) -> TableSpec:
        storage = self.r.choice(("ao_column", "ao_column", "ao_row", "heap"))
        if self.generation.startswith("pg"):
            storage = "heap"
        more: dict[str, Any] = {
            "storage": storage,
            "columns": self.r.choice((1, 5, 40, 300)),
            "indexes": self.r.choice((0, 0, 1, 2)),
        }
        more["index_columns"] = more["indexes"] and more["indexes"] + self.columns_of(name)
        if self.r.random() < 0.15:
            values = [f"VALUES ('{c}'::text)" if self.classic else f"FOR VALUES IN ('{c}')" for c in "abcdefghijk"[: self.r.randint(2, 11)]]  # fmt: skip
            leaves = [self.leaf(v) for v in values]
            return TableSpec(name, leaves, "text", "list", facts=self.facts(), **more)
        bounds, key = self.spans()
        leaves = [self.leaf(bound) for bound in bounds]
        if self.r.random() < 0.3:
            lanes = self.r.choice((1, 1, 2, 4))
            for leaf in leaves:
                leaf.lanes = [self.size() if self.r.random() > 0.3 else 0 for _ in range(lanes)]
        elif self.r.random() < 0.4:
            leaves.append(LeafSpec("DEFAULT", self.r.random() < 0.5, 0, default=True))
        facts = self.facts()
        leaf_facts = [
            (self.r.randrange(len(bounds)), fact, detail)
            for fact, detail in (
                ("view", "v"),
                ("comment", "c"),
                ("trigger", "t"),
                ("policy", "p"),
                ("index", _INDEX % (1, "false")),
            )
            if self.r.random() < 0.08
        ]
        return TableSpec(name, leaves, key, facts=facts, leaf_facts=leaf_facts, **more)

    def facts(self) -> list[tuple[str, str]]:
        found = [("columns", json.dumps({"live": self.r.randint(1, 40), "not_null": self.r.randint(0, 3), "defaults": self.r.randint(0, 3), "checks": self.r.randint(0, 2)}))]  # fmt: skip
        choices = [
            ("distribution", "REPLICATED"),
            ("foreign key", "fk1"),
            ("referenced by foreign key", "fk2"),
            ("publication of all tables", "pub"),
            ("rule", "on_insert"),
            ("trigger", "watch"),
            ("rows of leaves", '{"pg_depend": 40, "pg_description": 3}'),
            ("index", _INDEX % (2, "true")),
            ("index", _INDEX % (1, "false")),
            ("pg_partman", json.dumps({"parent_table": "s.p", "partition_interval": "1 day", "premake": 4, "retention": self.r.choice((None, "90 days"))})),
            ("pg_partman version", self.r.choice(("4.7.3", "5.2.4"))),
            ("every", "1 day"),
        ]  # fmt: skip
        return found + [fact for fact in choices if self.r.random() < 0.05]

    def snapshot(self) -> FakeSnapshot:
        tables = [self.table(f"t{n}") for n in range(self.r.randint(4, 9))]
        return FakeSnapshot(
            tables,
            generation=self.generation,
            segments=self.r.choice((1, 4, 24)),
            basis=self.r.choice(("files", "segment file lists")),
            locks=self.r.choice((0, 64, 4096)),
            plain=self.r.randint(0, 3),
        )

    def rule(self, match: str = "*") -> Rule:
        r = self.r
        wishes: dict[str, Any] = {
            "grains": r.choice(
                ({"month": 60}, {"week": 30, "month": 90, "year": "2y"}, {"day": 0})
            ),
            "hot_days": r.choice((0, 7, "2 months")),
            "keep": r.choice(("3y", "90d")),
            "retention_unit": r.choice(("day", "month", "year")),
            "max_leaf": r.choice(("100MB", "4GB")),
            "min_leaf": r.choice(("10MB", 0)),
            "storage": r.choice(("keep", "auto", "ao_row", "ao_column", "heap")),
            "small_column_file": r.choice(("1MB", "8MB")),
            "heap_below": r.choice(("64KB", "1MB")),
            "empty": r.choice(("drop", "keep")),
            "premade_days": r.choice((0, 30)),
            "merge_lists": r.choice((2, 4, 8)),
            "unpartition_below": r.choice(("500MB", "50GB")),
            "flatten": True,
            "unused_subpartitions": "drop",
            "externalise_after": r.choice(("1y", "2y")),
            "boundaries": r.choice((["2026-01-01"], [100, 20])),
            "skip": True,
        }
        chosen = {
            k: v
            for k, v in wishes.items()
            if r.random() < {"skip": 0.03, "flatten": 0.6}.get(k, 0.3)
        }
        if match != "*" or not self.generation.startswith("gp"):
            chosen.pop("merge_lists", None)
        return Rule(match=match, **chosen)

    def policy(self) -> Policy:
        r = self.r
        return Policy(
            weights=Weights(
                row=r.choice((0.0, 1.0, 3.0)),
                rewrite=r.choice((0.0, 0.02, 0.5)),
                scan=r.choice((0.0, 0.01, 1.0)),
                drop=r.choice((0.0, 5.0)),
            ),
            workload=WorkloadSettings(
                half_life=r.choice((10.0, 60.0)), column_share=r.choice((0.1, 1.0))
            ),
            default=self.rule(),
            table=[self.rule(f"s.t{n}") for n in range(2)],
        )

    def limits(self) -> Limits:
        r = self.r
        wishes = {
            "target_leaves": 60,
            "target_files": 500,
            "max_rewrite": "20GB",
            "window": "2 h",
            "max_lock": 150,
            "headroom": "2GB",
        }
        return Limits(**{k: v for k, v in wishes.items() if r.random() < 0.12})  # type: ignore[arg-type]
