"""NumPy functions as expressions of the language: a function is called on operands that write down what is done to them.

Types follow NumPy's promotion (`numpy.ufunc.resolve_dtypes`), conversions between them are written out, and what the language
defines otherwise than NumPy (shifts beyond the width, integers that do not fit) is written as NumPy defines it.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from fiberloom._types import literal, type_of
from ledger import NotSaid


def language_type(dtype) -> str:
    """The language's name of an element type."""
    name = type_of(dtype)
    if name is None:
        raise NotSaid(f"no type {np.dtype(dtype).name}")
    return name


class Expression(NDArrayOperatorsMixin):
    """Text of the language, its type, and whether it may be NaN though its operands are finite."""

    __slots__ = ("dtype", "partial", "text")

    def __init__(self, text: str, dtype, partial: bool = False):
        self.text, self.dtype, self.partial = text, np.dtype(dtype), partial
        language_type(self.dtype)

    def __bool__(self):
        raise NotSaid("a Python condition on values")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, dtype=None, **how):
        if method != "__call__" or out is not None or how.keys() - {"casting"}:
            raise NotSaid(f"numpy.{ufunc.__name__}.{method} with {', '.join(how) or 'out'}")
        return _applied(ufunc, inputs, dtype)

    def __array_function__(self, function, types, args, kwargs):
        written = _FUNCTIONS.get(function)
        if written is None:
            raise NotSaid(f"numpy.{function.__name__}")
        return written(*args, **kwargs)

    def astype(self, dtype, casting="unsafe", copy=True) -> Expression:
        dtype = np.dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"cannot cast {self.dtype} to {dtype} by the rule {casting}")
        return converted(self, dtype)

    def round(self, decimals=0, out=None) -> Expression:
        if out is not None:
            raise NotSaid("out")
        if self.dtype.kind in "iub":
            return self
        if decimals == 0:
            return np.rint(self)
        scale = self.dtype.type(10.0**decimals)
        return np.rint(self * scale) / scale

    def conj(self) -> Expression:
        return self


def converted(value, dtype) -> Expression:
    """A value in another type, as NumPy casts: integers wrap, truth is being other than 0."""
    dtype = np.dtype(dtype)
    if not isinstance(value, Expression):
        with np.errstate(all="ignore"):
            value = np.asarray(value).astype(dtype)[()]
        return Expression(f"({literal(value)})", dtype, not np.isfinite(value))
    source = value.dtype.newbyteorder("=")
    if source == dtype.newbyteorder("="):
        return value
    target = language_type(dtype)
    if dtype.kind == "b":
        return Expression(f"({value.text} != 0)", dtype, value.partial)
    if source.kind in "iu" and dtype.kind in "iu" and not np.can_cast(source, dtype):
        return _wrapped(value, dtype)
    return Expression(f"convert({value.text}, {target})", dtype, value.partial)


def _wrapped(value: Expression, dtype) -> Expression:
    """An integer modulo two to the width of a type that is not as wide."""
    bits = 8 * dtype.itemsize
    if bits == 64:
        raise NotSaid(f"{value.dtype} wrapped to {dtype}")
    wide = f"convert({value.text}, i64)" if value.dtype != np.uint64 else f"convert({value.text} & {2**bits - 1}, i64)"
    low = f"({wide} & {2**bits - 1})"
    if dtype.kind == "i":
        low = f"(({low} ^ {2 ** (bits - 1)}) - {2 ** (bits - 1)})"
    return Expression(f"convert({low}, {language_type(dtype)})", dtype, value.partial)


def _applied(ufunc, inputs, dtype) -> Expression:
    written = _UFUNCS.get(ufunc.__name__)
    if written is None:
        raise NotSaid(f"numpy.{ufunc.__name__}")
    loop = resolved(ufunc, inputs, dtype)
    operands = [converted(value, of) for value, of in zip(inputs, loop, strict=False)]
    text, partial = written(operands[0].dtype, *(operand.text for operand in operands))
    return Expression(text, loop[-1], partial or any(operand.partial for operand in operands))


def resolved(ufunc, inputs, dtype=None) -> tuple:
    """The types between which NumPy computes a function of these inputs."""
    if ufunc.nout != 1:
        raise NotSaid(f"numpy.{ufunc.__name__}")
    of = [type(value) if type(value) in (int, float, complex) else _dtype(value) for value in inputs]
    given = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),)}
    loop = ufunc.resolve_dtypes((*of, None), **given)
    kinds = {np.dtype(one).kind for one in loop[:-1]}
    if ufunc.__name__ in _COMPARISONS and kinds == {"i", "u"}:
        raise NotSaid("signed and unsigned integers compared")
    for one in loop:
        language_type(one)
    return loop


def _dtype(value) -> np.dtype:
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _infix(operator):
    return lambda dtype, a, b: (f"({a} {operator} {b})", False)


def _call(name, partial=False):
    return lambda dtype, *operands: (f"{name}({', '.join(operands)})", partial)


def _rounding(name):
    """Integers are whole."""
    return lambda dtype, a: (a if dtype.kind in "iub" else f"{name}({a})", False)


def _extreme(name, on_bool):
    return lambda dtype, a, b: (f"({a} {on_bool} {b})" if dtype.kind == "b" else f"{name}({a}, {b})", False)


def _ignoring(name, on_bool):
    """The greater or lesser of two of which neither is NaN, else the other."""

    def written(dtype, a, b):
        text, partial = _extreme(name, on_bool)(dtype, a, b)
        return f"(if isnan({a}) then {b} else if isnan({b}) then {a} else {text})" if dtype.kind == "f" else text, partial

    return written


