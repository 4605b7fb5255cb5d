"""Functions of arrays one after the other, drawn, beside NumPy: at once, as one expression, and in `with fl.lazy():`.

```text
 seed ──▶ array, format, fill value ──▶ step ──▶ step ──▶ step     by NumPy
                                  └───▶ step ──▶ step ──▶ step     each a kernel;  all one kernel
```

What one function says of its result (type, shape, which values are not stored) the next one believes: steps that are right alone are tried
together. Values are small whole numbers, so that sums are exact.
"""

import os

import numpy as np
import pytest

import fiberloom as fl

xp = fl.array

#: Whether more is drawn: `FIBERLOOM_TESTS=long`.
LONG = os.environ.get("FIBERLOOM_TESTS") == "long"

FORMATS = {0: ["dense"], 1: ["dense", "sparse"], 2: ["dense", "csr", "csc", "dcsr", "coo"]}
OTHERS = ["dense", "coo", "csf"]
SHAPES = [(5,), (4, 6), (3, 1), (2, 3, 4), (3, 2, 2), (0, 3), (2, 1, 3)]


class Walk:
    """A walk: an array as NumPy has it, and what was done."""

    def __init__(self, seed, sparse=False, shape=None):
        self.rng, self.sparse = np.random.default_rng(seed), sparse
        shape = shape or self.pick(*SHAPES)
        self.done, self.operands, self.all = [], [], False
        self.start = self.array = self.drawn(shape)

    def drawn(self, shape, dtype=None):
        """An operand, of which half is its fill value."""
        dtype = np.dtype(dtype or ["float64", "float64", "int64", "int32", "bool"][self.rng.integers(5)])
        fill = dtype.type([0, 0, 1][self.rng.integers(3)])
        values = self.rng.integers(0 if dtype.kind == "b" else -3, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
        array = np.where(self.rng.random(shape) < 0.5, values, fill).astype(dtype)
        formats = FORMATS.get(len(shape), OTHERS)[self.sparse and len(shape) > 0 :]
        format = formats[self.rng.integers(len(formats))]
        self.operands.append((array, fl.asarray(array.copy(), format, fill=fill.item() if format != "dense" else None)))
        self.done.append(f"{dtype}{list(shape)} {format} fill {fill}")
        return array

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def axis(self):
        return int(self.rng.integers(-self.array.ndim, self.array.ndim))

    def axes(self):
        """An axis, several in any order, or all."""
        axes = [int(a) for a in self.rng.permutation(self.array.ndim)[: self.rng.integers(1, self.array.ndim + 1)]]
        return self.pick(None, axes[0], tuple(a - self.array.ndim * int(self.rng.integers(2)) for a in axes))

    def other(self):
        """A second operand, which is broadcast against the array."""
        shape = self.array.shape
        shape = self.pick(shape, shape[1:], tuple(1 if self.rng.random() < 0.5 else n for n in shape), (2, *shape))
        return self.drawn(shape, self.array.dtype if self.array.dtype.kind != "b" else "int64")


# Each step: what is done with an array of NumPy's, given the namespace; `None` where there is nothing to do.


def of_elements(walk):
    if walk.array.dtype.kind == "b":
        return walk.pick(
            ("x + 1", lambda m, x: x + 1),
            ("2 * x", lambda m, x: 2 * x),
            ("as numbers", lambda m, x: m.astype(x, m.int64)),
            ("not", lambda m, x: m.logical_not(x)),
            ("where of numbers", lambda m, x: m.where(x, 2, 1)),
            ("not x", lambda m, x: ~x),
        )
    return walk.pick(
        ("x + 1", lambda m, x: x + 1),
        ("2 - x", lambda m, x: 2 - x),
        ("x * 2", lambda m, x: x * 2),
        ("x > 0", lambda m, x: x > 0),
        ("x != 1", lambda m, x: x != 1),
        ("x * x", lambda m, x: x * x),
        ("abs", lambda m, x: abs(x)),
        ("-x", lambda m, x: -x),
        ("maximum", lambda m, x: m.maximum(x, m.asarray(1, dtype=x.dtype))),
        ("where", lambda m, x: m.where(x > 0, x, m.zeros((), dtype=x.dtype))),
        ("where of numbers", lambda m, x: m.where(x > 1, 2, 1)),
        ("cos", lambda m, x: m.cos(x)),
        ("clip", lambda m, x: m.clip(x, -1, 2)),
        ("// 2", lambda m, x: x // 2),
        ("% 3", lambda m, x: x % 3),
        ("** 2", lambda m, x: x**2),
        ("float32", lambda m, x: m.astype(x, m.float32)),
        ("square", lambda m, x: m.square(x)),
        # Infinite where nothing is stored.
        ("1 / x", lambda m, x: m.flip(1 / x, axis=-1) > 0.4),
        ("x == x", lambda m, x: m.roll(x == x, 1, axis=0)),
    )


def of_two(walk):
    n = len(walk.operands)
    walk.other()
    name = walk.pick("+", "*", "-", "maximum", "minimum", "<", "==", "where", "/")
    functions = {
        "+": lambda m, x, y: x + y,
        "*": lambda m, x, y: x * y,
        "-": lambda m, x, y: y - x,
        "maximum": lambda m, x, y: m.maximum(x, y),
        "minimum": lambda m, x, y: m.minimum(y, x),
        "<": lambda m, x, y: x < y,
        "==": lambda m, x, y: x == y,
        "where": lambda m, x, y: m.where(y > 0, x, y),
        "/": lambda m, x, y: m.flip((2 * x + 1) / y, axis=0) < 0.7,
    }
    return f"{name} {n}", lambda m, x, of: functions[name](m, x, of(n))


def moved(walk):
    x, rng = walk.array, walk.rng
    axis, axes = walk.axis(), walk.axes()
    order = tuple(int(a) for a in rng.permutation(x.ndim))
    by, k, n = int(rng.integers(-7, 8)), int(rng.integers(-2, 3)), int(rng.integers(0, 3))
    to = tuple(int(a) for a in rng.permutation(x.ndim))
    places = rng.integers(-x.shape[axis], x.shape[axis], rng.integers(1, 6)) if x.shape[axis] else np.zeros(0, np.int64)
    times = rng.integers(0, 3, x.shape[axis])
    key = tuple(walk.pick(slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(3, 0, -2)) for _ in order)
    key = key[: rng.integers(1, x.ndim + 1)]
    flat = walk.pick((-1,), (*x.shape[:-2], -1), (1, *x.shape), (*x.shape[::-1],))
    flat = flat if x.size else x.shape[::-1]
    steps = [
        (f"permuted {order}", lambda m, x: m.permute_dims(x, order)),
        (f"moved {order} to {to}", lambda m, x: m.moveaxis(x, order, to)),
        (f"flipped {axes}", lambda m, x: m.flip(x, axis=axes)),
        (f"rolled {by} {axes}", lambda m, x: m.roll(x, by, axis=axes)),
        (f"rolled {n + 1} along all", lambda m, x: m.roll(x, n + 1, axis=order)),
        (f"reshaped {flat}", lambda m, x: m.reshape(x, flat)),
        (f"[{key}]", lambda m, x: x[key]),
        (f"[..., {key[0]}]", lambda m, x: x[..., key[0]]),
        (f"new axes {axis}", lambda m, x: m.expand_dims(x, axis=axis)),
        (f"repeated {n} {axis}", lambda m, x: m.repeat(x, n, axis=axis)),
        (f"repeated {times} {axis}", lambda m, x: m.repeat(x, m.asarray(times), axis=axis)),
        (f"tiled {n}", lambda m, x: m.tile(x, (2, n) if n == 1 else (n,))),
        (f"taken {places} {axis}", lambda m, x: m.take(x, m.asarray(places), axis=axis % x.ndim)),
        (f"joined {axis}", lambda m, x: m.concat([x, x[::-1], m.astype(x + 1, x.dtype)], axis=axis)),
        (f"stacked {axis}", lambda m, x: m.stack([x, x, x[::-1]] * (1 + 2 * (n == 2)), axis=axis)),
        (f"differences {axis}", lambda m, x: m.diff(x, axis=axis, n=max(n, 1))),
    ]
    if x.ndim > 1:
        steps += [(f"lower {k}", lambda m, x: m.tril(x, k=k)), (f"upper {k}", lambda m, x: m.triu(x, k=k))]
    if 1 in x.shape:
        steps += [("squeezed", lambda m, x: m.squeeze(x, axis=x.shape.index(1)))]
    return steps if walk.all else walk.pick(*steps)


def folded(walk):
    axes, axis, keepdims = walk.axes(), walk.axis(), bool(walk.rng.integers(2))
    axes = axes if walk.rng.random() < 0.8 else axis
    name = walk.pick("sum", "prod", "max", "min", "any", "all", "count_nonzero", "mean", "var", "argmax", "argmin", "cumulative_sum")
    if name in ("argmax", "argmin"):
        return f"{name} {axis} {keepdims}", lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keepdims)
    if name == "cumulative_sum":
        return f"{name} {axis} {keepdims}", lambda m, x: m.cumulative_sum(x, axis=axis, include_initial=keepdims)
    return f"{name} {axes} {keepdims}", lambda m, x: getattr(m, name)(x, axis=axes, keepdims=keepdims)


def multiplied(walk):
    x, n = walk.array, len(walk.operands)
    if x.dtype.kind == "b":
        return None
    name = walk.pick("matmul", "matmul from the left", "tensordot", "vecdot")
    if name == "matmul":
        walk.drawn(walk.pick((x.shape[-1], 3), (x.shape[-1],)), x.dtype)
        return f"matmul {n}", lambda m, x, of: m.matmul(x, of(n))
    if name == "matmul from the left":
        walk.drawn((3, x.shape[-2 if x.ndim > 1 else -1]), x.dtype)
        return f"matmul of {n}", lambda m, x, of: m.matmul(of(n), x)
    if name == "tensordot":
        order = [int(a) for a in walk.rng.permutation(x.ndim)[: walk.rng.integers(1, x.ndim + 1)]]
        walk.drawn((*(x.shape[a] for a in order), 2), x.dtype)
        theirs = [a - len(order) - 1 for a in range(len(order))]
        return f"tensordot {n} {order}", lambda m, x, of: m.tensordot(x, of(n), axes=(order, theirs))
    axis = int(walk.rng.integers(-x.ndim, 0))
    walk.drawn(x.shape, x.dtype)
    return f"vecdot {n} {axis}", lambda m, x, of: m.vecdot(x, of(n), axis=axis)


def step(walk):
    """A step that NumPy takes: what is done, and a function of a namespace, an array and the operands."""
    for _ in range(20):
        known = len(walk.operands), list(walk.done)
        made = walk.pick(of_elements, of_elements, of_two, moved, moved, moved, folded, multiplied)(walk) if walk.array.ndim else None
        if made is not None:
            name, function = made
            call = function if function.__code__.co_argcount == 3 else lambda m, x, of: function(m, x)
            try:
                with np.errstate(all="ignore"):
                    walk.array = np.asarray(call(np, walk.array, lambda n: walk.operands[n][0]))
            except (TypeError, ValueError, np.exceptions.AxisError):
                pass
            else:
                walk.done.append(name)
                return call
        del walk.operands[known[0] :]
        walk.done = known[1]
    return None


@pytest.mark.parametrize("seed", range(20 if LONG else 3))
def test_each_move_of_three_modes(seed):
    walk = Walk([seed, 7])
    walk.operands.clear()
    walk.done.clear()
    walk.array, walk.all = walk.drawn([(2, 3, 4), (3, 1, 2), (4, 2, 3)][seed % 3], "float64"), True
    start, (_, tensor) = walk.array, walk.operands[0]
    for name, function in moved(walk):
        try:
            walk.array = np.asarray(function(np, start))
        except (TypeError, ValueError):
            continue  # Another draw of the same is right.
        walk.done[1:] = [name]
        compared(function(xp, fl.lazy(tensor)).compute(), walk, "an expression")


def unstored(walk, steps):
    """What the result is where operands store nothing, by NumPy: of arrays of fill values alone; None if that is not one number."""
    if any(tensor.format == "dense" for _, tensor in walk.operands):
        return None
    empty = [np.full_like(array, tensor.fill_value) for array, tensor in walk.operands]
    made = empty[0]
    with np.errstate(all="ignore"):
        for call in steps:
            made = np.asarray(call(np, made, lambda n: empty[n]))
    return made.flat[0].item() if made.size and (made == made.flat[0]).all() else None


def compared(got, walk, how):
    want = walk.array
    said = f"{how}: {' | '.join(map(str, walk.done))}"
    assert got.shape == want.shape, (said, got.shape, want.shape)
    assert got.dtype == want.dtype, (said, got.dtype, want.dtype)
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-5 if want.dtype == np.float32 else 1e-10, atol=1e-6, err_msg=said)


