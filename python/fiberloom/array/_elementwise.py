"""Functions of elements.

Each is a row: its name, what operands are converted to, and the text of the value. Types are NumPy 2's: numbers of Python's
take the type of what they stand with, integers that meet a function of floats become ``float64``.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable

import numpy as np

from .. import _convert, _loans, _native
from .._lazy import Lazy, aligned, broadcast, common_type, finished, has_fill, is_lazy, is_number, lazy, mapped
from .._operators import DEFERRED
from .._plans import exactly
from .._program import Names
from .._tensor import Tensor
from .._types import literal, type_of
from ..errors import OperandError

__all__ = ["astype", "clip", "conj", "imag", "real", "where"]

#: Of each kind of function the kinds of element types that it takes, and how that is said.
_KINDS = {
    "any": ("biuf", "numbers or truth values"),
    "number": ("iuf", "numbers"),
    "integer": ("biu", "integers or truth values"),
    "shift": ("iu", "integers"),
    "float": ("biuf", "numbers"),
    "truth": ("biuf", "numbers or truth values"),
}


_COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def _type(name: str, kind: str, operands) -> np.dtype:
    """The type that the operands of a function are converted to."""
    if all(map(is_number, operands)):
        raise OperandError(f"`{name}` takes an array at least")
    common = common_type(*operands)
    kinds, said = _KINDS[kind]
    if common.kind not in kinds:
        raise OperandError(f"`{name}` takes {said}, not {common}")
    if kind == "truth":
        return np.dtype(np.bool_)
    if kind == "float" and common.kind != "f":
        return np.dtype(np.float64)
    return common


#: Of functions, the operands each of which decides, where it is 0, that the value is.
_BY_ZERO = {
    "bitwise_and": (0, 1),
    "divide": (0,),
    "floor_divide": (0,),
    "logical_and": (0, 1),
    "multiply": (0, 1),
}


def _applied(name: str, kind: str, text: Callable[..., str], operands, result=None):
    """The function of these operands: an expression where expressions are built, else a tensor."""
    at_once = not is_lazy(*operands)
    if at_once:
        made = _native.quick(name, operands)
        made = quickly(name, operands) if made is None else made
        if made is not None:
            return made
    taken = [o if is_number(o) else lazy(o) for o in operands]
    if name in _COMPARISONS:
        known = _beyond(name, *taken)
        if known is not None:
            return finished(known, *operands)
    common = _type(name, kind, taken)

    def function(*taken, literal=False) -> Lazy:
        if kind == "truth":
            taken = [bool(o) if is_number(o) else truth(o) for o in taken]
        zero = _BY_ZERO.get(name, ())
        return mapped(lambda names, *e: text(names, common, *e), taken, common, result, zero=zero, literal=literal)

    literal = name == "pow" and is_number(operands[1]) and operands[1] in _POWERS
    if not at_once:
        return function(*taken, literal=literal)
    valued = None if literal else _of_values(name, function, operands, taken, zero=_BY_ZERO.get(name, ()))
    return function(*taken, literal=literal).called(name, operands) if valued is None else valued


#: Exponents that stand in a program's text: such powers are products, quotients and roots.
_POWERS = (-2, -1, -0.5, 0, 0.5, 1, 2, 3, 4)


#: Of the functions, and what a tensor and a number were, that `_of_values` was called with: of some numbers the value of what is
#: not stored.
_KNOWN: dict[tuple, dict] = {}
_MOST, _MOST_NUMBERS = 4096, 64
_NUMBERS = {float, int, bool, type(None)}


def _kinds(name: str, place: int, tensor, number) -> tuple:
    return name, place, tensor.format, tensor.type_name, type(number), exactly(tensor.fill_value)


def _among(place: int, tensor, operands) -> tuple:
    """The operands with another in the place of one."""
    return (operands[0], tensor) if place else (tensor, *operands[1:])


def quickly(name: str, operands):
    """What `_of_values` gives, if it did of a tensor and a number like these."""
    first = operands[0]
    if type(first) is Tensor:
        place, tensor, number = 0, first, operands[1] if len(operands) == 2 else None
    else:
        place, tensor, number = 1, operands[-1], first
    if type(number) not in _NUMBERS or type(tensor) is not Tensor:
        return None
    fills = _KNOWN.get(_kinds(name, place, tensor, number))
    if fills is None or name == "pow" and not place and number in _POWERS:
        return None
    made = _native.quick(f"{name} of values", _among(place, tensor.arrays()["values"], operands))
    if made is None:
        return None
    fill = fills.get(exactly(number))
    if fill is None:
        filled = _native.quick(f"{name} of a fill", _among(place, _filled(tensor), operands))
        if filled is None:
            return None
        fill = _noted(fills, number, filled.number())
    return tensor.revalued(made, fill)


def _noted(fills: dict, number, fill):
    """The value of what is not stored, which is known of this number from now on."""
    if len(fills) >= _MOST_NUMBERS:
        fills.clear()
    fills[exactly(number)] = fill
    return fill


def _filled(tensor) -> np.ndarray:
    """What a tensor does not store, as an array."""
    return np.asarray(tensor.dtype.type(tensor.fill_value))


def _of_values(name: str, function: Callable[..., Lazy], operands, taken, zero):
    """The function of one sparse tensor and a number that changes the value of what is not stored: the same entries, with the
    function of each of their values; ``None`` of other operands.
    """
    places = [n for n, o in enumerate(taken) if isinstance(o, Lazy) and o.ndim]
    numbers = [o for o in operands if is_number(o) or isinstance(o, np.generic)]
    if len(places) != 1 or len(numbers) + 1 != len(operands):
        return None
    (place,) = places
    if not has_fill(taken[place].shape, [taken[place]]) or place in zero and taken[place].zero:
        return None
    # The result has its levels, for as long as it lives.
    tensor = _convert.tensor(_loans.owned(operands[place]), "array")

    def of(array):
        return function(*(lazy(array) if n == place else o for n, o in enumerate(taken)))

    # What holds where an operand is sparse holds for its values.
    options = {"mode": "algebraic"}
    own, filled = tensor.arrays()["values"], _filled(tensor)
    values = of(own).called(f"{name} of values", _among(place, own, operands), options)
    fill = of(filled).called(f"{name} of a fill", _among(place, filled, operands), options).number()
    if len(operands) <= 2:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        number = operands[1 - place] if len(operands) == 2 else None
        _noted(_KNOWN.setdefault(_kinds(name, place, tensor, number), {}), number, fill)
    return tensor.revalued(values, fill)


def _beyond(name: str, a, b) -> Lazy | None:
    """A comparison with a whole number of Python's that the array's type does not hold: one answer for all elements."""
    number, array = (a, b) if is_number(a) else (b, a)
    if not isinstance(number, int) or is_number(array) or array.dtype.kind not in "iu":
        return None
    limits = np.iinfo(array.dtype)
    if limits.min <= number <= limits.max:
        return None
    holds = bool(_COMPARISONS[name](a, 0) if number is a else _COMPARISONS[name](0, b))
    return mapped(lambda names, e: f"({e} == {e})" if holds else f"({e} != {e})", (array,), result=np.bool_)


def truth(x):
    """Whether each element is not 0."""
    if x.dtype == np.bool_:
        return x
    return mapped(lambda names, e: f"({e} != 0)", (x,), result=np.bool_)


def _made(name: str, arity: int, kind: str, text, doc: str, result=None):
    """A function of the namespace."""
    if arity == 1:

        def function(x, /):
            return _applied(name, kind, text, (x,), result)
    else:

        def function(x1, x2, /):
            return _applied(name, kind, text, (x1, x2), result)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fiberloom.array"
    function.__doc__ = _documented(doc, arity, kind, result)
    globals()[name] = function
    __all__.append(name)


def _documented(doc: str, arity: int, kind: str, result) -> str:
    parameters = "x" if arity == 1 else "x1, x2"
    what = "Arrays" if arity == 2 else "An array"
    gives = "bool" if result is not None or kind == "truth" else "the type that the operands are promoted to"
    if kind == "float" and result is None:
        gives = "floats: ``float64`` of integers"
    return f"""{doc}

    Parameters
    ----------
    {parameters}
        {what} of {_KINDS[kind][1]}{", broadcast against each other, one of them perhaps a number" if arity == 2 else ""}.

    Returns
    -------
    Tensor or Lazy
        Values are {gives}.
    """


def _call(function: str):
    return lambda names, dtype, *texts: f"{function}({', '.join(texts)})"


def _infix(symbol: str):
    return lambda names, dtype, a, b: f"({a} {symbol} {b})"


def _defined(name: str, body: Callable[[np.dtype], str], arity: int = 1, to: str | None = None):
    """A call of a function that the program has for this type."""

    def text(names: Names, dtype: np.dtype, *texts: str) -> str:
        ty = type_of(dtype)
        parameters = ", ".join(f"{x}: {ty}" for x in "ab"[:arity])
        own = names.function(f"{name}_{ty}", f"fn {name}_{ty}({parameters}) -> {to or ty} {{ {body(dtype)} }}")
        return f"{own}({', '.join(texts)})"

    return text


def _of_floats(function: str, else_: str):
    """A function of floats; of integers another text."""

    def text(names: Names, dtype: np.dtype, a: str) -> str:
        return f"{function}({a})" if dtype.kind == "f" else else_.format(a)

    return text


def _shift(symbol: str):
    """A shift that leaves nothing, or the sign, where it is by the width or more."""

    def body(dtype: np.dtype) -> str:
        width = 8 * dtype.itemsize
        gone = "if a < 0 then -1 else 0" if symbol == ">>" and dtype.kind == "i" else "0"
        outside = f"b >= {width}" if dtype.kind == "u" else f"b < 0 || b >= {width}"
        return f"if {outside} then ({gone}) else a {symbol} b"

    return body


_FLOATS = {
    "acos": "Arccosine.",
    "acosh": "Inverse hyperbolic cosine.",
    "asin": "Arcsine.",
    "asinh": "Inverse hyperbolic sine.",
    "atan": "Arctangent.",
    "atanh": "Inverse hyperbolic tangent.",
    "cos": "Cosine.",
    "cosh": "Hyperbolic cosine.",
    "exp": "Exponential function.",
    "expm1": "``exp(x) - 1``, exact near 0.",
    "log": "Natural logarithm.",
    "log1p": "``log(1 + x)``, exact near 0.",
    "log2": "Logarithm to base 2.",
    "log10": "Logarithm to base 10.",
    "sin": "Sine.",
    "sinh": "Hyperbolic sine.",
    "sqrt": "Square root.",
    "tan": "Tangent.",
    "tanh": "Hyperbolic tangent.",
}
for _name, _doc in _FLOATS.items():
    _made(_name, 1, "float", _call(_name), _doc)

for _name, _doc in {
    "ceil": "The least whole number that is not less.",
    "floor": "The greatest whole number that is not greater.",
    "round": "The nearest whole number, of two the even one.",
    "trunc": "The whole number without the fraction.",
}.items():
    _made(_name, 1, "number", _of_floats(_name, "{}"), _doc)

for _name, _int, _doc in [
    ("isfinite", "({0} == {0})", "Whether each element is neither infinite nor NaN."),
    ("isinf", "({0} != {0})", "Whether each element is infinite."),
    ("isnan", "({0} != {0})", "Whether each element is NaN."),
]:
    _made(_name, 1, "any", _of_floats(_name, _int), _doc, np.bool_)

for _name, _doc in {
    "atan2": "Arctangent of ``x1 / x2``, in the quadrant of the point.",
    "copysign": "The magnitude of `x1` with the sign of `x2`.",
    "hypot": "``sqrt(x1**2 + x2**2)``, where that does not overflow.",
    "nextafter": "The float next to `x1` in the direction of `x2`.",
}.items():
    _made(_name, 2, "float", _call(_name), _doc)

for _name, _symbol, _kind, _doc in [
    ("add", "+", "any", "Sum."),
    ("subtract", "-", "number", "Difference."),
    ("multiply", "*", "any", "Product."),
    ("divide", "/", "float", "Quotient, a float of integers too."),
    ("bitwise_and", "&", "integer", "And, of each bit."),
    ("bitwise_or", "|", "integer", "Or, of each bit."),
    ("bitwise_xor", "^", "integer", "Exclusive or, of each bit."),
    ("logical_and", "&&", "truth", "Whether both are not 0."),
    ("logical_or", "||", "truth", "Whether one at least is not 0."),
    ("logical_xor", "!=", "truth", "Whether one and only one is not 0."),
]:
    _made(_name, 2, _kind, _infix(_symbol), _doc)

for _name, _symbol, _doc in [
    ("equal", "==", "Whether both are equal."),
    ("not_equal", "!=", "Whether they differ."),
    ("less", "<", "Whether `x1` is less."),
    ("less_equal", "<=", "Whether `x1` is not greater."),
    ("greater", ">", "Whether `x1` is greater."),
    ("greater_equal", ">=", "Whether `x1` is not less."),
]:
    _made(_name, 2, "any", _infix(_symbol), _doc, np.bool_)

_made("maximum", 2, "any", _call("max"), "The greater one; NaN if one is.")
_made("minimum", 2, "any", _call("min"), "The less one; NaN if one is.")
_made("floor_divide", 2, "number", _call("floordiv"), "Python's ``//``: the quotient, rounded down; of integers by 0, 0.")
_made("remainder", 2, "number", _call("floormod"), "Python's ``%``: the rest, with the sign of `x2`; of integers by 0, 0.")
_made("pow", 2, "number", _call("pow"), "Power. Integers to a negative integer power raise, as NumPy's do.")
_made("abs", 1, "any", lambda names, dtype, a: a if dtype.kind in "bu" else f"abs({a})", "Magnitude.")
_made("negative", 1, "number", lambda names, dtype, a: f"(-({a}))", "Number with the other sign.")
_made("positive", 1, "number", lambda names, dtype, a: a, "Number itself.")
_made("sign", 1, "number", _call("sign"), "-1, 0 or 1; of NaN, NaN.")
_made("signbit", 1, "float", _call("signbit"), "Whether each element has a minus; NaN has none.", np.bool_)
_made("bitwise_invert", 1, "integer", lambda names, dtype, a: f"(!{a})", "Complement, of each bit.")
_made("logical_not", 1, "truth", lambda names, dtype, a: f"(!{a})", "Whether each element is 0.")
_made("square", 1, "number", _defined("square", lambda dtype: "a * a"), "Product of each element with itself.")
_made("reciprocal", 1, "float", lambda names, dtype, a: f"(1.0 / {a})", "``1 / x``.")
_made("bitwise_left_shift", 2, "shift", _defined("left", _shift("<<"), 2), "Bits to the left; those that leave are gone.")
_made("bitwise_right_shift", 2, "shift", _defined("right", _shift(">>"), 2), "Bits to the right, the sign staying.")
_made(
    "logaddexp",
    2,
    "float",
    _defined("logaddexp", lambda dtype: "if a == b then a + log(2.0) else max(a, b) + log1p(exp(-abs(a - b)))", 2),
    "``log(exp(x1) + exp(x2))``, where that does not overflow.",
)


def raised(function):
    """`pow`, which looks at exponents of integers first: a negative one is an error, as NumPy's."""

    @functools.wraps(function)
    def power(x1, x2, /):
        refuse_negative(x1, x2)
        return function(x1, x2)

    return power


