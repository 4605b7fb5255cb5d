"""What `fiberloom.torch` and `fiberloom.jax` share: a kernel and its gradients as functions of arrays.

A sparse operand is the vector of the values of its entries; where these are, a pattern says that does not change.

```text
 patterns={"A": A}                   A: its index arrays are checked once, and shared
 values of A, X    ──revalued──▶     tensors  ──kernel──▶  y                                       forward
 values of A, X, v ──revalued──▶     tensors  ──gradient by A, X──▶  values of A_bar, X_bar        backward
```
"""

from __future__ import annotations

import re

import numpy as np

from . import _convert, _native
from ._gradients import Gradient, _last, grad
from ._kernel import Kernel
from .errors import MismatchError, OperandError

__all__ = ["Adapted", "Differentiable"]


class Differentiable:
    """A result of a kernel, and its gradients, over ndarrays.

    Parameters
    ----------
    source
        A kernel, or a Python function that `kernel` decorates.
    of
        The result; unless it is named, the one that a Python function returns, or the last one.
    patterns
        Of each sparse operand, by name, where it has entries, and the values that it has unless a call gives others.
    """

    def __init__(self, source, of: str | None, patterns: dict | None):
        from ._syntax import KernelFunction

        if not isinstance(source, (Kernel, KernelFunction)):
            expected = "a kernel expected, as `compile` and `@kernel` make one"
            raise OperandError(f"{expected}: {type(source).__name__} is none")
        self.source, self._of = source, of
        self.patterns = {name: _convert.tensor(pattern, name) for name, pattern in (patterns or {}).items()}
        self._gradients: dict[tuple[str, ...], Gradient] = {}
        self._shapes: dict[tuple, tuple[tuple[int, ...], np.dtype]] = {}

    def named(self, operands: tuple, named: dict) -> dict:
        """The operands of a call by name: in order they are given as to a Python function, or as the kernel lists them."""
        if isinstance(self.source, Kernel):
            names = [name for name, *_ in self.source.inputs]
            if len(operands) > len(names):
                raise OperandError(f"the kernel takes {len(names)} operands, and {len(operands)} are given")
            return {**dict(zip(names, operands, strict=False)), **named}
        return self.source._named(operands, named)

    def gradient(self, by: tuple[str, ...]) -> Gradient:
        """The gradient by these operands, which is kept."""
        made = self._gradients.get(by)
        if made is None:
            made = self._gradients[by] = grad(self.source, self._of, by)
        return made

    def value(self, arrays: dict) -> np.ndarray:
        """The result: a dense one itself, of a sparse one the values of its entries, which have to be those of its pattern."""
        operands = self._tensors(arrays)
        kernel = self._kernel(operands)
        of = self._result(kernel)
        made = kernel(**operands)[of]
        if made.dense_view() is not None:
            return made.to_numpy()
        pattern = self.patterns.get(of)
        if pattern is None:
            help = f"declare it dense, or say where it has entries, `patterns={{{of!r}: …}}`"
            raise OperandError(f"the result `{of}` is stored as {made.format}: {help}")
        return _values(of, made, pattern)

    def pull(self, arrays: dict, seed: np.ndarray, by: tuple[str, ...]) -> list[np.ndarray]:
        """What `seed`, the gradient of the result, is to each operand of `by`."""
        operands = self._tensors(arrays)
        of = self._result(self._kernel(operands))
        gradient = self.gradient(by)
        if seed.ndim or of in self.patterns:
            pattern = self.patterns.get(of)
            operands[f"{of}_bar"] = seed if pattern is None else self._seed(gradient, operands, of, pattern, seed)
        made = gradient._program(operands)(operands)
        scale = 1.0 if seed.ndim or of in self.patterns else seed
        return [_scaled(self._own(name, made[name]), scale) for name in by]

    def shape(self, arrays: dict) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and type of the result for operands with these shapes: of values that are all 0, once."""
        key = tuple((name, array.shape, str(array.dtype)) for name, array in arrays.items() if hasattr(array, "dtype"))
        if key not in self._shapes:
            value = self.value({name: _zeros(array) for name, array in arrays.items()})
            self._shapes[key] = value.shape, value.dtype
        return self._shapes[key]

    def check(self, name: str) -> None:
        """Refuses one array for a declared operand with lists, of which no pattern says where it has entries."""
        source = self.source
        if name in self.patterns or not isinstance(source, Kernel) and source._open:
            return
        kernel = source if isinstance(source, Kernel) else source._kernel({})
        form = next((form for own, _, form, _, _ in kernel.inputs if own == name), "dense")
        if set(re.findall(r"\w+", form)) != {"dense"}:
            help = f"`patterns={{{name!r}: …}}` says where it has entries, and a call gives their values"
            raise OperandError(f"tensor `{name}`: it is stored as {form}: {help}")

    def _kernel(self, operands: dict) -> Kernel:
        return self.source if isinstance(self.source, Kernel) else self.source._kernel(operands)

    def _result(self, kernel: Kernel) -> str:
        return self._of or _last(self.source, kernel)

    def _tensors(self, arrays: dict) -> dict:
        """The operands as tensors: those with a pattern over its index arrays."""
        made = {name: _convert.tensor(array, name) for name, array in arrays.items()}
        for name, pattern in self.patterns.items():
            if name in made:
                made[name] = _revalued(name, pattern, made[name])
            elif name != self._of and self._is_operand(name):
                made[name] = pattern
        return made

    def _is_operand(self, name: str) -> bool:
        source = self.source
        names = [n for n, *_ in source.inputs] if isinstance(source, Kernel) else source.parameters
        return name in names

    def _seed(self, gradient: Gradient, operands: dict, of: str, pattern, seed: np.ndarray):
        """The gradient of a sparse result, in the format in which the program has it."""
        made = _revalued(of, pattern, _convert.tensor(seed, of))
        known = {name: form for name, _, form, _, _ in gradient._program(operands).kernel.inputs}
        return made.to(known.get(f"{of}_bar", "dense"))

    def _own(self, name: str, made) -> np.ndarray:
        """A gradient as the operand is given: a dense one itself, or the values of the entries."""
        pattern = self.patterns.get(name)
        return made.to_numpy() if pattern is None else _values(name, made, pattern)


class Adapted:
    """A kernel as a function that a package differentiates; a subclass says which operands that follows, and how one call is made.

    Parameters
    ----------
    source, of, patterns
        As of `Differentiable`.
    """

    def __init__(self, source, of: str | None, patterns: dict | None):
        self._of = Differentiable(source, of, patterns)

    def gradient(self, *by: str) -> Gradient:
        """The gradient by these operands, whose `text` is the program that a backward pass runs.

        Parameters
        ----------
        by
            Names of operands.

        Returns
        -------
        Gradient
            As `fiberloom.grad` gives it.
        """
        return self._of.gradient(by)

    def __call__(self, *operands, **named):
        named = self._of.named(operands, named)
        followed = {name: operand for name, operand in named.items() if self._follows(operand)}
        others = {name: operand for name, operand in named.items() if name not in followed}
        for name in followed:
            self._of.check(name)
        return self._apply(others, tuple(followed), tuple(followed.values()))

    def _follows(self, operand) -> bool:
        """Whether the package differentiates by an operand."""
        raise NotImplementedError

    def _apply(self, others: dict, names: tuple[str, ...], arrays: tuple):
        """The result for the package's arrays of these names, and for others, which do not move."""
        raise NotImplementedError


