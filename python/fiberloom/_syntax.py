"""Kernels and functions from Python's syntax trees: the function is read, and never called an element at a time.

=========================================  ==============================================
Python                                     the language
=========================================  ==============================================
``def f(A: fl.f64["I J", "csr"]): …``      ``tensor A: f64[I, J] csr``
``y: fl.f64["I"]``                         ``tensor y: f64[I] dense``
``y[i] = A[i, j] * x[j]``, ``+=``          the same
``m[i]: min = A[i, j]``                    ``m[i] min= A[i,j]``
``s[()]``                                  ``s[]``
``sum(A[i, j] for j in ...)``              ``sum(j: A[i,j])``; with a start ``sum((…), 2)``
``a if c else b``, ``and``, ``or``, ``not``  ``if c then a else b``, ``&&``, ``||``, ``!``
``//``, ``%``, ``**``                      ``floordiv``, ``floormod``, ``pow``; in an index ``/``, ``%``
``A[i[1:n]]``                              ``A[i(1:n)]``
``for _ in range(20): …``, ``while …:``    ``repeat 20 { … }``, ``while … { … }``
``schedule("protocol(x[j], locate)")``     ``schedule { protocol(x[j], locate); }``
``return y``                               which results a call gives; else all, one alone as itself
=========================================  ==============================================

Names that no index uses and that are numbers where the function stands are their values; `Function`\\ s that are called
come with it. What is rejected is drawn at its line of Python.
"""

from __future__ import annotations

import functools
import inspect

from . import _convert, _einsum, _native
from ._kernel import Kernel, known
from ._reader import Body, Source, Statements, Writer
from ._types import Declared, Type, literal
from .errors import Error

__all__ = ["Function", "KernelFunction", "function", "kernel"]

def _names(function) -> dict:
    """What names mean where a function stands."""
    import builtins

    closed = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closed[name] = cell.cell_contents
        except ValueError:
            pass  # A name around the function that has no value yet.
    return {**vars(builtins), **function.__globals__, **closed}


class Function:
    """A function of the language, from a Python function, which it still is to Python."""

    is_of_the_language = True

    def __init__(self, python, properties: dict, ty: Type | None):
        functools.update_wrapper(self, python)
        self.python, self.properties, self.ty = python, properties, ty
        self.name = python.__name__
        self.source = Source(python)
        self.annotations = inspect.get_annotations(python, eval_str=True)

    def __call__(self, *arguments):
        return self.python(*arguments)

    def write(self, writer: Writer, default: str) -> dict[str, Function]:
        """Its declaration, types that are not annotated being `default`; which functions it calls."""
        reader = Body(self.source, _names(self.python), writer)
        tree = self.source.tree
        start = len(writer.text)
        fallback = self.ty.name if self.ty else default
        ty = lambda name: getattr(self.annotations.get(name), "name", fallback)  # noqa: E731
        arguments = [argument.arg for argument in tree.args.args]
        reader.locals |= set(arguments)
        listed = ", ".join(f"{name}: {ty(name)}" for name in arguments)
        writer.put(f"fn {self.name}({listed}) -> {ty('return')} {{\n")
        writer.made_of(self.source, tree, start)
        reader.body(tree.body, "  ")
        start = len(writer.text)
        writer.put("}" + self._properties() + "\n")
        writer.made_of(self.source, tree.decorator_list[0] if tree.decorator_list else tree, start)
        return reader.used

    def _properties(self) -> str:
        words = []
        for name, value in self.properties.items():
            if value is True:
                words.append(name)
            elif name == "iterate":
                words.append(f"iterate({value})")
            elif value is not False and value is not None:
                value, *place = value if isinstance(value, tuple) else (value,)
                words.append(f"{name}({', '.join([literal(value), *map(str, place)])})")
        return f" where {', '.join(words)}" if words else ""

    def __reduce__(self) -> str:
        # By its name, as functions are.
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<fiberloom function {self.name}>"


def function(python=None, /, *, type: Type | None = None, **properties):
    """A function of the language from a Python function.

    Parameters
    ----------
    python
        The function.
    type
        The type of arguments and result that have no annotation, as ``fl.f32``; else that of the operands of the kernel that
        calls it, if they have one, else ``f64``.
    properties
        ``commutative``, ``associative``, ``idempotent``: ``True``; ``identity``, ``annihilator``: a value, or a value and
        the number of the argument; ``iterate``: a set, as ``"a | b"``.

    Returns
    -------
    Function
        It is still the Python function; programs call it by its name, if it is given among their operands.

    Raises
    ------
    CounterexampleError
        If a property does not hold: they are checked where the function is declared.
    """
    if python is None:
        return functools.partial(function, type=type, **properties)
    unknown = set(properties) - {"commutative", "associative", "idempotent", "identity", "annihilator", "iterate"}
    if unknown:
        raise Error(f"`{sorted(unknown)[0]}` is no property of a function")
    made = Function(python, properties, type)
    writer = Writer()
    _with_functions(writer, {made.name: made}, "f64")
    try:
        _native.compile(writer.text, [], [])
    except Error as e:
        raise writer.redrawn(e) from None
    return made


def _is_function(value) -> bool:
    return type(value) is Function


_einsum.is_function = _is_function


def _with_functions(writer: Writer, used: dict[str, Function], default: str) -> None:
    """Writes functions and those that they call, which stand before them."""
    written: set[str] = set()

    def write(function: Function, around: tuple = ()):
        if function.name in around:
            raise function.source.refused(function.source.tree, f"`{function.name}` calls itself")
        if function.name in written:
            return
        trial = Writer()
        for called in function.write(trial, default).values():
            write(called, (*around, function.name))
        written.add(function.name)
        function.write(writer, default)

    for function in used.values():
        write(function)