def refuse_negative(base, exponent) -> None:
    """Nothing, unless these are integers and there is a negative exponent. What an expression computes is not looked at.

    Raises
    ------
    OperandError
        If one is negative.
    """
    if type(exponent) is int and exponent >= 0 or isinstance(exponent, Lazy) or _is_float(base) or _is_float(exponent):
        return
    exponent = exponent if is_number(exponent) or hasattr(exponent, "shape") else np.asarray(exponent)
    if not is_number(exponent) and exponent.dtype.kind != "i" or _least(exponent) >= 0:
        return
    base = base if is_number(base) or hasattr(base, "shape") else np.asarray(base)
    if is_number(base) and is_number(exponent) or common_type(base, exponent).kind != "i":
        return
    if 0 not in broadcast(*(getattr(o, "shape", ()) for o in (base, exponent))):
        raise OperandError("integers have no negative integer powers: write `T.astype(float) ** n`, or `1 / T ** -n`")


def _is_float(operand) -> bool:
    if type(operand) is Tensor:
        return operand.type_name[0] == "f"
    return isinstance(operand, float) or getattr(getattr(operand, "dtype", None), "kind", "") == "f"


def _least(exponent):
    """The least of a number, or of an array's elements, what it does not store among them."""
    if is_number(exponent):
        return exponent
    if isinstance(exponent, (np.ndarray, np.generic)):
        return exponent.min(initial=0)
    tensor = _convert.tensor(exponent, "exponent")
    values = tensor.arrays()["values"]
    least = values.min(initial=0)
    return least if tensor.dense_view() is not None else builtins.min(least, tensor.fill_value)


