"""Lines that users of NumPy, SciPy and what stands on them write every day, with a sparse tensor in the array's place.

Each line is run twice: with tensors, and with what stands on the other side, NumPy's arrays or SciPy's matrices of the same
numbers. A line that cannot work names the line to write, which `REFUSED` lists, and which then does work.
"""

import copy
import importlib
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import fiberloom as fl

#: Lines that are NumPy's, too. `T` and `U` are sparse matrices, `D` and `v` dense ones, `Q` is positive
#: definite, `E` is it, dense; `d`, `x`, `y` are NumPy's on either side.
NUMPY = """
T.shape
T.ndim
T.size
T.dtype
T.itemsize
T.T
T.mT
len(T)
T.sum()
T.sum(axis=0)
T.sum(axis=1, keepdims=True)
T.mean()
T.mean(axis=0)
T.max()
T.max(axis=1)
T.min()
T.min(axis=0)
T.any()
T.all(axis=0)
T.prod(axis=0)
T.argmax()
T.argmax(axis=1)
T.argmin(axis=0)
T.var()
T.std(axis=0, ddof=1)
T.cumsum(axis=1)
T.reshape(5, 4)
T.reshape(-1)
T.ravel()
T.flatten()
T.astype(np.float32)
T.astype(int)
T.astype("float32")
T.copy()
T.dot(x)
T.dot(U.T)
T.tolist()
T.nonzero()
T.diagonal()
T.trace()
T.transpose()
T.conj()
T.real
T.imag
T.clip(0, 2)
T.round(1)
T[:1].squeeze()
T.repeat(2, axis=0)
T.take([0, 2], axis=0)
T.item(1, 2)
T.swapaxes(0, 1)
v.argsort()
v.searchsorted(2.5)
np.sum(T)
np.sum(T, axis=0)
np.mean(T, axis=1)
np.max(T)
np.min(T, axis=0)
np.any(T)
np.all(T)
np.argmax(T)
np.argmin(T, axis=1)
np.prod(T)
np.var(T)
np.std(T)
np.cumsum(T, axis=0)
np.count_nonzero(T)
np.nonzero(T)
np.where(T > 0)
np.where(T > 1, T, 0)
np.argwhere(T)
np.flatnonzero(T)
np.sort(T, axis=1)
np.unique(T)
np.unique(T, return_counts=True)
np.median(T)
np.median(T, axis=1)
np.percentile(T, 30)
np.quantile(T, 0.9, axis=0)
np.abs(T)
np.sqrt(T)
np.exp(T)
np.log1p(T)
np.sin(T)
np.maximum(T, U)
np.minimum(T, 1)
np.power(T, 2)
np.square(T)
np.sign(T)
np.floor(T)
np.isnan(T).any()
np.isfinite(T)
np.nan_to_num(T / T)
np.concatenate([T, U])
np.vstack([T, U])
np.hstack([T, U])
np.stack([T, U])
np.split(T, 2)
np.array_split(T, 3)
np.array_split(T, [1, 3], axis=1)
np.vsplit(T, 2)
np.transpose(T)
np.reshape(T, (5, 4))
np.ravel(T)
np.squeeze(T[:1])
np.expand_dims(T, 0)
np.broadcast_to(T, (2, 4, 5))
np.tile(T, (2, 1))
np.repeat(T, 2, axis=1)
np.flip(T)
np.fliplr(T)
np.flipud(T)
np.rot90(T)
np.rot90(T, -1)
np.rot90(T, 2)
np.roll(T, 1, axis=1)
np.diff(T)
np.dot(T, x)
np.matmul(T, x)
np.einsum("ij,j->i", T, x)
np.tensordot(T, U, axes=2)
np.outer(v, y)
np.inner(T, x)
np.kron(T, U)
np.trace(T)
np.diag(T)
np.diag(v)
np.diag(v, -1)
np.tril(T)
np.triu(T, 1)
np.linalg.norm(T)
np.linalg.norm(T, axis=1)
np.linalg.norm(T, 1)
np.allclose(T, T)
np.array_equal(T, T)
np.isclose(T, U)
np.clip(T, 0, 1)
np.round(T, 2)
np.shape(T)
np.zeros_like(T)
np.ones_like(T)
np.full_like(T, 2)
np.copy(T)
np.asarray(D)
np.array(D)
np.append(T, U, axis=0)
np.delete(T, 0, axis=0)
np.delete(T, [0, 2], axis=1)
np.pad(T, 1)
np.take(T, [0, 1], axis=0)
np.average(T)
np.average(T, axis=0, weights=y)
np.ptp(T)
np.cov(T)
np.corrcoef(T)
np.nansum(T)
np.nanmax(T, axis=0)
np.nanmean(T)
np.meshgrid(v, v)
np.atleast_2d(v)
np.column_stack([v, v])
np.moveaxis(T, 0, 1)
np.logical_and(T > 0, U > 0)
np.logical_not(T > 0)
np.add(T, U)
np.multiply(T, 2)
np.divide(T, 2)
np.cross(v[:3], v[1:4])
np.can_cast(T.dtype, float)
np.linalg.solve(E, y)
np.linalg.eigvalsh(E)
np.linalg.svd(D)[1]
np.linalg.matrix_rank(D)
T + U
T - U
T * U
T / 2
T ** 2
T @ x
y @ T
T @ U.T
-T
+T
abs(T)
T + 1
1 - T
2 * T
T // 2
T % 2
divmod(T, 2)
T == U
T != 0
T > 1
T >= U
~(T > 0)
(T > 0) & (U > 0)
(T > 0) | (U > 0)
(T > 0).sum()
T[1, 2]
T[1]
T[:, 2]
T[-1]
T[1:3]
T[1:3, ::2]
T[::-1]
T[:, ::-1]
T[[0, 2]]
T[:, [1, 3]]
T[np.array([0, 2]), np.array([1, 3])]
T[np.ix_([0, 2], [1, 3])]
T[T > 1]
T[y > 2]
T[..., 0]
T[None]
T[1, None, :]
T[T.sum(axis=1) > 20]
T / T.sum(axis=1)[:, None]
(T - T.mean(axis=0)) / T.std(axis=0)
T += 1
T -= U
T *= 2
T /= 2
T //= 2
T **= 2
T @= E2
d += T
d *= T
float(T.sum())
int(T.max())
int(T.sum().round())
bool(T.sum())
round(T.sum(), 2)
f"{T.sum():.2f}"
f"{T[0, 1]:8.3f}"
str(D)
[float(row.sum()) for row in T]
sum(T)
sum(v)
max(v)
sorted(v)[0]
10.0 in D
-1 in T
copy.copy(T)
copy.deepcopy(T)
pickle.loads(pickle.dumps(T))
d + T
d * T
d @ T.T
d - D
x @ T.T
"""

