"""``compile``, and methods of kernels that need no access to memory."""

from __future__ import annotations

import time as _time
from typing import Any, NamedTuple

import numpy as np

from . import _convert, _einsum, _loans, _native, _tables
from ._types import Declared, declared
from .errors import Error, OperandError

__all__ = ["CacheInfo", "Kernel", "cache_info", "compile", "copied_into", "known"]

Kernel = _native.Kernel
Kernel.__doc__ = """A compiled program, called with operands by name: ``k(A=A, x=x)["y"]``. `compile` makes one.

    Attributes
    ----------
    text : str
        The program.
    inputs : list of tuple
        Of each operand its name, type, format, number of modes, and whether it must be given.
    results : list of tuple
        Of each result its name, type and format.
    tables : list of tuple
        Of each table its name, and the columns that the program reads.
    last : str
        The result that the last statement defines.
    """


def compile(
    text: str,
    /,
    operands: dict[str, Any] | None = None,
    *,
    options: dict[str, Any] | None = None,
    out: dict[str, str] | None = None,
    device: str | None = None,
    **named: Any,
) -> Kernel:
    """A kernel of a program: checked and lowered, so that what is wrong with it is said before there are data.

    Parameters
    ----------
    text
        The program. Tensors that it does not declare are described by name.
    operands, named
        Of each such tensor a type, and perhaps a format and a fill value, as ``"f64 csr fill inf"``; or a tensor that is like
        it.
    out
        Formats of results that are not declared, by name.
    options
        ``mode``: ``"algebraic"`` or ``"strict"``; ``engine``: ``"llvm"``, ``"loops"`` (interpreted, each access checked),
        ``"meaning"`` (the reference semantics), ``"nvptx"`` (an NVIDIA GPU) or ``"ptx"`` (the code for it, on a machine that
        checks each access); ``memory``: the most bytes that a call may allocate; ``steps``; ``verify``: whether results are
        checked.
    device
        Where loops run: ``"cpu"`` or ``"cuda"``, in the place of an engine. Operands and results are arrays of the host.

    Returns
    -------
    Kernel
        Called with operands by name, it gives its results by name, each a `Tensor`; those that have labels are each a `Table`.
        Tables that the program declares are operands, too: whatever `table` takes.

    Examples
    --------
    >>> k = fl.compile("y[i] = min(j: A[i,j] + x[j])", A="f64 csr fill inf", x="f64")
    >>> A = sp.csr_array(np.array([[0.0, 2.0], [5.0, 0.0]]))
    >>> k(A=A, x=np.array([1.0, 10.0]))["y"].to_numpy()
    array([12.,  6.])

    Raises
    ------
    ProgramError
        With everything that is wrong with the program, drawn into it.
    """
    operands = {**(operands or {}), **named}
    if _einsum.is_function is not None:
        text, operands = _einsum.with_functions(text, operands)
    options = _einsum.placed(options, device)
    return _native.compile(text, known(operands), list((out or {}).items()), options=options)


class CacheInfo(NamedTuple):
    """What `cache_info` says."""

    #: Programs that `einsum`, operators and functions of arrays keep, each with what its operands are.
    kept: int
    #: Kernels that were compiled in this process so far.
    compiled: int


def cache_info() -> CacheInfo:
    """How many kernels are kept, and how many were compiled so far.

    Numbers, ends of slices and extents are none of a kernel: a loop whose turns compute the same of arrays alike compiles in its
    first turn alone.

    Returns
    -------
    CacheInfo
        Both numbers.

    Examples
    --------
    >>> x = fl.asarray(np.arange(4.0))
    >>> y = x * 2.5
    >>> before = fl.cache_info().compiled
    >>> y = x * 3.5
    >>> fl.cache_info().compiled - before
    0
    """
    return CacheInfo(_native.kernels_kept(), _native.kernels_compiled())


def known(operands: dict) -> list:
    """What descriptions or examples say of operands: type, fill value and format of each. Tables are declared, and say nothing."""
    return [(name, _known(name, given)) for name, given in operands.items() if not _tables.is_table(given)]


def _known(name: str, given):
    if isinstance(given, str):
        try:
            given = declared(given)
        except ValueError as e:
            raise OperandError(f"tensor `{name}`: {e}") from None
    if isinstance(given, Declared):
        return given.type, given.fill, given.format or "dense"
    tensor = _convert.like(given, name)
    return tensor.type_name, tensor.fill_value, tensor.format


def method(function):
    """Makes a function a member of `Kernel`."""
    setattr(Kernel, function.__name__, function)
    return function


@method
def bind(self, **operands) -> _native.Bind:
    """The operands of any number of runs, checked once.

    Parameters
    ----------
    operands
        By name, whatever a call takes. Values are read where they are, and index arrays of SciPy's matrices copied: who has no
        memory for that gives a `Tensor`. Tables are read and encoded here, and no run looks at them again.

    Returns
    -------
    Bind
        Called, it runs the loops alone, as ``run()`` does.
    """
    return _bound(self, operands)


