"""Kernels of ours under python-graphblas, which `install` puts there.

The library's front stays: it resolves operators and types and checks what it is given, then calls a function of GraphBLAS by
name. Here a program answers that call. An object is two tensors: its values, and which of them are there. A program computes both
of the result, with accumulator, mask and replacement as the specification of GraphBLAS defines them, and they are built into the
object.
"""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse as sp
from graphblas.core import base
from graphblas.core.matrix import Matrix, TransposedMatrix
from graphblas.core.scalar import Scalar
from graphblas.core.utils import _Pointer
from graphblas.core.vector import Vector

import fiberloom as fl
import programs
from expressions import Expression, converted, language_type
from fiberloom._types import literal
from graphblas_adapter import LEDGER
from ledger import NotSaid

#: The most coordinates over which a complement is computed.
MOST = 1 << 20


# Operators ----------------------------------------------------------------------------------------------------------------


def _infix(sign, of_bool=None):
    return lambda dtype, a, b: f"({a} {of_bool if of_bool and dtype == bool else sign} {b})"


def _truth(dtype, a):
    return a if dtype == bool else f"({a} != 0)"


def _logical(sign):
    """Of other types the answer is 1 or 0 of that type, which conversion to the type of the result gives."""
    return lambda dtype, a, b: f"({_truth(dtype, a)} {sign} {_truth(dtype, b)})"


def _real(sign):
    def written(dtype, a, b):
        if dtype.kind != "f":
            raise NotSaid("whole numbers divided, which GraphBLAS defines at 0")
        return f"({a} {sign} {b})"

    return written


def _compared(sign):
    def written(dtype, a, b):
        if dtype == bool and sign not in ("==", "!="):
            a, b = f"convert({a}, u8)", f"convert({b}, u8)"
        return f"({a} {sign} {b})"

    return written


SIGNS = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}

#: Text of each binary operator; comparisons and logical operators give truth values, the others the operands' type.
BINARY = {
    "plus": _infix("+"),
    "minus": _infix("-", "^"),
    "rminus": lambda dtype, a, b: _infix("-", "^")(dtype, b, a),
    "times": _infix("*"),
    "min": lambda dtype, a, b: f"({a} & {b})" if dtype == bool else f"min({a}, {b})",
    "max": lambda dtype, a, b: f"({a} | {b})" if dtype == bool else f"max({a}, {b})",
    "first": lambda dtype, a, b: a,
    "second": lambda dtype, a, b: b,
    "pair": lambda dtype, a, b: "true" if dtype == bool else "1",
    "any": lambda dtype, a, b: a,
    "truediv": _real("/"),
    "cdiv": _real("/"),
    "rtruediv": lambda dtype, a, b: _real("/")(dtype, b, a),
    "rdiv": lambda dtype, a, b: _real("/")(dtype, b, a),
    "land": _logical("&"),
    "lor": _logical("|"),
    "lxor": _logical("^"),
    "lxnor": _logical("=="),
    "band": _infix("&"),
    "bor": _infix("|"),
    "bxor": _infix("^"),
    "bxnor": lambda dtype, a, b: f"(!({a} ^ {b}))",
    "atan2": lambda dtype, a, b: f"atan2({a}, {b})",
    "hypot": lambda dtype, a, b: f"hypot({a}, {b})",
    "copysign": lambda dtype, a, b: f"copysign({a}, {b})",
    **{name: _compared(sign) for name, sign in SIGNS.items()},
    **{f"is{name}": _compared(sign) for name, sign in SIGNS.items()},
}

#: Operators whose text is a truth value.
TRUTHS = {"land", "lor", "lxor", "lxnor", *SIGNS, *(f"is{name}" for name in SIGNS)}

def _named(name):
    return lambda dtype, a: a if dtype.kind != "f" and name in ("floor", "ceil", "trunc") else f"{name}({a})"


