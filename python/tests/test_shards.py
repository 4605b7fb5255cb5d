"""Shards: plans, parts, who runs boxes, errors, Ctrl-C, and operands that are too large for one worker."""

import concurrent.futures as futures
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom import _pools

SPMV = "y[i] = A[i,j] * x[j]"

#: Programs, operands, splits: cut and whole operands, results that are concatenated, folded, and both; initial values; a gather.
PROGRAMS = {
    "a vector by both": (SPMV, "A x", {"i": 3, "j": [5]}),
    "a product by rows": ("C[i,k] = A[i,j] * B[j,k]", "A B", {"i": 4}),
    "a product by its sums": ("tensor C: f64[I, K] csr  C[i,k] = A[i,j] * B[j,k]", "A B", {"j": 3}),
    "a product by both": ("C[i,k] = A[i,j] * B[j,k]", "A B", {"j": 2, "i": [0, 7, 7]}),
    "a semiring": ("y[i] = min(j: A[i,j] + x[j])", "A x", {"i": 2, "j": 3}),
    "initial values": ("tensor y: f64[I] dense  y[i] += A[i,j] * x[j]", "A x y", {"j": 4}),
    "a gather": ("z[e] = w[e] * x[P[e]]", "w x P", {"e": 3}),
    "two results": ("r[i] = sum(j: A[i,j])\nm[] = max(i: w[i])", "A w", {"i": 2}),
}


@pytest.fixture
def operands(matrix):
    """Random floats, so that a sum that is grouped otherwise has other bits."""
    random = np.random.default_rng(7)
    A, B = matrix((20, 12), 0.3, seed=1), matrix((12, 9), 0.4, seed=2)
    A.data[:], B.data[:] = random.standard_normal(A.nnz), random.standard_normal(B.nnz)
    vectors = {name: random.standard_normal(n) for name, n in (("x", 12), ("y", 20), ("w", 20))}
    return {"A": A, "B": B, "P": random.integers(0, 12, 20), **vectors}


@pytest.fixture
def plan(operands):
    """The plan of one of the programs."""

    def of(name):
        text, names, split = PROGRAMS[name]
        return fl.shards(text, {name: operands[name] for name in names.split()}, split=split)

    return of


def same(one: dict, other: dict) -> bool:
    """Whether results are, bit for bit."""
    arrays = lambda t: [t.format, t.shape, *(a.tobytes() for a in t.arrays().values())]  # noqa: E731
    return list(one) == list(other) and all(arrays(one[name]) == arrays(other[name]) for name in one)


