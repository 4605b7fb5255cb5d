"""The text of a program while a lazy expression is written.

An `Index` is what stands in an access. A `Names` holds what the program needs beside the expression: operands, functions,
declarations, and statements that are computed before. Extents and bounds of slices are sizes that the call says, so that
programs of the same form are the same program.

```text
 fn square_f64(x: f64) -> f64 { x * x }      functions
 dim N0                                      extents and bounds of slices, whose values go with the operands
 tensor W0: f64[N0] dense                    declarations, where no access says an extent
 W0[k0] = T0[4-k0]                           statements before
 Out[i0] = square_f64(W0[i0])                the expression
```
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ._types import literal, type_of

__all__ = ["Index", "Names", "is_led", "is_sparse", "suited"]


class Index(NamedTuple):
    """An index: ``start + step * var``, where `var` runs over ``count`` values; or, if `opaque`, that text.

    A `var` of ``None`` is the constant `start`. An opaque index is an access (a gather) or has a quotient or a rest.
    """

    var: str | None
    start: int = 0
    step: int = 1
    count: int = 1
    opaque: str | None = None

    def along(self, start: int, step: int) -> Index | None:
        """The index ``start + step * self``; ``None`` if it is opaque."""
        if self.opaque is not None:
            return None
        return Index(self.var, start + step * self.start, step * self.step, self.count).plain()

    def plain(self) -> Index:
        """The same index; where it has one value or none its step is 1."""
        if self.count == 0:
            return Index(self.var, 0, 1, 0)
        return self._replace(step=1) if self.count == 1 else self

    def is_whole(self, extent: int) -> bool:
        """Whether it is a variable that runs over the whole extent."""
        return self.opaque is None and self.var is not None and self[1:4] == (0, 1, extent)

    def within(self, extent: int, names: Names) -> str:
        """The text in an access to a mode of this extent: a variable, or a slice, says how far it goes."""
        if self.opaque is not None:
            return self.opaque
        if self.var is None:
            return str(self.start)
        if self.is_whole(extent):
            return self.var
        if self.step < 0:
            return self._downward()
        end = self.start + self.step * (self.count - 1) + 1 if self.count else self.start
        first, behind = (names.size(self.start) if self.start else "0"), (names.size(end) if end else "0")
        return f"{self.var}({first}:{behind})" if self.step == 1 else f"{self.var}({first}:{behind}:{self.step})"

    def _downward(self) -> str:
        return f"{self.start}-{self.var}" if self.step == -1 else f"{self.start}-{-self.step}*{self.var}"

    def value(self) -> str:
        """The text of its value in an expression, an ``i64``."""
        if self.opaque is not None:
            return f"convert({self.opaque}, i64)" if self.is_gather() else f"({self.opaque})"
        if self.var is None:
            return str(self.start)
        scaled = self.var if self.step == 1 else f"{self.step}*{self.var}"
        return f"({self.start}+{scaled})" if self.start else f"({scaled})" if self.step != 1 else scaled

    def is_gather(self) -> bool:
        """Whether it is an access, which is no part of an affine index."""
        return self.opaque is not None and "[" in self.opaque

    def affine(self) -> str:
        """The text as an affine index, of whatever is no gather."""
        if self.opaque is not None:
            return self.opaque
        if self.var is None:
            return str(self.start)
        if self.step < 0:
            return self._downward()
        scaled = self.var if self.step == 1 else f"{self.step}*{self.var}"
        return f"{self.start}+{scaled}" if self.start else scaled


def unsaid(indices: list[Index], text: str) -> list[Index]:
    """The variables whose extents the text does not say: no access has one alone, or a slice, and no operator leaves it."""
    return [i for i in indices if i.var is not None and not re.search(rf"[\[,]{i.var}[\](,]|-> {i.var}\)", text)]


def is_sparse(array) -> bool:
    """Whether an operand has values that are not stored."""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    levels = getattr(array, "levels", None)
    return levels is None or any(level != "dense" for level in levels)


def is_led(array) -> bool:
    """Whether the outermost level of a sparse operand is a list."""
    if not is_sparse(array):
        return False
    levels = getattr(array, "levels", None)
    return array.format == "coo" or array.ndim != 2 if levels is None else levels[0] != "dense"


def rows_of(array) -> list[int]:
    """The first axis of a sparse operand, if its lines are found by number: its level is the outermost one, and dense."""
    if not is_sparse(array):
        return []
    levels = getattr(array, "levels", None)
    if levels is None:
        return [0] if array.format == "csr" and array.ndim == 2 else []
    return [0] if levels[0] == "dense" and array.level_order[0] == 0 else []


def fill_of(array):
    """The value of what an operand does not store."""
    return getattr(array, "fill_value", 0)


def suited(shape: tuple[int, ...], sparse: list) -> str:
    """The format of a result that is declared, by the language's rule for one that is not."""
    if not sparse or not shape:
        return "dense"
    entries = max((int(s.nnz) for s in sparse), default=0)
    listed = any(getattr(s, "levels", ["compressed" if s.ndim != 2 else "dense"])[:1] != ["dense"] for s in sparse)
    first = "compressed" if listed or shape[0] > 16 * entries else "dense"
    return f"{{{', '.join([first] + ['compressed'] * (len(shape) - 1))}}}"


