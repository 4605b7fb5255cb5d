"""Kernels: called, bound, shown, timed, checked, pickled; errors with their places."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl

SPMV = "y[i] = A[i,j] * x[j]"


@pytest.fixture
def spmv():
    return fl.compile(SPMV, A="f64 csr", x="f64")


def test_a_kernel_is_called_by_name(spmv, matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    results = spmv(A=A, x=x)
    assert list(results) == ["y"] and (results["y"].to_numpy() == A @ x).all()
    assert (spmv(A=fl.asarray(A), x=fl.asarray(x))["y"].to_numpy() == A @ x).all()
    assert (spmv(A=A, x=[0, 1, 2, 3, 4, 5])["y"].to_numpy() == A @ x).all()


def test_a_declared_fill_is_that_of_scipys_matrices():
    k = fl.compile("y[i] = min(j: A[i,j] + x[j])", A="f64 csr fill inf", x="f64")
    A = sp.csr_array(np.array([[0.0, 2.0], [5.0, 0.0]]))
    assert k(A=A, x=np.array([1.0, 10.0]))["y"].to_numpy().tolist() == [12, 6]


def test_results_are_copied_into_buffers(spmv, matrix):
    A, x, y = matrix((5, 6)), np.arange(6.0), np.zeros((2, 5))[1]
    assert spmv(A=A, x=x, out={"y": y})["y"] is y
    assert (y == A @ x).all()
    with pytest.raises(fl.Error, match="there is no result `z`"):
        spmv(A=A, x=x, out={"z": y})


def test_a_bound_call_looks_at_its_operands_no_more(spmv, matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    bound = spmv.bind(A=A, x=x)
    for _ in range(3):
        assert (bound.run()["y"].to_numpy() == A @ x).all()
    x[0] = 100
    y = A @ x
    assert (bound.run()["y"].to_numpy() == y).all(), "values are read where they are"
    assert A.indices.flags.writeable
    A.indices[:] = 99
    assert (bound.run()["y"].to_numpy() == y).all(), "indices are its own"
    U = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert spmv.bind(A=U, x=np.array([1.0, 10.0])).run()["y"].to_numpy().tolist() == [12.0]


def test_initial_values_are_inputs_too():
    k = fl.compile("tensor y: f64[N] dense  y[i] += x[i]", x="f64")
    assert k(x=np.ones(2))["y"].to_numpy().tolist() == [1, 1]
    assert k(x=np.ones(2), y=np.array([1.0, 2.0]))["y"].to_numpy().tolist() == [2, 3]


def test_stages_are_shown(spmv):
    assert "for p_A in A1_pos[i]..A1_pos[i + 1] {" in spmv.show("loops")
    assert repr(spmv.show()) == str(spmv.show("loops"))
    for stage in ("syntax", "notation", "schedule", "plan", "lattice", "looplets", "llvm", "asm"):
        assert spmv.show(stage)
    assert spmv.show("lattice.svg").startswith("<svg")
    with pytest.raises(fl.Error, match="there is no such stage: syntax, "):
        spmv.show("magic")


def test_an_explanation_says_what_is_taken_and_given(spmv):
    text = spmv.explain()
    assert "A: f64, csr, 2 modes" in text and "y: f64, dense" in text
    doubtful = fl.compile("y[i] = A[i,j] * x[k]", A="f64 csr", x="f64")
    assert "`j` occurs once in this term, and is summed" in doubtful.explain()


def test_kernels_are_checked_against_the_meaning(spmv, matrix):
    found = spmv.check(A=matrix((5, 6)), x=np.arange(6.0))
    assert found["compared"] > 0 and found["unpromised"] == 0


def test_kernels_are_timed(spmv, matrix):
    times = spmv.time(A=matrix((5, 6)), x=np.arange(6.0), seconds=0.01)
    assert 0 <= times["loops"] <= times["call"] and times["runs"] >= 3


@pytest.mark.parametrize("engine", ["llvm", "loops", "meaning"])
def test_engines_agree(engine, matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    k = fl.compile(SPMV, A="f64 csr", x="f64", options={"engine": engine})
    assert (k(A=A, x=x)["y"].to_numpy() == A @ x).all()


def test_code_for_gpus_runs_on_a_machine_that_checks_it(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    assert (fl.einsum(SPMV, A=A, x=x, options={"engine": "ptx"}).to_numpy() == A @ x).all()


def test_a_device_is_a_cpu_or_a_gpu(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    assert (fl.einsum(SPMV, A=A, x=x, device="cpu").to_numpy() == A @ x).all()
    k = fl.compile(SPMV, A="f64 csr", x="f64", device="cuda")
    assert k.made_of()[-1]["engine"] == "nvptx"
    try:
        assert np.allclose(k(A=A, x=x)["y"].to_numpy(), A @ x)
    except fl.Error as e:  # Where there is no GPU, it says what is missing.
        assert "NVIDIA" in str(e)
    with pytest.raises(fl.Error, match="`tpu` is no device: cpu or cuda expected"):
        fl.einsum(SPMV, A=A, x=x, device="tpu")
    with pytest.raises(fl.Error, match="both `engine` and `device` are said"):
        fl.compile(SPMV, A="f64 csr", x="f64", device="cuda", options={"engine": "loops"})


def test_kernels_pickle_by_text_and_options(matrix):
    k = fl.compile(SPMV, A="f64 csr fill inf", x="f64", out={"y": "sparse"}, options={"mode": "strict"})
    back = pickle.loads(pickle.dumps(k))
    assert back.made_of() == k.made_of() and repr(back) == repr(k)
    assert repr(k) == "Kernel(A: f64 csr, x: f64 dense -> y: f64 sparse)"


def test_examples_describe_operands(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    assert (fl.compile(SPMV, A=A.tocsc(), x=x)(A=A.tocsc(), x=x)["y"].to_numpy() == A @ x).all()
    with pytest.raises(fl.OperandError, match="`f46`: a type of the language expected"):
        fl.compile(SPMV, A="f46", x="f64")


class TestErrors:
    def test_a_program_is_drawn_with_its_places(self):
        with pytest.raises(fl.ProgramError) as caught:
            fl.compile("tensor A: f64[I, J] crs\ny[i] = A[i,j]")
        error = caught.value
        assert str(error).startswith("program:1:21: error:") and "crs" in str(error)
        (span,) = error.spans
        assert (span.start, span.end, span.line, span.column) == (20, 23, 1, 21)
        assert isinstance(error, ValueError) and isinstance(error, fl.Error)

    def test_places_count_characters(self):
        with pytest.raises(fl.ProgramError) as caught:
            fl.compile("# größer ≥ π\ny[i] = ?")
        assert caught.value.spans[0].line == 2 and "# größer ≥ π\ny[i] = ?"[caught.value.spans[0].start] == "?"

    def test_extents_that_contradict_each_other(self, spmv, matrix):
        with pytest.raises(fl.MismatchError) as caught:
            spmv(A=matrix((5, 6)), x=np.ones(4))
        assert "extent" in str(caught.value) and caught.value.spans

    def test_an_operand_that_is_missing_says_how_to_give_it(self, spmv, matrix):
        with pytest.raises(fl.OperandError, match="give the call `x=…`") as caught:
            spmv(A=matrix((5, 6)))
        assert "--in" not in str(caught.value) and "&tensor" not in str(caught.value)

    def test_an_operand_in_another_format_or_type_is_refused(self, spmv, matrix):
        with pytest.raises(fl.OperandError, match="in format .*order.*declared as"):
            spmv(A=matrix((5, 6)).tocsc(), x=np.ones(6))
        with pytest.raises(fl.OperandError, match="values of type f32, declared as f64"):
            spmv(A=matrix((5, 6)), x=np.ones(6, np.float32))
        with pytest.raises(fl.OperandError, match="a float is given, i32 expected"):
            fl.compile("y[i] = a[] * x[i]", a="i32", x="i32")(a=1.5, x=[1, 2])
        with pytest.raises(fl.OperandError, match="300 is given, which is no i8"):
            fl.compile("y[i] = a[] * x[i]", a="i8", x="i8")(a=300, x=[1, 2])

    def test_a_limit_is_a_memory_error_too(self):
        k = fl.compile("C[i,j] = x[i] * x[j]", x="f64", options={"memory": 1000})
        with pytest.raises(fl.LimitError) as caught:
            k(x=np.ones(100))
        assert isinstance(caught.value, MemoryError)

    def test_a_false_property_shows_a_counterexample(self):
        with pytest.raises(fl.CounterexampleError, match="counterexample"):
            fl.compile("fn f(a: i64, b: i64) -> i64 { a - b } where commutative\ny[i] = f(x[i], x[i])", x="i64")

    def test_exceptions_have_names_of_the_package(self):
        assert fl.OperandError.__module__ == "fiberloom"
        assert pickle.loads(pickle.dumps(fl.OperandError("x"))).args == ("x",)


#: Runs of a bound kernel for a GPU: what each uploads, by its bytes, and what it makes.
RUNS_ON_A_GPU = """
import os
import numpy as np, scipy.sparse as sp
import fiberloom as fl