@pytest.mark.parametrize("seed", range(400 if LONG else 24))
def test_steps_together_are_numpys(seed):
    walk = Walk(seed)
    steps = [made for made in (step(walk) for _ in range(int(walk.rng.integers(2, 5)))) if made]
    if walk.array.dtype not in fl._types._TYPES or not np.isfinite(walk.array.astype(float)).all():
        pytest.skip("a type that the language has not, or a mean of nothing")
    start = walk.operands[0][1]
    try:
        at_once = start
        for call in steps:
            at_once = call(xp, at_once, lambda n: walk.operands[n][1])
        expression = fl.lazy(start)
        for call in steps:
            expression = call(xp, expression, lambda n: walk.operands[n][1])
        together = expression.compute()
    except Exception as error:
        raise AssertionError(f"{' | '.join(map(str, walk.done))}: {error!r}") from error
    compared(at_once, walk, "at once")
    compared(together, walk, "one expression")
    fill = unstored(walk, steps)
    if fill is not None:
        for got in (together, at_once):
            if any(level != "dense" for level in got.levels):
                assert got.fill_value == fill, (got, fill, walk.done)
    if len(walk.array.shape) > 1:
        compared(expression.compute(out="coo"), walk, "as coordinates")


@pytest.mark.parametrize("seed", range(12 if LONG else 4))
def test_what_is_not_stored_is_known(seed):
    """An expression knows what it is where its operands store nothing, without computing the rest."""
    known = 0
    for n in range(40):
        walk = Walk([seed, n], sparse=True)
        steps = [made for made in (step(walk) for _ in range(int(walk.rng.integers(1, 4)))) if made]
        fill = unstored(walk, steps)
        # Parts behind one another have a value each, of which a fold over all knows one.
        if any(str(done).startswith("joined") for done in walk.done[:-1]):
            continue
        if fill is None or not np.isfinite(fill) or walk.array.dtype not in fl._types._TYPES:
            continue
        expression = fl.lazy(walk.operands[0][1])
        for call in steps:
            expression = call(xp, expression, lambda n: walk.operands[n][1])  # noqa: B023
        assert expression.shape == walk.array.shape and expression.dtype == walk.array.dtype
        # Of nothing, a mean is none, and a sum has no element that is read.
        assert float(expression.background()) == pytest.approx(float(fill), rel=1e-6) or 0 in walk.start.shape, walk.done
        assert not expression.zero or fill == 0, walk.done
        known += 1
    assert known > 10


