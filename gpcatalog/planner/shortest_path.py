"""The cheapest cover of units by candidates and single units: shortest paths of many chains at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpcatalog.planner.options import Options
from gpcatalog.planner.sets.arrays import Bools, Floats, Ints


@dataclass(frozen=True, kw_only=True)
class _Chains:
    """Units as links of chains. No candidate crosses the ends of a chain, so chains are
    independent.

    Units between which no candidate begins or ends are one link of the chain: if one of them is a
    single unit, all are.
    of:     by unit: its link
    link:   by link: its first unit; chain: its chain
    first:  by chain: its first link; length: its links
    """

    of: Ints
    link: Ints
    chain: Ints
    first: Ints
    length: Ints

    @classmethod
    def read(cls, groups: Options, units: int) -> _Chains:
        """Chains of `units` units with these candidates."""
        edge = np.zeros(units + 1, dtype=np.bool_)
        edge[groups.start] = True
        edge[groups.end] = True
        begun = np.bincount(groups.start + 1, minlength=units + 1)
        cover = begun - np.bincount(groups.end, minlength=units + 1)
        inside = np.cumsum(cover)[:units] > 0  # unit i is in the same chain as unit i - 1
        heads = edge[:units] | ~inside
        link = np.flatnonzero(heads)
        first = np.flatnonzero(~inside[link])
        return cls(
            of=np.cumsum(heads) - 1,
            link=link,
            chain=np.cumsum(~inside[link]) - 1,
            first=first,
            length=np.diff(np.append(first, len(link))),
        )


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Positions of the chains that have candidates, block by block. Block p contains position p of
    every chain with at least p links, longest first, so each block is a prefix of the block before.

    rank:    by chain: its index in every block; -1: single units, which no candidate contains
    begin:   by index: its first link; ends: the number of its last position
    alive:   by position: chains in its block; offset: where the block begins, and the end
    """

    rank: Ints
    begin: Ints
    ends: Ints
    alive: list[int]
    offset: list[int]

    @classmethod
    def read(cls, groups: Options, chains: _Chains) -> _Blocks:
        """Blocks of the chains that have these candidates."""
        longer = np.unique(chains.chain[chains.of[groups.start]])
        longer = longer[np.argsort(-chains.length[longer], kind="stable")]
        rank = np.full(len(chains.first), -1, dtype=np.int64)
        rank[longer] = np.arange(len(longer))
        lengths = chains.length[longer]
        alive = np.searchsorted(-lengths, -np.arange(int(lengths[0]) + 1), side="right")
        offset = np.concatenate([[0], np.cumsum(alive)])
        return cls(
            rank=rank,
            begin=chains.first[longer],
            ends=offset[lengths] + np.arange(len(longer)),
            alive=alive.tolist(),
            offset=offset.tolist(),
        )

    @property
    def deepest(self) -> int:
        """Number of links of the longest chain."""
        return len(self.alive) - 1


