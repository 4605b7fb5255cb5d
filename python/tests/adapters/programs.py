"""Programs of the language for what array libraries do to whole arrays: texts, made from shapes alone."""

from __future__ import annotations

import math
import operator

import numpy as np

import fiberloom as fl
from ledger import NotSaid

ALGEBRAIC = {"mode": "algebraic"}
STRICT = {"mode": "strict"}


def mode(partial: bool, *arrays) -> dict:
    """Options that promise IEEE's answer: `strict` where NaN may arise, of which `algebraic` promises nothing."""
    return STRICT if partial or not all(_finite(array) for array in arrays) else ALGEBRAIC


def _finite(array) -> bool:
    return array is None or np.asarray(array).dtype.kind not in "fc" or bool(np.isfinite(array).all())


def indices(rank: int, letter: str = "i") -> list[str]:
    """Index variables for so many modes."""
    return [f"{letter}{mode}" for mode in range(rank)]


def access(name: str, shape, full) -> str:
    """An operand under the result's variables as NumPy broadcasts: its modes are the last, an extent of 1 is read at 0."""
    over = indices(len(full))[len(full) - len(shape) :]
    wide = full[len(full) - len(shape) :]
    read = ["0" if extent == 1 and all_ != 1 else index for index, extent, all_ in zip(over, shape, wide, strict=True)]
    return f"{name}[{', '.join(read)}]"


def declared(name: str, ty: str, shape, fill: str, format: str) -> str:
    """A declaration with numbers for sizes."""
    return f"tensor {name}: {ty}[{', '.join(map(str, shape))}] fill {fill} {format}\n"


def reshaped(name: str, shape, new) -> str:
    """The right side of a reshape in the order of C; its variables are `k0`, `k1`, …."""
    if not shape or not new:
        return f"{name}[{', '.join('0' for _ in shape)}]"
    # Through one mode: all of the old ones, all of the new ones.
    flat = "k0" if len(new) == 1 else "r"
    text = f"{name}[{flat}]"
    if len(shape) > 1:
        old = ", ".join(indices(len(shape)))
        text = f"collapse({name}[{old}], ({old}) -> {flat})"
    return text if len(new) == 1 else f"split({text}, {flat} -> ({', '.join(indices(len(new), 'k'))}))"


class Selection:
    """What an index takes of an array: an index expression of each mode, and the result's shape.

    `read` has the index expressions, `free` the result's variables, `gathers` index arrays by name.
    """

    def __init__(self, key, shape):
        self.read, self.shape, self.free, self.gathers = [], [], [], {}
        key = key if isinstance(key, tuple) else (key,)
        modes = iter(shape)
        advanced = [n for n, one in enumerate(key) if isinstance(one, (list, np.ndarray)) and np.ndim(one)]
        if any(np.asarray(key[n]).dtype.kind not in "iu" or np.ndim(key[n]) != 1 for n in advanced):
            raise NotSaid("indexed by truth values or by arrays of several modes")
        if len({len(key[n]) for n in advanced}) > 1:
            raise NotSaid("index arrays of several lengths")
        if advanced and advanced != list(range(advanced[0], advanced[0] + len(advanced))):
            raise NotSaid("index arrays apart from each other")
        if advanced and any(isinstance(one, (int, np.integer)) for one in key):
            raise NotSaid("index arrays beside numbers")
        taken = sum(one is not None and one is not Ellipsis for one in key)
        if taken > len(shape) or sum(one is Ellipsis for one in key) > 1:
            raise NotSaid("an index that the library refuses")
        if not any(one is Ellipsis for one in key):
            key = (*key, Ellipsis)
        for one in key:
            if one is None:
                self._kept(1)
            elif one is Ellipsis:
                for _ in range(len(shape) - taken):
                    self.read.append(self._kept(next(modes)))
            else:
                self._one(one, next(modes))

    def _kept(self, extent: int) -> str:
        variable = f"k{len(self.shape)}"
        self.shape.append(extent)
        self.free.append(variable)
        return variable

    def _one(self, one, extent: int) -> None:
        if isinstance(one, slice):
            try:
                start, stop, step = one.indices(extent)
            except TypeError:
                raise NotSaid("an index that the library refuses") from None
            variable = self._kept(len(range(start, stop, step)))
            self.read.append(_sliced(start, stop, step, variable, extent))
        elif isinstance(one, (list, np.ndarray)) and np.ndim(one):
            self._gather(np.asarray(one), extent)
        else:
            try:
                at = operator.index(one)
            except TypeError:
                raise NotSaid("an index that the library refuses") from None
            if isinstance(one, (bool, np.bool_)) or not -extent <= at < extent:
                raise NotSaid("an index that the library refuses")
            self.read.append(str(at % extent))

    def _gather(self, at, extent: int) -> None:
        if at.size and not (-extent <= at.min() and at.max() < extent):
            raise NotSaid("an index that the library refuses")
        if not self.gathers:
            self._at = self._kept(len(at))
        name = f"P{len(self.gathers)}"
        self.gathers[name] = np.where(at < 0, at + extent, at).astype(np.int64)
        self.read.append(f"{name}[{self._at}]")

    def program(self, ty: str, fill: str, format: str) -> str:
        """`Out` is the selection from `A`."""
        return (
            declared("Out", ty, self.shape, fill, format)
            + f"Out[{', '.join(self.free)}] = A[{', '.join(self.read)}]"
        )


def _sliced(start: int, stop: int, step: int, variable: str, extent: int) -> str:
    """A slice as an index: forward as the language slices, backward as an affine index."""
    if step < 0:
        return f"{start} - {-step}*{variable}"
    if (start, stop, step) == (0, extent, 1):
        return variable
    return f"{variable}({start}:{max(start, stop)}:{step})"


def format_of(rank: int) -> str:
    """Coordinates of entries in order, which is how `sparse.COO` stores an array."""
    return "coo" if rank else "dense"


def run(text: str, operands: dict, out: str | None = None, options: dict | None = None) -> fl.Tensor:
    """`fiberloom.einsum` of a program."""
    return fl.einsum(text, operands, out=out, options=options)


def size(shape) -> int:
    """How many coordinates there are."""
    return math.prod(shape)


#: The fold of each function that NumPy reduces with, as a name of the language; the others are declared.
FOLDS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "bitwise_and": "band",
    "bitwise_or": "bor",
    "bitwise_xor": "bxor",
}

_BITWISE = {"band": ("&", "-1"), "bor": ("|", "0"), "bxor": ("^", "0")}


def fold(name: str, ty: str) -> str:
    """The declaration of a fold that is not built in, or nothing."""
    if name not in _BITWISE:
        return ""
    sign, identity = _BITWISE[name]
    if name == "band":
        identity = "true" if ty == "bool" else str(2 ** int(ty[1:]) - 1) if ty[0] == "u" else "-1"
    elif ty == "bool":
        identity = "false"
    return f"fn {name}(a: {ty}, b: {ty}) -> {ty} {{ a {sign} b }} where commutative, associative, identity({identity})\n"
