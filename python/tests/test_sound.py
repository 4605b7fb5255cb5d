"""SciPy's matrices with damaged arrays: each is read right or refused, and none ends the process."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl

TRIES = 3000 if os.environ.get("FIBERLOOM_TESTS") == "long" else 300


def drawn(rng, format):
    """A matrix of such a format, of a few rows."""
    shape = (int(rng.integers(1, 5)) * 2, int(rng.integers(1, 5)) * 2)
    dense = rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)
    matrix = sp.coo_array(dense.astype(np.float64))
    if format == "bsr":
        return sp.bsr_array(matrix, blocksize=(2, 2))
    return matrix.asformat(format)


def number(rng, near):
    """A number that should not be there, or should."""
    far = [-1, -2, 0, 1, near, near + 1, 1 << 20, (1 << 31) - 1, -(1 << 31)]
    return far[rng.integers(len(far))]


def damage(rng, matrix):
    """Changes something in a matrix's arrays, behind the back of its class."""
    if matrix.format == "lil":
        i = rng.integers(matrix.shape[0])
        own, values = list(matrix.rows[i]), list(matrix.data[i])
        what = rng.integers(3)
        if what == 0 and own:
            own[rng.integers(len(own))] = number(rng, matrix.shape[1])
        elif what == 1:
            own.append(number(rng, matrix.shape[1]))
        else:
            own, values = own + own, values + values
        matrix.rows[i], matrix.data[i] = own, values
        return
    if matrix.format == "dok":
        matrix._dict[(number(rng, matrix.shape[0]), number(rng, matrix.shape[1]))] = 1.0
        return
    if rng.random() < 0.2:
        # Fewer values than positions and coordinates say.
        matrix.data = matrix.data[: rng.integers(len(matrix.data) + 1)]
        return
    names = {"coo": ["row", "col"], "dia": ["offsets"]}.get(matrix.format, ["indptr", "indices"])
    name = names[rng.integers(len(names))]
    array = (matrix.coords[names.index(name)] if matrix.format == "coo" else getattr(matrix, name)).copy()
    what = rng.integers(4)
    if what < 2 and len(array):
        array[rng.integers(len(array))] = number(rng, max(matrix.shape))
    elif what == 2:
        array = array[: rng.integers(len(array) + 1)]
    else:
        rng.shuffle(array)
    if matrix.format == "coo":
        coords = list(matrix.coords)
        coords[names.index(name)] = array
        matrix.coords = tuple(coords)
    else:
        setattr(matrix, name, array)
    if matrix.format in ("csr", "csc", "bsr") and rng.random() < 0.5:
        matrix.has_sorted_indices = matrix.has_canonical_format = True
    if matrix.format == "coo" and rng.random() < 0.5:
        matrix.has_canonical_format = True


def meant(matrix):
    """The values of a matrix by its arrays, read one by one; an exception if they are none of a matrix."""
    values = np.zeros(matrix.shape)
    rows, columns = matrix.shape

    def put(i, j, x):
        if not (0 <= i < rows and 0 <= j < columns):
            raise IndexError
        values[i, j] += x

    if matrix.format in ("csr", "csc", "bsr"):
        b = matrix.data.shape[1:] if matrix.format == "bsr" else (1, 1)
        fibers = (columns if matrix.format == "csc" else rows) // b[0]
        pos, crd = [int(p) for p in matrix.indptr], [int(c) for c in matrix.indices]
        if len(pos) != fibers + 1 or pos[0] != 0 or any(p > q for p, q in zip(pos, pos[1:])):
            raise IndexError
        if pos[-1] > min(len(crd), len(matrix.data)):
            raise IndexError
        for i in range(fibers):
            for p in range(pos[i], pos[i + 1]):
                if matrix.format == "bsr":
                    for r in range(b[0]):
                        for c in range(b[1]):
                            put(i * b[0] + r, crd[p] * b[1] + c, matrix.data[p, r, c])
                else:
                    put(*((i, crd[p]) if matrix.format == "csr" else (crd[p], i)), matrix.data[p])
    elif matrix.format == "coo":
        if any(len(c) != len(matrix.data) for c in matrix.coords):
            raise IndexError
        for i, j, x in zip(*matrix.coords, matrix.data):
            put(int(i), int(j), x)
    elif matrix.format == "lil":
        for i in range(rows):
            if len(matrix.rows[i]) != len(matrix.data[i]) or any(p >= q for p, q in zip(matrix.rows[i], matrix.rows[i][1:])):
                raise IndexError
            for j, x in zip(matrix.rows[i], matrix.data[i]):
                put(i, j, x)
    elif matrix.format == "dok":
        for (i, j), x in matrix.items():
            put(i, j, x)
    else:
        if len(matrix.data) != len(matrix.offsets) or len(set(matrix.offsets)) != len(matrix.offsets):
            raise IndexError
        for offset, own in zip(matrix.offsets, matrix.data):
            for j, x in enumerate(own):
                if 0 <= j - int(offset) < rows and j < columns:
                    values[j - int(offset), j] += x
    return values


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_damaged_matrices_are_read_right_or_refused(format):
    rng = np.random.default_rng(7)
    read = refused = 0
    for n in range(TRIES):
        matrix = drawn(rng, format)
        damage(rng, matrix)
        try:
            want = meant(matrix)
        except IndexError:
            want = None
        x = np.arange(1.0, matrix.shape[1] + 1)
        ways = [lambda: fl.asarray(matrix).to_numpy(), lambda: fl.einsum("y[i] = A[i,j]*x[j]", A=matrix, x=x).to_numpy()]
        try:
            got = ways[n % 2]()
        except fl.OperandError as e:
            assert want is None or "malformed" not in str(e), f"{e}\n{want}"
            refused += 1
        else:
            assert want is not None, got
            np.testing.assert_array_equal(got, want if n % 2 == 0 else want @ x)
            read += 1
    assert read > TRIES / 20 and refused > TRIES / 20
