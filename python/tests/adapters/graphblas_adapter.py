"""A pytest plugin that puts kernels of ours under python-graphblas.

`pytest -p graphblas_adapter --pyargs graphblas.tests.test_matrix` runs the library's own tests so. The library is touched when
tests are collected, not before: its own plugin initializes it.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest
from ledger import Ledger, Plugin, options

LEDGER = Ledger()


def pytest_addoption(parser):
    options(parser)
    # The library's tests draw these by lot where nobody says them.
    group = parser.getgroup("graphblas")
    for name, value in {"backend": "suitesparse", "blocking": True, "record": False, "mapnumpy": False}.items():
        group.addoption(f"--{name}", default=value)
    for name in ("runslow", "randomly"):
        group.addoption(f"--{name}", default=False)


def pytest_configure(config):
    config.pluginmanager.register(Plugin(LEDGER, config), "fiberloom-pins")


@numba.njit
def _seed(seed):
    """Seeds the generator of compiled code, by which the library chooses entries; it is not NumPy's own."""
    np.random.seed(seed)


@pytest.fixture(autouse=True)
def _drawn_alike():
    """Lets each test draw the same in each run: some repeat a choice until each was seen, and calls are counted."""
    _seed(0)


def pytest_collection_finish():
    from graphblas_kernels import install

    install()
