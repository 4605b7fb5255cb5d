"""Kernels on an NVIDIA GPU, beside cuSPARSE and CuPy: SpMV, SpMM with 32 columns, SDDMM with 32, the sum of two sparse matrices and the square
of one, on four families of matrices.

    python bench/gpu.py FIBERLOOM [--entries 1000000,10000000] [--seconds 420] [--peers cuSPARSE,CuPy]

`FIBERLOOM` is the command line program. Times are of kernels alone, by the GPU's clock, the least of several runs in float64; behind
them is what a call takes with transfers, by the wall. Values of every plan are compared with those that machine code computes on the
processor. cuSPARSE (`libcusparse.so.12`, of a toolkit or of PyPI's `nvidia-cusparse-cu12`) is called through its C interface on the same
arrays, for the first three kernels; CuPy, where it is installed, for all but SDDMM. Without them only our times are printed: nothing but Python's standard
library is needed. Prints a table in Markdown, and behind it, for each kernel and peer, the geometric mean of its time by that of our fastest plan.
"""

import argparse
import array
import ctypes
import glob
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

COLUMNS = 32

KERNELS = {
    "SpMV": (
        "tensor A: f64[I, J] csr\ntensor x: f64[J]\ny[i] = A[i,j] * x[j]\n",
        {
            "planned": "",
            "a row a thread": "parallelize(i, cpu_thread, no_races);",
            "a row a warp": "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction);",
            "two rows a warp": "split(i -> w, r, 2); parallelize(w, gpu_warp, no_races); parallelize(r, gpu_thread, no_races); "
            "parallelize(j, gpu_thread, parallel_reduction);",
            "entries": "collapse(i, j -> f); pos(f -> p, A); split(p -> b, p1, 2048); split(p1 -> w, p2, 256); split(p2 -> t, z, 8); "
            "reorder(b, w, t, z); parallelize(b, gpu_block, atomics); parallelize(w, gpu_warp, atomics); "
            "parallelize(t, gpu_thread, atomics);",
        },
    ),
    "SpMM": (
        "tensor A: f64[I, J] csr\ntensor X: f64[J, K]\ny[i,k] = A[i,j] * X[j,k]\n",
        {
            "planned": "",
            "a row a thread": "parallelize(i, cpu_thread, no_races);",
            "a row a block": "reorder(i, k, j); parallelize(i, gpu_block, no_races); parallelize(k, gpu_thread, no_races);",
        },
    ),
    "SDDMM": (
        "tensor A: f64[I, J] csr\ntensor B: f64[I, K]\ntensor D: f64[J, K]\ntensor y: f64[I, J] csr\ny[i,j] = A[i,j] * B[i,k] * D[j,k]\n",
        {
            "planned": "",
            "a row a thread": "parallelize(i, cpu_thread, no_races);",
            "an entry a lane": "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, no_races);",
        },
    ),
    "SpAdd": (
        "tensor A: f64[I, J] csr\ntensor B: f64[I, J] csr\ntensor y: f64[I, J] csr\ny[i,j] = A[i,j] + B[i,j]\n",
        {"planned": "", "a row a thread": "parallelize(i, gpu_thread, no_races);"},
    ),
    "SpGEMM": (
        "tensor A: f64[I, I] csr\ntensor y: f64[I, I] csr\ny[i,k] = A[i,j] * A[j,k]\n",
        {"planned": ""},
    ),
}

# What each reads beside A, and where its result goes.
OPERANDS = {"SpMV": ["x.npy"], "SpMM": ["X.npy"], "SDDMM": ["B.npy", "D.npy"], "SpAdd": ["B.npz"], "SpGEMM": []}
RESULTS = {"SpMV": "y.npy", "SpMM": "y.npy", "SDDMM": "y.npz", "SpAdd": "y.npz", "SpGEMM": "y.npz"}

# The most entries of a matrix that is squared.
SQUARED = 1000000


# --- data ---


