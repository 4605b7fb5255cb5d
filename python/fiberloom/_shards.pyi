"""Programs in boxes: what `shards` takes and gives."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ._native import Kernel, Tensor
from ._syntax import KernelFunction

_Cut = int | Iterable[int]

class Box(NamedTuple):
    number: int
    ranges: Mapping[str, range]

class Fate(NamedTuple):
    tensor: str
    cuts: tuple[tuple[int, str], ...]
    fold: tuple[str, tuple[str, ...]] | None

class Shards:
    boxes: tuple[Box, ...]
    kernel: Kernel
    operand_fates: tuple[Fate, ...]
    result_fates: tuple[Fate, ...]
    def operands(self, box: Box | int) -> dict[str, Tensor]: ...
    def run_one(self, box: Box | int) -> dict[str, Tensor]: ...
    def merge(self, outcomes: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]: ...
    # ``None`` on ranks of MPI other than 0.
    def run(self, pool: Any = None) -> dict[str, Tensor] | None: ...
    @staticmethod
    def work(comm: Any) -> None: ...
    def replace(self, operands: dict[str, Any] | None = None, /, **named: Any) -> Shards: ...
    def __len__(self) -> int: ...

def shards(
    source: str | Kernel | KernelFunction,
    operands: dict[str, Any] | None = None,
    /,
    *,
    split: Mapping[str, _Cut],
    out: str | dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
    **named: Any,
) -> Shards: ...

