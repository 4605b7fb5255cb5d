"""What an adapter handed to our kernels and what it left to the library, counted, and held to what `expected.toml` pins.

An adapter is a pytest plugin that puts functions of ours in the place of a library's. Each is made by `Ledger.answers`: it
computes by a program of the language, or raises `NotSaid` with a reason, upon which the library's own function answers. What
else it raises is an error of the test, unless the message is one of the suite's *refusals*.
"""

from __future__ import annotations

import collections
import functools
import json
import re
import tomllib
import zlib
from pathlib import Path

import numpy as np
import pytest

import fiberloom as fl

EXPECTED = Path(__file__).with_name("expected.toml")

#: The largest result of which each value is compared.
MOST = 1 << 22


class NotSaid(Exception):
    """The language does not say this, or the adapter does not: the reason is counted, and the library answers."""


class Ledger:
    """Counts, by operation, of calls that our kernels answered, and by reason of those that the library did."""

    def __init__(self, dense=None):
        """`dense` makes an ndarray of a result of the library's, by which ours are compared with its own if asked for."""
        self.dense, self.compares = dense, False
        self.ours = collections.Counter()
        self.theirs = collections.defaultdict(collections.Counter)
        self.refusals: dict[str, str] = {}

    def answers(self, operation: str, original):
        """Decorates our function for an operation; `original` answers where ours does not."""

        def decorate(ours):
            @functools.wraps(original)
            def call(*args, **kwargs):
                try:
                    result = ours(*args, **kwargs)
                except NotSaid as e:
                    reason = str(e)
                except fl.Error as e:
                    reason = self._refusal(e)
                    if reason is None:
                        raise
                else:
                    self.ours[operation] += 1
                    if self.compares:
                        self._compare(operation, result, original(*args, **kwargs))
                    return result
                self.theirs[operation][reason] += 1
                return original(*args, **kwargs)

            return call

        return decorate

    def _compare(self, operation: str, ours, theirs) -> None:
        """An error unless the library gives the same values of the same type."""
        if isinstance(ours, tuple):
            # `_reduce_calc` of `sparse`, whose own result is not yet an array.
            return
        if max(getattr(ours, "size", 1), 1) > MOST:
            return
        ours, theirs = self.dense(ours), self.dense(theirs)
        assert ours.dtype == theirs.dtype, f"{operation}: the type is {ours.dtype}, and the library's {theirs.dtype}"
        near = 1e-5 if ours.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=near, atol=near, err_msg=operation)

    def _refusal(self, error: fl.Error) -> str | None:
        return next((reason for text, reason in self.refusals.items() if re.search(text, str(error))), None)

    def counts(self) -> dict:
        """All counts, operations by name."""
        theirs = {operation: dict(reasons.most_common()) for operation, reasons in sorted(self.theirs.items())}
        return {"ours": dict(sorted(self.ours.items())), "theirs": theirs}


class Plugin:
    """Holds a run of pytest to what is pinned of its suite."""

    def __init__(self, ledger: Ledger, config):
        self.ledger, self.counts_path = ledger, config.getoption("--fl-counts")
        with EXPECTED.open("rb") as file:
            pinned = tomllib.load(file).get(config.getoption("--fl-suite"), {})
        self.part = config.getoption("--fl-part")
        self.handed = pinned.get("handed" if self.part == 1 else "handed in part", {})
        self.failures = {test: entry["reason"] for entry in pinned.get("failures", []) for test in entry["tests"]}
        ledger.refusals = pinned.get("refusals", {})
        ledger.compares = config.getoption("--fl-compare") and ledger.dense is not None
        self.missed: list[str] = []

    def pytest_collection_modifyitems(self, config, items):
        unseen = set(self.failures)
        for item in items:
            for name in (_name(item), _name(item).partition("[")[0]):
                if name in self.failures:
                    item.add_marker(pytest.mark.xfail(reason=self.failures[name], strict=True))
                    unseen.discard(name)
        self.missed += [f"{name} is listed as a failure and is no test" for name in sorted(unseen)]
        left = [item for item in items if zlib.crc32(_name(item).encode()) % self.part]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if zlib.crc32(_name(item).encode()) % self.part == 0]

    def pytest_sessionfinish(self, session):
        for operation, least in self.handed.items():
            handed = self.ledger.ours[operation]
            if handed < least:
                self.missed.append(f"{operation}: {handed} calls were handed over, {least} are pinned")
        if self.counts_path:
            Path(self.counts_path).write_text(json.dumps(self.ledger.counts(), indent=1) + "\n")
        if self.missed and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        counts = self.ledger.counts()
        terminalreporter.section("handed to Fiberloom's kernels")
        for operation in sorted({*counts["ours"], *counts["theirs"]}):
            reasons = counts["theirs"].get(operation, {})
            left = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            terminalreporter.line(f"{operation:24} {counts['ours'].get(operation, 0):6}   {'left: ' + left if left else ''}")
        for line in self.missed:
            terminalreporter.line(f"not as pinned: {line}", red=True)


def _name(item) -> str:
    """A test as `expected.toml` names it: its file's name, its class if it has one, its own name."""
    return "::".join([item.path.stem, *item.nodeid.split("::")[1:]])


def options(parser) -> None:
    """The options of each adapter."""
    group = parser.getgroup("fiberloom")
    group.addoption("--fl-suite", default="", help="the suite in expected.toml whose counts and failures are pinned")
    group.addoption("--fl-part", type=int, default=1, help="every so many-th test alone, by the remainder of its name")
    group.addoption("--fl-compare", action="store_true", help="compare each answer with the library's own, too")
    group.addoption("--fl-counts", default=None, help="a JSON file for the counts")