UNARY = {
    "identity": lambda dtype, a: a,
    "ainv": lambda dtype, a: a if dtype == bool else f"(-{a})",
    "abs": lambda dtype, a: a if dtype.kind in "ub" else f"abs({a})",
    "one": lambda dtype, a: "true" if dtype == bool else "1",
    "lnot": lambda dtype, a: f"(!{_truth(dtype, a)})",
    "bnot": lambda dtype, a: f"(!{a})",
    **{name: _named(name) for name in ("sqrt", "exp", "log", "floor", "ceil", "trunc")},
    "log2": _named("log2"),
    "minv": lambda dtype, a: _real("/")(dtype, "1", a),
}

#: What each index operator computes of a row, a column and a thunk.
INDEX = {
    "rowindex": "({i} + {t})",
    "index": "({i} + {t})",
    "colindex": "({j} + {t})",
    "diagindex": "({j} - {i} + {t})",
}

SELECT = {
    "tril": "({j} <= {i} + {t})",
    "triu": "({j} >= {i} + {t})",
    "diag": "({j} == {i} + {t})",
    "offdiag": "({j} != {i} + {t})",
    "rowle": "({i} <= {t})",
    "rowgt": "({i} > {t})",
    "colle": "({j} <= {t})",
    "colgt": "({j} > {t})",
    "indexle": "({i} <= {t})",
    "indexgt": "({i} > {t})",
    **{f"value{name}": f"({{a}} {sign} {{t}})" for name, sign in SIGNS.items()},
}

#: Operators that give positions: of the first or second operand the row, or the column.
POSITIONS = {"firsti": (0, 0), "firstj": (0, 1), "secondi": (1, 0), "secondj": (1, 1)}

FOLDS = {
    "plus": "sum",
    "times": "prod",
    "min": "min",
    "max": "max",
    "any": "min",
    "land": "all",
    "lor": "any",
    "lxor": "bxor",
    "band": "band",
    "bor": "bor",
    "bxor": "bxor",
}


def _builtin(op) -> str:
    if not type(op).__name__.startswith("TypedBuiltin"):
        raise NotSaid("an operator of the user's")
    return op.name


def _type(ty) -> np.dtype:
    if ty._is_udt:
        raise NotSaid("a type of the user's")
    dtype = np.dtype(ty.np_type)
    language_type(dtype)
    return dtype


def _binary(op, a: Expression, b: Expression) -> Expression:
    name = _builtin(op)
    written = BINARY.get(name)
    if written is None:
        raise NotSaid(f"binary.{name}")
    left, right, result = _type(op.type), _type(op.type2), _type(op.return_type)
    text = written(left, converted(a, left).text, converted(b, right).text)
    of = np.dtype(bool) if name in TRUTHS else right if name == "second" else left
    return converted(Expression(text, of), result)


def _fold(monoid) -> tuple[str, str, str]:
    """The name of a monoid's fold, its declaration, and its identity."""
    name = FOLDS.get(_builtin(monoid))
    dtype = _type(monoid.return_type)
    if name is None:
        raise NotSaid(f"monoid.{monoid.name}")
    if dtype == bool:
        name = {"sum": "any", "prod": "all", "min": "all", "max": "any"}.get(name, name)
    elif name in ("any", "all"):
        raise NotSaid("a logical monoid of numbers")
    if monoid.name == "any":
        identity = True if dtype == bool else np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    else:
        identity = monoid.identity
    return name, programs.fold(name, language_type(dtype)), literal(np.asarray(identity).astype(dtype)[()])


# Objects ------------------------------------------------------------------------------------------------------------------


