"""Operators of tensors and lazy expressions, and what the array API standard has them have.

All are functions of `fiberloom.array`, which is imported by the first that is used. Tensors get them with the package, lazy
expressions where these are imported.
"""

from __future__ import annotations

import importlib
import sys
from contextvars import ContextVar
from functools import cache

from . import _native

__all__ = ["DEFERRED", "asked_by_scipy", "attach", "no_array"]

#: Whether functions of arrays give expressions: within ``with lazy():``.
DEFERRED: ContextVar[bool] = ContextVar("fiberloom.lazy", default=False)

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARED = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
#: NumPy's names of functions that the standard calls otherwise.
_UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


def _namespace():
    return sys.modules.get("fiberloom.array") or importlib.import_module("fiberloom.array")


_NUMBERS = {bool, int, float}


def _is_operand(object) -> bool:
    """Whether an operator takes it: numbers and arrays, not lists."""
    return isinstance(object, (bool, int, float)) or (hasattr(object, "dtype") and hasattr(object, "shape"))


def _two(dunder: str, function: str, quickly: bool, mirrored: bool = False):
    def operator(self, other, /):
        if quickly and not DEFERRED.get():
            pair = (other, self) if mirrored else (self, other)
            if function == "pow":
                _namespace().refuse_negative(*pair)
            made = _native.quick(function, pair)
            if made is None and type(other) in _NUMBERS:
                made = _namespace().quickly(function, pair)
            if made is not None:
                return made
        if not _is_operand(other):
            return NotImplemented
        call = getattr(_namespace(), function)
        return call(other, self) if mirrored else call(self, other)

    operator.__name__ = operator.__qualname__ = dunder
    operator.__doc__ = f"`fiberloom.array.{function}`{' with operands exchanged' if mirrored else ''}."
    return operator


def _one(dunder: str, function: str, quickly: bool):
    def operator(self, /):
        if quickly and not DEFERRED.get():
            made = _namespace().quickly(function, (self,))
            if made is not None:
                return made
        return getattr(_namespace(), function)(self)

    operator.__name__ = operator.__qualname__ = dunder
    operator.__doc__ = f"`fiberloom.array.{function}`."
    return operator


def __array_namespace__(self, /, *, api_version=None):
    """The namespace of functions of it: `fiberloom.array`, written to version 2024.12 of the array API standard."""
    from .array import _info

    _info.checked_version(api_version)
    return _namespace()


def asked_by_scipy() -> bool:
    """Whether an operator of SciPy's sparse arrays asks what an operand is, from whose ``__array__`` this is called.

    It asks for an array, and where it is given an object that is none it leaves the operator to the operand. Functions that
    are no operators of arrays (``S.multiply(T)``, ``scipy.sparse.linalg``'s) do not, nor does ``*`` of SciPy's old matrices,
    which is a product of matrices.
    """
    frame = sys._getframe(2)
    for _ in range(_DEEP):
        if frame is None:
            return False
        asks = _ASKS.get(frame.f_code)
        if asks is None:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith("scipy.sparse._"):
                return False
            asks = _ASKS[frame.f_code] = _asks(module, frame.f_code.co_name)
        if asks != "perhaps":
            return asks == "yes"
        frame = frame.f_back
    return False


def _asks(module: str, name: str) -> str:
    """Whether a function of SciPy's that asks for an array is an operator: ``yes``, ``no``, or ``perhaps``, as one that calls it is."""
    if name not in _DUNDERS:
        return "perhaps"
    return "no" if name in ("__mul__", "__rmul__") and module == "scipy.sparse._matrix" else "yes"


#: Of SciPy's functions that asked, or whose functions did, what `_asks` says.
_ASKS: dict = {}
#: As many functions of SciPy's stand between an operator and where it asks, at most.
_DEEP = 6
_DUNDERS = {f"__{side}{name}__" for name in (*_BINARY, *_COMPARED) for side in ("", "r")}


@cache
def no_array():
    """What NumPy makes of an object that is no array: one for all, which nobody writes to."""
    import numpy as np

    array = np.empty((), dtype=object)
    array.flags.writeable = False
    return array


def __array_ufunc__(self, ufunc, method, *operands, out=None, **named):
    """NumPy's functions of elements are the namespace's where it has them: ``np.sin(tensor)``, ``array + tensor``.

    What is computed is copied into an ndarray that is `out`, as of ``array += tensor``.
    """
    import numpy as np

    name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
    if method == "__call__" and out is None and not named and name not in ("pow", "reciprocal") and not DEFERRED.get():
        made = _native.quick(name, operands)
        if made is not None:
            return made
    function = getattr(_namespace(), name, None) if name in _elementwise() else None
    if method != "__call__" or named or not all(map(_is_operand, operands)):
        return NotImplemented
    if function is None or name == "reciprocal" and operands[0].dtype.kind != "f":
        # NumPy's own, of ndarrays: of integers its reciprocal is a whole number.
        from ._functions import applied

        return NotImplemented if out is not None else applied(ufunc, operands)
    if out is None:
        return function(*operands)
    (into,) = out
    if not isinstance(into, np.ndarray):
        return NotImplemented
    np.copyto(into, _computed(function(*operands)).to_numpy(), casting="same_kind")
    return into