def with_functions(text: str, functions: dict[str, Function]) -> str:
    """A program's text, and behind it the functions that it calls: places in the text stay what they are."""
    if not functions:
        return text
    writer = Writer()
    _with_functions(writer, functions, "f64")
    return f"{text}\n{writer.text}"


class KernelFunction:
    """A kernel from a Python function, called as that is: operands in order or by name."""

    def __init__(self, python, out: dict | None, options: dict | None):
        functools.update_wrapper(self, python)
        self.python, self._out, self._options = python, out, options
        source = Source(python)
        self._writer = Writer()
        annotations = inspect.get_annotations(python, eval_str=True)
        arguments = source.tree.args
        if arguments.vararg or arguments.kwarg or arguments.defaults or arguments.kwonlyargs:
            raise source.refused(source.tree, "operands of a kernel are arguments without defaults")
        self.parameters = [argument.arg for argument in arguments.args]
        types, sizes = set(), set()
        for argument in arguments.args:
            declared = annotations.get(argument.arg)
            if isinstance(declared, Type):
                declared = declared[""]
            if isinstance(declared, Declared):
                start = len(self._writer.text)
                self._writer.put(declared.text(argument.arg))
                self._writer.made_of(source, argument, start)
                self._writer.put("\n")
                types.add(declared.type)
                sizes |= set(declared.sizes or ())
            elif declared is not None:
                raise source.refused(argument, "the type of an operand expected", 'write `A: fl.f64["I J", "csr"]`')
        self._open = [name for name in self.parameters if name not in annotations]
        reader = Statements(source, _names(python), self._writer)
        # What is a tensor or a size here is none of the numbers that have its name elsewhere.
        ours = {*self.parameters, *sizes}
        reader.names = {name: value for name, value in reader.names.items() if name not in ours}
        reader.body(source.tree.body)
        self._used = reader.used
        _with_functions(self._writer, self._used, types.pop() if len(types) == 1 else "f64")
        self.returned = reader.returned
        self._kernels: dict = {}
        if not self._open:
            self._kernel({})

    @property
    def text(self) -> str:
        """The program."""
        return self._writer.text

    def specialized(self, *operands, **named) -> Kernel:
        """The kernel for operands like these.

        Parameters
        ----------
        operands, named
            As of a call; where all are declared, none need be given.

        Returns
        -------
        Kernel
            Kept for operands like these.
        """
        return self._kernel(self._named(operands, named))

    def redrawn(self, error: Error) -> Error:
        """An error of the program, drawn into the Python file.

        Parameters
        ----------
        error
            What a call of the kernel raised.

        Returns
        -------
        Error
            Of the same class.
        """
        return self._writer.redrawn(error)

    def _named(self, operands: tuple, named: dict) -> dict:
        if len(operands) > len(self.parameters):
            raise Error(f"`{self.__name__}` takes {len(self.parameters)} operands, and {len(operands)} are given")
        twice = [name for name in self.parameters[: len(operands)] if name in named]
        if twice:
            raise Error(f"`{twice[0]}` is given twice")
        return {**dict(zip(self.parameters, operands, strict=False)), **named}

    def _kernel(self, named: dict) -> Kernel:
        like = known({name: named[name] for name in self._open if name in named})
        key = repr(like)
        kernel = self._kernels.get(key)
        if kernel is None:
            try:
                kernel = _native.compile(self.text, like, list((self._out or {}).items()), options=self._options)
            except Error as e:
                raise self.redrawn(e) from None
            self._kernels[key] = kernel
        return kernel

    def __call__(self, *operands, out: dict | None = None, **named):
        named = self._named(operands, named)
        for name in self._open:
            if name in named:
                named[name] = _convert.tensor(named[name], name)
        try:
            results = self._kernel(named)(out=out, **named)
        except Error as e:
            raise self.redrawn(e) from None
        if self.returned:
            results = {name: results[name] for name in self.returned}
            return next(iter(results.values())) if len(results) == 1 else tuple(results.values())
        return next(iter(results.values())) if len(results) == 1 else results

    def __getattr__(self, name):
        # Whatever a kernel does, of the one that is compiled where all operands are declared.
        if name.startswith("_") or self._open:
            raise AttributeError(name)
        return getattr(self._kernel({}), name)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<fiberloom kernel {self.__name__}({', '.join(self.parameters)})>"


def kernel(python=None, /, *, out: dict | None = None, options: dict | None = None, device: str | None = None):
    """A kernel from a Python function: its syntax tree becomes a program (the table in `fiberloom._syntax`).

    Parameters
    ----------
    python
        The function. Operands that are annotated (``A: fl.f64["I J", "csr"]``) are declared, and the kernel is compiled where
        it stands; others are what the data of a call are.
    out, options, device
        As of `compile`.

    Returns
    -------
    KernelFunction
        A call gives its result: what is returned by name, or the only one, or all by name.

    Raises
    ------
    ProgramError
        With what is wrong, drawn at its line of Python.

    Examples
    --------
    >>> @fl.kernel
    ... def spmv(A: fl.f64["I J", "csr"], x: fl.f64["J"]):
    ...     y[i] = A[i, j] * x[j]
    """
    if python is None:
        return functools.partial(kernel, out=out, options=options, device=device)
    return KernelFunction(python, out, _einsum.placed(options, device))
