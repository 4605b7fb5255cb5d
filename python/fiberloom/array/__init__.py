"""The array API standard's namespace, version 2024.12, as far as the language has it.

>>> A = fl.asarray(sp.csr_array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
>>> xp = A.__array_namespace__()
>>> xp.cos(A)                                              # stored as sparsely, with another fill value
Tensor(shape=(2, 3), dtype=float64, format=csr, nnz=2, fill_value=1.0)
>>> xp.sum(A[:, ::-1] * 2 + 1, axis=0).to_numpy()           # four kernels
array([2., 6., 4.])
>>> with fl.lazy():
...     z = xp.sum(A * 2 + 1, axis=0)
>>> z.program()[0]
'Out[i0] = sum(k0: ((T0[k0,i0] * T1[]) + 1.0))'
>>> z.compute().to_numpy()                                 # one
array([4., 6., 2.])

Each call is a kernel, which is compiled once for shapes, types and formats like these and kept. Of `Lazy` operands, and in
``with fl.lazy():``, calls give expressions, which ``compute()`` runs as one kernel.

*Formats.* A result is sparse where an operand is and the function permits it: ``cos`` of a sparse array whose fill value is
0 is stored as sparsely, with the fill value 1.

*Numbers.* Of dense operands elements are computed as IEEE 754 has it. Where an operand is sparse, or where elements are
folded, the language's ``algebraic`` mode holds: 0 times anything is 0, 0 by anything is 0. ``Lazy.compute(options={"mode":
"strict"})`` asks for the other.

*Values decide* how many elements ``x[mask]``, `nonzero` and ``unique_values`` have, and where `sort` puts them: these compute
their operands, expressions too. *What is not there*: complex numbers, ``linalg``, ``fft``. Tensors do not change: elements are
not assigned.
"""

from __future__ import annotations

import math as _math

from .. import _plans
from . import _creation, _data, _dtypes, _elementwise, _errors, _parts, _products, _reductions, _searching, _shapes
from ._creation import *  # noqa: F403
from ._data import *  # noqa: F403
from ._dtypes import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._errors import *  # noqa: F403
from ._elementwise import quickly, refuse_negative  # noqa: F401
from ._indexing import take, take_along_axis  # noqa: F401
from ._info import __array_namespace_info__  # noqa: F401
from ._parts import *  # noqa: F403
from ._products import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._searching import *  # noqa: F403
from ._shapes import *  # noqa: F403

__array_api_version__ = "2024.12"

e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

_MODULES = (_creation, _data, _dtypes, _elementwise, _errors, _parts, _products, _reductions, _searching, _shapes)

# What writes programs is planned; what is data's, types' and numbers' own writes none.
for _module in (_elementwise, _parts, _products, _reductions, _searching, _shapes):
    for _name in _module.__all__:
        globals()[_name] = _plans.planned(globals()[_name])
# What a plan is not made of is looked at before.
pow = _elementwise.raised(globals()["pow"])
take, take_along_axis = _plans.planned(take), _plans.planned(take_along_axis)

__all__ = sorted(
    {name for module in _MODULES for name in module.__all__}
    | {"__array_api_version__", "__array_namespace_info__", "e", "inf", "nan", "newaxis", "pi", "take", "take_along_axis"}
)