def clip(x, /, min=None, max=None):
    """Elements, none of them below `min` or above `max`.

    Parameters
    ----------
    x
        An array of numbers.
    min, max
        Arrays or numbers, broadcast against `x` and taken in its type; ``None`` bounds nothing.

    Returns
    -------
    Tensor or Lazy
    """
    operands = [o for o in (x, min, max) if o is not None]
    source = lazy(x)
    if source.dtype.kind not in "iuf":
        raise OperandError(f"`clip` takes numbers, not {source.dtype}")
    if source.sparse and not is_lazy(*operands) and all(o is x or is_number(o) for o in operands):
        return _clipped_by(x, source, min, max)
    bounded = source
    for bound, function in ((min, "max"), (max, "min")):
        if bound is None:
            continue
        taken = _bound(bound, source.dtype, function)
        if taken is not None:
            bounded = mapped(lambda names, a, b, f=function: f"{f}({a}, {b})", (bounded, taken), source.dtype)
    return finished(bounded, *operands)


def _clipped_by(x, source: Lazy, least, most):
    """A sparse array with bounds that are numbers: one after the other, each of which is an operand."""
    clipped = x
    for bound, function in ((least, "max"), (most, "min")):
        taken = None if bound is None else _bound(bound, source.dtype, function)
        if taken is not None:
            clipped = globals()["maximum" if function == "max" else "minimum"](clipped, taken)
    return finished(source, x) if clipped is x else clipped