def _bound(kernel: Kernel, operands: dict) -> _native.Bind:
    """What is called often believes arrays of its own."""
    return kernel.bound({name: _loans.owned(operand) for name, operand in operands.items()})


def run(self) -> dict:
    """Runs the kernel on the operands that were bound.

    Returns
    -------
    dict
        The results by name, made anew.
    """
    return self.timed()[0]


_native.Bind.run = run
_native.Bind.__call__ = run


@method
def show(self, stage: str = "loops") -> str:
    """The program at a stage on its way to machine code.

    Parameters
    ----------
    stage
        ``syntax``, ``notation`` (typed), ``schedule`` (the order of loops, transposed copies and workspaces that were chosen),
        ``lattice`` (what each loop visits), ``lattice.svg``, ``looplets``, ``loops``, ``llvm``, ``asm``.

    Returns
    -------
    str
        Of several lines.
    """
    return _Text(self.stage(stage))


class _Text(str):
    """Text whose lines an interpreter's prompt shows as lines."""

    def __repr__(self) -> str:
        return str(self)


@method
def explain(self) -> str:
    """What a call takes and gives, what is doubtful, how its loops are ordered and what each of them visits.

    Returns
    -------
    str
        Of several lines.
    """
    lines = ["takes"]
    lines += [f"  {name}: a table with {', '.join(columns) or 'any columns'}" for name, columns in self.tables]
    for name, ty, format, modes, must in self.inputs:
        lines.append(f"  {name}: {ty}, {format}, {_counted(modes)}{'' if must else '; its initial value, if given'}")
    lines.append("gives")
    lines += [f"  {name}: {ty}, {format}" for name, ty, format in self.results]
    warnings = self.warnings()
    if warnings:
        lines += ["doubtful", *(f"  {warning}" for warning in warnings)]
    for title, stage in (("loops, outermost first", "schedule"), ("what they visit", "lattice")):
        lines += [title, *(f"  {line}" for line in self.stage(stage).rstrip().splitlines())]
    return _Text("\n".join(lines))


def _counted(modes: int) -> str:
    return "a scalar" if modes == 0 else "1 mode" if modes == 1 else f"{modes} modes"


@method
def check(self, **operands) -> dict:
    """Runs, and compares each value of each result with the reference semantics, which is slow and right by definition.

    Parameters
    ----------
    operands
        By name, whatever a call takes.

    Returns
    -------
    dict
        ``compared``: values that were; ``unpromised``: those of them of which the language promises nothing (NaN arose,
        something overflows in some order, rounding decided a jump).

    Raises
    ------
    WrongAnswerError
        With the first difference.
    """
    compared, unpromised = self.agreement(**operands)
    return {"compared": compared, "unpromised": unpromised}


@method
def time(self, *, seconds: float = 0.2, **operands) -> dict:
    """Measures calls on operands that are bound.

    Parameters
    ----------
    seconds
        For how long calls are made, of which there are three at least.
    operands
        By name, whatever a call takes.

    Returns
    -------
    dict
        Medians of the seconds that a call takes (``call``) and that its loops do (``loops``), over ``runs`` calls.
    """
    bound = _bound(self, operands)
    bound.timed()
    calls, loops = [], []
    end = _time.perf_counter() + seconds
    while len(calls) < 3 or (_time.perf_counter() < end and len(calls) < 100_000):
        begin = _time.perf_counter()
        _, engine = bound.timed()
        calls.append(_time.perf_counter() - begin)
        loops.append(engine)
    return {"call": float(np.median(calls)), "loops": float(np.median(loops)), "runs": len(calls)}


def copied_into(results: dict, buffers: dict) -> dict:
    """The results, of which those that have a buffer are copied into it, and stand as it."""
    for name, buffer in buffers.items():
        if name not in results:
            raise Error(f"there is no result `{name}` for the buffer: {', '.join(results)}")
        results[name] = into(results[name], buffer, name)
    return results


def into(result, buffer, name: str):
    """A dense result in an ndarray of its shape and type."""
    if isinstance(result, _tables.Table):
        raise OperandError(f"the result `{name}` is a table, which no buffer takes: `to_pandas`, `to_arrow`, `columns`")
    if not isinstance(buffer, np.ndarray):
        raise OperandError(f"the buffer for `{name}` is a {type(buffer).__name__}: an ndarray expected")
    if buffer.shape != result.shape or buffer.dtype != result.dtype:
        raise OperandError(
            f"the buffer for `{name}` is {buffer.dtype}{list(buffer.shape)}, {result.dtype}{list(result.shape)} expected"
        )
    np.copyto(buffer, result.to_numpy())
    return buffer


@method
def __repr__(self) -> str:
    tables = [f"{name}: table" for name, _ in self.tables]
    takes = ", ".join(tables + [f"{name}: {ty} {format}" for name, ty, format, _, _ in self.inputs])
    gives = ", ".join(f"{name}: {ty} {format}" for name, ty, format in self.results)
    return f"Kernel({takes} -> {gives})"


@method
def _repr_html_(self) -> str:
    from ._html import kernel

    return kernel(self)


@method
def __reduce__(self):
    return _native.compile, self.made_of()