class Program:
    """A program and its operands: each object as `V…`, its values, and `S…`, which of them are there."""

    def __init__(self):
        self.operands, self.functions, self.statements = {}, "", []

    def take(self, name: str, x, transposed: bool = False):
        """An object's two tensors as accesses under index variables, and its type and shape."""
        x = x._matrix if isinstance(x, TransposedMatrix) else x
        if not isinstance(x, (Matrix, Vector)):
            raise NotSaid("an operand that is no matrix or vector")
        dtype = _type(x.dtype)
        *columns, values = x.to_coo()
        if dtype.kind == "f" and not np.isfinite(values).all():
            raise NotSaid("values that are not finite, which GraphBLAS's minimum ignores")
        shape = tuple(x.shape)
        for letter, stored in (("V", values), ("S", np.ones(len(values), dtype=bool))):
            array = sp.coo_array((stored, tuple(c.astype(np.int64) for c in columns)), shape=shape)
            array.has_canonical_format = True
            self.operands[letter + name] = fl.asarray(array)
        return Taken(name, dtype, shape[::-1] if transposed and len(shape) == 2 else shape, transposed)

    def run(self):
        """The results `RS` and `RV`: coordinates of what is there, and the values at them."""
        text = self.functions + "\n".join(self.statements)
        self.operands = {name: tensor for name, tensor in self.operands.items() if re.search(rf"\b{name}\[", text)}
        key = text, tuple((name, t.type_name, t.fill_value) for name, t in self.operands.items())
        kernel = _KERNELS.get(key)
        if kernel is None:
            # Answers are bit for bit those of the program, as GraphBLAS's are of its definition.
            out = {"RS": "coo", "RV": "coo"} if "RS[]" not in text else None
            kernel = _KERNELS[key] = fl.compile(text, self.operands, options={"mode": "strict"}, out=out)
        results = kernel(**self.operands)
        return results["RS"], results["RV"]


_KERNELS: dict = {}


class Taken:
    """An object in a program."""

    def __init__(self, name, dtype, shape, transposed):
        self.name, self.dtype, self.shape, self.transposed = name, dtype, shape, transposed

    def _at(self, variables) -> str:
        return ", ".join(reversed(variables) if self.transposed else variables)

    def value(self, *variables) -> Expression:
        return Expression(f"V{self.name}[{self._at(variables)}]", self.dtype)

    def there(self, *variables) -> str:
        return f"S{self.name}[{self._at(variables)}]"


def _scalar(x) -> Expression:
    if not isinstance(x, Scalar) or x.is_empty:
        raise NotSaid("a scalar without a value")
    dtype = _type(x.dtype)
    value = np.asarray(x.value).astype(dtype)[()]
    if not np.isfinite(value):
        raise NotSaid("values that are not finite, which GraphBLAS's minimum ignores")
    return Expression(f"({literal(value)})", dtype)


def _columns(tensor) -> np.ndarray:
    arrays = tensor.arrays()
    return np.stack([arrays[f"crd{mode}"].astype(np.int64) for mode in range(tensor.ndim)])


def _entries(there, values):
    """Coordinates at which something is, and the values at them: both tensors are sorted."""
    at = _columns(there)[:, there.arrays()["values"]]
    stored = _columns(values)
    found = np.full(at.shape[1], values.fill_value, dtype=values.dtype)
    place = {key: n for n, key in enumerate(map(tuple, stored.T.tolist()))}
    data = values.arrays()["values"]
    for n, key in enumerate(map(tuple, at.T.tolist())):
        if key in place:
            found[n] = data[place[key]]
    return at, found


# Operations ---------------------------------------------------------------------------------------------------------------


def _define(program: Program, output, mask, accum, desc, there: str, value: Expression) -> None:
    """Writes what is computed, `there` and `value` under the output's variables, into the output as GraphBLAS defines it."""
    variables = ("i", "j")[: len(output.shape)]
    at = ", ".join(variables)
    result = _type(output.dtype)
    text = value.text
    if not all(re.search(rf"\[[^\]]*\b{i}\b", text) for i in variables):
        # A value that is made of positions alone, or of numbers: where it is says how far these go.
        text = f"if TS[{at}] then {text} else {'false' if value.dtype == bool else 0}"
    program.statements += [f"TS[{at}] = {there}", f"TV[{at}] = {text}"]
    there, value = f"TS[{at}]", Expression(f"TV[{at}]", value.dtype)
    if mask is not None or accum is not None:
        c = program.take("C", output)
        was, old = c.there(*variables), c.value(*variables)
    if accum is not None:
        both = converted(_binary(accum, old, value), result).text
        new = converted(value, result).text
        value = Expression(f"(if {was} & {there} then {both} else if {was} then {old.text} else {new})", result)
        there = f"({was} | {there})"
    else:
        value = converted(value, result)
    if mask is not None:
        m = program.take("M", mask.parent)
        if m.shape != tuple(output.shape):
            raise NotSaid("shapes that the library refuses")
        where = m.there(*variables)
        if not mask.structure:
            where = f"({where} & {_truth(m.dtype, m.value(*variables).text)})"
        if mask.complement:
            if programs.size(output.shape) > MOST:
                raise NotSaid("a complement over too many coordinates")
            where = f"(!{where})"
        other = "false" if getattr(desc, "output_replace", False) else was
        there = f"(if {where} then {there} else {other})"
        value = Expression(f"(if {where} then {value.text} else {old.text})", result)
    program.statements += [f"RS[{at}] = {there}", f"RV[{at}] = {value.text}"]
    found_there, found = program.run()
    columns, values = _entries(found_there, found)
    output.build(*columns.astype(np.uint64), values, clear=True)


