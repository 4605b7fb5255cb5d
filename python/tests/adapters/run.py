"""Runs other projects' own tests with our kernels under them: `python run.py [SUITE…] [--jobs N] [--part] [--counts FOLDER]`.

Each suite is a process of pytest with an adapter; what it must hand over and which tests fail is pinned in `expected.toml`. The
time of each is printed. `sparse`, `scipy` and `graphblas` are those that are installed: a suite whose package is missing is an
error, unless `--installed` leaves it out.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Suite(NamedTuple):
    """Tests of a package, under an adapter; `--part` runs one of so many."""

    package: str
    adapter: str
    tests: list[str]
    part: int = 48


def _sparse(*files: str) -> list[str]:
    return [f"sparse.numba_backend.tests.test_{file}" for file in files]


#: In the order in which they are begun: those that take longest first.
SUITES = {
    "sparse-coo": Suite("sparse", "sparse_adapter", _sparse("coo")),
    # csr and csc: arrays, and arrays whose entries stand twice or out of order. Matrices take the same ways.
    "scipy": Suite(
        "scipy",
        "scipy_adapter",
        ["scipy.sparse.tests.test_base", "-k", "(TestCSR or TestCSC) and not Matrix and not test_slicing_3"],
    ),
    "sparse": Suite("sparse", "sparse_adapter", _sparse("einsum", "elemwise", "dot")),
    "graphblas-matrix": Suite("graphblas", "graphblas_adapter", ["graphblas.tests.test_matrix"], 16),
    "graphblas-vector": Suite("graphblas", "graphblas_adapter", ["graphblas.tests.test_vector"], 16),
}


def main() -> int:
    """The exit status: how many suites are not as pinned."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at a time")
    parser.add_argument("--part", action="store_true", help="run one of many tests, by their names, with counts of its own")
    parser.add_argument("--counts", type=Path, help="a folder for the counts, a JSON file for each suite")
    parser.add_argument("--cache", type=Path, help="a folder in which numba keeps what it compiles")
    parser.add_argument("--installed", action="store_true", help="leave out suites whose package is not installed")
    given = parser.parse_args()
    unknown = set(given.suites) - SUITES.keys()
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}: {', '.join(SUITES)}")
    chosen = [name for name in SUITES if not given.suites or name in given.suites]
    if given.installed:
        chosen = [name for name in chosen if importlib.util.find_spec(SUITES[name].package)]
    if given.counts:
        given.counts.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        failed = sum(pool.map(lambda name: _run(name, given), chosen))
    print(f"{len(chosen)} suites, {failed} not as pinned, {time.monotonic() - began:.0f} s")
    return failed


def _run(name: str, given) -> bool:
    """Whether a suite is not as pinned; what pytest prints is shown then."""
    suite = SUITES[name]
    command = [sys.executable, "-m", "pytest", "-p", suite.adapter, "-p", "no:cacheprovider", "-q", "--tb=short"]
    command += ["-W", "ignore::pytest.PytestUnknownMarkWarning", f"--fl-suite={name}"]
    if given.part:
        command.append(f"--fl-part={suite.part}")
    if given.counts:
        command.append(f"--fl-counts={given.counts.absolute() / name}.json")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *_path()])}
    if given.cache:
        environment["NUMBA_CACHE_DIR"] = str(given.cache.absolute())
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--pyargs", *suite.tests], cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    summary = next((line for line in reversed(done.stdout.splitlines()) if " in " in line), "no summary")
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-4_000:], sep="\n")
    verdict = "as pinned" if done.returncode == 0 else "NOT AS PINNED"
    print(f"{name:18} {verdict:14} {time.monotonic() - began:5.0f} s   {summary}", flush=True)
    return done.returncode != 0


def _path() -> list[str]:
    return [folder for folder in [os.environ.get("PYTHONPATH")] if folder]


if __name__ == "__main__":
    sys.exit(main())
