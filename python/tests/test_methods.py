"""Methods, NumPy's functions, SciPy's operators and what is printed, beside NumPy and SciPy."""

import pathlib
import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import fiberloom as fl

DENSE = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, -1.26], [4.0, 0.0, 0.0, 5.0]])
KINDS = {
    "dense": lambda: fl.asarray(DENSE.copy()),
    "csr": lambda: fl.asarray(sp.csr_array(DENSE)),
    "csc": lambda: fl.asarray(sp.csc_array(DENSE)),
    "lazy": lambda: fl.lazy(fl.asarray(sp.csr_array(DENSE))),
}


def plain(value):
    """NumPy's form of a result."""
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    value = value.compute() if isinstance(value, fl._lazy.Lazy) else value
    value = value.to_numpy() if isinstance(value, fl.Tensor) else value
    return np.asarray(value.toarray() if sp.issparse(value) else value)


def same(got, want, types=True):
    """Whether results are equal in shape, type and values."""
    got, want = plain(got), plain(want)
    assert isinstance(got, list) == isinstance(want, list)
    for ours, theirs in zip(got, want, strict=True) if isinstance(want, list) else [(got, want)]:
        assert ours.shape == theirs.shape and (not types or ours.dtype == theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


# ---- methods

FOLDS = ["sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "var", "std", "cumsum", "cumprod"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FOLDS)
def test_folds_have_numpys_signatures(name, kind):
    x = KINDS[kind]()
    for arguments in ((), (0,), (-1,)):
        same(getattr(x, name)(*arguments), getattr(DENSE, name)(*arguments))
        same(getattr(np, name)(x, *arguments), getattr(DENSE, name)(*arguments))
    if not name.startswith("cum"):
        same(getattr(x, name)(axis=1, keepdims=True), getattr(DENSE, name)(axis=1, keepdims=True))
    with pytest.raises(fl.Error, match=f"`{name}` takes no `out`"):
        getattr(x, name)(axis=0, out=np.zeros(4))
    with pytest.raises(TypeError, match="where"):
        getattr(x, name)(where=True)


METHODS = {
    "var": lambda x: x.var(0, None, None, 1),
    "std": lambda x: x.std(ddof=1),
    "types of sums": lambda x: (x.sum(dtype=np.float32), x.mean(dtype=np.float32), x.cumsum(1, np.float32)),
    "reshape": lambda x: (x.reshape(4, 3), x.reshape((2, -1)), x.reshape(-1)),
    "transpose": lambda x: (x.transpose(), x.transpose(1, 0), x.transpose((0, 1)), x.transpose(None)),
    "flat": lambda x: (x.flatten(), x.ravel()),
    "squeeze": lambda x: (x[None].squeeze(), x[:1].squeeze(0)),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "astype": lambda x: x.astype(np.int32),
    "dot": lambda x: (x.dot(DENSE.T), x.dot(np.ones(4)), x.dot(2), x[0].dot(x[2])),
    "parts of numbers": lambda x: (x.conj(), x.conjugate(), x.real, x.imag),
    "round": lambda x: (x.round(), x.round(1), x.round(-1)),
    "clip": lambda x: (x.clip(0, 2), x.clip(max=1.5)),
    "nonzero": lambda x: x.nonzero(),
    "diagonal": lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-2), x.diagonal(7), x.diagonal(1, 1, 0)),
    "trace": lambda x: (x.trace(), x.trace(1)),
    "repeat": lambda x: (x.repeat(2), x.repeat([1, 2, 3], axis=0)),
    "take": lambda x: (x.take([1, -2]), x.take([1, 2], axis=1)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name, kind):
    same(METHODS[name](KINDS[kind]()), METHODS[name](DENSE))


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_methods_of_tensors(kind):
    x = KINDS[kind]()
    assert x.item(1, 3) == x.item(7) == x.item((1, 3)) == -1.26 and x.sum().item() == DENSE.sum()
    assert x.tolist() == DENSE.tolist() and type(x.item(0)) is float
    with pytest.raises(ValueError, match="the place of an element"):
        x.item()
    copied = x.copy()
    assert copied.format == x.format
    copied.arrays()["values"][:] = 0
    same(x, DENSE)
    same(x.toarray(), DENSE)
    same(x.todense(), DENSE)
    for format in ("csr", "csc", "coo"):
        made = getattr(x, f"to{format}")()
        assert made.format == format and getattr(made, f"to{format}")(copy=True) is not made
        same(made, DENSE)
    with pytest.raises(fl.Error, match="row-major"):
        x.ravel("F")


def test_methods_of_scipys_matrices(matrix):
    S, R = matrix((5, 6)), matrix((5, 6), seed=1)
    T, M = fl.asarray(S.copy()), sp.csr_matrix(S)
    assert T.getnnz() == M.getnnz() and T.count_nonzero() == S.count_nonzero()
    for axis in (0, 1, -1):
        same(T.getnnz(axis=axis), M.getnnz(axis=axis), types=False)
    for name in ("multiply", "maximum", "minimum"):
        for other in (R, fl.asarray(R.copy())):
            made = getattr(T, name)(other)
            assert made.format == "csr"
            same(made, getattr(S, name)(R))
    same(T.power(2), S.power(2))


def test_arrays_of_scipys_matrices(matrix):
    S = matrix((5, 6))
    for format in ("csr", "csc"):
        T, M = fl.asarray(S.copy()).to(format), S.asformat(format)
        same((T.data, T.indices, T.indptr), (M.data, M.indices, M.indptr), types=False)
        assert np.shares_memory(T.data, T.arrays()["values"])
        with pytest.raises(AttributeError, match=f"stored as {format} has no `row`: one of coo has"):
            T.row  # noqa: B018
    T, M = fl.asarray(S.copy()).tocoo(), S.tocoo()
    same((T.data, T.row, T.col, *T.coords), (M.data, M.row, M.col, *M.coords), types=False)
    for name in ("indices", "indptr"):
        assert not hasattr(T, name)
    for name in ("data", "indices", "indptr", "row", "col", "coords"):
        assert not hasattr(fl.asarray(DENSE), name)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_tensors_are_linear_operators(format, matrix):
    S = matrix((8, 8), density=0.4)
    S = sp.csr_array(S @ S.T + sp.eye_array(8))
    T, b = fl.asarray(S.copy(), format), np.arange(8.0)
    same(T.matvec(b), S @ b)
    same(T.rmatvec(b), S.T @ b)
    same(T.matmat(np.eye(8)), S.toarray())
    operator = sla.aslinearoperator(T)
    assert operator.dtype == np.float64
    same(operator.H @ b, S.T @ b)
    same(sla.cg(T, b)[0], sla.cg(S, b)[0])
    same(sla.gmres(T, b)[0], sla.gmres(S, b)[0])
    same(sla.svds(T, k=1)[1], sla.svds(S, k=1)[1])


# ---- NumPy's functions

FUNCTIONS = {
    "concatenate": lambda x: (np.concatenate([x, x]), np.concatenate([x, DENSE], axis=1), np.concatenate([x, x], axis=None)),
    "vstack": lambda x: (np.vstack([x, x]), np.vstack([x[0], x[1]])),
    "hstack": lambda x: (np.hstack([x, x]), np.hstack([x[0], x[1]])),
    "stack": lambda x: np.stack([x, x], axis=1),
    "where": lambda x: (np.where(x > 0, x, -1.0), *np.where(x), np.where(x, x, 2.0)),
    "transpose": lambda x: (np.transpose(x), np.transpose(x, (1, 0)), np.swapaxes(x, 0, 1), np.moveaxis(x, 0, 1)),
    "triangles": lambda x: (np.tril(x), np.triu(x, 1), np.triu(x, k=-1)),
    "places": lambda x: (np.flip(x), np.flip(x, 0), np.roll(x, 1, axis=0), np.tile(x, (2, 1)), np.repeat(x, 2, axis=0)),
    "norm": lambda x: (np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, np.inf), np.linalg.norm(x, "fro")),
    "norm of rows": lambda x: [np.linalg.norm(x, o, axis=1) for o in (None, 1, 2, np.inf, -np.inf)],
    "counts": lambda x: (np.count_nonzero(x), np.count_nonzero(x, axis=0), *np.nonzero(x)),
    "dot": lambda x: (np.dot(x, np.ones(4)), np.dot(DENSE.T, x), np.vdot(x, x), np.inner(x, x), np.outer(x, x[0])),
    "tensordot": lambda x: np.tensordot(x, x, axes=((0, 1), (0, 1))),
    "diagonal": lambda x: (np.diagonal(x), np.trace(x)),
    "clip": lambda x: (np.clip(x, 0, 2), np.clip(x, a_min=0, a_max=None)),
    "round": lambda x: (np.round(x, 1), np.around(x)),
    "shapes": lambda x: (np.ravel(x), np.reshape(x, (4, 3)), np.squeeze(x[:1]), np.expand_dims(x, 0)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "take": lambda x: np.take(x, [0, 1], axis=0),
    "diff": lambda x: (np.diff(x), np.diff(x, axis=0)),
    "sort": lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None), np.argsort(x, kind="stable")),
    "unique": lambda x: (np.unique(x), *np.unique(x, return_counts=True)),
    "parts of numbers": lambda x: (np.real(x), np.imag(x)),
    "equal": lambda x: (np.array_equal(x, x), np.array_equal(x, DENSE + 1), np.array_equal(x, x[0])),
    "close": lambda x: (np.allclose(x, DENSE + 1e-9), np.allclose(x, DENSE + 1), np.isclose(x, DENSE + 1e-9)),
    "what it is": lambda x: (np.ndim(x), *np.shape(x), np.size(x), np.size(x, 0), np.isrealobj(x), np.iscomplexobj(x)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_functions_are_answered(name, kind):
    same(FUNCTIONS[name](KINDS[kind]()), FUNCTIONS[name](DENSE))


def test_numpys_functions_keep_what_is_sparse(matrix):
    T = fl.asarray(matrix((30, 40)))
    for made in (np.concatenate([T, T]), np.tril(T), np.transpose(T), np.clip(T, 0, 3), np.where(T > 1, T, 0.0), np.sort(T)):
        assert isinstance(made, fl.Tensor) and made.format != "dense"
    nan = fl.asarray(sp.csr_array([[np.nan, 0.0], [0.0, np.inf]]))
    assert not np.array_equal(nan, nan) and np.array_equal(nan, nan, equal_nan=True)
    assert not np.allclose(nan, nan) and np.allclose(nan, nan, equal_nan=True)
    assert np.result_type(T, np.float32) == np.float64


def test_functions_that_are_not_there():
    x = KINDS["dense"]()
    same(np.median(x), np.median(DENSE))
    same(np.linalg.svd(x)[1], np.linalg.svd(DENSE)[1])
    same(np.linalg.norm(x, 2), np.linalg.norm(DENSE, 2))
    for kind in ("csr", "lazy"):
        with pytest.raises(TypeError, match=r"`numpy.gradient` has no sparse form, .*csr: write `numpy.gradient\(T.to_numpy\(\)\)`"):
            np.gradient(KINDS[kind]())
        with pytest.raises(TypeError, match="numpy.linalg.norm"):
            np.linalg.norm(KINDS[kind](), 2)


# ---- SciPy on either side

OPERATORS = ["@", "*", "+", "-", "==", "!=", "<", "<=", ">", ">="]


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "lil", "dok", "bsr"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_scipys_arrays_on_either_side(operator, format):
    theirs, ours = DENSE @ DENSE.T, np.where(DENSE @ DENSE.T > 3, 2.0, 0.0)
    S = sp.csr_array(theirs).asformat(format)
    for T in (fl.asarray(sp.csr_array(ours)), fl.lazy(fl.asarray(sp.csr_array(ours)))):
        for text in (f"S {operator} T", f"T {operator} S"):
            made = eval(text)
            made = made.compute() if isinstance(made, fl._lazy.Lazy) else made
            assert isinstance(made, fl.Tensor) and made.format != "dense"
            same(made, eval(text, {"S": theirs, "T": ours}))


def test_where_scipy_does_not_ask():
    S, M, T = sp.csr_array(DENSE), sp.csr_matrix(DENSE), fl.asarray(sp.csr_array(DENSE))
    for function in (S.multiply, S.maximum, lambda T: sp.vstack([S, T]), lambda T: M * T, np.asarray):
        with pytest.raises(TypeError, match="to_numpy"):
            function(T)
    assert np.vstack([T, S]).format == "csr"
    same(np.vstack([T, S]), np.vstack([DENSE, DENSE]))
    same(S.dot(T.T), DENSE @ DENSE.T)
    same(M @ T.T, DENSE @ DENSE.T)
    same(M * fl.asarray(np.ones(4)), DENSE.sum(1))
    same(T * M, DENSE * DENSE)


# ---- what is printed


def test_values_are_printed():
    assert str(fl.asarray(DENSE)) == str(DENSE)
    T = fl.asarray(sp.csr_array(DENSE))
    lines = str(T).splitlines()
    assert lines[0] == repr(T) and lines[1:] == str(sp.csr_array(DENSE)).splitlines()[-6:]
    vector = str(fl.asarray(np.arange(50.0), "sparse")).splitlines()
    assert vector[1] == "  (1,)\t1.0" and vector[11] == "  :\t:" and vector[-1] == "  (49,)\t49.0" and len(vector) == 22


def test_numbers_are_formatted():
    total = fl.asarray(DENSE).sum()
    assert f"{total:.2f} {total} {total:>8.1f}" == f"{DENSE.sum():.2f} {DENSE.sum()} {DENSE.sum():>8.1f}"
    assert f"{fl.asarray(np.int64(7)):03d}" == "007" and f"{fl.asarray(DENSE)}" == str(DENSE)
    with pytest.raises(TypeError, match=r"shape \(3, 4\) has no format `.2f`"):
        f"{fl.asarray(DENSE):.2f}"


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_matrices_show_where_their_entries_are(kind):
    picture = KINDS[kind]()._repr_html_().partition("</table>")[2]
    path = xml.fromstring(picture).find("path").attrib["d"]
    assert path == "M0 0h1M2 0h1M1 1h1M3 1h1M0 2h1M3 2h1"


def test_pictures_are_small(matrix):
    for shape in ((1000, 3000), (5, 2000), (2000, 1), (70, 65)):
        T = fl.asarray(matrix(shape, density=0.01))
        shown = T._repr_html_().partition("</table>")[2]
        assert "<path" in shown and len(shown) < 20_000
        assert T.to("dense")._repr_html_().endswith(shown)
    assert "svg" not in fl.asarray(np.ones(3))._repr_html_() + fl.asarray(np.ones((0, 3)))._repr_html_()


# ---- the page's table


def lines():
    page = (pathlib.Path(__file__).parent / "../../docs/python.md").read_text(encoding="utf-8")
    table = page.partition("| SciPy | Fiberloom |\n")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(.*)` \| `(.*)` \|$", table, re.MULTILINE)


@pytest.mark.parametrize(("theirs", "ours"), lines(), ids=[scipys for scipys, _ in lines()])
def test_lines_of_the_page(theirs, ours, matrix, tmp_path):
    # No row is empty, and each has one greatest element.
    S = sp.csr_array(matrix((4, 5), density=0.5).toarray() + 10 * np.eye(4, 5))
    R = matrix((4, 5), density=0.5, seed=3)
    names = {"np": np, "sp": sp, "sla": sla, "fl": fl, "d": S.toarray(), "f": str(tmp_path / "matrix.npz")}
    names |= {"x": np.arange(1.0, 6.0), "y": np.arange(1.0, 5.0), "S": S, "R": R}
    names |= {"A": fl.asarray(S.copy()), "B": fl.asarray(R.copy())}
    want, got = eval(theirs, dict(names)), eval(ours, dict(names))
    if "save_npz" in theirs:
        want, got = want[1], got[1]
    same(got, want, types=False)


def test_there_are_lines_on_the_page():
    assert len(lines()) >= 40


OUT = [name for name in dir(fl.Tensor) if callable(getattr(fl.Tensor, name)) and name[0] != "_"]
OUT = [name for name in OUT if name not in ("take", "dot") and "out" in getattr(getattr(fl.Tensor, name), "__code__", compile('0', '', 'eval')).co_varnames]


@pytest.mark.parametrize("name", OUT)
def test_nothing_is_written_to_what_is_given(name):
    buffer = np.full((2, 2), 7.0)
    for T in (fl.asarray(np.eye(2)), fl.asarray(np.eye(2), "csr"), fl.lazy(np.eye(2))):
        if not hasattr(T, name):
            continue
        with pytest.raises(fl.Error, match="takes no `out`"):
            getattr(T, name)(out=buffer)
    assert (buffer == 7).all() and len(OUT) > 10
