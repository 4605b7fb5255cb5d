"""``einsum``: programs, and NumPy's spelling, which becomes a program."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from . import _convert, _native
from ._types import type_of
from .errors import OperandError, ProgramError

__all__ = ["einsum"]


def placed(options: dict | None, device: str | None) -> dict | None:
    """Options with the device, where one is said."""
    return options if device is None else {**(options or {}), "device": device}


def einsum(spec: str, /, *operands, out=None, options: dict | None = None, device: str | None = None, **named):
    """Compiles a program for these operands, keeps the kernel, and runs it.

    Parameters
    ----------
    spec
        A program of the language, with operands by name; or NumPy's spelling (``"ij,jk->ik"``), with operands in order.
    operands, named
        Whatever `asarray` takes. A mapping in the place of `operands` is one of names. SciPy's matrices are checked by
        each call, `Tensor`\\ s were once.
    out
        The format of the result, or an ndarray of its shape and type into which it is copied.
    options, device
        As of `compile`.

    Returns
    -------
    Tensor
        What the last statement defines: dense if no operand is sparse, else in a format that suits (``docs/language.md``).

    Examples
    --------
    >>> A = sp.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=np.array([1.0, 1.0])).to_numpy()
    array([1., 5.])
    >>> fl.einsum("ij,jk->ik", A, A, out="csr").nnz
    3

    Raises
    ------
    ProgramError, MismatchError, OperandError
        What is wrong with the text, between operands, with one of them; drawn into the text.
    """
    options = placed(options, device)
    if operands:
        if len(operands) == 1 and isinstance(operands[0], dict):
            named = {**operands[0], **named}
        else:
            spec, named = _spelled(spec, operands, named)
    elif "=" not in spec:
        raise ProgramError(f"`{spec}` is no program, which has a `=`; and for NumPy's spelling no operands are given in order")
    if is_function is not None and any(map(is_function, named.values())):
        spec, named = with_functions(spec, named)
    if out is None or isinstance(out, str):
        return _native.einsum(spec, named, out, options)
    from ._kernel import into

    return into(_native.einsum(spec, named, None, options), out, "out")


#: Tells functions of the language among operands; none are there before `fiberloom._syntax` is imported, which sets it.
is_function = None


def with_functions(text: str, named: dict) -> tuple[str, dict]:
    """A program with the functions that stand among its operands, and the others."""
    from ._syntax import with_functions

    functions = {value.name: value for value in named.values() if is_function(value)}
    return with_functions(text, functions), {name: value for name, value in named.items() if not is_function(value)}


def _spelled(spec: str, operands: tuple, named: dict) -> tuple[str, dict]:
    """The program of NumPy's spelling, and its operands by name."""
    if "=" in spec:
        raise OperandError("the operands of a program are given by name: `A=…`")
    if named:
        raise OperandError(f"NumPy's spelling takes operands in order, and `{next(iter(named))}` is given by name")
    tensors = [o if hasattr(o, "shape") and hasattr(o, "dtype") else _convert.tensor(o, f"T{n}") for n, o in enumerate(operands)]
    text = _program(spec, tuple((tuple(t.shape), np.dtype(t.dtype)) for t in tensors))
    return text, {f"T{n}": tensor for n, tensor in enumerate(tensors)}


@lru_cache(maxsize=1024)
def _program(spec: str, operands: tuple) -> str:
    inputs, output = _terms(spec, [len(shape) for shape, _ in operands])
    extents: dict[str, int] = {}
    for letters, (shape, _) in zip(inputs, operands, strict=True):
        for letter, extent in zip(letters, shape, strict=True):
            if extent != 1 or letter not in extents:
                known = extents.setdefault(letter, extent)
                if known == 1:
                    extents[letter] = extent
    result = np.result_type(*(dtype for _, dtype in operands))
    factors = []
    for n, (letters, (shape, dtype)) in enumerate(zip(inputs, operands, strict=True)):
        # A mode of extent 1 goes with any other: its only coordinate is read.
        indices = ["0" if extent == 1 and extents[letter] != 1 else letter for letter, extent in zip(letters, shape, strict=True)]
        factor = f"T{n}[{','.join(indices)}]"
        if dtype.newbyteorder("=") != result:
            name = type_of(result)
            if name is None:
                raise OperandError(f"tensor `T{n}`: with the others its values would be {result}, which the language has not")
            factor = f"convert({factor}, {name})"
        factors.append(factor)
    return f"Out[{','.join(output)}] = {' * '.join(factors)}"


def _terms(spec: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """The index variables of each operand and of the result; those of an ellipsis are ``e0``, ``e1``, ….."""
    text = spec.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ProgramError(f"`{spec}` has {len(terms)} operands, and {len(ranks)} are given")
    inputs = [_indices(term, rank, spec) for term, rank in zip(terms, ranks, strict=True)]
    most = max((len([i for i in indices if len(i) > 1]) for indices in inputs), default=0)
    dots = [f"e{k}" for k in range(most)]
    if arrow:
        output = _letters(right, dots, spec)
    else:
        flat = [i for indices in inputs for i in indices]
        output = dots + sorted(i for i in set(flat) if len(i) == 1 and flat.count(i) == 1)
    known = {i for indices in inputs for i in indices}
    for index in output:
        if index not in known:
            raise ProgramError(f"`{spec}`: `{index}` stands in the result and in no operand")
        if output.count(index) > 1:
            raise ProgramError(f"`{spec}`: `{index}` stands twice in the result")
    return [[_shifted(i, most, indices) for i in indices] for indices in inputs], output


def _indices(term: str, rank: int, spec: str) -> list[str]:
    named = len(term.replace("...", ""))
    if "..." in term:
        if named > rank:
            raise ProgramError(f"`{spec}`: `{term}` has more letters than its operand has modes, {rank}")
        dots = [f"e{k}" for k in range(rank - named)]
    else:
        dots = []
        if named != rank:
            raise ProgramError(f"`{spec}`: `{term}` has {named} letters, and its operand {rank} modes")
    return _letters(term, dots, spec)


def _shifted(index: str, most: int, indices: list[str]) -> str:
    """An ellipsis that stands for fewer modes than another stands for the last of them."""
    if len(index) == 1:
        return index
    own = sum(len(i) > 1 for i in indices)
    return f"e{int(index[1:]) + most - own}"


def _letters(term: str, dots: list[str], spec: str) -> list[str]:
    before, ellipsis, behind = term.partition("...")
    for letter in before + behind:
        if not (letter.isascii() and letter.isalpha()):
            raise ProgramError(f"`{spec}`: `{letter}` is no index: letters expected, or `...`")
    return [*before, *(dots if ellipsis else []), *behind]
