"""``lazy``: expressions that are compiled as one kernel.

A `Lazy` is a function from index expressions to text of the language, with a shape and a type:

>>> z = (fl.lazy(A) @ x + 1).compute(out="csr")     # Out[i0] = sum(k0: T0[i0,k0] * T1[k0]) + 1.0

Who adds operations builds on `Lazy.of`: a shape, a type, the operands that it reads, and ``write(names, indices)``, which
gives the text of the value at these indices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import _convert, _native
from ._types import literal, type_of
from .errors import Error, MismatchError, OperandError

__all__ = ["Lazy", "lazy"]


class _Names:
    """Names for operands and index variables of a program that is written."""

    def __init__(self):
        self.operands: dict[int, tuple[str, object]] = {}
        self.counts = 0

    def operand(self, tensor) -> str:
        name, _ = self.operands.setdefault(id(tensor), (f"T{len(self.operands)}", tensor))
        return name

    def index(self) -> str:
        self.counts += 1
        return f"k{self.counts - 1}"


def _bounded(shape) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


class Lazy:
    """An array that is not computed yet."""

    __array_ufunc__ = None  # NumPy's operators leave the operation to ours.

    def __init__(self, shape, dtype, write: Callable[[_Names, list[str]], str]):
        self.shape, self.dtype, self.write = _bounded(shape), np.dtype(dtype), write
        if type_of(self.dtype) is None:
            raise OperandError(f"values would be of type {self.dtype}, which the language has not")

    @staticmethod
    def of(shape, dtype, write) -> Lazy:
        """An array of this shape and type, whose value at some indices is the text that `write(names, indices)` gives."""
        return Lazy(shape, dtype, write)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    def program(self) -> tuple[str, dict]:
        """The program that computes it, and its operands by name."""
        names = _Names()
        indices = [f"i{n}" for n in range(self.ndim)]
        right = self.write(names, indices)
        declared = ""
        if not all(_gives_extent(right, index) for index in indices):
            # No access says the extent: the result does.
            declared = f"tensor Out: {type_of(self.dtype)}[{', '.join(map(str, self.shape))}] dense\n"
        text = f"{declared}Out[{', '.join(indices)}] = {right}"
        return text, {name: tensor for name, tensor in names.operands.values()}

    def compute(self, *, out: str | None = None, options: dict | None = None) -> _native.Tensor:
        """The tensor, by one kernel, which is kept for others like it."""
        text, operands = self.program()
        if text.startswith("tensor Out"):
            return _native.einsum(text, operands, out or None, options)
        return _native.einsum(text, operands, out, options)

    def show(self, stage: str = "loops") -> str:
        """A stage of the kernel: see `Kernel.show`."""
        from ._kernel import compile

        text, operands = self.program()
        return compile(text, operands).show(stage)

    def map(self, function: str, *others, dtype=None) -> Lazy:
        """A function of the language applied to each element, and to those of others."""
        return _mapped(lambda *texts: f"{function}({', '.join(texts)})", (self, *others), dtype)

    def astype(self, dtype) -> Lazy:
        """The same values in another type."""
        if np.dtype(dtype) == self.dtype:
            return self
        name = type_of(dtype)
        if name is None:
            raise OperandError(f"dtype {np.dtype(dtype)} is not one that the language has")
        return Lazy(self.shape, dtype, lambda names, at: f"convert({self.write(names, at)}, {name})")

    def reduce(self, function: str, axis=None, *, keepdims: bool = False, dtype=None) -> Lazy:
        """A reduction of the language over some axes, or all."""
        axes = range(self.ndim) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        axes = sorted({_axis(a, self.ndim) for a in axes})
        source = self if dtype is None else self.astype(dtype)
        if not axes:
            return source
        shape = [1 if n in axes else extent for n, extent in enumerate(self.shape) if keepdims or n not in axes]

        def write(names: _Names, at: list[str]) -> str:
            over = {axis: names.index() for axis in axes}
            rest = iter([index for n, index in enumerate(at) if n not in axes] if keepdims else at)
            indices = [over[n] if n in over else next(rest) for n in range(self.ndim)]
            return f"{function}({', '.join(over.values())}: {source.write(names, indices)})"

        return Lazy(shape, source.dtype, write)

    def sum(self, axis=None, *, keepdims: bool = False) -> Lazy:
        """Sums over some axes, or all; of integers in 64 bits, as NumPy's."""
        return self.reduce("sum", axis, keepdims=keepdims, dtype=np.zeros(0, self.dtype).sum().dtype)

    def prod(self, axis=None, *, keepdims: bool = False) -> Lazy:
        """Products over some axes, or all."""
        return self.reduce("prod", axis, keepdims=keepdims, dtype=np.zeros(0, self.dtype).prod().dtype)

    def min(self, axis=None, *, keepdims: bool = False) -> Lazy:
        """Least elements over some axes, or all."""
        return self.reduce("min", axis, keepdims=keepdims)

    def max(self, axis=None, *, keepdims: bool = False) -> Lazy:
        """Greatest elements over some axes, or all."""
        return self.reduce("max", axis, keepdims=keepdims)

    def permute(self, *axes: int) -> Lazy:
        """Mode `k` of the result is mode `axes[k]`."""
        axes = tuple(_axis(a, self.ndim) for a in axes)
        if sorted(axes) != list(range(self.ndim)):
            raise Error(f"{axes} is no permutation of {self.ndim} axes")
        place = [axes.index(n) for n in range(self.ndim)]
        return Lazy([self.shape[a] for a in axes], self.dtype, lambda names, at: self.write(names, [at[p] for p in place]))

    @property
    def T(self) -> Lazy:
        """The modes reversed."""
        return self.permute(*range(self.ndim)[::-1])

    def __matmul__(self, other) -> Lazy:
        return _product(self, lazy(other))

    def __rmatmul__(self, other) -> Lazy:
        return _product(lazy(other), self)

    def __neg__(self) -> Lazy:
        return _mapped(lambda a: f"(-{a})", (self,))

    def __abs__(self) -> Lazy:
        return self.map("abs")

    def __invert__(self) -> Lazy:
        return _mapped(lambda a: f"(!{a})", (self,))

    def __repr__(self) -> str:
        return f"Lazy(shape={self.shape}, dtype={self.dtype}: {self.program()[0].splitlines()[-1]})"