def _product(program, op, a, b, variables, reduced):
    """⊕ over the reduced variable of a ⊗ b where both are there."""
    fold, declared, identity = _fold(op.monoid)
    program.functions += declared
    left, right = (_variables(x, v) for x, v in zip((a, b), variables, strict=True))
    both = f"{a.there(*left)} & {b.there(*right)}"
    value = _positional(op.binaryop, (left, right))
    if value is None:
        value = _binary(op.binaryop, a.value(*left), b.value(*right))
    value = converted(value, _type(op.monoid.return_type))
    return f"any({reduced}: {both})", Expression(
        f"{fold}({reduced}: if {both} then {value.text} else {identity})", value.dtype
    )


def _variables(x, variables):
    return variables[-len(x.shape) :] if len(x.shape) < len(variables) else variables


def _positional(op, variables) -> Expression | None:
    """What an operator that gives positions gives where the operands are read under these variables; of others, nothing."""
    name = _builtin(op)
    if name.rstrip("1") not in POSITIONS:
        return None
    operand, mode = POSITIONS[name.rstrip("1")]
    text = [*variables[operand], "0"][mode]
    return converted(Expression(f"({text} + 1)" if name.endswith("1") else f"({text} + 0)", np.int64), _type(op.return_type))


def _shapes(fits: bool) -> None:
    if not fits:
        raise NotSaid("shapes that the library refuses")


def _mxm(program, op, args, at, bt, output):
    a, b = program.take("A", args[0], at), program.take("B", args[1], bt)
    _shapes(a.shape[1] == b.shape[0] and tuple(output.shape) == (a.shape[0], b.shape[1]))
    return _product(program, op, a, b, (("i", "k"), ("k", "j")), "k")


def _mxv(program, op, args, at, bt, output):
    a, b = program.take("A", args[0], at), program.take("B", args[1])
    _shapes(a.shape[1] == b.shape[0] and tuple(output.shape) == (a.shape[0],))
    return _product(program, op, a, b, (("i", "k"), ("k",)), "k")


def _vxm(program, op, args, at, bt, output):
    a, b = program.take("A", args[0]), program.take("B", args[1], bt)
    _shapes(a.shape[0] == b.shape[0] and tuple(output.shape) == (b.shape[1],))
    return _product(program, op, a, b, (("k",), ("k", "i")), "k")


def _pair(program, args, at, bt, output):
    a, b = program.take("A", args[0], at), program.take("B", args[1], bt)
    _shapes(a.shape == b.shape == tuple(output.shape))
    variables = ("i", "j")[: len(a.shape)]
    return a.there(*variables), a.value(*variables), b.there(*variables), b.value(*variables)


def _operator(op):
    """The binary operator of a monoid or semiring."""
    return op.binaryop if op.opclass in ("Monoid", "Semiring") else op


def _ewise_add(program, op, args, at, bt, output):
    a, left, b, right = _pair(program, args, at, bt, output)
    both = _binary(_operator(op), left, right)
    left, right = converted(left, both.dtype), converted(right, both.dtype)
    text = f"(if {a} & {b} then {both.text} else if {a} then {left.text} else {right.text})"
    return f"{a} | {b}", Expression(text, both.dtype)


