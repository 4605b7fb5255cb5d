"""What tests share: random matrices, each drawn from a seed of its own."""

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
