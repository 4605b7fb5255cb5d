"""Stubs, and lines of users over them, as mypy sees them."""

import os
import pathlib
import runpy
import subprocess
import sys
import sysconfig

import pytest

import fiberloom as fl

pytest.importorskip("mypy")

PACKAGE = pathlib.Path(fl.__file__).parent
TYPED = pathlib.Path(__file__).with_name("typed.py")


def test_stubs_and_lines_over_them_are_clean(tmp_path):
    environment = dict(os.environ)
    if not PACKAGE.is_relative_to(sysconfig.get_path("purelib")):
        environment["MYPYPATH"] = str(PACKAGE.parent)
    stubs = sorted(PACKAGE.glob("**/*.pyi"))
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), "--no-error-summary"]
    command = [sys.executable, "-P", "-m", "mypy", *options, *map(str, stubs), str(TYPED)]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(stubs) >= 8


def test_types_that_are_said_are_those_that_are_there():
    runpy.run_path(str(TYPED))["main"]()