def uploaded():
    with open(os.environ["FIBERLOOM_DRIVER_LOG"]) as log:
        return [int(line.split()[1]) for line in log if line.startswith("cuMemcpyHtoD ")]

matrix, x = sp.csr_array(np.array([[2.0, 0, 3], [0, 5, 0]])), np.array([1.0, 10, 100])
kernel = fl.compile("y[i] = A[i,j] * x[j]", A="f64 csr", x="f64", device="cuda")
before = 0
for writable in [True, False]:
    matrix.data.setflags(write=writable)
    x.setflags(write=writable)
    bound = kernel.bind(A=matrix, x=x)
    for _ in range(2):
        print(bound.run()["y"].to_numpy().tolist(), sorted(uploaded()[before:]))
        before = len(uploaded())
        if writable:
            x[0] += 1
"""


def test_what_cannot_change_stays_on_a_gpu(tmp_path):
    # The driver whose GPU is the machine for PTX: it is built with the tests of Rust, of which the module is a part.
    driver = pathlib.Path(fl.__file__).resolve().parents[3] / "debug/deps/libfiberloom_driver.so"
    if not driver.exists():
        pytest.skip("the module was not built beside the driver")
    (tmp_path / "libcuda.so").symlink_to(driver)
    paths = [str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")]
    settings = {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths)), "FIBERLOOM_DRIVER_LOG": str(tmp_path / "log")}
    how = {"env": os.environ | settings, "cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    ran = subprocess.run([sys.executable, "-c", RUNS_ON_A_GPU], **how)
    assert ran.returncode == 0, ran.stderr
    # Positions and coordinates of 12 bytes, values and x of 24, the result of 16, which each launch takes there and back.
    assert ran.stdout.splitlines() == [
        "[302.0, 50.0] [12, 12, 16, 24, 24]",
        "[304.0, 50.0] [16, 24, 24]",
        "[306.0, 50.0] [12, 12, 16, 24, 24]",
        "[306.0, 50.0] [16]",
    ]