def _ewise_mult(program, op, args, at, bt, output):
    a, left, b, right = _pair(program, args, at, bt, output)
    return f"{a} & {b}", _binary(_operator(op), left, right)


def _ewise_union(program, op, args, at, bt, output):
    a, left, b, right = _pair(program, [args[0], args[2]], at, bt, output)
    op = _operator(op)
    ones, others = _type(op.type), _type(op.type2)
    left = f"(if {a} then {converted(left, ones).text} else {converted(_scalar(args[1]), ones).text})"
    right = f"(if {b} then {converted(right, others).text} else {converted(_scalar(args[3]), others).text})"
    return f"{a} | {b}", _binary(op, Expression(left, ones), Expression(right, others))


def _one(program, x, at, output):
    a = program.take("A", x, at)
    _shapes(a.shape == tuple(output.shape))
    variables = ("i", "j")[: len(a.shape)]
    return a.there(*variables), a.value(*variables)


def _apply(program, op, args, at, bt, output):
    there, value = _one(program, args[0], at, output)
    name = _builtin(op)
    if name not in UNARY:
        raise NotSaid(f"unary.{name}")
    of, result = _type(op.type), _type(op.return_type)
    text = UNARY[name](of, converted(value, of).text)
    return there, converted(Expression(text, bool if name == "lnot" else of), result)


def _apply_first(program, op, args, at, bt, output):
    there, value = _one(program, args[1], bt, output)
    return there, _binary(op, _scalar(args[0]), value)


def _apply_second(program, op, args, at, bt, output):
    there, value = _one(program, args[0], at, output)
    return there, _binary(op, value, _scalar(args[1]))


def _apply_index(program, op, args, at, bt, output):
    there, value = _one(program, args[0], at, output)
    name = _builtin(op)
    thunk = converted(_scalar(args[1]), np.int64).text
    if name in INDEX and (len(output.shape) == 2 or "{j}" not in INDEX[name]):
        made = Expression(INDEX[name].format(i="i", j="j", t=thunk), np.int64)
        return there, converted(made, _type(op.return_type))
    return there, _chosen(op, value, args[1], output)


def _chosen(op, value, thunk, output) -> Expression:
    """The truth value of an operator that selects."""
    name = _builtin(op)
    text = SELECT.get(name)
    if text is None or (len(output.shape) == 1 and "{j}" in text):
        raise NotSaid(f"select.{name}")
    if name.startswith("value"):
        of = _type(op.type)
        a, t = converted(value, of).text, converted(_scalar(thunk), of).text
        if of == bool and name not in ("valueeq", "valuene"):
            a, t = f"convert({a}, u8)", f"convert({t}, u8)"
    else:
        a, t = "", converted(_scalar(thunk), np.int64).text
    return Expression(text.format(i="i", j="j", a=a, t=t), bool)


def _select(program, op, args, at, bt, output):
    there, value = _one(program, args[0], at, output)
    return f"{there} & {_chosen(op, value, args[1], output).text}", value


def _reduce(program, op, args, at, bt, output):
    a = program.take("A", args[0], at)
    _shapes(tuple(output.shape) == (a.shape[0],))
    if op.opclass != "Monoid":
        raise NotSaid("a reduction by an operator that is no monoid")
    fold, declared, identity = _fold(op)
    program.functions += declared
    value = converted(a.value("i", "k"), _type(op.return_type))
    text = f"{fold}(k: if {a.there('i', 'k')} then {value.text} else {identity})"
    return f"any(k: {a.there('i', 'k')})", Expression(text, value.dtype)


def _transpose(program, op, args, at, bt, output):
    a = program.take("A", args[0], not at)
    _shapes(a.shape == tuple(output.shape))
    return a.there("i", "j"), a.value("i", "j")


def _kronecker(program, op, args, at, bt, output):
    a, b = program.take("A", args[0], at), program.take("B", args[1], bt)
    _shapes(tuple(output.shape) == (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))
    value = _binary(_operator(op), a.value("a", "b"), b.value("c", "d"))

    def collapsed(text):
        return f"collapse(collapse({text}, (a, c) -> i), (b, d) -> j)"

    return collapsed(f"{a.there('a', 'b')} & {b.there('c', 'd')}"), Expression(collapsed(value.text), value.dtype)