def _divided(operator):
    return lambda dtype, a, b: (f"({a} {operator} {b})", True)


def _shifted(operator):
    """By the width or more nothing is left but the sign."""

    def written(dtype, a, b):
        bits = 8 * dtype.itemsize
        rest = f"({a} >> {bits - 1})" if operator == ">>" and dtype.kind == "i" else "0"
        within = f"{b} < {bits}" + (f" && {b} >= 0" if dtype.kind == "i" else "")
        return f"(if {within} then {a} {operator} {b} else {rest})", False

    return written


def _less(operator, of_bool):
    return lambda dtype, a, b: (of_bool.format(a=a, b=b) if dtype.kind == "b" else f"({a} {operator} {b})", False)


def _same(dtype, a):
    return a, False


def _is(name, of_integers):
    return lambda dtype, a: (f"{name}({a})" if dtype.kind == "f" else of_integers.format(a=a), False)


_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}

_UFUNCS = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "divide": _divided("/"),
    "true_divide": _divided("/"),
    "floor_divide": _call("floordiv", True),
    "remainder": _call("floormod", True),
    "fmod": _divided("%"),
    "power": _call("pow", True),
    "float_power": _call("pow", True),
    "maximum": _extreme("max", "|"),
    "minimum": _extreme("min", "&"),
    "fmax": _ignoring("max", "|"),
    "fmin": _ignoring("min", "&"),
    "negative": lambda dtype, a: (f"(-{a})", False),
    "positive": _same,
    "conjugate": _same,
    "absolute": lambda dtype, a: (a if dtype.kind in "ub" else f"abs({a})", False),
    "fabs": _call("abs"),
    "sign": _call("sign"),
    "square": lambda dtype, a: (f"({a} * {a})", False),
    "reciprocal": lambda dtype, a: (f"(1 / {a})", True),
    "rint": _rounding("round"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "isnan": _is("isnan", "({a} != {a})"),
    "isinf": _is("isinf", "({a} != {a})"),
    "isfinite": _is("isfinite", "({a} == {a})"),
    "signbit": _call("signbit"),
    "copysign": _call("copysign"),
    "nextafter": _call("nextafter", True),
    "hypot": _call("hypot"),
    "arctan2": _call("atan2"),
    "equal": _infix("=="),
    "not_equal": _infix("!="),
    "less": _less("<", "(!{a} & {b})"),
    "less_equal": _less("<=", "(!{a} | {b})"),
    "greater": _less(">", "({a} & !{b})"),
    "greater_equal": _less(">=", "({a} | !{b})"),
    "logical_and": lambda dtype, a, b: (f"({_truth(dtype, a)} & {_truth(dtype, b)})", False),
    "logical_or": lambda dtype, a, b: (f"({_truth(dtype, a)} | {_truth(dtype, b)})", False),
    "logical_xor": lambda dtype, a, b: (f"({_truth(dtype, a)} ^ {_truth(dtype, b)})", False),
    "logical_not": lambda dtype, a: (f"(!{_truth(dtype, a)})", False),
    "bitwise_and": _infix("&"),
    "bitwise_or": _infix("|"),
    "bitwise_xor": _infix("^"),
    "invert": lambda dtype, a: (f"(!{a})", False),
    "left_shift": _shifted("<<"),
    "right_shift": _shifted(">>"),
    "gcd": _call("gcd"),
    "sqrt": _call("sqrt", True),
    "exp": _call("exp"),
    "expm1": _call("expm1"),
    "tanh": _call("tanh"),
    "arctan": _call("atan"),
    "sinh": _call("sinh"),
    "cosh": _call("cosh"),
    "arcsinh": _call("asinh"),
    **{ours: _call(ours, True) for ours in ("log", "log2", "log10", "log1p", "sin", "cos", "tan")},
    "arcsin": _call("asin", True),
    "arccos": _call("acos", True),
    "arccosh": _call("acosh", True),
    "arctanh": _call("atanh", True),
}


def _truth(dtype, text: str) -> str:
    return text if dtype.kind == "b" else f"({text} != 0)"


def _where(condition, x, y) -> Expression:
    dtype = np.result_type(*(_promoted(value) for value in (x, y)))
    condition, x, y = converted(condition, bool), converted(x, dtype), converted(y, dtype)
    partial = condition.partial or x.partial or y.partial
    return Expression(f"(if {condition.text} then {x.text} else {y.text})", dtype, partial)


def _promoted(value):
    """What NumPy's promotion looks at: a Python number itself."""
    return value if type(value) in (int, float) else _dtype(value)


def _clip(a, a_min=None, a_max=None, **how):
    a_min, a_max = how.pop("min", a_min), how.pop("max", a_max)
    if how.pop("out", None) is not None or how.keys() - {"dtype"}:
        raise NotSaid("numpy.clip with more")
    if a_min is not None:
        a = np.maximum(a, a_min)
    return a if a_max is None else np.minimum(a, a_max)


_FUNCTIONS = {
    np.where: _where,
    np.clip: _clip,
    np.round: lambda a, decimals=0, out=None: a.round(decimals, out),
    np.real: lambda a: a,
}


def traced(function, operands, dtype=None, **how) -> Expression:
    """What a function of arrays does at a coordinate: `operands` are expressions, and numbers."""
    if function is np.ndarray.astype:
        return operands[0].astype(dtype, how.get("casting", "unsafe"))
    try:
        result = function(*operands, dtype=dtype, **how)
    except TypeError:
        result = function(*operands, **how)
    if not isinstance(result, Expression):
        raise NotSaid(f"a function whose result is {type(result).__name__}")
    return result if dtype is None else converted(result, dtype)