def __array_function__(self, function, types, given, named):
    """NumPy's other functions: see `fiberloom._functions`."""
    from ._functions import answered

    return answered(function, types, given, named)


@cache
def _elementwise() -> frozenset[str]:
    from .array import _elementwise

    return frozenset([*_elementwise.__all__, "matmul", "vecdot"])


def __getitem__(self, key, /):
    """Elements: see `fiberloom.array`."""
    return _namespace()._indexing.element(self, key)


def __setitem__(self, key, value, /):
    """Raises `TypeError`: tensors do not change."""
    raise TypeError(
        "elements are not assigned, since a tensor does not change: write `T = fl.array.where(mask, value, T)`, or change "
        "`S = T.to_scipy()` or `T.to_numpy(copy=True)` and take that, `T = fl.asarray(S)`"
    )


def __delitem__(self, key, /):
    """Raises `TypeError`: tensors do not change."""
    raise TypeError("elements are not deleted, since a tensor does not change: write `np.delete(T, places, axis=axis)`")


def __contains__(self, number, /):
    """Whether an element is equal to a number."""
    return bool(_computed((self == number).any()))


def __divmod__(self, other, /):
    """`fiberloom.array.floor_divide` and `fiberloom.array.remainder`."""
    return self // other, self % other


def __rdivmod__(self, other, /):
    """`fiberloom.array.floor_divide` and `fiberloom.array.remainder`, with operands exchanged."""
    return other // self, other % self


def __round__(self, digits=None, /):
    """The nearest numbers of so many digits; of an array without modes a number of Python's."""
    if not self.ndim:
        return round(_number(self, int if self.dtype.kind in "iub" else float), digits)
    return self.round(digits or 0)


def _number(self, kind: type):
    """The number that an array without modes is."""
    if self.ndim:
        asked = "`T.any()` or `T.all()`" if kind is bool else "`T.item()`, of one element, or `T[i, j]`"
        raise TypeError(f"an array of shape {self.shape} is no number: write {asked}")
    return kind(_computed(self).number())


def _computed(array):
    return array.compute() if hasattr(array, "compute") else array


def __bool__(self, /):
    """Whether the element of an array without modes is not 0."""
    return _number(self, bool)


def __int__(self, /):
    """The element of an array without modes, without a fraction."""
    return _number(self, int)


def __float__(self, /):
    """The element of an array without modes."""
    return _number(self, float)


def __complex__(self, /):
    """The element of an array without modes."""
    return _number(self, complex)


def __index__(self, /):
    """The element of an array of integers without modes."""
    if self.dtype.kind not in "iu":
        raise TypeError(f"an array of {self.dtype} is no index")
    return _number(self, int)


def __iter__(self, /):
    """The parts along the first axis."""
    if not self.ndim:
        raise TypeError("an array without modes has no parts")
    return iter(_namespace().unstack(self))


def to_device(self, device, /, *, stream=None):
    """Itself: ``cpu`` is the only device.

    Parameters
    ----------
    device
        ``"cpu"``, or ``None``.
    stream
        ``None``: a processor has none.

    Returns
    -------
    Tensor or Lazy
    """
    from .array import _creation

    _creation.on_device(device)
    return self


def device(self) -> str:
    """The device that it is on."""
    return "cpu"


def mT(self):
    """The last two modes exchanged."""
    return _namespace().matrix_transpose(self)


_METHODS = [
    __array_namespace__,
    __array_ufunc__,
    __array_function__,
    __getitem__,
    __setitem__,
    __delitem__,
    __contains__,
    __divmod__,
    __rdivmod__,
    __round__,
    __bool__,
    __int__,
    __float__,
    __complex__,
    __index__,
    __iter__,
    to_device,
]


def attach(kind: type) -> None:
    """Gives a class the operators and methods."""
    quickly = kind is _native.Tensor
    for name, function in _BINARY.items():
        setattr(kind, f"__{name}__", _two(f"__{name}__", function, quickly))
        setattr(kind, f"__r{name}__", _two(f"__r{name}__", function, quickly, mirrored=True))
    for name, function in _COMPARED.items():
        setattr(kind, f"__{name}__", _two(f"__{name}__", function, quickly))
    for name, function in _UNARY.items():
        setattr(kind, f"__{name}__", _one(f"__{name}__", function, quickly))
    for method in _METHODS:
        setattr(kind, method.__name__, method)
    kind.device, kind.mT = property(device), property(mT)
    kind.__hash__ = object.__hash__
