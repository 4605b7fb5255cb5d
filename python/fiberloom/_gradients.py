"""``grad``, ``value_and_grad`` and ``jvp``: derivatives of kernels, as kernels whose programs can be read.

>>> k = fl.compile("y[i] = A[i,j] * x[j]", A="f64 csr", x="f64")
>>> g = fl.grad(k, by=["A", "x"])
>>> print(g.text.splitlines()[-2])
A_bar[i,j] = mask(A_pattern[i,j], y_bar[i] * x[j])
>>> A, x = sp.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]])), np.array([5.0, 7.0])
>>> g(A=A, x=x, y_bar=np.array([1.0, 10.0]))["A"].to_numpy()
array([[ 0.,  7.],
       [50.,  0.]])
"""

from __future__ import annotations

import re

from . import _convert, _native
from ._kernel import Kernel, compile
from .errors import OperandError

__all__ = ["Gradient", "grad", "jvp", "value_and_grad"]


class Gradient:
    """A derivative of a kernel, called with the kernel's operands by name, and with what is given for the derivative.

    Patterns of operands are taken of the operands themselves.

    Attributes
    ----------
    text : str
        The program.
    kernel : Kernel
        What runs it.
    """

    def __init__(self, text: str, options: dict | None, results: dict[str, str], value: str | None):
        self.text = text
        self.kernel = compile(text, options=options)
        self._results, self._value = results, value
        self._taken = [name for name, *_ in self.kernel.inputs]

    def __call__(self, **operands):
        """The derivatives, by the names of the operands that they are by; of `value_and_grad` the value before."""
        given = {name: operand for name, operand in operands.items() if name in self._taken}
        for name in self._taken:
            of = name.removesuffix("_pattern")
            if name not in given and of != name and of in operands:
                tensor = _convert.tensor(operands[of], of)
                given[of], given[name] = tensor, tensor.pattern()
        made = self.kernel(**given)
        derivatives = {name: made[result] for name, result in self._results.items()}
        return derivatives if self._value is None else (made[self._value], derivatives)

    def __repr__(self) -> str:
        return f"<fiberloom.Gradient of {', '.join(self._results)}>"


def _declared(kernel: Kernel) -> str:
    """The kernel's text, in which each operand is declared."""
    text, known, *_ = kernel.made_of()
    ranks = {name: rank for name, _, _, rank, _ in kernel.inputs}
    lines = []
    for name, (kind, fill, form) in known:
        if re.search(rf"\btensor\s+{name}\s*:", text) or name not in ranks:
            continue
        sizes = ", ".join(f"{name}_{mode}" for mode in range(ranks[name]))
        said = f" fill {_literal(fill)}" if fill else ""
        lines.append(f"tensor {name}: {kind}[{sizes}]{said} {form if ranks[name] else ''}".rstrip())
    return "\n".join([*lines, text])


def _literal(fill) -> str:
    text = str(fill).lower()
    return text if isinstance(fill, (bool, int)) or text in ("nan", "inf", "-inf") else repr(float(fill))


def _asked(kernel, of: str | None, by) -> tuple[Kernel, str, list[str]]:
    if not isinstance(kernel, Kernel):
        raise OperandError(f"a kernel is derived, as `compile` makes one: {type(kernel).__name__} is none")
    names = [by] if isinstance(by, str) else list(by)
    return kernel, of or kernel.last, names


def _made(kernel, asked: tuple, suffix: str, value: bool, forward: bool) -> Gradient:
    *_, options = kernel.made_of()
    of, by, *_ = asked
    text = _native.gradient(_declared(kernel), asked, value, forward, kernel.file)
    results = {of: f"{of}_dot"} if forward else {name: f"{name}{suffix}" for name in by}
    return Gradient(text, dict(options), results, of if value else None)


def grad(kernel: Kernel, /, of: str | None = None, by=(), *, seed: str | None = None, dense=()) -> Gradient:
    """The gradient of a result by operands: by how much ``sum(of * seed)`` moves if an operand does.

    Parameters
    ----------
    kernel
        As `compile` makes one.
    of
        The result; the last one, unless it is named.
    by
        Names of operands of floats. The gradient by a sparse one has its entries.
    seed
        The name under which calls give the gradient of the result: its name with ``_bar``, unless it is said. Of a scalar without a name
        it is 1, and not given.
    dense
        Those of `by` whose gradients are wanted at each coordinate.

    Returns
    -------
    Gradient
        Called with operands by name, it gives for each of `by` its gradient.

    Examples
    --------
    >>> k = fl.compile("s[] = sum(i: x[i] * x[i])", x="f64")
    >>> fl.grad(k, by="x")(x=np.array([1.0, 2.0]))["x"].to_numpy()
    array([2., 4.])

    Raises
    ------
    ProgramError
        What has no derivative, by name and place.
    """
    kernel, of, names = _asked(kernel, of, by)
    return _made(kernel, (of, names, seed, list(dense)), "_bar", False, False)


def value_and_grad(kernel: Kernel, /, of: str | None = None, by=(), *, seed: str | None = None, dense=()) -> Gradient:
    """As `grad`; a call gives the result, too: ``value, gradients``.

    Parameters
    ----------
    kernel, of, by, seed, dense
        As of `grad`.

    Returns
    -------
    Gradient
        Called with operands by name, it gives the result and for each of `by` its gradient.

    Examples
    --------
    >>> k = fl.compile("s[] = sum(i: x[i] * x[i])", x="f64")
    >>> value, gradients = fl.value_and_grad(k, by="x")(x=np.array([1.0, 2.0]))
    >>> float(value.to_numpy()), gradients["x"].to_numpy()
    (5.0, array([2., 4.]))
    """
    kernel, of, names = _asked(kernel, of, by)
    return _made(kernel, (of, names, seed, list(dense)), "_bar", True, False)


def jvp(kernel: Kernel, /, of: str | None = None, by=()) -> Gradient:
    """How a result moves if operands do: calls give for each of `by` how it moves, by its name with ``_dot``.

    Parameters
    ----------
    kernel, of, by
        As of `grad`.

    Returns
    -------
    Gradient
        Called with operands and their tangents by name, it gives the result's tangent by the result's name.

    Examples
    --------
    >>> k = fl.compile("y[i] = x[i] * x[i]", x="f64")
    >>> fl.jvp(k, by="x")(x=np.array([1.0, 2.0]), x_dot=np.array([1.0, 10.0]))["y"].to_numpy()
    array([ 2., 40.])
    """
    kernel, of, names = _asked(kernel, of, by)
    return _made(kernel, (of, names, None, []), "_bar", False, True)
