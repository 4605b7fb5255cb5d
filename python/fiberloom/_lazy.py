"""``lazy``: expressions that are compiled as one kernel.

A `Lazy` is a function from indices to text of the language, with a shape and a type:

>>> A, x = sp.csr_array([[1.0, 0.0], [2.0, 3.0]]), np.array([1.0, 10.0])
>>> z = fl.lazy(A) @ x + 1
>>> z.program()[0]
'Out[i0] = (sum(k0: T0[i0,k0] * T1[k0]) + T2[])'
>>> z.compute().to_numpy()
array([ 2., 33.])

Who adds operations builds on `Lazy.of`: a shape, a type, and ``write(names, at)``, which gives the text of the value at
indices, of `fiberloom._program`. The functions of `fiberloom.array` do. ``with fl.lazy():`` has them give expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import _convert, _methods, _native
from ._operators import DEFERRED, asked_by_scipy, attach, no_array
from ._plans import NOTES, Note
from ._program import Index, Names, fill_of, is_led, is_sparse, rows_of
from ._types import literal, type_of
from .errors import OperandError

__all__ = ["Lazy", "finished", "is_lazy", "lazy"]


#: As many operations stand in one statement at most.
_LONG = 64


class Lazy:
    """An array that is not computed yet. It has the methods of `fiberloom._methods`, too.

    Parameters
    ----------
    shape, dtype
        Of the array.
    write
        The text of the value at indices.
    fill
        The value of what would not be stored, if it is known without running something.
    of
        The expressions of whose elements it is computed.
    sparse
        Whether one of those, or itself, is sparse.
    led
        Whether the outermost level of such a one is a list: its result's outermost may be one.
    folds
        Whether an element is a fold.
    scatter
        How a statement computes it from the elements of another, where that is shorter: that expression, and a function
        from its indices to those of the result. What no element goes to is 0.
    """

    def __init__(self, shape, dtype, write: Callable[[Names, list[Index]], str], fill=None, *, of=(), **how):
        self.shape, self.dtype, self.formula = tuple(int(n) for n in shape), np.dtype(dtype), write
        self.fill, self.folds, self.scatter = fill, how.get("folds", False), how.get("scatter")
        self.sparse = how.get("sparse", False) or any(o.sparse for o in of)
        self.led = how.get("led", False) or any(o.led for o in of)
        #: The axis along which a stored array's lines are found by number, if there is one.
        self.rows = how.get("rows", [])
        #: The array, if it is one itself.
        self.leaf = how.get("leaf")
        # What is long is computed before, and then is short.
        self.weight = 1 + sum(o.weight if o.weight < _LONG else 1 for o in of)
        if type_of(self.dtype) is None:
            raise OperandError(f"values would be of type {self.dtype}, which the language has not")

    @staticmethod
    def of(shape, dtype, write, *operands: Lazy, fill=None) -> Lazy:
        """An array by the text of its values.

        Parameters
        ----------
        shape, dtype
            Of the array.
        write
            Gives, from names and indices, the text of the value there, of those of `operands`.
        operands
            The expressions of whose elements it is computed.
        fill
            The value of what would not be stored, if it is known.

        Returns
        -------
        Lazy
            The expression.
        """
        return Lazy(shape, dtype, write, fill, of=operands)

    def write(self, names: Names, at: list[Index]) -> str:
        """The text of the value at indices.

        A statement before computes what is long, and a fold that would be computed again for a variable of the loops around
        that it does not depend on: ``(A @ B) @ C`` is two products, ``S * (A @ B)`` one, at what `S` stores.
        """
        if self.weight < _LONG and not (self.folds and names.repeats(at)):
            return self.formula(names, at)
        return names.hoist(self, at)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def zero(self) -> bool:
        """Whether it is 0 where sparse operands store nothing, as far as is known."""
        return self.sparse and self.fill is not None and not self.fill

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return math.prod(self.shape)

    def program(self, out: str | None = None) -> tuple[str, dict]:
        """The program that computes it, and its operands by name.

        Parameters
        ----------
        out
            The format of the result, as of `compute`.

        Returns
        -------
        tuple of str and dict
            The text, and what it reads by name: arrays, and sizes as numbers.
        """
        names = self._named(out)
        return names.program()

    def _named(self, out: str | None = None) -> Names:
        names = Names()
        names.state("Out", self, [Index(_left(n), count=extent) for n, extent in enumerate(self.shape)], out)
        return names

    def compute(self, *, out: str | None = None, options: dict | None = None) -> _native.Tensor:
        """The tensor, by one kernel, which is kept for others like it.

        Parameters
        ----------
        out
            The format. If absent, dense where no operand is sparse, else as of a result that is not declared.
        options
            As of `compile`. If absent, the mode is ``strict`` where no operand is sparse and nothing is folded: what is
            computed of elements of dense arrays is what IEEE 754 says.

        Returns
        -------
        Tensor
            The value of each element.
        """
        return self._written(out, options)[0]

    def called(self, function: str, operands: tuple, options: dict | None = None) -> _native.Tensor:
        """The tensor, by a kernel that is found from now on by the function's name and operands like these.

        Parameters
        ----------
        function
            The name of what made the expression: of operands of equal shapes, and for ``matmul`` of those that go together, it
            makes the same one, whatever their extents are.
        operands
            Arrays, and at most one number.
        options
            As of `compute`.
        """
        made, names, text, given, options = self._written(None, options)
        if len(names.before) == 1 and not names.declared and not names.sizes:
            of = {id(tensor): name for name, tensor in given.items()}
            known = [of.pop(id(o), None) for o in operands]
            if len(of) <= 1 and len(operands) <= 2:
                # What is left is what a number became.
                left = next(iter(of), None)
                known = [of[left] if name is None and left is not None else name for name in known]
                if operands[0] is operands[-1]:
                    known = [known[0]] * len(operands)
                _native.learn(function, operands, known, text, given, options)
        return made

    def _written(self, out: str | None, options: dict | None):
        names = self._named(out)
        text, operands = names.program()
        if options is None and (names.strict or not (names.folds or names.sparse)):
            options = {"mode": "strict"}
        # A result that is declared has its format there.
        made = _native.einsum(text, operands, None if "Out" in names.declared else out, options)
        notes = NOTES.get()
        if notes is not None:
            notes.append(Note(made, text, operands, options, None if names.valued or out else names.chosen))
        return made, names, text, operands, options

    def background(self):
        """A value that many elements have where sparse operands store nothing."""
        if self.fill is not None:
            return self.fill
        if not self.size:
            return self.dtype.type(0)
        names = _Background()
        names.state("Out", _first(self), [])
        text, operands = names.program()
        self.fill = _native.einsum(text, operands, None, None).to_numpy()[()].item()
        return self.fill

    def show(self, stage: str = "loops") -> str:
        """The program at a stage on its way to machine code.

        Parameters
        ----------
        stage
            As of `Kernel.show`.

        Returns
        -------
        str
            Of several lines.
        """
        from ._kernel import compile

        text, operands = self.program()
        return compile(text, operands).show(stage)

    def map(self, function: str, *others, dtype=None) -> Lazy:
        """A function of the language applied to each element, and to those of others.

        Parameters
        ----------
        function
            Its name.
        others
            Arrays or numbers, broadcast against this one and each other.
        dtype
            The type that all are converted to; if absent, their common one.

        Returns
        -------
        Lazy
            The values.
        """
        return mapped(lambda names, *texts: f"{function}({', '.join(texts)})", (self, *others), dtype)

    def astype(self, dtype, /) -> Lazy:
        """The same values in another type.

        Parameters
        ----------
        dtype
            The type.

        Returns
        -------
        Lazy
            Itself if it has the type.
        """
        if np.dtype(dtype) == self.dtype:
            return self
        name = type_of(dtype)
        if name is None:
            raise OperandError(f"dtype {np.dtype(dtype)} is not one that the language has")
        text = lambda names, at: f"convert({self.write(names, at)}, {name})"  # noqa: E731
        return Lazy(self.shape, dtype, text, 0 if self.zero else None, of=(self,))

    def permute(self, *axes: int) -> Lazy:
        """The modes in another order.

        Parameters
        ----------
        axes
            Each axis once: mode `k` of the result is mode ``axes[k]``.

        Returns
        -------
        Lazy
            The same elements.
        """
        return _array().permute_dims(self, axes)

    @property
    def T(self) -> Lazy:
        """The modes reversed."""
        return self.permute(*range(self.ndim)[::-1])

    def __repr__(self) -> str:
        return f"Lazy(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype=None, copy=None):
        if asked_by_scipy():
            return no_array()
        return self.compute().__array__(dtype, copy)


attach(Lazy)
_methods.attach(Lazy)


def _array():
    from . import array

    return array


class _Background(Names):
    """Names of a program in which a sparse operand is its fill value everywhere."""

    plain = True

    def access(self, tensor, at: list[Index]) -> str:
        if is_sparse(tensor) or 0 in tensor.shape:
            # What has no elements has nothing to read.
            dtype = np.dtype(tensor.dtype)
            return f"convert({literal(dtype.type(fill_of(tensor)).item())}, {type_of(dtype)})"
        return super().access(tensor, at)

    def hoist(self, source, at: list[Index]) -> str:
        if source.sparse and source.fill is not None:
            return f"convert({literal(source.dtype.type(source.fill).item())}, {type_of(source.dtype)})"
        known = self.hoisted.get(id(source))
        if known is None:
            known = self.hoisted[id(source)] = source, f"W{len(self.hoisted)}"
            self.state(known[1], _first(source if source.scatter is None else source.scatter[0]), [])
        return f"{known[1]}[]"


def _first(source: Lazy) -> Lazy:
    """The first element."""
    return Lazy((), source.dtype, lambda names, at: source.formula(names, [Index(None)] * source.ndim))


def _left(mode: int) -> str:
    """The index variable of a result's mode: ``i8`` is a type."""
    return f"i{mode}" if mode < 8 else f"i_{mode}"