def _gives_extent(text: str, index: str) -> bool:
    """Whether an index stands alone in some access, which then says its extent."""
    import re

    return re.search(rf"[\[,] ?{index}[\],]", text) is not None


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Error(f"there is no axis {axis} of {rank}")
    return axis % rank


def lazy(array, /) -> Lazy:
    """An array, matrix, tensor or number as an expression: operators build on it, ``compute()`` runs it as one kernel."""
    if isinstance(array, Lazy):
        return array
    tensor = array if hasattr(array, "shape") and hasattr(array, "dtype") else _convert.tensor(array, "array")

    def write(names: _Names, at: list[str]) -> str:
        return f"{names.operand(tensor)}[{','.join(at)}]"

    return Lazy(tensor.shape, tensor.dtype, write)


def _mapped(text: Callable[..., str], operands: tuple, dtype=None, result=None) -> Lazy:
    """A function of elements, of arrays that are broadcast against each other; numbers take the arrays' type."""
    arrays = [o for o in operands if not isinstance(o, (bool, int, float))]
    arrays = {id(o): lazy(o) for o in arrays}
    taken = [arrays.get(id(o), o) for o in operands]
    kinds = [o.dtype if isinstance(o, Lazy) else o for o in taken]
    common = np.dtype(dtype) if dtype is not None else np.result_type(*kinds)
    try:
        shape = np.broadcast_shapes(*(o.shape for o in taken if isinstance(o, Lazy)))
    except ValueError as e:
        raise MismatchError(str(e)) from None

    def write(names: _Names, at: list[str]) -> str:
        return text(*(_element(o, common, shape, names, at) for o in taken))

    return Lazy(shape, common if result is None else result, write)


def _element(operand, common, shape, names, at) -> str:
    if not isinstance(operand, Lazy):
        value = bool(operand) if common == np.bool_ else common.type(operand).item()
        return literal(value)
    own = at[len(shape) - operand.ndim :]
    # A mode of extent 1 goes with any other: its only coordinate is read.
    wide = shape[len(shape) - operand.ndim :]
    own = ["0" if n == 1 and m != 1 else index for n, m, index in zip(operand.shape, wide, own, strict=True)]
    return operand.astype(common).write(names, own)


def _product(a: Lazy, b: Lazy) -> Lazy:
    """The matrix product, of vectors too, and of stacks of matrices."""
    if not a.ndim or not b.ndim:
        raise MismatchError("`@` takes arrays of one mode or more")
    inner, other = a.shape[-1], b.shape[-1 if b.ndim == 1 else -2]
    if inner != other:
        raise MismatchError(f"`@`: the last mode of {a.shape} is {inner} long, and that of {b.shape} it is summed with {other}")
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    try:
        stacks = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as e:
        raise MismatchError(str(e)) from None
    common = np.result_type(a.dtype, b.dtype)
    x, y = a.astype(common), b.astype(common)

    def write(names: _Names, at: list[str]) -> str:
        k, stack = names.index(), at[: len(stacks)]
        row, column = at[len(stacks) : len(stacks) + len(rows)], at[len(stacks) + len(rows) :]
        left = _aligned(a.shape[:-2], stacks, stack) + row + [k]
        right = _aligned(b.shape[:-2], stacks, stack) + [k] + column
        return f"sum({k}: {x.write(names, left)} * {y.write(names, right)})"

    return Lazy(stacks + rows + columns, common, write)


def _aligned(shape, stacks, at: list[str]) -> list[str]:
    behind = len(stacks) - len(shape)
    return ["0" if n == 1 and stacks[behind + m] != 1 else at[behind + m] for m, n in enumerate(shape)]


def _operator(symbol: str, result=None, floats: bool = False, called: bool = False):
    """An operator and its mirror image."""

    def text(a: str, b: str) -> str:
        return f"{symbol}({a}, {b})" if called else f"({a} {symbol} {b})"

    def typed(operands):
        if not floats:
            return None
        kinds = [o if isinstance(o, (bool, int, float)) else lazy(o).dtype for o in operands]
        return np.true_divide(*(np.ones(1, k) if isinstance(k, np.dtype) else k for k in kinds)).dtype

    def here(self, other):
        return _mapped(text, (self, other), typed((self, other)), result)

    def mirrored(self, other):
        return _mapped(text, (other, self), typed((other, self)), result)

    return here, mirrored


for _name, _symbol, _how in [
    ("add", "+", {}),
    ("sub", "-", {}),
    ("mul", "*", {}),
    ("truediv", "/", {"floats": True}),
    ("floordiv", "floordiv", {"called": True}),
    ("mod", "floormod", {"called": True}),
    ("pow", "pow", {"called": True}),
    ("and", "&", {}),
    ("or", "|", {}),
    ("xor", "^", {}),
]:
    _here, _mirrored = _operator(_symbol, **_how)
    setattr(Lazy, f"__{_name}__", _here)
    setattr(Lazy, f"__r{_name}__", _mirrored)

for _name, _symbol in [("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")]:
    setattr(Lazy, f"__{_name}__", _operator(_symbol, result=np.bool_)[0])

Lazy.__hash__ = object.__hash__