def _bound(bound, dtype, function: str):
    """A bound in the type of what it bounds; ``None`` if all values of that keep it."""
    if not is_number(bound):
        return lazy(bound)
    if dtype.kind == "f":
        return bound
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if bound != bound:
        raise OperandError(f"`clip` of {dtype} has no bound nan")
    if (function == "max" and bound <= least) or (function == "min" and bound >= most):
        return None
    if bound != int(bound):
        raise OperandError(f"`clip` of {dtype} has no bound {bound}: a whole number expected")
    if not least <= bound <= most:
        raise OperandError(f"`clip`: {bound} is no {dtype}")
    return int(bound)


def where(condition, x1, x2, /):
    """Elements of `x1` where the condition holds, of `x2` elsewhere.

    Parameters
    ----------
    condition
        An array of truth values.
    x1, x2
        Arrays, broadcast against it and each other; one or both may be numbers.

    Returns
    -------
    Tensor or Lazy
    """
    test = lazy(condition)
    if test.dtype != np.bool_:
        raise OperandError(f"`where` takes truth values as its condition, not {test.dtype}")
    taken = [o if is_number(o) else lazy(o) for o in (x1, x2)]
    common = common_type(*taken)
    taken = [_constant(o, common) if is_number(o) else o.astype(common) for o in taken]

    operands = [test, *taken]
    shape = broadcast(*(o.shape for o in operands))

    def write(names, at):
        c, a, b = (o.write(names, aligned(o.shape, shape, at)) for o in operands)
        return f"(if {c} then {a} else {b})"

    return finished(Lazy(shape, common, write, of=operands), condition, x1, x2)