#: By the name of GraphBLAS's function: the operation as it is counted, and who writes it.
OPERATIONS = [
    (r"GrB_mxm", "mxm", _mxm),
    (r"GrB_mxv", "mxv", _mxv),
    (r"GrB_vxm", "vxm", _vxm),
    (r"GrB_(Matrix|Vector)_eWiseAdd_.*", "ewise_add", _ewise_add),
    (r"GrB_(Matrix|Vector)_eWiseMult_.*", "ewise_mult", _ewise_mult),
    (r"GxB_(Matrix|Vector)_eWiseUnion", "ewise_union", _ewise_union),
    (r"GrB_(Matrix|Vector)_apply", "apply", _apply),
    (r"GrB_(Matrix|Vector)_apply_BinaryOp1st_.*", "apply", _apply_first),
    (r"GrB_(Matrix|Vector)_apply_BinaryOp2nd_.*", "apply", _apply_second),
    (r"GrB_(Matrix|Vector)_apply_IndexOp_.*", "apply", _apply_index),
    (r"GrB_(Matrix|Vector)_select_.*", "select", _select),
    (r"GrB_Matrix_reduce_(Monoid|BinaryOp)", "reduce to a vector", _reduce),
    (r"GrB_transpose", "transpose", _transpose),
    (r"GrB_Matrix_kronecker_.*", "kronecker", _kronecker),
]


def _written(operation: str, write):
    """The answer to a call of GraphBLAS that writes to a matrix or vector."""

    @LEDGER.answers(operation, base.call)
    def answer(cfunc_name, args):
        output, mask, accum, *rest, desc = args
        if not isinstance(output, (Matrix, Vector)) or isinstance(output, TransposedMatrix):
            raise NotSaid("a result that is no matrix or vector")
        op, operands = (None, rest) if operation == "transpose" else (rest[0], rest[1:])
        program = Program()
        flags = [getattr(desc, flag, False) for flag in ("transpose_first", "transpose_second")]
        there, value = write(program, op, operands, *flags, output)
        _define(program, output, mask, accum, desc, there, value)

    return answer


@LEDGER.answers("reduce to a scalar", base.call)
def _reduce_scalar(cfunc_name, args):
    output, accum, op, x, desc = args
    output = output.val if isinstance(output, _Pointer) else output
    if accum is not None or not isinstance(output, Scalar):
        raise NotSaid("an accumulator of a scalar")
    program = Program()
    a = program.take("A", x)
    variables = ("i", "j")[: len(a.shape)]
    at = ", ".join(variables)
    fold, declared, identity = _fold(op)
    program.functions += declared
    value = converted(a.value(*variables), _type(op.return_type))
    result = _type(output.dtype)
    program.statements += [
        f"RS[] = any({at}: {a.there(*variables)})",
        f"TV[] = {fold}({at}: if {a.there(*variables)} then {value.text} else {identity})",
        f"RV[] = {converted(Expression('TV[]', value.dtype), result).text}",
    ]
    there, found = program.run()
    if there.to_numpy()[()] or output._is_cscalar:
        output.value = found.to_numpy()[()]
    else:
        output.clear()


_CALLS = [(re.compile(pattern), _written(operation, write)) for pattern, operation, write in OPERATIONS]
_CALLS.append((re.compile(r"GrB_(Matrix|Vector)_reduce_(?!UDT).*"), _reduce_scalar))

_ORIGINAL = base.call


_ANSWERING = False


def _call(cfunc_name, args):
    global _ANSWERING
    # What the library calls while an object is read or built is its own.
    answers = [] if _ANSWERING else [answer for pattern, answer in _CALLS if pattern.fullmatch(cfunc_name)]
    if not answers:
        return _ORIGINAL(cfunc_name, args)
    _ANSWERING = True
    try:
        return answers[0](cfunc_name, args)
    finally:
        _ANSWERING = False


def install() -> None:
    """From here on calls of GraphBLAS that write to an object are answered by kernels where the language says them."""
    base.call = _call
