"""The list of mistakes on purpose stays true: each original stands in its file once, and each mistake is Python."""

import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def mutants():
    specified = importlib.util.spec_from_file_location("fiberloom_mutants", HERE / "mutants.py")
    sys.modules[specified.name] = module = importlib.util.module_from_spec(specified)
    specified.loader.exec_module(module)
    yield module
    del sys.modules[specified.name]


def test_originals_stand_once_and_mistakes_are_python(mutants):
    mistakes = mutants.read()
    texts = {path: path.read_text(encoding="utf-8") for path in mutants.PACKAGE.glob("**/*.py")}
    for mistake in mistakes:
        mistake.made(texts[mutants.PACKAGE / mistake.file])
    assert len({(mistake.file, mistake.name) for mistake in mistakes}) == len(mistakes) > 250


def test_files_have_mistakes_as_they_have_lines(mutants):
    """At least one for each 100 lines of a file, documentation among them."""
    mistakes = mutants.read()
    for path in mutants.PACKAGE.glob("**/*.py"):
        lines = path.read_text(encoding="utf-8").count("\n")
        own = sum(mistake.file == str(path.relative_to(mutants.PACKAGE)) for mistake in mistakes)
        assert own >= lines // 100, f"{path.name}: {own} mistakes in {lines} lines"


def test_tests_that_are_named_are_there(mutants):
    for mistake in mutants.read():
        if mistake.test:
            file, name = mistake.test
            assert name.partition("[")[0] in (HERE / file).read_text(encoding="utf-8"), mistake.name


@pytest.mark.parametrize(
    "original, message",
    [("return x", "stands there 2 times"), ("return z", "stands there 0 times"), ("if x:", None)],
)
def test_an_original_that_does_not_stand_once_is_refused(mutants, original, message):
    text = "def f(x):\n    if x:\n        return x\n    return x\n"
    mistake = mutants.Mistake("m", "f.py", original=original, mistaken="if not x:")
    if message is None:
        assert "if not x:" in mistake.made(text)
    else:
        with pytest.raises(ValueError, match=message):
            mistake.made(text)