@dataclass(frozen=True, kw_only=True)
class _Arcs:
    """Candidates as arcs from the position before their first link to the position of their last
    one, ordered by the latter and by slot.

    order:  their number among the candidates; place: index of their chain in a block; origin:
            number of the position before their first link
    of_position: [first arc, end, slot] of every slot whose arcs lead to a position
    """

    order: Ints
    place: Ints
    origin: Ints
    of_position: dict[int, list[tuple[int, int, int]]]

    @classmethod
    def read(cls, groups: Options, chains: _Chains, blocks: _Blocks) -> _Arcs:
        """Arcs of these candidates."""
        from_link = chains.of[groups.start]
        to_link = chains.of[groups.end - 1] + 1
        chain = chains.chain[from_link]
        place = blocks.rank[chain]
        position = to_link - chains.first[chain]
        origin = np.array(blocks.offset)[from_link - chains.first[chain]] + place
        order = np.lexsort((groups.slot, position))
        position_s, slot_s = position[order], groups.slot[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (position_s[1:] != position_s[:-1]) | (slot_s[1:] != slot_s[:-1])
        cuts = np.append(np.flatnonzero(new), len(order)).tolist()
        of_position: dict[int, list[tuple[int, int, int]]] = {}
        for a, b in pairwise(cuts):
            of_position.setdefault(int(position_s[a]), []).append((a, b, int(slot_s[a])))
        return cls(order=order, place=place[order], origin=origin[order], of_position=of_position)


def _choices(blocks: _Blocks, arcs: _Arcs, *, weight: Floats, cost: Floats) -> npt.NDArray[np.int8]:
    """Slot of the last arc on the cheapest path to every position, [position, price]; 0 if the last
    link is a single link, which wins if costs are equal.

    weight: cost of a single link, [link, price]; cost: of every arc, [arc, price]
    """
    width = weight.shape[1]
    best = np.empty((blocks.offset[-1], width))
    best[: blocks.alive[0]] = 0.0
    choice = np.zeros((blocks.offset[-1], width), dtype=np.int8)
    for p in range(1, blocks.deepest + 1):
        k, o, before = blocks.alive[p], blocks.offset[p], blocks.offset[p - 1]
        here = best[before : before + k] + weight[blocks.begin[:k] + (p - 1)]
        block = choice[o : o + k]
        for a, b, slot in arcs.of_position.get(p, ()):
            at = arcs.place[a:b]
            other = best[arcs.origin[a:b]] + cost[a:b]
            old = here[at]
            better = other < old
            here[at] = np.where(better, other, old)
            chosen = block[at]
            chosen[better] = slot
            block[at] = chosen
        best[o : o + k] = here
    return choice


def _mark(
    blocks: _Blocks,
    arcs: _Arcs,
    choice: npt.NDArray[np.int8],
    *,
    single: Bools,
    chosen_candidates: Bools,
) -> None:
    """Follow the cheapest paths back from their ends. Mark single links in `single` and chosen
    candidates in `chosen_candidates`, both [, price].
    """
    on = np.zeros(choice.shape, dtype=np.bool_)
    on[blocks.ends] = True
    for p in range(blocks.deepest, 0, -1):
        k, o, before = blocks.alive[p], blocks.offset[p], blocks.offset[p - 1]
        reached, chosen = on[o : o + k], choice[o : o + k]
        alone = reached & (chosen == 0)
        single[blocks.begin[:k] + (p - 1)] = alone
        on[before : before + k] |= alone
        for a, b, slot in arcs.of_position.get(p, ()):
            at = arcs.place[a:b]
            on_path = reached[at] & (chosen[at] == slot)
            on[arcs.origin[a:b]] |= on_path
            chosen_candidates[arcs.order[a:b]] = on_path


def shortest(groups: Options, base: Floats, cost: Floats) -> tuple[Bools, Bools]:
    """Shortest paths of all chains at once: which units are single units, [unit, price], and which
    candidates are chosen, [candidate, price].

    base: cost of every single unit, [unit, price]; cost: of every candidate, [candidate, price]
    """
    units, width = base.shape
    single = np.ones((units, width), dtype=np.bool_)
    chosen_candidates = np.zeros(cost.shape, dtype=np.bool_)
    if not len(groups.start):
        return single, chosen_candidates
    chains = _Chains.read(groups, units)
    link = chains.link
    weight = np.add.reduceat(base, link, axis=0) if len(link) < units else base
    blocks = _Blocks.read(groups, chains)
    arcs = _Arcs.read(groups, chains, blocks)
    choice = _choices(blocks, arcs, weight=weight, cost=cost[arcs.order])
    single_links = np.ones((len(link), width), dtype=np.bool_)
    _mark(blocks, arcs, choice, single=single_links, chosen_candidates=chosen_candidates)
    np.take(single_links, chains.of, axis=0, out=single)
    return single, chosen_candidates