def _revalued(name: str, pattern: _native.Tensor, values: _native.Tensor) -> _native.Tensor:
    """The pattern's entries with these values."""
    if values.shape != (pattern.nnz,):
        what = f"the values of its {pattern.nnz} entries expected, one vector, and {values.shape} are given"
        raise MismatchError(f"tensor `{name}`: {what}")
    return pattern.revalued(values, pattern.dtype.type(pattern.fill_value).astype(values.dtype).item())


def _values(name: str, made: _native.Tensor, pattern: _native.Tensor) -> np.ndarray:
    """The values of a tensor that has a pattern's entries."""
    arrays, expected = made.arrays(), pattern.arrays()
    values = arrays.pop("values")
    del expected["values"]
    if made.shape != pattern.shape or any(not np.array_equal(arrays.get(key), array) for key, array in expected.items()):
        raise MismatchError(f"tensor `{name}`: its entries are not those of its pattern, which does not change")
    return values


def _scaled(array: np.ndarray, by) -> np.ndarray:
    """Gradients are linear in that of the result: that of a number is a factor."""
    return array if isinstance(by, float) or by == 1 else array * by


def _zeros(array):
    """Zeros of the shape and type of an array of JAX, which may have no values yet; anything else is itself."""
    is_jax = type(array).__module__.partition(".")[0] in ("jax", "jaxlib")
    return np.zeros(array.shape, array.dtype) if is_jax else array
