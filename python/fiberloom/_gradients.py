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

import functools
import re

from . import _convert, _native
from ._kernel import Kernel, compile, known
from .errors import Error, OperandError

__all__ = ["Gradient", "LazyGradient", "grad", "jvp", "value_and_grad"]


class _Program:
    """A derivative of one kernel: its text, what runs it, and what a call takes and gives."""

    def __init__(self, kernel: Kernel, asked: tuple, value: bool, forward: bool):
        of, by, *_ = asked
        self.text = _derived(kernel, asked, value, forward)
        *_, out, _, options = kernel.made_of()
        self.kernel = compile(self.text, options=dict(options), out={of: form for name, form in out if value and name == of})
        self.results = {of: f"{of}_dot"} if forward else {name: f"{name}_bar" for name in by}
        self.value = of if value else None
        self.taken = [name for name, *_ in self.kernel.inputs]
        # Operands of the kernel that its derivative does not read may be given all the same.
        self.others = {name for name, *_ in kernel.inputs} - set(self.taken)

    def __call__(self, operands: dict):
        strange = next((name for name in operands if name not in self.taken and name not in self.others), None)
        if strange is not None:
            raise OperandError(f"the derivative has no operand `{strange}`: it takes {', '.join(self.taken)}")
        given = {name: operand for name, operand in operands.items() if name in self.taken}
        for name in self.taken:
            of = name.removesuffix("_pattern")
            if name not in given and of != name and of in operands:
                tensor = _convert.tensor(operands[of], of)
                if of in self.taken:
                    given[of] = tensor
                given[name] = tensor.pattern()
        made = self.kernel(**given)
        derivatives = {name: made[result] for name, result in self.results.items()}
        return derivatives if self.value is None else (made[self.value], derivatives)


class Gradient:
    """A derivative of a kernel, called with the kernel's operands, and with what is given for the derivative by its name.

    Patterns of operands are taken of the operands themselves. Operands of a kernel that is a Python function are given in order, too.

    Attributes
    ----------
    text : str
        The program.
    kernel : Kernel
        What runs it.
    """

    def __init__(self, source, asked: tuple, value: bool, forward: bool):
        self._source, self._asked, self._how = source, asked, (value, forward)
        self._programs: dict[int, tuple[Kernel, _Program]] = {}
        if isinstance(source, Kernel) or not source._open:
            self._program({})

    def _named(self, operands: tuple, named: dict) -> dict:
        if not isinstance(self._source, Kernel):
            return self._source._named(operands, named)
        if operands:
            raise OperandError("operands are given by name, as the kernel's are")
        return named

    def _program(self, named: dict) -> _Program:
        """The program for operands like these: another one where they decide types and formats, and those are others."""
        source = self._source
        kernel = source if isinstance(source, Kernel) else source._kernel(named)
        kept = self._programs.get(id(kernel))
        if kept is None:
            # The kernel is held, so that no other one has its identity.
            kept = self._programs[id(kernel)] = kernel, self._made(kernel)
        return kept[1]

    def _made(self, kernel: Kernel) -> _Program:
        of, *rest = self._asked
        asked = (of or _last(self._source, kernel), *rest)
        try:
            return _Program(kernel, asked, *self._how)
        except Error as e:
            raise e if self._source is kernel else _redrawn(self._source, kernel, e) from None

    @property
    def text(self) -> str:
        """The program."""
        return self._only().text

    @property
    def kernel(self) -> Kernel:
        """What runs the program."""
        return self._only().kernel

    def _only(self) -> _Program:
        if len(self._programs) == 1:
            return next(iter(self._programs.values()))[1]
        name = self._source.__name__
        raise Error(f"operands decide types and formats of `{name}`, and so its derivative: `specialized(…)` of operands has a program")

    def specialized(self, *operands, **named) -> Gradient:
        """The derivative for operands like these, of a Python function that does not declare all of its operands.

        Parameters
        ----------
        operands, named
            As of a call.

        Returns
        -------
        Gradient
            With the program for these.
        """
        made = Gradient.__new__(Gradient)
        made._source, made._asked, made._how, made._programs = self._source, self._asked, self._how, {}
        program = self._program(self._named(operands, named))
        made._programs.update({key: kept for key, kept in self._programs.items() if kept[1] is program})
        return made

    def __call__(self, *operands, **named):
        """The derivatives, by the names of the operands that they are by; of `value_and_grad` the value before."""
        named = self._named(operands, named)
        return self._program(named)(named)

    def __repr__(self) -> str:
        of, by, *_ = self._asked
        return f"<fiberloom.Gradient of {of or 'the result'} by {', '.join(by)}>"


