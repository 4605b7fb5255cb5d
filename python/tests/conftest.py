"""What tests share: random matrices, each drawn from a seed of its own."""

import collections
import os

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture
def matrix():
    """Draws a csr matrix of this shape; values are small whole numbers, so that every sum is exact."""

    def draw(shape, density=0.2, seed=0, dtype=np.float64, index=np.int32):
        random = np.random.default_rng(seed)
        dense = random.integers(1, 9, shape) * (random.random(shape) < density)
        made = sp.csr_array(dense.astype(dtype))
        made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
        return made

    return draw


#: Of a test with many cases one of so many is run, unless `FIBERLOOM_TESTS=long` or `FIBERLOOM_CASES=all`.
PART = 3

#: The least number of cases that are many.
MANY = 9


def pytest_collection_modifyitems(config, items):
    """Leaves out cases of tests that have many, where not everything is tried."""
    asked = os.environ.get("FIBERLOOM_TESTS") == "long" or os.environ.get("FIBERLOOM_CASES") == "all"
    if asked or config.option.keyword or any("::" in name for name in config.args):
        return
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    out = [item for of in cases.values() if len(of) >= MANY for n, item in enumerate(of) if n % PART]
    if out:
        config.hook.pytest_deselected(items=out)
        left = {id(item) for item in out}
        items[:] = [item for item in items if id(item) not in left]
