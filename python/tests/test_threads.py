"""Signals, threads, the interpreter's lock, the end of the process."""

import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import fiberloom as fl

#: Some 10¹³ terms: no machine computes them while a test waits.
ENDLESS = "s[] = sum(i, j, k: if x[i] * x[j] < x[k] then sqrt(x[i] + x[j] * x[k]) else 0.0)"


def child(body: str) -> subprocess.CompletedProcess:
    """Runs a program in a process of its own, which sends itself Ctrl-C after 0.4 s if it calls `later()`."""
    begin = f"""
        import os, signal, threading, time
        import numpy as np
        import fiberloom as fl
        ENDLESS = {ENDLESS!r}
        def later():
            global at
            def send():
                global at
                time.sleep(0.4)
                at = time.perf_counter()
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=send, daemon=True).start()
        """
    program = textwrap.dedent(begin) + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)


CALLS = {
    "einsum": "fl.einsum(ENDLESS, x=np.arange(20000.0))",
    "a kernel": "fl.compile(ENDLESS, x='f64')(x=np.arange(20000.0))",
    "a bound call": "fl.compile(ENDLESS, x='f64').bind(x=np.arange(20000.0)).run()",
    "a check": "fl.compile(ENDLESS, x='f64').check(x=np.arange(20000.0))",
    "the meaning": "fl.einsum(ENDLESS, x=np.arange(20000.0), options={'engine': 'meaning'})",
    "one innermost loop": """
            empty = [np.array([0, 0]), np.empty(0, np.int64), np.empty(0)]
            x = fl._native.from_levels((900_000_000_000_000,), "sparse", empty)
            fl.einsum("s[] = sum(i: sqrt(convert(i, f64)) + x[i])", x=x)""",
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_long_call_within_a_second(call):
    ran = child(f"""
        later()
        try:
            {CALLS[call]}
        except KeyboardInterrupt:
            print(time.perf_counter() - at)
        """)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 1.0


def test_a_call_that_was_interrupted_leaves_everything_usable():
    ran = child("""
        k = fl.compile(ENDLESS, x='f64')
        bound = k.bind(x=np.arange(20000.0))
        for run in (bound.run, lambda: k(x=np.arange(20000.0))):
            later()
            try:
                run()
            except KeyboardInterrupt:
                pass
        def rests():
            before = time.process_time()
            time.sleep(0.3)
            return time.process_time() - before < 0.15
        # Threads may take a while to stop on a busy machine.
        print(any(rests() for _ in range(10)), fl.einsum("y[i] = 2 * x[i]", x=np.arange(3)).to_numpy().tolist())
        """)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "True [0, 2, 4]", "the loops have stopped, too"


def test_other_threads_run_meanwhile():
    x = np.arange(1500.0)
    k = fl.compile(ENDLESS, x="f64")
    k(x=x[:10])
    turns = 0
    ended = threading.Event()

    def call():
        k(x=x)
        ended.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not ended.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 20


def test_kernels_are_called_from_many_threads(matrix):
    A, x = fl.asarray(matrix((200, 200))), np.arange(200.0)
    want = A.to_numpy() @ x
    wrong = []

    def call(n):
        for _ in range(50):
            got = fl.einsum(f"y[i] = {n % 3 + 1} * A[i,j] * x[j]", A=A, x=x).to_numpy()
            wrong.extend([] if (got == (n % 3 + 1) * want).all() else [n])

    threads = [threading.Thread(target=call, args=(n,)) for n in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_a_process_ends_while_something_is_compiled():
    statements = "".join(f"y{n}[i,j] = A[i,k] * A[k,j] + {n}.5 * A[i,j]\\n" for n in range(60))
    ran = child(f"""
        threading.Thread(target=lambda: fl.compile({statements!r}, A="f64 csr")(A=np.eye(2)), daemon=True).start()
        time.sleep(0.3)
        """)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def usual():
    yield
    fl.set_threads(0)


def rows(n: int = 30_000):
    """A matrix of some 2 · 10⁵ entries, of which some rows have many, and a vector."""
    random = np.random.default_rng(3)
    i = np.sort((n * random.random(200_000) ** 3).astype(np.int64))
    coordinates = np.unique(np.stack([i, random.integers(0, n, i.size)], axis=1), axis=0)
    begins = np.searchsorted(coordinates[:, 0], np.arange(n + 1))
    matrix = fl._native.from_levels((n, n), "csr", [begins, coordinates[:, 1].copy(), random.random(len(coordinates))])
    return matrix, random.random(n)


def test_any_number_of_threads_makes_the_same_bits(usual):
    A, x = rows()
    y = {}
    for number in (1, 2, 3, 7):
        fl.set_threads(number)
        assert fl.threads() == number
        y[number] = (A @ x).to_numpy().tobytes()
    assert len(set(y.values())) == 1
    by_hand = np.zeros(30_000)
    i, j = A.nonzero()
    np.add.at(by_hand, np.asarray(i), np.asarray(A.to_scipy().data) * x[np.asarray(j)])
    assert np.allclose(np.frombuffer(y[1]), by_hand)


def test_a_number_of_threads_is_one(usual):
    for wrong in (-1, 1 << 40):
        with pytest.raises(fl.Error, match="a number from 1 to 65536"):
            fl.set_threads(wrong)
    with pytest.raises(TypeError):
        fl.set_threads(1.5)


def test_threads_of_python_call_at_once(usual):
    A, x = rows()
    fl.set_threads(3)
    expected = (A @ x).to_numpy().tobytes()
    made = []
    called = [threading.Thread(target=lambda: made.extend((A @ x).to_numpy().tobytes() for _ in range(20))) for _ in range(4)]
    [thread.start() for thread in called]
    [thread.join() for thread in called]
    assert made == [expected] * 80


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own():
    ran = child("""
        import warnings
        warnings.simplefilter("ignore")
        n = 30_000
        begins, j = np.arange(0, 8 * n + 1, 8), np.tile(np.arange(8), n)
        A = fl._native.from_levels((n, n), "csr", [begins, j, np.arange(8.0 * n)])
        x = np.arange(float(n))
        fl.set_threads(3)
        before = (A @ x).to_numpy().tobytes()
        process = os.fork()
        if process == 0:
            os._exit(0 if (A @ x).to_numpy().tobytes() == before else 1)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), (A @ x).to_numpy().tobytes() == before)
        """)
    assert ran.stdout.split() == ["0", "True"], ran.stderr


def test_threadpoolctl_limits_these_threads(usual):
    pytest.importorskip("threadpoolctl")
    ran = child("""
        import threadpoolctl
        def seen():
            return [lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "fiberloom"]
        assert seen() == []
        fl.with_threadpoolctl()
        fl.with_threadpoolctl()
        fl.set_threads(3)
        with threadpoolctl.threadpool_limits(limits=2, user_api="fiberloom"):
            print(seen(), fl.threads())
        print(seen(), fl.threads())
        """)
    assert ran.stdout.split("\n")[:2] == ["[2] 2", "[3] 3"], ran.stderr
    # What is imported first is found.
    first = """
        import threadpoolctl, fiberloom as fl
        print([lib["version"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "fiberloom"] == [fl.__version__])
        """
    ran = subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(first)], capture_output=True, text=True)
    assert ran.stdout.strip() == "True", ran.stderr