#: Lines that are SciPy's: on the other side `T` and `U` are its arrays.
SCIPY = """
T.nnz
T.format
T.data
T.indices
T.indptr
T.tocoo().row
T.tocoo().coords[1]
T.toarray()
T.todense()
T.tocsr()
T.tocsc()
T.tocoo()
T.todia()
T.tolil()
T.todok()
T.tobsr()
T.asformat("csc")
T.has_sorted_indices
T.sum_duplicates()
T.sort_indices()
T.count_nonzero()
T.multiply(U)
T.multiply(x)
T.maximum(U)
T.minimum(U)
T.power(2)
T.sqrt()
T.sin()
T.log1p()
T.floor()
T.sign()
S @ U.T
S @ x
S * U
S + U
S - U
S == U
S != U
S > U
S.dot(U.T)
sp.diags_array(y) @ T
sp.eye_array(4) @ T
sp.block_diag([S, T])
sp.csr_array(D)
sla.cg(Q, y)[0]
sla.gmres(Q, y)[0]
sla.lsqr(T, y)[0]
sla.eigsh(Q, k=1)[0]
sla.svds(T, k=1)[1]
sla.aslinearoperator(T) @ x
sla.norm(scipys(T))
sla.spsolve(scipys(Q).tocsc(), y)
pd.DataFrame(D).shape
pd.DataFrame(T.toarray()).sum().to_numpy()
pd.Series(v).mean()
da.from_array(D, chunks=2).sum().compute()
nx.number_of_edges(nx.from_scipy_sparse_array(Q))
nx.to_numpy_array(nx.from_scipy_sparse_array(Q))
nx.number_of_edges(nx.from_numpy_array(E))
sorted(nx.pagerank(nx.from_scipy_sparse_array(Q)).values())
pre.normalize(scipys(T))
pre.StandardScaler().fit_transform(D)
pairwise.cosine_similarity(scipys(T))
linear_model.Ridge().fit(scipys(T), y).coef_
decomposition.TruncatedSVD(2, random_state=0).fit(scipys(T)).singular_values_
plt.spy(T, markersize=1).get_xdata()
plt.spy(scipys(T), markersize=1).get_xdata()
plt.imshow(D).get_array()
plt.plot(v)[0].get_ydata()
plt.hist(T.data)[0]
"""

