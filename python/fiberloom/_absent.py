"""What NumPy's arrays and SciPy's matrices have and tensors do not: each name with the line to write.

A tensor does not change, and its bytes have no order that one may rely on. So these are no members, ``hasattr`` says so, and the
message of the `AttributeError` has the line to write.
"""

from __future__ import annotations

__all__ = ["attach"]

_THEIRS = "S = T.to_scipy(); {}; T = fl.asarray(S)"

#: Of each name the line to write, of a tensor `T`.
_LINES = {
    "H": "T.T",
    "append": "np.append(T, x)",
    "base": "T.arrays()",
    "byteswap": "T.to_numpy().byteswap()",
    "ctypes": "T.to_numpy().ctypes",
    "eliminate_zeros": _THEIRS.format("S.eliminate_zeros()"),
    "fill": "fl.array.full_like(T, value)",
    "flags": "T.to_numpy().flags",
    "flat": "T.ravel()",
    "getH": "T.T",
    "getcol": "T[:, [j]]",
    "getrow": "T[[i]]",
    "itemset": "fl.array.where(mask, value, T)",
    "loc": "T[i, j]",
    "partition": "np.sort(T)",
    "prune": _THEIRS.format("S.prune()"),
    "put": "fl.array.where(mask, value, T)",
    "resize": "T.reshape(shape)",
    "setdiag": _THEIRS.format("S.setdiag(values)"),
    "setflags": "T.copy()",
    "sort": "T = np.sort(T)",
    "strides": "T.to_numpy().strides",
    "to_pandas": "pandas.DataFrame(T.to_numpy())",
    "tobytes": "T.to_numpy().tobytes()",
    "tofile": "T.to_numpy().tofile(file)",
    "values": "T.data",
    "view": "T.to_numpy().view(dtype)",
}

#: Of attributes that are there what to write instead of an assignment.
_ASSIGNED = {
    "T": "T = x.T",
    "data": "T = T.astype(dtype)` or `T.data[:] = values",
    "dtype": "T = T.astype(dtype)",
    "fill_value": "T = T.to(T.format, fill=value)",
    "format": "T = T.to(format)",
    "indices": _THEIRS.format("S.indices[:] = indices"),
    "indptr": _THEIRS.format("S.indptr[:] = indptr"),
    "shape": "T = T.reshape(shape)",
}


def _missing(self, name: str):
    if name[:8] == "__array_":
        # NumPy asks each object for these, and reads no message.
        raise AttributeError(name)
    member = getattr(type(self), name, None)
    if isinstance(member, property):
        return member.fget(self)  # Which says itself what keeps it from being there.
    line = _LINES.get(name)
    kind = type(self).__name__
    help = f": write `{line}`" if line else ""
    raise AttributeError(f"a {kind} has no attribute `{name}`{help}", name=name, obj=self)


def _assigned(self, name: str, value):
    line = _ASSIGNED.get(name)
    help = f": write `{line}`" if line else ""
    raise AttributeError(f"`{name}` is not assigned, since a {type(self).__name__} does not change{help}", name=name, obj=self)


def attach(kind: type) -> None:
    """Gives a class the messages."""
    kind.__getattr__, kind.__setattr__ = _missing, _assigned