class Names:
    """Names of a program, and what stands in it before its last statement."""

    #: Whether sparse operands are their fill values: which of their elements is read is all the same.
    plain = False

    def __init__(self):
        self.operands: dict[int, tuple[str, object]] = {}
        self.functions: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.declared: dict[str, str] = {}
        self.before: list[str] = []
        self.hoisted: dict[int, tuple[object, str]] = {}
        self.sparse: list = []
        #: Variables of the loops around what is written, and how far they run.
        self.scope: dict[str, int] = {}
        self.count = 0
        self.folds = False
        self.strict = False
        #: Formats that were chosen by how many entries operands have: a shape, the operands, the format.
        self.chosen: list[tuple] = []
        #: Whether the text may depend on a value of an operand.
        self.valued = False

    def operand(self, tensor) -> str:
        """The name of an operand."""
        name, _ = self.operands.setdefault(id(tensor), (f"T{len(self.operands)}", tensor))
        return name

    def size(self, value: int) -> str:
        """The name of an extent, or of a bound of a slice, whose value goes with the operands."""
        name = f"N{len(self.sizes)}"
        self.sizes[name] = int(value)
        return name

    def index(self, extent: int) -> Index:
        """A new index variable that runs over an extent."""
        self.count += 1
        return Index(f"k{self.count - 1}", count=extent)

    def function(self, name: str, text: str) -> str:
        """A function of the language, which the program then has."""
        self.functions[name] = text
        return name

    def access(self, tensor, at: list[Index]) -> str:
        """The text of an operand's value at these indices."""
        if is_sparse(tensor):
            self.sparse.append(tensor)
        return self.element(self.operand(tensor), tensor.shape, at)

    def element(self, name: str, shape, at: list[Index]) -> str:
        """The text of an access to a tensor of this name."""
        return f"{name}[{','.join(index.within(extent, self) for index, extent in zip(at, shape, strict=True))}]"

    def gather(self, places, at: list[Index]) -> Index:
        """The index that an array of places holds; a part of it, computed before, where indices are no variables alone."""
        parts = {
            m: i for m, i in enumerate(at) if i.opaque is None and i.var is not None and not i.is_whole(places.shape[m])
        }
        if parts:
            shape = [parts[m].count if m in parts else extent for m, extent in enumerate(places.shape)]
            whole = places

            def write(names: Names, own: list[Index]) -> str:
                return whole.write(names, [i.along(*parts[m][1:3]) if m in parts else i for m, i in enumerate(own)])

            places = whole.of(shape, whole.dtype, write, whole)
            at = [Index(i.var, count=i.count) if m in parts else i for m, i in enumerate(at)]
        return Index(None, opaque=self.hoist(places, at))

    def inside(self, bound: list[Index], instead: list[Index] = ()):
        """The scope within something that binds variables; those that it leaves instead are none there."""
        left = {index.var for index in instead}
        return self._scoped({var: n for var, n in self.scope.items() if var not in left} | {i.var: i.count for i in bound})

    @contextmanager
    def _scoped(self, scope: dict[str, int]):
        outer, self.scope = self.scope, scope
        yield
        self.scope = outer

    def repeats(self, at: list[Index]) -> bool:
        """Whether loops around run over a variable on which these indices do not depend."""
        text = " ".join(index.opaque or index.var or "" for index in at)
        return any(n > 1 and not re.search(rf"\b{var}\b", text) for var, n in self.scope.items())

    def bounded(self, indices: list[Index], text: str, dtype, otherwise=0) -> str:
        """The text with the extents of these variables said, for what binds them: its value is the same.

        Entries are few where `otherwise` is the value of what is not stored.
        """
        tests = []
        for index in unsaid(indices, text):
            size = self.size(index.count)
            name = f"below{size}"
            self.function(name, f"fn {name}(i: i64) -> bool {{ true }}")
            self.declared[name] = f"tensor {name}: bool[{size}] {{function}}"
            tests.append(f"{name}[{index.var}]")
        if not tests:
            return text
        return f"(if {' && '.join(tests)} then {text} else {literal(np.dtype(dtype).type(otherwise).item())})"

    def hoist(self, source, at: list[Index]) -> str:
        """The text of an element of an expression that a statement before computes, once however often it is read."""
        known = self.hoisted.get(id(source))
        if known is None:
            known = source, f"W{len(self.hoisted)}"
            self.hoisted[id(source)] = known
            self.state(known[1], source, [self.index(n) for n in source.shape])
        return self.element(known[1], source.shape, at)

    def state(self, name: str, source, indices: list[Index], format: str | None = None) -> None:
        """Adds the statement that defines a tensor, declared where it must be."""
        if source.scatter is not None and not self.plain:
            text = self._scattered(name, source)
            self._declare(name, source, format)
            self.before.append(text)
            return
        with self._scoped({index.var: index.count for index in indices}):
            text = source.formula(self, indices)
        if unsaid(indices, text) or any(index.count == 0 for index in indices):
            self._declare(name, source, format)
        self.before.append(f"{name}[{', '.join(index.var for index in indices)}] = {text}")

    def _declare(self, name: str, source, format: str | None) -> None:
        if format is None:
            format = suited(source.shape, self.sparse)
            self.chosen.append((source.shape, tuple(self.sparse), format))
        self.valued |= format != "dense" and source.fill is None
        fill = "" if format == "dense" else f" fill {literal(source.dtype.type(source.background()).item())}"
        sizes = ", ".join(map(self.size, source.shape))
        self.declared[name] = f"tensor {name}: {type_of(source.dtype)}[{sizes}]{fill} {format}"

    def _scattered(self, name: str, source) -> str:
        """The statement that puts the elements of another expression where they go."""
        of, to = source.scatter
        indices = [self.index(n) for n in of.shape]
        with self._scoped({index.var: index.count for index in indices}):
            text = self.bounded(indices, of.write(self, indices), of.dtype)
        left = ", ".join(i.within(n, self) for i, n in zip(to(indices), source.shape, strict=True))
        return f"{name}[{left}] += {text}"

    def program(self) -> tuple[str, dict]:
        """The text, and the operands that it reads by name."""
        sizes = [f"dim {name}" for name in self.sizes]
        text = "\n".join([*self.functions.values(), *sizes, *self.declared.values(), *self.before])
        # Where a sparse operand is its fill value, what its indices read is not read.
        read = {name: tensor for name, tensor in self.operands.values() if f"{name}[" in text}
        return text, read | self.sizes
