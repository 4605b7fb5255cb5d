"""Python's syntax trees written in the language, with the place in Python of each piece.

::

    Source   where a function stands       _Reader        expressions, and the accesses in them
    Writer   text, and what it was made of   ├ Statements  of a kernel
                                             └ Body        of a function

`fiberloom._syntax` says what is written as what.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap

from . import _native
from ._types import Declared, Type, literal
from .errors import Error, ProgramError, Span

__all__ = ["Body", "Source", "Statements", "Writer"]

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_CALLED = {ast.FloorDiv: "floordiv", ast.Mod: "floormod", ast.Pow: "pow"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_FOLDED = {ast.Add: "+=", ast.Mult: "prod="}
_COMPOUND = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp)


class Source:
    """Where a function stands: its tree, and how places in it are places in its file."""

    def __init__(self, function):
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as e:
            raise ProgramError(f"the source of `{function.__name__}` is not to be had: {e}") from None
        text = "".join(lines)
        self.indent = len(text) - len(text.lstrip(" \t"))
        self.first = max(first, 1)
        self.file = inspect.getsourcefile(function) or "program"
        self.lines = linecache.getlines(self.file) or ["\n"] * (self.first - 1) + lines
        self.tree = ast.parse(textwrap.dedent(text)).body[0]

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node, in characters of the file."""
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, byte: int) -> int:
        number = self.first + line - 2
        text = self.lines[number] if number < len(self.lines) else ""
        column = len(text.encode()[: byte + self.indent].decode(errors="replace"))
        return sum(map(len, self.lines[:number])) + column

    def error(self, kind, messages: list[tuple]) -> Error:
        """An exception drawn into the file: of each message start, end, message, help, labels."""
        text = "".join(self.lines)
        error = kind(_native.drawn(self.file, text, messages))
        error.spans = tuple(_span(text, *message) for message in messages)
        return error

    def refused(self, node: ast.AST, message: str, help: str | None = None) -> Error:
        return self.error(ProgramError, [(*self.place(node), message, help, [])])


def _span(text: str, start: int, end: int, message: str, help: str | None, labels) -> Span:
    line = text.count("\n", 0, start) + 1
    return Span(start, end, line, start - text.rfind("\n", 0, start), message, help, tuple(labels))


class Writer:
    """Text, and which node each piece of it was made of."""

    def __init__(self):
        self.text, self.pieces = "", []

    def put(self, text: str) -> None:
        self.text += text

    def made_of(self, source: Source, node: ast.AST, start: int) -> None:
        self.pieces.append((start, len(self.text), source, node))

    def node(self, start: int, end: int):
        """The smallest piece that covers a place, else the one that begins last before it."""
        covering = [p for p in self.pieces if p[0] <= start and end <= p[1]]
        if covering:
            return min(covering, key=lambda p: p[1] - p[0])
        before = [p for p in self.pieces if p[0] <= start]
        return max(before, key=lambda p: p[0]) if before else self.pieces[0] if self.pieces else None

    def redrawn(self, error: Error) -> Error:
        """An error of the text, drawn where its places come from."""
        if not error.spans or not self.pieces:
            return error
        # Messages about another function than the first's stand in another text: the first is what to change.
        source, messages = self.node(error.spans[0].start, error.spans[0].end)[2], []
        for span in error.spans:
            _, _, of, node = self.node(span.start, span.end)
            if of is source:
                others = [(self.node(start, end), text) for start, end, text in span.labels]
                labels = [(*source.place(piece[3]), text) for piece, text in others if piece[2] is source]
                messages.append((*source.place(node), span.message, span.help, labels))
        return source.error(type(error), messages)