def _constant(number, dtype):
    """A number as an array of no modes."""
    try:
        value = dtype.type(number)
    except OverflowError as e:
        raise OperandError(f"{number} is no {dtype}: {e}") from None
    text = f"convert({literal(value.item())}, {type_of(dtype)})"
    return Lazy((), dtype, lambda names, at: text, value)


def astype(x, dtype, /, *, copy: bool = True, device=None):
    """Elements in another type.

    Floats lose their fraction. What a type does not hold becomes the nearest that it does, NaN 0: numbers saturate, in
    contrast to NumPy's, of which the standard asks nothing there.

    Parameters
    ----------
    x
        An array.
    dtype
        The type.
    copy
        Whether an array that has the type already is copied; ``False`` gives itself.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor or Lazy
    """
    from ._creation import on_device

    on_device(device)
    source = lazy(x)
    if source.dtype == np.dtype(dtype) and not copy:
        return x
    return finished(truth(source) if np.dtype(dtype) == np.bool_ else source.astype(dtype), x)


def real(x, /):
    """The real part: the language has real numbers alone, whose it is themselves.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    Tensor or Lazy
    """
    return x if isinstance(x, (Lazy, _native.Tensor)) and not DEFERRED.get() else finished(lazy(x), x)


def conj(x, /):
    """The complex conjugate: of real numbers themselves.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    Tensor or Lazy
    """
    return real(x)


def imag(x, /):
    """The imaginary part: of real numbers 0.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    Tensor or Lazy
    """
    return _applied("imag", "any", lambda names, dtype, a: f"(if {a} == {a} then {_zero(dtype)} else {_zero(dtype)})", (x,))


def _zero(dtype) -> str:
    return f"convert({literal(dtype.type(0).item())}, {type_of(dtype)})"
