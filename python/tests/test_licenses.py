"""The licences of what a wheel holds: ours, those of libraries, and those of crates."""

import importlib.metadata
import pathlib
import runpy
import tomllib

import pytest

PYTHON = pathlib.Path(__file__).parent.parent
FOLDER = PYTHON / "licenses"


def listed() -> list[pathlib.Path]:
    """The files that are listed for the wheel."""
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text("utf-8"))["project"]
    return sorted(file for pattern in project["license-files"] for file in PYTHON.glob(pattern))


def test_files_are_listed_and_say_what_they_are_for():
    names = {file.name for file in listed()}
    assert names == {"LICENSE-APACHE", "LICENSE-MIT", "crates.txt", "libffi.txt", "llvm.txt", "zlib.txt", "zstandard.txt"}
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert (FOLDER / name).read_bytes() == (PYTHON.parent / name).read_bytes()
    llvm = (FOLDER / "llvm.txt").read_text("utf-8")
    assert "LLVM Exceptions to the Apache 2.0 License" in llvm and "END OF TERMS AND CONDITIONS" in llvm
    for name, words in (("libffi", "without limitation"), ("zlib", "as-is"), ("zstandard", "Redistribution")):
        assert words in (FOLDER / f"{name}.txt").read_text("utf-8")


def test_every_crate_that_is_locked_has_its_licence():
    text = (FOLDER / "crates.txt").read_text("utf-8")
    needed = runpy.run_path(str(FOLDER / "collect.py"))["needed"]()
    missing = [f"{name} {version}" for name, version in needed if f"{name} {version}, " not in text]
    assert not missing, f"write them: python python/licenses/collect.py: {missing}"
    assert len(needed) > 100 and text.count("WITHOUT WARRANTY OF ANY KIND") > 20


def test_an_installed_wheel_has_them():
    try:
        wheel = importlib.metadata.distribution("fiberloom")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed from a wheel")
    held = {pathlib.Path(str(file)).name for file in wheel.files or () if ".dist-info/licenses/" in str(file)}
    assert held == {file.name for file in listed()}
    assert wheel.metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert "Typing :: Typed" in wheel.metadata.get_all("Classifier")
    assert {"fiberloom/py.typed", "fiberloom/_native.pyi", "fiberloom/array/__init__.pyi"} <= set(map(str, wheel.files or ()))