class LazyGradient:
    """A derivative of an expression, whose operands are known: called with what is given for the derivative alone.

    Attributes
    ----------
    text : str
        The program; ``Out`` is the expression, `T0`, `T1`, … are the arrays in it.
    kernel : Kernel
        What runs it.
    """

    def __init__(self, expression, by, dense, value: bool, forward: bool):
        names = expression._named()
        text, self._operands = names.program()
        self._one = not isinstance(by, (list, tuple))
        self._by = [_leaf(names, n, array) for n, array in enumerate([by] if self._one else by)]
        dense = tuple(_leaf(names, n, array) for n, array in enumerate(dense))
        options = {"mode": "strict"} if names.strict or not (names.folds or names.sparse) else {}
        of = _kinds(self._operands)
        self._program = _kept(text, of, (tuple(self._by), dense), value, forward, tuple(options.items()))
        self._forward, self._value = forward, value
        self._seed = "Out_bar" if expression.ndim else None

    @property
    def text(self) -> str:
        """The program."""
        return self._program.text

    @property
    def kernel(self) -> Kernel:
        """What runs the program."""
        return self._program.kernel

    def __call__(self, *given):
        """The derivatives in the order of `by`, that by one array alone as itself; of `value_and_grad` the value before.

        What is given is the gradient of the expression, unless it is a number; of `jvp` how each of `by` moves.
        """
        names = [f"{name}_dot" for name in self._by] if self._forward else [self._seed] if self._seed else []
        if len(given) != len(names):
            what = "how each of `by` moves" if self._forward else "the gradient of the expression" if names else "nothing"
            raise OperandError(f"{what} is given to a call: {len(names)} operands expected, and {len(given)} are given")
        made = self._program(self._operands | dict(zip(names, given, strict=True)))
        if self._forward:
            return made["Out"]
        derivatives = made[1] if self._value else made
        all = tuple(derivatives[name] for name in self._by)
        all = all[0] if self._one else all
        return (made[0], all) if self._value else all

    def __repr__(self) -> str:
        return f"<fiberloom.LazyGradient by {', '.join(self._by)}>"


def _leaf(names, n: int, array) -> str:
    """The name of an array that stands in an expression."""
    array = getattr(array, "leaf", array)
    known = names.operands.get(id(array))
    if known is None:
        raise OperandError(f"operand {n} of `by` is no array that stands in the expression: give the very object, or `lazy` of it")
    return known[0]


def _kinds(operands: dict) -> tuple:
    """What decides the kernel of an expression's operands."""
    return tuple(known({name: o for name, o in operands.items() if not isinstance(o, int)}))


@functools.lru_cache(maxsize=256)
def _kept(text: str, of: tuple, asked: tuple, value: bool, forward: bool, options: tuple) -> _Program:
    """A derivative of an expression, which is kept for others like it."""
    by, dense = asked
    kernel = _native.compile(text, list(of), [], options=dict(options))
    return _Program(kernel, ("Out", list(by), None, list(dense)), value, forward)


def _derived(kernel: Kernel, asked: tuple, value: bool, forward: bool) -> str:
    return _native.gradient(_undeclared(kernel) + kernel.text, asked, value, forward, kernel.file)


def _undeclared(kernel: Kernel) -> str:
    """Declarations of those of the kernel's operands that its text does not declare."""
    text, described, *_ = kernel.made_of()
    ranks = {name: rank for name, _, _, rank, _ in kernel.inputs}
    lines = []
    for name, (kind, fill, form) in described:
        if name not in ranks or re.search(rf"\b(tensor\s+{name}\s*:|dim\s+{name}\b)", text):
            continue
        sizes = ", ".join(f"{name}_{mode}" for mode in range(ranks[name]))
        said = f" fill {_literal(fill)}" if fill else ""
        lines.append(f"tensor {name}: {kind}[{sizes}]{said} {form if ranks[name] else ''}".rstrip() + "\n")
    return "".join(lines)


def _redrawn(function, kernel: Kernel, error: Error) -> Error:
    """An error of a Python function's program, behind declarations, drawn into the Python file."""
    if all(span.end == 0 for span in error.spans):
        return error  # It is about names that are asked for, and has no place.
    before = len(_undeclared(kernel))
    moved = lambda at: max(at - before, 0)  # noqa: E731
    error.spans = tuple(
        span._replace(
            start=moved(span.start),
            end=moved(span.end),
            labels=tuple((moved(start), moved(end), text) for start, end, text in span.labels),
        )
        for span in error.spans
    )
    return function.redrawn(error)


