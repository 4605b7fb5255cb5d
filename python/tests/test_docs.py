"""The examples in docstrings, and that stubs say what is there."""

import ast
import doctest
import importlib
import inspect
import pathlib
import re
import runpy

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom._lazy import Lazy
from fiberloom._syntax import KernelFunction

MODULES = ["", "._arrays", "._einsum", "._gradients", "._kernel", "._lazy", "._shards", "._syntax", "._tables", "._tensor", ".array"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"fiberloom{name}")
    failed, tried = doctest.testmod(module, extraglobs={"np": np, "sp": sp, "fl": fl})
    assert failed == 0
    assert tried > 0 or name == "._tensor"


def test_the_stub_of_the_extension_module_says_what_is_there():
    folder = pathlib.Path(fl.__file__).parent
    assert (folder / "py.typed").exists()
    tree = ast.parse((folder / "_native.pyi").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(fl._native, node.name)), node.name
        if isinstance(node, ast.ClassDef):
            if node.name == "_Array":
                continue  # What others are derived from, in stubs alone.
            kind, said = getattr(fl._native, node.name), members(node, tree)
            assert said >= public(kind), f"{node.name}: not in the stub: {public(kind) - said}"
            assert all(hasattr(kind, name) for name in said), node.name


def members(node: ast.ClassDef, *trees: ast.Module) -> set[str]:
    """The members of a class in a stub, and of those that it is derived from."""
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    others = [n for tree in trees for n in tree.body if isinstance(n, ast.ClassDef) and n.name in bases]
    of = [member for n in (node, *others) for member in n.body]
    return {m.name for m in of if isinstance(m, ast.FunctionDef)} | {
        m.target.id for m in of if isinstance(m, ast.AnnAssign) and isinstance(m.target, ast.Name)
    }


def public(kind: type) -> set[str]:
    """The members of a class that have no underscore before."""
    return {name for name in vars(kind) if not name.startswith("_")}


#: Members of expressions that are for who writes functions of them.
WITHIN = {"background", "called", "write", "zero"}


def test_stubs_of_modules_say_what_is_there():
    folder = pathlib.Path(fl.__file__).parent
    native = ast.parse((folder / "_native.pyi").read_text("utf-8"))
    for name in ("_einsum", "_gradients", "_lazy", "_shards", "_syntax", "_types"):
        module, tree = importlib.import_module(f"fiberloom.{name}"), ast.parse((folder / f"{name}.pyi").read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert hasattr(module, node.name), node.name
            if isinstance(node, ast.ClassDef) and node.name in ("Gradient", "Lazy", "LazyGradient", "Shards"):
                missing = public(getattr(module, node.name)) - WITHIN - members(node, tree, native)
                assert not missing, f"{node.name}: not in the stub: {missing}"


def test_every_public_name_is_in_the_stub():
    stub = pathlib.Path(fl.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    for name in fl.__all__:
        assert f" as {name}\n" in stub
        assert getattr(fl, name) is not None


def test_classes_say_their_attributes():
    for kind in (fl.Tensor, fl.Kernel, fl.Table, fl.Shards):
        said = re.search(r"Attributes\n *-+\n(.*)", kind.__doc__, re.DOTALL).group(1)
        for name in re.findall(r"^    ((?:\w+, )*\w+) : ", said, re.MULTILINE):
            for attribute in name.split(", "):
                assert hasattr(kind, attribute) or kind is fl.Shards, attribute


def documented():
    """Functions of the package, and methods of what they give."""
    yield from (getattr(fl, name) for name in fl.__all__ if inspect.isfunction(getattr(fl, name)))
    yield from (getattr(fl.array, name) for name in fl.array.__all__ if inspect.isfunction(getattr(fl.array, name)))
    for owner in (fl.Tensor, fl.Kernel, fl.Shards, fl.Table, fl.Gradient, fl.LazyGradient, Lazy, KernelFunction):
        for name in public(owner) - WITHIN:
            member = vars(owner)[name]
            member = member.__func__ if isinstance(member, staticmethod) else member
            if inspect.isfunction(member):
                yield member


@pytest.mark.parametrize("function", sorted(documented(), key=lambda f: f.__qualname__), ids=lambda f: f.__qualname__)
def test_docstrings_have_numpys_sections(function):
    takes = [name for name in inspect.signature(function).parameters if name != "self"]
    sections = re.findall(r"^ *(\w+)\n *---+$", function.__doc__, re.MULTILINE)
    assert ("Parameters" in sections) == bool(takes) and "Returns" in sections
    parameters = re.search(r"Parameters\n *-+\n(.*?)(?:\n\n *\w+\n *---|\Z)", function.__doc__, re.DOTALL)
    for name in takes:
        assert re.search(rf"^ *(\w+, )*{name}(, \w+)*$", parameters.group(1), re.MULTILINE), f"`{name}` is not described"


def test_the_stub_of_the_namespace_says_what_is_there():
    stub = pathlib.Path(fl.__file__).parent / "array" / "__init__.pyi"
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    said = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    said |= {n.target.id: n for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert set(said) == set(fl.array.__all__)
    for name, node in said.items():
        if isinstance(node, ast.FunctionDef):
            taken = inspect.signature(getattr(fl.array, name)).parameters
            stubs = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert [p for p in taken if taken[p].kind != taken[p].VAR_POSITIONAL] == [a.arg for a in stubs], name


@pytest.mark.parametrize("page", ["../README.md", "../../README.md"])
def test_examples_of_the_pages_run(page, tmp_path, capsys):
    text = (pathlib.Path(__file__).parent / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        # In a file: `kernel` reads its function's source.
        (tmp_path / "example.py").write_text(block, encoding="utf-8")
        runpy.run_path(str(tmp_path / "example.py"))
    assert "for p_A in" in capsys.readouterr().out


def listings(page: str) -> list[tuple[str, str | None]]:
    """Each Python block of a page, and the text block that stands directly below it, if one does."""
    text = (pathlib.Path(__file__).parent / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text, re.MULTILINE | re.DOTALL)
    return [(code, printed or None) for code, printed in found]


def test_the_tutorial_prints_what_stands_in_it(tmp_path, capsys):
    blocks = listings("../../docs/tutorial.md")
    # One program, in a file: `kernel` and `function` read their source.
    marked = "".join(f"{code}print('#' * 20)\n" for code, _ in blocks)
    (tmp_path / "tutorial.py").write_text(marked, encoding="utf-8")
    runpy.run_path(str(tmp_path / "tutorial.py"))
    printed = capsys.readouterr().out.split("#" * 20 + "\n")
    assert printed.pop() == "" and len(printed) == len(blocks)
    for (code, expected), actual in zip(blocks, printed, strict=True):
        without_blanks = lambda text: [line.rstrip() for line in text.rstrip().splitlines()]  # noqa: E731
        assert without_blanks(actual) == without_blanks(expected or ""), code