def rows_of(family, entries, rng):
    """The columns of each row, ascending, and the number of columns: about so many entries, ten a row."""
    rows = max(entries // 10, 4)
    if family == "banded":
        return [list(range(max(i - 5, 0), min(i + 5, rows))) for i in range(rows)], rows
    if family == "blocks":
        starts = [rng.randrange(max(rows // 10, 1)) * 10 for _ in range(rows // 10 + 1)]
        return [list(range(min(starts[i // 10], rows - 1), min(starts[i // 10] + 10, rows))) for i in range(rows)], rows
    if family == "power law":
        # The row of rank r has a share of 1 / r, up to a tenth of the columns; columns are drawn evenly.
        scale = entries / sum(1 / r for r in range(1, rows + 1))
        lengths = [max(min(int(scale / r), rows // 10), 1) for r in range(1, rows + 1)]
        rng.shuffle(lengths)
    else:
        lengths = [10] * rows
    return [sorted({rng.randrange(rows) for _ in range(length)}) for length in lengths], rows


def npy(data, shape, kind=None):
    """A NumPy file of an `array`, or of bytes that are elements of this kind."""
    kind = kind or {"i": "<i4", "q": "<i8", "d": "<f8"}[data.typecode]
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(data)


class Matrix:
    def __init__(self, family, entries, rng):
        rows, columns = rows_of(family, entries, rng)
        self.shape = (len(rows), columns)
        self.positions = array.array("i", [0])
        self.columns = array.array("i")
        for row in rows:
            self.columns.extend(row)
            self.positions.append(len(self.columns))
        self.values = array.array("d", (rng.randrange(1, 9) / 4 for _ in self.columns))

    def write(self, path):
        """As SciPy writes a CSR matrix."""
        parts = {
            "indices": npy(self.columns, (len(self.columns),)),
            "indptr": npy(self.positions, (len(self.positions),)),
            "data": npy(self.values, (len(self.values),)),
            "shape": npy(array.array("q", self.shape), (2,)),
            "format": npy(b"csr", (), "|S3"),
        }
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:
            for name, data in parts.items():
                made.writestr(f"{name}.npy", data)


def read_npy(path):
    """The float64 values of a NumPy file."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    values = array.array("d")
    values.frombytes(data[10 + length :])
    return values


# --- ours ---


class Failed(Exception):
    pass


def run(binary, folder, kernel, engine, schedule, out=None, repeat=1):
    """What `run --json` says."""
    command = [binary, "run", f"{kernel}.loom", "--engine", engine, "--json", "--repeat", str(repeat), "--in", "A=A.npz"]
    for file in OPERANDS[kernel]:
        command += ["--in", f"{file[0]}={file}"]
    if schedule:
        command += ["--schedule", schedule]
    if out:
        command += ["--out", f"y={out}"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ran.returncode:
        raise Failed(ran.stderr.strip().splitlines()[0] if ran.stderr.strip() else f"exit status {ran.returncode}")
    return json.loads(ran.stdout.splitlines()[-1])


def values_of(path):
    """The values of a result: of a dense one all of them, of a sparse one those that are stored."""
    if path.endswith(".npy"):
        return read_npy(path)
    with zipfile.ZipFile(path) as made:
        data = made.read("data.npy")
    (length,) = struct.unpack_from("<H", data, 8)
    values = array.array("d")
    values.frombytes(data[10 + length :])
    return values


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-9 * max(abs(x), abs(y), 1.0) for x, y in zip(a, b))


# --- cuSPARSE ---


class CuSparse:
    """cuSPARSE, through the driver's and its own C interface."""

    name = "cuSPARSE"
    kernels = ["SpMV", "SpMM", "SDDMM"]

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.sparse = ctypes.CDLL(next(iter(found("libcusparse.so.12")), "libcusparse.so.12"))
        self.check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))
        self.handle = ctypes.c_void_p()
        self.check(self.sparse.cusparseCreate(ctypes.byref(self.handle)))
        self.memory = []

    @staticmethod
    def check(status):
        if status:
            raise Failed(f"cuSPARSE or the driver: error {status}")

    def room(self, count):
        address = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(count, 8))))
        self.memory.append(address)
        return ctypes.c_void_p(address.value)

    def put(self, values):
        data = values.tobytes()
        place = self.room(len(data))
        self.check(self.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(place.value), data, ctypes.c_size_t(len(data))))
        return place

    def free(self):
        for address in self.memory:
            self.cuda.cuMemFree_v2(address)
        self.memory = []

    def made(self, name, *args):
        descriptor = ctypes.c_void_p()
        self.check(getattr(self.sparse, name)(ctypes.byref(descriptor), *args))
        return descriptor

    def dense(self, rows, columns, values):
        number = ctypes.c_int64
        # Rows one after the other (CUSPARSE_ORDER_ROW), of float64 (CUDA_R_64F).
        return self.made("cusparseCreateDnMat", number(rows), number(columns), number(columns), values, 1, 2)

    def timed(self, call):
        """The least time of ten runs, in milliseconds."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.check(self.cuda.cuEventCreate(ctypes.byref(event), 0))
        least = math.inf
        for _ in range(10):
            self.check(self.cuda.cuEventRecord(events[0], None))
            self.check(call())
            self.check(self.cuda.cuEventRecord(events[1], None))
            self.check(self.cuda.cuEventSynchronize(events[1]))
            spent = ctypes.c_float()
            self.check(self.cuda.cuEventElapsedTime(ctypes.byref(spent), *events))
            least = min(least, spent.value)
        return least

    def time(self, kernel, matrix, _, dense):
        """The time of a kernel, in milliseconds."""
        try:
            return self.kernel(kernel, matrix, dense)
        except AttributeError as missing:
            raise Failed(f"this release of cuSPARSE has no such function: {missing}") from missing
        finally:
            self.free()

    def kernel(self, kernel, matrix, dense):
        number = ctypes.c_int64
        one, zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
        one, zero = ctypes.byref(one), ctypes.byref(zero)
        rows, columns = matrix.shape
        csr = self.made(
            "cusparseCreateCsr",
            number(rows),
            number(columns),
            number(len(matrix.columns)),
            self.put(matrix.positions),
            self.put(matrix.columns),
            self.put(matrix.values),
            2,  # positions of 32 bits
            2,  # coordinates of 32 bits
            0,  # from 0
            1,  # float64
        )
        size, sparse, handle = ctypes.c_size_t(), self.sparse, self.handle
        if kernel == "SpMV":
            x = self.made("cusparseCreateDnVec", number(columns), self.put(dense["x"]), 1)
            y = self.made("cusparseCreateDnVec", number(rows), self.room(8 * rows), 1)
            args = (handle, 0, one, csr, x, zero, y, 1, 0)
            self.check(sparse.cusparseSpMV_bufferSize(*args, ctypes.byref(size)))
            buffer = self.room(size.value)
            return self.timed(lambda: sparse.cusparseSpMV(*args, buffer))
        if kernel == "SpMM":
            x = self.dense(columns, COLUMNS, self.put(dense["X"]))
            y = self.dense(rows, COLUMNS, self.room(8 * rows * COLUMNS))
            args = (handle, 0, 0, one, csr, x, zero, y, 1, 0)
            self.check(sparse.cusparseSpMM_bufferSize(*args, ctypes.byref(size)))
            buffer = self.room(size.value)
            return self.timed(lambda: sparse.cusparseSpMM(*args, buffer))
        b = self.dense(rows, COLUMNS, self.put(dense["B"]))
        d = self.dense(columns, COLUMNS, self.put(dense["D"]))
        args = (handle, 0, 1, one, b, d, zero, csr, 1, 0)
        self.check(sparse.cusparseSDDMM_bufferSize(*args, ctypes.byref(size)))
        buffer = self.room(size.value)
        self.check(sparse.cusparseSDDMM_preprocess(*args, buffer))
        return self.timed(lambda: sparse.cusparseSDDMM(*args, buffer))


# --- CuPy ---


class CuPy:
    """CuPy's sparse matrices, where it is installed."""

    name = "CuPy"
    kernels = ["SpMV", "SpMM", "SpAdd", "SpGEMM"]

    def __init__(self):
        import cupy
        from cupyx.scipy import sparse

        self.cupy, self.sparse = cupy, sparse

    def csr(self, matrix):
        arrays = tuple(self.cupy.array(values) for values in (matrix.values, matrix.columns, matrix.positions))
        return self.sparse.csr_matrix(arrays, shape=matrix.shape)

    def time(self, kernel, matrix, other, dense):
        """The time of a kernel, in milliseconds: the least of ten runs, after one that compiles."""
        a = self.csr(matrix)
        if kernel in ("SpMV", "SpMM"):
            x = self.cupy.array(dense["x" if kernel == "SpMV" else "X"])
            x = x if kernel == "SpMV" else x.reshape(-1, COLUMNS)
            call = lambda: a @ x
        elif kernel == "SpAdd":
            b = self.csr(other)
            call = lambda: a + b
        else:
            call = lambda: a @ a
        try:
            call()
            return min(self.once(call) for _ in range(10))
        except Exception as failed:
            raise Failed(f"CuPy: {failed}") from failed

    def once(self, call):
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(begin, end)


def found(name):
    """Where a library may be: of Python's packages, then of a toolkit."""
    for folder in sys.path:
        yield from glob.glob(os.path.join(folder, "nvidia", "*", "lib", name))
    yield from glob.glob(f"/usr/local/cuda*/lib64/{name}")
    yield from glob.glob(f"/usr/local/cuda*/targets/*/lib/{name}")


# --- the table ---


def kernel_lines(asked, family, entries, peers, ratios):
    """The lines of a matrix, as they are known."""
    rng = random.Random(7)
    matrix = Matrix(family, entries, rng)
    rows, columns = matrix.shape
    dense = {"x": (columns,), "X": (columns, COLUMNS), "B": (rows, COLUMNS), "D": (columns, COLUMNS)}
    drawn = array.array("d", (rng.randrange(-8, 9) / 8 for _ in range(1 << 12)))
    of = {}
    for name, shape in dense.items():
        count = math.prod(shape)
        of[name] = (drawn * (count // len(drawn) + 1))[:count]
    with tempfile.TemporaryDirectory() as folder:
        matrix.write(os.path.join(folder, "A.npz"))
        other = Matrix(family, entries, random.Random(8))
        other.write(os.path.join(folder, "B.npz"))
        for name, shape in dense.items():
            with open(os.path.join(folder, f"{name}.npy"), "wb") as file:
                file.write(npy(of[name], shape))
        for kernel, (program, plans) in KERNELS.items():
            if kernel == "SpGEMM" and entries > SQUARED:
                continue
            with open(os.path.join(folder, f"{kernel}.loom"), "w") as file:
                file.write(program)
            out = RESULTS[kernel]
            run(asked.binary, folder, kernel, "llvm", "", f"meant-{out}")
            meant = values_of(os.path.join(folder, f"meant-{out}"))
            theirs = {}
            for peer in (peer for peer in peers if kernel in peer.kernels):
                try:
                    theirs[peer.name] = peer.time(kernel, matrix, other, of)
                except Failed as failed:
                    yield [kernel, family, len(matrix.columns), peer.name, "", "", "", str(failed)]
            best = math.inf
            for plan, schedule in plans.items():
                try:
                    said = run(asked.binary, folder, kernel, "nvptx", schedule, out, asked.repeat)
                except Failed as failed:
                    yield [kernel, family, len(matrix.columns), plan, "", "", "", str(failed)]
                    continue
                ours = said["ops"]["gpu_nanoseconds"] / 1e6
                best = min(best, ours)
                right = near(values_of(os.path.join(folder, out)), meant)
                ratio = f"{min(theirs.values()) / ours:.2f}" if theirs and ours else ""
                line = [kernel, family, len(matrix.columns), plan, f"{ours:.4f}", f"{said['run_ms']['min']:.1f}", ratio]
                yield [*line, "" if right else "WRONG VALUES"]
            for name, spent in theirs.items():
                yield [kernel, family, len(matrix.columns), name, f"{spent:.4f}", "", "", ""]
                if best < math.inf:
                    ratios.setdefault((kernel, name), []).append(spent / best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--entries", default="1000000,4000000")
    parser.add_argument("--seconds", type=float, default=420.0, help="no matrix is begun behind them")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers", default="cuSPARSE,CuPy", help="those that are timed beside, or none")
    asked = parser.parse_args()
    asked.binary = os.path.abspath(asked.binary)
    peers = []
    for peer, package in [(CuSparse, "nvidia-cusparse-cu12"), (CuPy, "cupy-cuda12x")]:
        if peer.name not in asked.peers.split(","):
            continue
        try:
            peers.append(peer())
        except (ImportError, OSError, AttributeError, Failed) as why:
            print(f"{peer.name} is not there (pip install {package}): {why}\n", flush=True)
    print("| kernel | family | entries | plan | kernel ms | call ms | fastest peer by ours | |", flush=True)
    print("|---|---|---|---|---|---|---|---|", flush=True)
    begun, ratios, wrong = time.monotonic(), {}, False
    for entries in map(int, asked.entries.split(",")):
        for family in ["uniform", "banded", "blocks", "power law"]:
            if time.monotonic() - begun > asked.seconds:
                print(f"\nNo time was left for {family}, {entries} entries.", flush=True)
                continue
            for line in kernel_lines(asked, family, entries, peers, ratios):
                wrong |= bool(line[-1])
                print("| " + " | ".join(map(str, line)) + " |", flush=True)
    for (kernel, name), all_of in ratios.items():
        mean = math.exp(sum(map(math.log, all_of)) / len(all_of))
        print(f"\n{kernel}: {name} takes {mean:.2f} times our fastest plan, the geometric mean of {len(all_of)} matrices.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