ONE = "write `T.to_numpy()`, or `T.to_scipy()`"

#: Lines that cannot work: the error, what it says, and the line to write.
REFUSED = [
    ("np.asarray(T)", TypeError, ONE, "T.to_numpy()"),
    ("np.array(T)", TypeError, ONE, "T.to_numpy()"),
    ("S.multiply(T)", TypeError, ONE, "S.multiply(T.to_scipy())"),
    ("S.maximum(T)", TypeError, ONE, "S.maximum(T.to_scipy())"),
    ("sp.vstack([T, S])", TypeError, ONE, "sp.vstack([T.to_scipy(), S])"),
    ("sp.hstack([S, T])", TypeError, ONE, "sp.hstack([S, T.to_scipy()])"),
    ("sp.kron(T, U)", TypeError, ONE, "np.kron(T, U)"),
    ("sp.bmat([[S], [T]])", TypeError, ONE, "np.vstack([S, T])"),
    ("sp.coo_array(T)", TypeError, ONE, "T.to_scipy().tocoo()"),
    ("sp.csr_array(T)", ValueError, ONE, "T.to_scipy()"),
    ("sp.tril(T)", TypeError, ONE, "np.tril(T)"),
    ("sp.find(T)", TypeError, ONE, "sp.find(T.to_scipy())"),
    ("sla.spsolve(Q, y)", ValueError, ONE, "sla.spsolve(Q.to_scipy().tocsc(), y)"),
    ("sla.splu(Q)", ValueError, ONE, "sla.splu(Q.to_scipy().tocsc())"),
    ("sla.norm(T)", TypeError, "use numpy.linalg.norm", "np.linalg.norm(T)"),
    ("pre.normalize(T)", TypeError, ONE, "pre.normalize(T.to_scipy())"),
    ("linear_model.Ridge().fit(T, y)", TypeError, ONE, "linear_model.Ridge().fit(T.to_scipy(), y)"),
    ("np.linalg.solve(Q, y)", TypeError, "scipy.sparse.linalg.spsolve(T.to_scipy(), b)", "sla.spsolve(Q.to_scipy().tocsc(), y)"),
    ("np.histogram(T)", TypeError, "np.histogram(T.data, bins)", "np.histogram(T.data, 5)"),
    ("np.insert(T, 1, 0, axis=0)", TypeError, "np.concatenate", "np.concatenate([T[:1], np.zeros((1, 5)), T[1:]])"),
    ("np.isin(T, [1.0])", TypeError, "numpy.isin(T.to_numpy())", "np.isin(T.to_numpy(), [1.0])"),
    ("np.apply_along_axis(np.sum, 1, T)", TypeError, "T.to_numpy()", "np.apply_along_axis(np.sum, 1, T.to_numpy())"),
    ("bool(T)", TypeError, "`T.any()` or `T.all()`", "bool(T.any())"),
    ("float(T)", TypeError, "`T.item()`", "float(T[0, 0])"),
    ("T[1, 2] = 5", TypeError, "fl.array.where(mask, value, T)", "fl.array.where(T > 1, 5.0, T)"),
    ("T[0] = 0", TypeError, "S = T.to_scipy()", "fl.asarray(T.to_scipy())"),
    ("del T[0]", TypeError, "np.delete(T, places, axis=axis)", "np.delete(T, 0, axis=0)"),
    ("T.shape = (5, 4)", AttributeError, "T = T.reshape(shape)", "T.reshape((5, 4))"),
    ("T.dtype = np.float32", AttributeError, "T = T.astype(dtype)", "T.astype(np.float32)"),
    ("T.data = x", AttributeError, "T.data[:] = values", "T.data[:] * 2"),
    ("T.other = 1", AttributeError, "`other` is not assigned", "T"),
    ("T.other", AttributeError, "a Tensor has no attribute `other`", "T"),
    ("T.sort()", AttributeError, "T = np.sort(T)", "np.sort(T)"),
    ("T.fill(1)", AttributeError, "fl.array.full_like(T, value)", "fl.array.full_like(T, 1)"),
    ("T.eliminate_zeros()", AttributeError, "S.eliminate_zeros()", "fl.asarray(T.to_scipy())"),
    ("T.setdiag(1)", AttributeError, "S.setdiag(values)", "fl.asarray(T.to_scipy())"),
    ("T.getrow(1)", AttributeError, "T[[i]]", "T[[1]]"),
    ("T.tobytes()", AttributeError, "T.to_numpy().tobytes()", "T.to_numpy().tobytes()"),
    ("T.strides", AttributeError, "T.to_numpy().strides", "T.to_numpy().strides"),
    ("T.view(int)", AttributeError, "T.to_numpy().view(dtype)", "T.to_numpy().view(int)"),
    ("np.add(d, 1, out=T)", TypeError, "", "d + 1"),
]