# ---- what NumPy refuses

WRONG = {
    "an axis": lambda m, x, w: getattr(m, w.fold)(x, axis=w.no_axis),
    "an axis of a place": lambda m, x, w: m.argmax(x, axis=w.no_axis),
    "an axis that is flipped": lambda m, x, w: m.flip(x, axis=w.no_axis),
    "an axis that is rolled": lambda m, x, w: m.roll(x, 1, axis=w.no_axis),
    "an axis of repetitions": lambda m, x, w: m.repeat(x, 2, axis=w.no_axis),
    "an axis of a part": lambda m, x, w: m.take(x, m.asarray([0]), axis=w.no_axis),
    "an axis of sorting": lambda m, x, w: m.sort(x, axis=w.no_axis),
    "an axis of differences": lambda m, x, w: m.diff(x, axis=w.no_axis),
    "an axis behind which arrays stand": lambda m, x, w: m.concat([x, x], axis=w.no_axis),
    "a new axis": lambda m, x, w: m.expand_dims(x, axis=w.no_axis + (1 if w.no_axis > 0 else -1)),
    "an axis of a stack": lambda m, x, w: m.stack([x, x], axis=w.no_axis + (1 if w.no_axis > 0 else -1)),
    "an axis twice": lambda m, x, w: getattr(m, w.fold)(x, axis=(0, -x.ndim)),
    "an axis that is flipped twice": lambda m, x, w: m.flip(x, axis=(0, 0)) if m is xp else m.sum(x, axis=(0, 0)),
    "no permutation": lambda m, x, w: m.permute_dims(x, (0,) * x.ndim if x.ndim > 1 else (0, 0)),
    "too few axes": lambda m, x, w: m.permute_dims(x, tuple(range(x.ndim - 1)) if x.ndim > 1 else (1,)),
    "axes to fewer places": lambda m, x, w: m.moveaxis(x, (0,), (0, 1)),
    "axes to one place": lambda m, x, w: m.moveaxis(x, (0, -1), (0, 0)) if x.ndim > 1 else m.moveaxis(x, 0, 1),
    "an axis that is none of one": lambda m, x, w: m.squeeze(x, axis=int(np.argmax(np.array(x.shape) != 1))),
    "a smaller shape": lambda m, x, w: m.broadcast_to(x, x.shape[1:] if x.ndim > 1 else ()),
    "another shape": lambda m, x, w: m.broadcast_to(x, (*x.shape[:-1], x.shape[-1] + 7)) if x.shape[-1] != 1 else m.ones((-1,)),
    "more elements": lambda m, x, w: m.reshape(x, (x.size + 1,)),
    "two unknown extents": lambda m, x, w: m.reshape(x, (-1, -1)),
    "no whole extent": lambda m, x, w: m.reshape(x, (-1, x.size + 1 if x.size else 0)),
    "parts of other extents": lambda m, x, w: m.concat([x[None], m.concat([x, x], axis=-1)[None]], axis=0) if x.shape[-1] else m.ones((-1,)),
    "parts of other ranks": lambda m, x, w: m.concat([x, x[None]], axis=0),
    "a stack of other shapes": lambda m, x, w: m.stack([x, x[None]], axis=0),
    "no parts": lambda m, x, w: m.concat([], axis=0),
    "factors that do not go together": lambda m, x, w: m.matmul(x, m.ones((x.shape[-1] + 1, 2))),
    "sums that do not go together": lambda m, x, w: m.tensordot(x, m.ones((x.shape[0] + 2,)), axes=((0,), (0,))),
    "more sums than modes": lambda m, x, w: m.tensordot(x, x, axes=x.ndim + 1),
    "shapes that do not go together": lambda m, x, w: x + m.ones((*x.shape[:-1], x.shape[-1] + 2)) if x.shape[-1] != 1 else m.ones((-1,)),
    "an index": lambda m, x, w: x[w.no_place(0)],
    "a last index": lambda m, x, w: x[..., w.no_place(-1)],
    "too many indices": lambda m, x, w: x[(slice(None),) * (x.ndim + 1)],
    "two ellipses": lambda m, x, w: x[..., ...],
    "a step of 0": lambda m, x, w: x[::0],
    "a fraction": lambda m, x, w: x[0.5],
    "a list of fractions": lambda m, x, w: x[[0.5]],
    "a mask of another shape": lambda m, x, w: x[np.ones(x.shape[0] + 1, bool)],
    "a mask of too many modes": lambda m, x, w: x[np.ones((*x.shape, 1), bool)],
    "negative repetitions": lambda m, x, w: m.repeat(x, -1, axis=0),
    "too many repetitions": lambda m, x, w: m.repeat(x, m.ones(x.shape[0] + 2, dtype=m.int64), axis=0),
    "negative differences": lambda m, x, w: m.diff(x, n=-1),
    "the greatest of nothing": lambda m, x, w: m.max(x[:0], axis=0),
    "the place of nothing": lambda m, x, w: m.argmin(x[:0], axis=0),
    "no elements of a list": lambda m, x, w: m.asarray(["a"]) + x if m is np else m.asarray(["a"]),
    "a type that there is not": lambda m, x, w: m.zeros(3, dtype="no type"),
    "a negative extent": lambda m, x, w: m.zeros((3, -1)),
    "ones in a negative extent": lambda m, x, w: m.ones(-1),
    "a value in a negative extent": lambda m, x, w: m.full((2, -3), 1.0),
    "a diagonal of negative extents": lambda m, x, w: m.eye(-2),
    "a negative number of numbers": lambda m, x, w: m.linspace(0, 1, -2),
    "steps of 0": lambda m, x, w: m.arange(0, 5, 0),
}


class Wrong(Walk):
    """An array, and arguments that are none of it."""

    def __init__(self, seed):
        super().__init__(seed, shape=SHAPES[seed % len(SHAPES)])
        rank = self.array.ndim
        self.no_axis = self.pick(rank, -rank - 1, rank + 3)
        self.fold = self.pick("sum", "prod", "max", "min", "any", "all", "mean", "var", "count_nonzero")
        self.behind = self.pick(0, 1)

    def no_place(self, axis):
        extent = self.array.shape[axis]
        return extent if self.behind else -extent - 1


@pytest.mark.parametrize("name", WRONG)
def test_what_numpy_refuses_is_refused(name):
    tried = 0
    for seed in range(40 if LONG else len(SHAPES)):
        wrong = Wrong(seed)
        array, tensor = wrong.operands[0]
        try:
            WRONG[name](np, array, wrong)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            tried += 1
        else:
            continue  # Of this array it is right.
        for made in (tensor, fl.lazy(tensor)):
            with pytest.raises((fl.Error, TypeError, IndexError)):
                got = WRONG[name](xp, made, wrong)
                got = got.compute() if made is not tensor else got
                raise AssertionError(f"{wrong.done}: {name} gives {got!r}")
    assert tried