def _literal(fill) -> str:
    text = str(fill).lower()
    return text if isinstance(fill, (bool, int)) or text in ("nan", "inf", "-inf") else repr(float(fill))


def _last(source, kernel: Kernel) -> str:
    """The result that is meant without a name: the one that a Python function returns, or the last one."""
    returned = [] if source is kernel else source.returned or []
    return returned[0] if len(returned) == 1 else kernel.last


def _made(source, of, by, seed, dense, value: bool, forward: bool):
    from ._lazy import Lazy
    from ._syntax import KernelFunction

    if isinstance(source, Lazy):
        if of is not None:
            raise OperandError("an expression is one result: `of` names results of kernels")
        return LazyGradient(source, by, dense, value, forward)
    if not isinstance(source, (Kernel, KernelFunction)):
        expected = "a kernel is derived, as `compile` and `@kernel` make one, or an expression, as `lazy` does"
        raise OperandError(f"{expected}: {type(source).__name__} is none")
    names = [by] if isinstance(by, str) else list(by)
    return Gradient(source, (of, names, seed, [dense] if isinstance(dense, str) else list(dense)), value, forward)


def grad(source, /, of: str | None = None, by=(), *, seed: str | None = None, dense=()):
    """The gradient of a result by operands: by how much ``sum(of * seed)`` moves if an operand does.

    Parameters
    ----------
    source
        A kernel, as `compile` makes one; a Python function that `kernel` decorates; or an expression, as `lazy` makes one.
    of
        The result; unless it is named, the one that a Python function returns, or the last one. An expression is one.
    by
        Names of operands of floats; of an expression the arrays themselves that stand in it, or one of them. The gradient by a sparse
        one has its entries.
    seed
        The name under which calls give the gradient of the result: its name with ``_bar``, unless it is said. Of a scalar without a name
        it is 1, and not given.
    dense
        Those of `by` whose gradients are wanted at each coordinate.

    Returns
    -------
    Gradient or LazyGradient
        Called with operands as the kernel is, and with what `seed` says, it gives for each of `by` its gradient, by name. That of an
        expression has its operands: it is called with the gradient of the expression, unless that is a number, and gives gradients in
        the order of `by`.

    Examples
    --------
    >>> k = fl.compile("s[] = sum(i: x[i] * x[i])", x="f64")
    >>> fl.grad(k, by="x")(x=np.array([1.0, 2.0]))["x"].to_numpy()
    array([2., 4.])
    >>> A, x = fl.asarray(np.eye(2), "csr"), np.array([1.0, 2.0])
    >>> y = fl.lazy(A) @ x
    >>> fl.grad((y * y).sum(), by=x)().to_numpy()
    array([2., 4.])

    Raises
    ------
    ProgramError
        What has no derivative, by name and place.
    """
    return _made(source, of, by, seed, dense, False, False)


def value_and_grad(source, /, of: str | None = None, by=(), *, seed: str | None = None, dense=()):
    """As `grad`; a call gives the result, too: ``value, gradients``.

    Parameters
    ----------
    source, of, by, seed, dense
        As of `grad`.

    Returns
    -------
    Gradient or LazyGradient
        A call gives the result, and the gradients as those of `grad` do.

    Examples
    --------
    >>> k = fl.compile("s[] = sum(i: x[i] * x[i])", x="f64")
    >>> value, gradients = fl.value_and_grad(k, by="x")(x=np.array([1.0, 2.0]))
    >>> float(value.to_numpy()), gradients["x"].to_numpy()
    (5.0, array([2., 4.]))
    """
    return _made(source, of, by, seed, dense, True, False)


def jvp(source, /, of: str | None = None, by=()):
    """How a result moves if operands do: calls give for each of `by` how it moves, by its name with ``_dot``.

    Parameters
    ----------
    source, of, by
        As of `grad`.

    Returns
    -------
    Gradient or LazyGradient
        Called with operands and their tangents by name, it gives the result's tangent by the result's name. That of an expression is
        called with how each of `by` moves, in order, and gives how the expression does.

    Examples
    --------
    >>> k = fl.compile("y[i] = x[i] * x[i]", x="f64")
    >>> fl.jvp(k, by="x")(x=np.array([1.0, 2.0]), x_dot=np.array([1.0, 10.0]))["y"].to_numpy()
    array([ 2., 40.])
    """
    return _made(source, of, by, None, (), False, True)