@pytest.fixture(scope="module")
def processes():
    """Two processes that know nothing of this one."""
    with futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client():
    """A dask client of two worker processes."""
    distributed = pytest.importorskip("distributed")
    how = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_give_what_the_whole_gives(name, plan, operands):
    text, names, _ = PROGRAMS[name]
    s = plan(name)
    made = s.run()
    whole = fl.compile(text, {n: operands[n] for n in names.split()})(**{n: operands[n] for n in names.split()})
    assert list(made) == list(whole)
    for result in made:
        np.testing.assert_allclose(made[result].to_numpy(), whole[result].to_numpy(), rtol=1e-13, atol=1e-14)
    want = {
        "a vector by both": lambda A, x, **_: A @ x,
        "a product by sums": lambda A, B, **_: (A @ B).toarray(),
        "initial values": lambda A, x, y, **_: y + A @ x,
        "a gather": lambda w, x, P, **_: w * x[P],
    }.get(name)
    if want is not None:
        np.testing.assert_allclose(next(iter(made.values())).to_numpy(), want(**operands), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_whoever_runs_boxes(name, plan, processes, client):
    s = plan(name)
    want = s.run()
    with futures.ThreadPoolExecutor(3) as threads:
        for pool in (1, 4, threads, processes, client):
            assert same(s.run(pool), want), pool
    assert same(s.merge([s.run_one(box) for box in s.boxes]), want)
    assert same(s.merge(s.kernel(**s.operands(box)) for box in s.boxes), want)


def test_a_plan_is_printed(plan):
    s = plan("a product by both")
    assert str(s) == repr(s) == textwrap.dedent("""\
        8 boxes
          j: 2 ranges of 0..12
          i: 4 ranges of 0..20
        operands
          A: mode 0 cut along i, mode 1 cut along j
          B: mode 0 cut along j
        results
          C: mode 0 concatenated along i; folded with `+` along j""")
    assert len(s) == 8 and str(s.boxes[5]) == "box 5 (j in 6..12, i in 0..7)"
    assert s.boxes[5].ranges == {"j": range(6, 12), "i": range(0, 7)}
    assert s.operand_fates[1] == ("B", ((0, "j"),), None)
    assert s.result_fates[0] == ("C", ((0, "i"),), ("+", ("j",)))


def test_parts_are_views_where_rows_are_cut(operands):
    A, x, D = operands["A"], operands["x"], np.arange(60.0).reshape(20, 3)
    s = fl.shards("y[i] = A[i,j] * x[j]\nE[i,k] = 2 * D[i,k]", A=fl.asarray(A), x=fl.asarray(x), D=D, split={"i": 4})
    first, second = s.operands(0), s.operands(s.boxes[1])
    assert first["x"] is second["x"]
    part = second["A"].arrays()
    assert np.shares_memory(part["values"], A.data) and np.shares_memory(part["crd1"], A.indices)
    assert np.shares_memory(second["D"].to_numpy(), D) and not second["D"].to_numpy().flags.writeable
    assert (second["A"].to_numpy() == A.toarray()[5:10]).all() and second["A"].format == "csr"
    by_columns = fl.shards(SPMV, A=A, x=x, split={"j": 2}).operands(1)
    assert (by_columns["A"].to_numpy() == A.toarray()[:, 6:]).all()
    assert np.shares_memory(by_columns["x"].to_numpy(), x)


def test_a_part_is_pickled_without_the_rest():
    A = sp.random_array((400, 50), density=0.5, format="csr", rng=1)
    s = fl.shards("r[i] = sum(j: A[i,j])", A=A, split={"i": 4})
    sizes = [len(pickle.dumps(s.operands(box)["A"], 5)) for box in s.boxes]
    assert max(sizes) < A.data.nbytes / 2 and sum(sizes) > A.data.nbytes
    assert (pickle.loads(pickle.dumps(s.operands(3)["A"])).to_numpy() == A.toarray()[300:]).all()


def test_a_part_outlives_its_plan(operands):
    part = fl.shards(SPMV, A=operands["A"].copy(), x=operands["x"], split={"i": 2}).operands(1)["A"]
    assert (part.to_numpy() == operands["A"].toarray()[10:]).all()


def test_results_are_nobody_elses(plan):
    s = fl.shards("B[i,j] = 2 * A[i,j]", A=fl.asarray(np.ones((4, 4)), "csr"), split={"i": 1})
    (made,) = [s.run_one(0)]
    merged = s.merge([made])["B"]
    merged.arrays()["values"][:] = 7
    assert (made["B"].arrays()["values"] == 2).all()


def test_kernels_functions_and_formats_of_results_are_taken(operands):
    A, x, B = operands["A"], operands["x"], operands["B"]
    want = A @ x
    k = fl.compile(SPMV, A="f64 csr", x="f64")
    np.testing.assert_allclose(fl.shards(k, A=A, x=x, split={"i": 2}).run()["y"].to_numpy(), want)

    @fl.kernel
    def spmv(A: fl.f64["I J", "csr"], x):
        y[i] = A[i, j] * x[j]  # noqa: F821

    np.testing.assert_allclose(fl.shards(spmv, A=A, x=x, split={"i": 2}).run()["y"].to_numpy(), want)
    product = "C[i,k] = A[i,j] * B[j,k]"
    for out in ("csc", {"C": "csc"}):
        C = fl.shards(product, A=A, B=B, split={"i": 2}, out=out).run()["C"]
        assert C.format == "csc"
        np.testing.assert_allclose(C.to_numpy(), (A @ B).toarray())

    @fl.function(commutative=True, associative=True, identity=float("-inf"))
    def larger(a, b):
        return a if a > b else b

    s = fl.shards("m[] = larger(i: x[i])", x=x, larger=larger, split={"i": 3})
    assert s.run()["m"].to_numpy() == x.max() and "folded with `larger` along i" in str(s)


def test_what_is_not_split_is_said_under_its_place(operands):
    with pytest.raises(fl.ProgramError, match="index variable `i` is not split: its value is read") as raised:
        fl.shards("y[i] = x[i] * convert(i, f64)", x=operands["x"], split={"i": 2})
    assert raised.value.spans[0].column == 23 and raised.value.spans[0].help

    @fl.kernel
    def shifted(x: fl.f64["N"]):
        y[i] = x[i] if i < 3 else 0.0  # noqa: F821

    with pytest.raises(fl.ProgramError, match="test_shards.py"):
        fl.shards(shifted, x=operands["x"], split={"i": 2})


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (dict(split={"k": 2}), "no index variable `k`"),
        (dict(split={"i": 0}), "`i`: it is cut into no boxes"),
        (dict(split={"i": [5, 2]}), "`i`: it is cut at 5, and then at 2"),
        (dict(split={"i": -1}), "`i`: -1 is no number of boxes"),
        (dict(split={"i": "rows"}), "`i`: 'rows' is no number of boxes"),
        (dict(split={"i": 2.5}), "`i`: 2.5 is no number of boxes"),
        (dict(split={"i": 2}, x=None), "tensor `x`"),
        (dict(split={"i": 2}, x=np.ones(3)), "extent"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(how, says, operands):
    with pytest.raises(fl.Error, match=says):
        fl.shards(SPMV, **{"A": operands["A"], "x": operands["x"], **how})


def test_what_is_wrong_with_a_run_is_said(plan):
    s = plan("a vector by both")
    with pytest.raises(fl.Error, match="builtins.str runs no boxes"):
        s.run("two")
    with pytest.raises(fl.Error, match="0 threads run no boxes"):
        s.run(0)
    with pytest.raises(fl.Error, match="there is no box 6: there are 6"):
        s.run_one(6)
    made = [s.run_one(box) for box in s.boxes]
    with pytest.raises(fl.OperandError, match="5 results for 6 boxes"):
        s.merge(made[1:])
    with pytest.raises(fl.OperandError, match="the result `y` of box 0: it is missing"):
        s.merge([{}, *made[1:]])


def test_an_error_names_the_first_box_that_has_one(processes, client):
    P = np.zeros(40, np.int64)
    P[[15, 35]] = 9
    s = fl.shards("y[e] = x[P[e]]", P=P, x=np.ones(3), split={"e": 4})
    with futures.ThreadPoolExecutor(2) as threads:
        for pool in (None, 4, threads, processes, client):
            with pytest.raises(fl.Error, match=r"^in box 1 \(e in 10..20\):\n") as raised:
                s.run(pool)
            assert raised.value.box == s.boxes[1] and "holds 9 at [5]" in str(raised.value), pool
            # In this process they are drawn into the program, in another into that of the boxes.
            assert "y[e] = x[P[e]]" in str(raised.value) and (pool in (processes, client) or raised.value.spans[0].line == 1)


def test_workers_that_end_and_clients_that_are_closed(operands):
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": "600MB"}
    s = fl.shards(SPMV, A=operands["A"], x=operands["x"], split={"i": 6})
    want = s.run()["y"].to_numpy()
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        np.testing.assert_array_equal(s.run(client)["y"].to_numpy(), want)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        np.testing.assert_array_equal(s.run(client)["y"].to_numpy(), want)
        # A box has 1.4 GB.
        large = fl.shards("C[i,j] = x[i] * z[j]", x=np.ones(60_000), z=np.ones(6000), split={"i": 2})
        with pytest.raises(fl.LimitError, match="workers ended 3 times .* 600000000 bytes of memory: more boxes"):
            large.run(client)
    with pytest.raises(fl.Error, match=r"a dask client that is closed runs no boxes: .*`run\(\)`"):
        s.run(client)
    np.testing.assert_array_equal(s.run()["y"].to_numpy(), want)


def test_a_worker_compiles_a_text_once(client, operands):
    def kernels():
        from fiberloom import _shards

        return [id(kernel) for kernel in _shards._KERNELS.values()]

    before = client.run(kernels)
    s = fl.shards("y[i] = 3 * A[i,j] * x[j] + 4711", A=operands["A"], x=operands["x"], split={"i": 8})
    s.run(client)
    after = client.run(kernels)
    s.run(client)
    assert [len(after[worker]) - len(before[worker]) for worker in after] == [1, 1]
    assert {worker: set(ids) for worker, ids in client.run(kernels).items()} == {w: set(ids) for w, ids in after.items()}


def test_workers_keep_what_they_were_sent(client, operands):
    A = sp.csr_array(operands["A"][:12])
    s = fl.shards("y[i] = A[i,j] * x[j] + b[j] * 0.5", A=A, x=operands["x"], b=np.ones(12), split={"i": 3})
    x = operands["x"]
    for _ in range(3):
        x = (A @ x) + 6
        sent = dict(s.sent.get(client, {}))
        y = s.run(client)["y"]
        np.testing.assert_allclose(y.to_numpy(), x, rtol=1e-12)
        s = s.replace(x=y)
        kept = s.sent[client]
        assert {key[0] for key in kept} == {"A", "b"} and len(kept) == 4
        assert all(kept[key] is sent[key] for key in kept if key in sent)


#: Some 10¹³ terms, in boxes of which none ends while a test waits; a turn of the outer loop, at which it may be ended, takes some
#: hundredths of a second.
ENDLESS = "s[i] = sum(j, k: if x[i] * z[j] < z[k] then sqrt(x[i] + z[j] * z[k]) else 0.0)"


def child(body: str) -> subprocess.CompletedProcess:
    """A process of its own, which sends itself Ctrl-C after 0.5 s if it calls `later()`."""
    begin = f"""
        import os, signal, threading, time
        import concurrent.futures as futures
        import numpy as np
        import fiberloom as fl
        s = fl.shards({ENDLESS!r}, x=np.arange(1e6), z=np.arange(5e3), split={{"i": 4}})
        def later():
            global at
            def send():
                global at
                time.sleep(0.5)
                at = time.perf_counter()
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=send, daemon=True).start()
        """
    program = textwrap.dedent(begin) + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("pool", ["None", "2", "futures.ThreadPoolExecutor(2)"])
def test_ctrl_c_ends_a_run_and_its_boxes(pool):
    ran = child(f"""
        later()
        try:
            s.run({pool})
        except KeyboardInterrupt:
            print(time.perf_counter() - at)
        time.sleep(0.4)
        before = time.process_time()
        time.sleep(0.3)
        print(time.process_time() - before)
        print(fl.shards("y[i] = 2 * x[i]", x=np.arange(3), split={{"i": 2}}).run(2)["y"].to_numpy().tolist())
        """)
    assert ran.returncode == 0, ran.stderr
    took, busy, result = ran.stdout.splitlines()
    assert float(took) < 1.0 and result == "[0, 2, 4]"
    assert float(busy) < 0.15, "the loops have stopped, too"


def test_the_lock_is_free_while_boxes_run():
    s = fl.shards(ENDLESS, x=np.arange(2.0), z=np.arange(6000.0), split={"i": 2})
    turns, begin = 0, time.perf_counter()
    with futures.ThreadPoolExecutor(1) as outer:
        running = outer.submit(s.run, 2)
        while not running.done():
            turns += 1
            time.sleep(0.001)
    running.result()
    assert turns > (time.perf_counter() - begin) / 0.02


#: Run by each rank: the first has operands, the other has none; then both have.
RANKS = """
import pathlib
import sys

import numpy as np
from mpi4py import MPI
import fiberloom as fl
from fiberloom import _pools

comm = MPI.COMM_WORLD
A = np.arange(60.0).reshape(10, 6) % 7 / 3
P = np.array([0, 1, 9, 9])
plans = [("y[i] = A[i,j] * x[j]", dict(A=A, x=np.arange(6.0) / 3), {"i": 3, "j": 2}),
         ("D[i,j] = 2 * A[i,j]", dict(A=fl.asarray(A, "csr")), {"i": 2}),
         ("y[e] = x[P[e]]", dict(P=P, x=np.ones(3)), {"e": 4})]
said, ran, run_one = [], [], fl.Shards.run_one
fl.Shards.run_one = lambda s, box: (ran.append(box), run_one(s, box))[1]
for text, operands, split in plans:
    if comm.rank > 0:
        fl.Shards.work(comm)
        continue
    s = fl.shards(text, operands, split=split)
    ran.clear()
    try:
        made = s.run(comm)
    except fl.Error as e:
        said.append(str(e).splitlines()[0])
        continue
    said.append(f"both ranks {0 < len(ran) < len(s)}")
    want = s.run()
    assert made.keys() == want.keys()
    assert all(made[name].to_numpy().tobytes() == want[name].to_numpy().tobytes() for name in want)
made = fl.shards("y[i] = A[i,j]", A=A, split={"i": 2}).run(comm)
assert (made is None) == (comm.rank > 0)
said.append(f"rank {comm.rank} of {comm.size} ends")
pathlib.Path(sys.argv[1], f"said{comm.rank}").write_text("\\n".join(said), encoding="utf-8")
"""


def test_ranks_of_mpi_run_boxes(tmp_path):
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec (Debian: openmpi-bin)")
    (tmp_path / "ranks.py").write_text(RANKS, encoding="utf-8")
    python = [sys.executable, "-P", str(tmp_path / "ranks.py"), str(tmp_path)]
    command = [mpiexec, "-n", "2", "--allow-run-as-root", "--oversubscribe", *python]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    # What ranks print comes in any order, in parts.
    said = [(tmp_path / f"said{rank}").read_text(encoding="utf-8").splitlines() for rank in range(2)]
    assert said == [["both ranks True", "both ranks True", "in box 2 (e in 2..3):", "rank 0 of 2 ends"], ["rank 1 of 2 ends"]]

PRODUCT = "C[i,k] = A[i,j] * B[j,k]"

#: Run in each worker: the product is compiled, and then so many bytes of addresses more are all that it may have.
LIMITED = f"""
import resource
import scipy.sparse as sp
import fiberloom as fl
from fiberloom import _pools

A = sp.eye_array(3, format="csr")
fl.shards({PRODUCT!r}, A=A, B=A, split={{"i": 1}}, out="csr").run()
with open("/proc/self/statm") as counts:
    has = int(counts.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (has + MORE, has + MORE))
"""


def test_a_graph_that_does_not_fit_one_worker_is_multiplied_by_two(monkeypatch):
    # Threads with heaps of their own would reserve 64 MiB of addresses each; and what is large is given back when it is freed.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(2**17))
    n, random = 12_000, np.random.default_rng(5)
    edges = random.integers(0, n, (2, 26 * n), dtype=np.int32)
    graph = sp.coo_array((np.ones(26 * n), tuple(edges)), shape=(n, n)).tocsr()
    assert graph.indices.dtype == np.int32
    want = graph @ graph
    want.sort_indices()
    limit = 128 * 2**20
    code = LIMITED.replace("MORE", str(limit))
    how = dict(mp_context=multiprocessing.get_context("spawn"), initializer=exec, initargs=(code, {}))
    with futures.ProcessPoolExecutor(2, **how) as pool:
        of = lambda boxes: fl.shards(PRODUCT, A=graph, B=graph, split={"i": boxes}, out="csr")  # noqa: E731
        with pytest.raises(fl.LimitError, match=r"^in box 0 \(i in 0..12000\)"):
            of(1).run(pool)
        C = of(2).run(pool)["C"]
    assert C.nbytes < limit < 2 * C.nbytes, "what is sent back is a copy"
    C = C.to_scipy()
    assert (C.indptr == want.indptr).all() and (C.indices == want.indices).all()
    np.testing.assert_allclose(C.data, want.data, rtol=1e-14)


# ---- how boxes are handed out, without any that run


class Scripted:
    """Boxes that end in an order that is drawn, some of them with an error; what is asked of them is written down."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.count, self.most = int(self.rng.integers(1, 9)), int(self.rng.integers(1, 5))
        self.failing = {n for n in range(self.count) if self.rng.random() < (seed % 3) * 0.25}
        self.boxes = tuple(fl._shards.Box(n, {"i": range(n, n + 1)}) for n in range(self.count))
        self.running, self.submitted, self.ended, self.cancelled = {}, [], [], []

    def submit(self, number):
        future = futures.Future()
        self.running[future] = number
        self.submitted.append(number)
        assert len(self.running) <= self.most
        assert not [n for n in self.ended if n in self.failing], "a box is handed out after an error"
        return future

    def wait(self, pending):
        assert set(pending) == {f for f in self.running if f not in self.cancelled}
        done = self.rng.permutation(np.array(pending, object))[: self.rng.integers(1, len(pending) + 1)]
        for future in done:
            number = self.running.pop(future)
            self.ended.append(number)
            if number in self.failing:
                future.set_exception(fl.MismatchError(f"of {number}"))
            else:
                future.set_result({"n": number})
        return set(done)

    def cancel(self, pending):
        self.cancelled += pending


@pytest.mark.parametrize("seed", range(60))
def test_boxes_are_handed_out_in_order_and_the_first_error_is_raised(seed):
    script = Scripted(seed)
    collect = lambda: _pools._collected(script.boxes, script.submit, script.wait, script.cancel, script.most)  # noqa: E731
    if not script.failing:
        assert collect() == [{"n": n} for n in range(script.count)]
        assert sorted(script.submitted) == script.submitted == list(range(script.count))
        return
    with pytest.raises(fl.MismatchError) as raised:
        collect()
    first = min(script.failing)
    assert raised.value.box.number == first and f"of {first}" in str(raised.value)
    assert str(raised.value).count("in box") == 1
    # Those before the one that failed are waited for, and those behind it ended.
    assert set(range(first + 1)) <= set(script.ended)
    late = [n for future, n in script.running.items() if future in script.cancelled]
    assert sorted(late + script.ended) == script.submitted and all(n > first for n in late)


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_handed_boxes_and_the_first_error_is_raised(seed):
    script = Scripted(seed)
    led, open = _pools._Led(script.boxes), []
    while led.is_open() or open:
        if led.is_open() and (not open or script.rng.random() < 0.6):
            assert led.left() == script.count - len(script.submitted)
            script.submitted.append(led.next())
            open.append(script.submitted[-1])
        else:
            number = open.pop(int(script.rng.integers(len(open))))
            failed = number in script.failing
            led.ended(number, None if failed else {"n": number}, fl.Error(f"of {number}") if failed else None)
    assert script.submitted == list(range(len(script.submitted)))
    reached = script.failing & set(script.submitted)
    if reached:
        with pytest.raises(fl.Error, match=f"of {min(reached)}"):
            led.made()
    else:
        assert led.made() == [{"n": n} for n in range(script.count)]


@pytest.mark.parametrize(
    "raised, kind",
    [(fl.OperandError("x"), fl.OperandError), (fl.LimitError("x"), fl.LimitError), (MemoryError(), fl.LimitError), (KeyError("x"), KeyError)],
    ids=repr,
)
def test_errors_say_once_in_which_box_they_arose(raised, kind):
    inner, outer = fl._shards.Box(3, {"i": range(2, 5)}), fl._shards.Box(4, {"i": range(5, 6)})
    with pytest.raises(kind) as seen, fl._shards.naming(outer), fl._shards.naming(inner):
        raise raised
    error = seen.value
    assert error.box == (inner if kind is not KeyError else outer) and type(error) is kind
    assert kind is KeyError or str(error).startswith("in box 3 (i in 2..5):") and str(error).count("box") == 1
    assert isinstance(error, MemoryError) == (kind is fl.LimitError)


def test_kernels_of_boxes_are_kept_by_all_that_they_are_made_of():
    made = []
    make = lambda: made.append(object()) or made[-1]  # noqa: E731
    plain = ("text of none", (), None, "file", {"mode": "strict"})
    first = fl._shards.kernel_of(plain, make)
    parts = [("another", *plain[1:]), (*plain[:3], "other", plain[4]), (*plain[:4], {"mode": "algebraic"}), (*plain[:4], {})]
    others = [fl._shards.kernel_of(part, make) for part in parts] + [fl._shards.kernel_of(plain, make, "the whole's text")]
    assert len({id(kernel) for kernel in (first, *others)}) == 6
    assert fl._shards.kernel_of(plain, make) is first and len(made) == 6
    # The one that was asked for last is dropped last.
    for n in range(fl._shards._MOST_KERNELS - 1):
        fl._shards.kernel_of((f"text {n}", *plain[1:]), make)
    assert fl._shards.kernel_of(plain, make) is first
    count = len(made)
    fl._shards.kernel_of(("another", *plain[1:]), make)
    assert len(made) == count + 1 and len(fl._shards._KERNELS) == fl._shards._MOST_KERNELS
    for key in [key for key, kernel in fl._shards._KERNELS.items() if kernel in made]:
        del fl._shards._KERNELS[key]


class Inline(futures.Executor):
    """An executor that runs what it is given at once, as a process would: of what was pickled."""

    _max_workers = 2

    def submit(self, function, *arguments):
        future = futures.Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments))))))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("name", PROGRAMS)
def test_processes_are_sent_parts_and_what_is_whole_once(name, plan, monkeypatch):
    shards, sent = plan(name), []
    pickled = _pools._pickled
    monkeypatch.setattr(_pools, "_pickled", lambda object: sent.append(object) or pickled(object))
    assert same(shards.run(Inline()), shards.run())
    whole = {fate.tensor for fate in shards.operand_fates if not fate.cuts}
    operands = shards.operands(0)
    for tensor in whole:
        assert sum(object is operands[tensor] for object in sent) == 1
    parts = sum(not isinstance(object, dict) for object in sent)
    assert parts == len(whole) + (len(operands) - len(whole)) * len(shards)


def test_boxes_that_there_are_not(plan):
    shards = plan("a vector by both")
    for number in (-1, len(shards), 99):
        for ask in (shards.operands, shards.run_one):
            with pytest.raises(fl.Error, match=f"there is no box {number}"):
                ask(number)
    for wrong in (0, -2):
        with pytest.raises(fl.Error, match="one at least"):
            shards.run(wrong)


def test_formats_of_results_that_are_said_are_the_last_ones(operands):
    text = "r[i] = sum(j: A[i,j])\nC[i,j] = 2.0 * A[i,j]"
    made = fl.shards(text, A=operands["A"], split={"i": 2}, out="dcsr").run()
    assert made["C"].format == "dcsr" and made["r"].format == "dense"
    np.testing.assert_array_equal(made["C"].to_numpy(), 2 * operands["A"].toarray())