class _Reader:
    """Writes the language for the nodes of one function."""

    def __init__(self, source: Source, names: dict, writer: Writer):
        self.source, self.names, self.writer = source, names, writer
        self.indices = _indices(source.tree)
        self.locals: set[str] = set()
        self.used: dict = {}

    def refused(self, node, message, help=None):
        return self.source.refused(node, message, help)

    def put(self, text: str) -> None:
        self.writer.put(text)

    def expr(self, node: ast.expr, *, index: bool = False) -> None:
        """An expression; within an index `/` and `%` round down."""
        start = len(self.writer.text)
        write = getattr(self, f"_{type(node).__name__}", None)
        if write is None:
            raise self.refused(node, f"`{ast.unparse(node)}` is nothing that the language has")
        write(node, index)
        self.writer.made_of(self.source, node, start)

    def operand(self, node: ast.expr, index: bool = False) -> None:
        if isinstance(node, _COMPOUND):
            self.put("(")
            self.expr(node, index=index)
            self.put(")")
        else:
            self.expr(node, index=index)

    def _Constant(self, node, index):
        if not isinstance(node.value, (bool, int, float)):
            raise self.refused(node, f"`{node.value!r}` is no number")
        self.put(literal(node.value))

    def _Name(self, node, index):
        name = node.id
        if name not in self.indices and name not in self.locals and name in self.names:
            value = self.names[name]
            if isinstance(value, (bool, int, float)):
                self.put(literal(value))
                return
        self.put(name)

    def _BinOp(self, node, index):
        called = _CALLED.get(type(node.op))
        if index and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            called = None
            symbol = "/" if isinstance(node.op, ast.FloorDiv) else "%"
        else:
            symbol = _BINARY.get(type(node.op))
        if called:
            self.call(called, [node.left, node.right])
        elif symbol:
            self.operand(node.left, index)
            self.put(f" {symbol} ")
            self.operand(node.right, index)
        else:
            raise self.refused(node, "`@` is no operator of the language", "write the sum: `sum(A[i, k] * B[k, j] for k in ...)`")

    def _UnaryOp(self, node, index):
        if isinstance(node.op, ast.UAdd):
            self.operand(node.operand, index)
            return
        symbol = "-" if isinstance(node.op, ast.USub) else "~" if index else "!"
        self.put(symbol)
        self.operand(node.operand, index)

    def _BoolOp(self, node, index):
        for n, value in enumerate(node.values):
            self.put("" if n == 0 else " && " if isinstance(node.op, ast.And) else " || ")
            self.operand(value)

    def _Compare(self, node, index):
        terms = [node.left, *node.comparators]
        for n, op in enumerate(node.ops):
            symbol = _COMPARED.get(type(op))
            if symbol is None:
                raise self.refused(node, f"`{ast.unparse(node)}`: the language compares by < <= > >= == !=")
            self.put(" && (" if n else "(" if len(node.ops) > 1 else "")
            self.operand(terms[n])
            self.put(f" {symbol} ")
            self.operand(terms[n + 1])
            self.put(")" if len(node.ops) > 1 else "")

    def _IfExp(self, node, index):
        for word, part in (("if ", node.test), (" then ", node.body), (" else ", node.orelse)):
            self.put(word)
            self.operand(part)

    def _Subscript(self, node, index):
        if index and isinstance(node.slice, ast.Slice):
            self.expr(node.value, index=True)
            self.put("(")
            for n, part in enumerate([node.slice.lower, node.slice.upper, node.slice.step]):
                self.put(":" if n == 1 or (n == 2 and part) else "")
                if part:
                    self.expr(part, index=True)
            self.put(")")
            return
        self.access(node)

    def access(self, node: ast.Subscript) -> None:
        if not isinstance(node.value, ast.Name):
            raise self.refused(node.value, "the name of a tensor expected before `[`")
        start = len(self.writer.text)
        self.put(node.value.id + "[")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for n, part in enumerate(parts):
            self.put(", " if n else "")
            self.expr(part, index=True)
        self.put("]")
        self.writer.made_of(self.source, node, start)

    def _Call(self, node, index):
        if node.keywords:
            raise self.refused(node, "arguments of functions have no names here")
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        if name is None:
            raise self.refused(node.func, "the name of a function expected")
        if name == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            self.put(literal(float(node.args[0].value)))
            return
        name = self.function(name) if isinstance(node.func, ast.Name) else name
        if node.args and isinstance(node.args[0], ast.GeneratorExp):
            self.fold(name, node)
        else:
            self.call(name, node.args)

    def function(self, name: str) -> str:
        """The language's name of a function, which is used from now on if it is the user's."""
        used = self.names.get(name)
        if not hasattr(used, "is_of_the_language"):
            return name
        self.used[used.name] = used
        return used.name

    def call(self, name: str, arguments: list) -> None:
        self.put(f"{name}(")
        for n, argument in enumerate(arguments):
            self.put(", " if n else "")
            ty = self.names.get(argument.id) if isinstance(argument, ast.Name) else None
            ty = getattr(argument, "attr", None) and self.typed(argument) or ty
            if isinstance(ty, Type):
                self.put(ty.name)
            else:
                self.expr(argument)
        self.put(")")

    def typed(self, node: ast.Attribute):
        module = self.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return getattr(module, node.attr, None)

    def fold(self, name: str, node: ast.Call) -> None:
        generator, *start = node.args
        over = []
        for clause in generator.generators:
            is_plain = isinstance(clause.target, ast.Name) and not clause.ifs and not clause.is_async
            if not is_plain or not (isinstance(clause.iter, ast.Constant) and clause.iter.value is ...):
                raise self.refused(
                    clause.iter, "an index runs over all of its extent, which what it indexes says", "write `for j in ...`"
                )
            over.append(clause.target.id)
        self.put(f"{name}({', '.join(over)}: ")
        self.expr(generator.elt)
        if start:
            self.put(" start ")
            self.expr(start[0])
        self.put(")")