class _Within:
    """The context in which functions of arrays give expressions."""

    def __enter__(self):
        self.token = DEFERRED.set(True)
        return self

    def __exit__(self, *_):
        DEFERRED.reset(self.token)


def lazy(*arrays):
    """An array, matrix, tensor or number as an expression: operators build on it, ``compute()`` runs it as one kernel.

    Parameters
    ----------
    arrays
        One array; or none.

    Returns
    -------
    Lazy
        The expression. Without an argument, a context: in it the functions and operators of `fiberloom.array` compute nothing
        and give expressions.

    Examples
    --------
    >>> A = fl.asarray(np.eye(3), "csr")
    >>> with fl.lazy():
    ...     z = fl.array.sum(fl.array.expm1(A), axis=0)
    >>> z.compute().shape                                        # one kernel
    (3,)
    """
    if not arrays:
        return _Within()
    (array,) = arrays
    if isinstance(array, Lazy):
        return array
    tensor = array
    if isinstance(array, np.generic):
        tensor = np.asarray(array)
    elif not (hasattr(array, "shape") and hasattr(array, "dtype")):
        tensor = _convert.tensor(array, "array")
    if type_of(tensor.dtype) is None:
        raise OperandError(f"dtype {np.dtype(tensor.dtype)} is not one that the language has")
    text = lambda names, at: names.access(tensor, at)  # noqa: E731
    how = {"sparse": is_sparse(tensor), "led": is_led(tensor), "rows": rows_of(tensor), "leaf": tensor}
    return Lazy(tensor.shape, tensor.dtype, text, fill_of(tensor), **how)