#: Where lines import what they use.
MODULES = {
    "da": "dask.array",
    "decomposition": "sklearn.decomposition",
    "linear_model": "sklearn.linear_model",
    "nx": "networkx",
    "pairwise": "sklearn.metrics.pairwise",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "pre": "sklearn.preprocessing",
}


def lines(text: str) -> list[str]:
    """The lines of a list."""
    return text.strip().splitlines()


def names_of(line: str, side: str) -> dict:
    """What the names in a line are, with tensors, with NumPy's arrays or with SciPy's."""
    rng = np.random.default_rng(3)
    d, r = (np.round(rng.random((4, 5)) * 9, 1) * (rng.random((4, 5)) < 0.6) for _ in range(2))
    d += 10 * np.eye(4, 5)
    q = d @ d.T + np.eye(4)
    own = {"T": d, "U": r, "D": d, "v": np.arange(1.0, 6.0), "Q": q, "E": q, "E2": d.T @ d}
    sparse = ("T", "U", "Q", "E2")
    if side != "numpy":
        own |= {name: sp.csr_array(own[name]) for name in sparse}
    own["scipys"] = lambda array: array
    if side == "ours":
        own = {name: fl.asarray(a.copy()) for name, a in own.items() if name != "scipys"}
        own["scipys"] = fl.Tensor.to_scipy
    others = {"np": np, "sp": sp, "sla": sla, "fl": fl, "copy": copy, "pickle": pickle}
    others |= {"x": np.arange(1.0, 6.0), "y": np.arange(1.0, 5.0), "d": d.copy(), "S": sp.csr_array(d)}
    for name, module in MODULES.items():
        if re.search(rf"\b{name}\.", line):
            if name == "plt":
                pytest.importorskip("matplotlib").use("agg")
            others[name] = pytest.importorskip(module)
            importlib.import_module(module)
    return {**others, **own}


def outcome(line: str, side: str):
    """The value of a line; of a statement that of what it assigns to."""
    names = names_of(line, side)
    try:
        code = compile(line, "line", "eval")
    except SyntaxError:
        exec(line, names)
        return names[line[0]]
    return eval(code, names)


def same(got, want) -> None:
    """Fails unless both are the same numbers, in lists and tuples, too."""
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            same(ours, theirs)
        return
    got, want = (a.to_numpy() if isinstance(a, fl.Tensor) else a.toarray() if sp.issparse(a) else a for a in (got, want))
    if isinstance(want, (np.ndarray, np.generic, float)):
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-9)
    else:
        assert got == want


def test_there_are_as_many_lines():
    assert len(lines(NUMPY)) + len(lines(SCIPY)) >= 150
    assert len(set(lines(NUMPY) + lines(SCIPY))) + len(REFUSED) >= 172


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", lines(NUMPY))
def test_lines_of_numpy(line):
    same(outcome(line, "ours"), outcome(line, "numpy"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", lines(SCIPY))
def test_lines_of_scipy(line):
    same(outcome(line, "ours"), outcome(line, "scipy"))


def said(error: BaseException) -> str:
    """The messages of an error and of those that it is raised from."""
    texts, at = [], error
    while at is not None:
        texts.append(str(at))
        at = at.__cause__ or at.__context__
    return "\n".join(texts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("line", "error", "message", "instead"), REFUSED, ids=[line for line, *_ in REFUSED])
def test_lines_that_cannot_work_name_the_line_to_write(line, error, message, instead):
    with pytest.raises(error) as caught:
        outcome(line, "ours")
    assert message in said(caught.value)
    assert outcome(instead, "ours") is not None
