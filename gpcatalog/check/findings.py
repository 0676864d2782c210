"""The findings of a check, stored compressed: a long script has tens of thousands, and each is read
once, when it is written to the report.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from gpcatalog.check.report import LocatedFinding

_BLOCK = 256  # findings that are compressed together
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[LocatedFinding]).decode


class Packer:
    """Collects findings in any order and compresses them."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.keys: list[tuple[str, int, int, str]] = []  # of each finding: file, line, column, rule
        self.statements: list[int] = []  # of each finding: the number of its statement
        self._open: list[LocatedFinding] = []

    def append(self, one: LocatedFinding) -> None:
        """Add a finding."""
        self.keys.append((one.file, one.line, one.column, one.finding.rule))
        self.statements.append(one.statement)
        self._open.append(one)
        if len(self._open) == _BLOCK:
            self._pack()

    def _pack(self) -> None:
        self.blocks.append(zlib.compress(_encode(self._open), 1))
        self._open = []

    def sorted(self, names: Sequence[str], without: set[int]) -> Findings:
        """All findings in the order of the files, then by line, column and rule.

        without: numbers of the findings to leave out
        """
        if self._open:
            self._pack()
        files = {name: at for at, name in enumerate(names)}
        order = [at for at in range(len(self.keys)) if at not in without]
        order.sort(key=lambda at: (files.get(self.keys[at][0], 0), *self.keys[at][1:]))
        return Findings(self.blocks, order)


class Findings(Sequence[LocatedFinding]):
    """Findings in order; each is decompressed when it is accessed."""

    def __init__(self, blocks: list[bytes], order: list[int]) -> None:
        self._blocks = blocks
        self._order = order
        self._number, self._block = -1, list[LocatedFinding]()

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[LocatedFinding]:
        return map(self._unpacked, self._order)

    @overload
    def __getitem__(self, at: int) -> LocatedFinding: ...

    @overload
    def __getitem__(self, at: slice) -> Findings: ...

    def __getitem__(self, at: int | slice) -> LocatedFinding | Findings:
        return (
            Findings(self._blocks, self._order[at])
            if isinstance(at, slice)
            else self._unpacked(self._order[at])
        )

    def _unpacked(self, at: int) -> LocatedFinding:
        number = at // _BLOCK
        if number != self._number:
            self._number, self._block = number, _decode(zlib.decompress(self._blocks[number]))
        return self._block[at % _BLOCK]