def is_lazy(*operands) -> bool:
    """Whether a function of these gives an expression."""
    return DEFERRED.get() or any(isinstance(o, Lazy) for o in operands)


def finished(result: Lazy, *operands):
    """The expression itself where expressions are built, else the tensor."""
    return result if is_lazy(*operands) else result.compute()


def is_number(operand) -> bool:
    """Whether an operand is a number of Python's, which takes the type of what it stands with."""
    return isinstance(operand, (bool, int, float)) and not isinstance(operand, np.generic)


def broadcast(*shapes) -> tuple[int, ...]:
    """The shape against which all of these are broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as e:
        from .errors import MismatchError

        raise MismatchError(f"shapes {', '.join(map(str, shapes))} do not go together: {e}") from None


def aligned(own, shape, at: list[Index]) -> list[Index]:
    """The indices of an operand of shape `own` that is broadcast to `shape`: a mode of extent 1 goes with any other."""
    behind = len(shape) - len(own)
    return [Index(None) if n == 1 and shape[behind + m] != 1 else at[behind + m] for m, n in enumerate(own)]


def mapped(text: Callable[..., str], operands, dtype=None, result=None, *, zero=(), literal=False) -> Lazy:
    """A function of elements, of arrays that are broadcast against each other.

    Parameters
    ----------
    text
        Gives, from names and the text of each operand's element, that of the value.
    dtype
        The type that operands are converted to; if absent, their common one, numbers taking that of the arrays.
    result
        The type of the values; if absent, the same.
    zero
        The places of operands each of which decides, where it is 0, that the value is.
    literal
        Whether numbers stand in the program's text, so that each has a kernel of its own.
    """
    taken = [o if is_number(o) else lazy(o) for o in operands]
    common = np.dtype(dtype) if dtype is not None else common_type(*taken)
    arrays = [o for o in taken if isinstance(o, Lazy)]
    shape = broadcast(*(o.shape for o in arrays))
    nothing = any(isinstance(taken[n], Lazy) and taken[n].zero for n in zero)
    # Of a number that changes what is not stored the program must know the value.
    literal = literal or not nothing and has_fill(shape, arrays)
    number = _literal if literal else _operand
    taken = [o.astype(common) if isinstance(o, Lazy) else number(o, common) for o in taken]

    def write(names: Names, at: list[Index]) -> str:
        elements = (o if isinstance(o, str) else o.write(names, aligned(o.shape, shape, at)) for o in taken)
        return text(names, *elements)

    fill = 0 if nothing else None
    return Lazy(shape, common if result is None else result, write, fill, of=[o for o in taken if isinstance(o, Lazy)])


def has_fill(shape, arrays: list[Lazy]) -> bool:
    """Whether a function of arrays has a result that may not store all of its values."""
    return any(a.sparse for a in arrays) and (len(shape) > 1 or any(a.led for a in arrays))


def common_type(*operands) -> np.dtype:
    """The type that these are promoted to."""
    try:
        return np.result_type(*(o if is_number(o) else np.dtype(o.dtype) for o in operands))
    except (TypeError, OverflowError) as e:
        raise OperandError(str(e)) from None


def _literal(number, dtype) -> str:
    return literal(_value(number, dtype).item())


def _operand(number, dtype) -> Lazy:
    """A number as an array of no modes: all numbers have one kernel."""
    return lazy(np.asarray(_value(number, dtype)))


def _value(number, dtype):
    try:
        return dtype.type(number)
    except OverflowError as e:
        raise OperandError(f"{number} is no {dtype}: {e}") from None