def _indices(tree: ast.AST) -> set[str]:
    """Names that stand in an index, or that a generator runs over."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            bounds = {id(n) for s in ast.walk(node.slice) if isinstance(s, ast.Slice) for n in ast.walk(s)}
            accesses = [s for s in ast.walk(node.slice) if isinstance(s, ast.Subscript) and not isinstance(s.slice, ast.Slice)]
            tensors = {id(access.value) for access in accesses}
            found |= {n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name) and id(n) not in bounds | tensors}
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class Statements(_Reader):
    """The statements of a kernel."""

    def __init__(self, source, names, writer):
        super().__init__(source, names, writer)
        self.returned: list[str] | None = None

    def body(self, statements: list, indent: str = "") -> None:
        for statement in statements:
            if _is_text(statement) or isinstance(statement, ast.Pass):
                continue
            start = len(self.writer.text)
            write = getattr(self, f"s_{type(statement).__name__}", None)
            if write is None:
                raise self.refused(statement, f"`{type(statement).__name__.lower()}` is no statement of a kernel")
            self.put(indent)
            write(statement, indent)
            self.writer.made_of(self.source, statement, start)
            self.put("\n")

    def target(self, node):
        if not isinstance(node, ast.Subscript):
            raise self.refused(node, "an assignment is to an access: `y[i] = …`, of a scalar `s[()] = …`")
        self.access(node)

    def s_Assign(self, node, indent):
        if len(node.targets) != 1:
            raise self.refused(node, "one tensor is assigned at a time")
        self.target(node.targets[0])
        self.put(" = ")
        self.expr(node.value)

    def s_AugAssign(self, node, indent):
        symbol = _FOLDED.get(type(node.op))
        if symbol is None:
            raise self.refused(node, "`+=` and `*=` accumulate; other functions stand behind a colon", "write `y[i]: max = …`")
        self.target(node.target)
        self.put(f" {symbol} ")
        self.expr(node.value)

    def s_AnnAssign(self, node, indent):
        if node.value is None:
            declared = eval(compile(ast.Expression(node.annotation), self.source.file, "eval"), self.names)
            if not isinstance(declared, Declared) or not isinstance(node.target, ast.Name):
                raise self.refused(node, "a declaration of a tensor expected", 'write `y: fl.f64["I"]`')
            self.put(declared.text(node.target.id))
            return
        self.target(node.target)
        if not isinstance(node.annotation, ast.Name):
            raise self.refused(node.annotation, "the name of a function expected, which accumulates")
        self.put(f" {self.function(node.annotation.id)}= ")
        self.expr(node.value)

    def s_Expr(self, node, indent):
        call = node.value
        name = getattr(getattr(call, "func", None), "id", getattr(getattr(call, "func", None), "attr", None))
        if name != "schedule" or not all(isinstance(a, ast.Constant) for a in call.args):
            raise self.refused(node, "an expression alone does nothing")
        self.put(f"schedule {{ {' '.join(a.value.rstrip(';') + ';' for a in call.args)} }}")

    def s_For(self, node, indent):
        of = node.iter
        is_range = isinstance(of, ast.Call) and getattr(of.func, "id", "") == "range" and len(of.args) == 1
        if not is_range or node.orelse:
            raise self.refused(of, "a block is repeated: `for _ in range(20):`; an index needs no loop")
        self.put("repeat ")
        self.expr(of.args[0])
        self.block(node.body, indent)

    def s_While(self, node, indent):
        if node.orelse:
            raise self.refused(node, "`else` is none of a kernel's words")
        self.put("while ")
        self.expr(node.test)
        self.block(node.body, indent)

    def block(self, body, indent):
        self.put(" {\n")
        self.body(body, indent + "  ")
        self.put(indent + "}")

    def s_Return(self, node, indent):
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if indent or not all(isinstance(part, ast.Name) for part in parts):
            raise self.refused(node, "names of results expected, at the end of the kernel")
        self.returned = [part.id for part in parts]


class Body(_Reader):
    """The body of a function of the language."""

    def body(self, statements: list, indent: str) -> None:
        count = len(statements) - _tail(statements)
        self.statements(statements[:count], indent)
        self.put(indent)
        self.result(statements[count:])
        self.put("\n")

    def statements(self, statements, indent):
        for node in statements:
            if _is_text(node) or isinstance(node, ast.Pass):
                continue
            start = len(self.writer.text)
            self.put(indent)
            self.statement(node, indent)
            self.writer.made_of(self.source, node, start)
            self.put("\n")

    def statement(self, node, indent):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            self.put(f"{name} = " if name in self.locals else f"let {name} = ")
            self.expr(node.value)
            self.locals.add(name)
            self.put(";")
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.put(f"{node.target.id} = ")
            self.expr(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node))
            self.put(";")
        elif isinstance(node, (ast.While, ast.If)) and not (isinstance(node, ast.While) and node.orelse):
            self.put("while " if isinstance(node, ast.While) else "if ")
            self.expr(node.test)
            self.braced(node.body, indent)
            if node.orelse:
                self.put(" else")
                self.braced(node.orelse, indent)
        else:
            help = "a function assigns names, has `if` and `while`, and returns at its end"
            raise self.refused(node, f"`{ast.unparse(node).splitlines()[0]}` is no statement of a function", help)

    def braced(self, body, indent):
        known = set(self.locals)
        self.put(" {\n")
        self.statements(body, indent + "  ")
        self.put(indent + "}")
        self.locals = known

    def result(self, tail):
        """What the last statements return: a value, or one of two."""
        node = tail[0]
        if isinstance(node, ast.Return) and node.value is not None:
            self.expr(node.value)
            return
        if not isinstance(node, ast.If):
            raise self.refused(node, "a function ends with `return`")
        rest = node.orelse or tail[1:]
        if len(node.body) != 1 or not rest:
            raise self.refused(node, "a branch that returns has nothing else")
        self.put("if ")
        self.operand(node.test)
        self.put(" then (")
        self.result(node.body)
        self.put(") else (")
        self.result(rest)
        self.put(")")


def _tail(statements: list) -> int:
    """How many statements at the end only say what is returned."""
    n = 1
    while n < len(statements) and isinstance(statements[-n - 1], ast.If) and _returns(statements[-n - 1]):
        n += 1
    return n


def _returns(node: ast.If) -> bool:
    return len(node.body) == 1 and not node.orelse and _is_result(node.body[0])


def _is_result(node: ast.stmt) -> bool:
    """Whether a statement says what is returned, whichever way it goes."""
    if isinstance(node, ast.If):
        return all(len(branch) == 1 and _is_result(branch[0]) for branch in (node.body, node.orelse))
    return isinstance(node, ast.Return)
