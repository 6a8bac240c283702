"""Kernels, fits and the calculus of belief functions give the same results in Pyodide as here."""

import json
import subprocess
import sys

import pytest

from tests.browser.conftest import HERE, ROOT

KERNEL_TESTS = (
    *("tests/native/test_binding.py", "tests/native/test_declarations.py"),
    *("tests/optimize", "tests/cluster/test_kernels.py"),
    *(
        "tests/cluster/test_mixture_kernels.py",
        "tests/cluster/test_neighbor_kernels.py",
    ),
    *(
        "tests/cluster/test_prototype_kernels.py",
        "tests/cluster/evclus/test_kernels.py",
    ),
    *("tests/cluster/test_relational_kernels.py",),
)
CALCULUS_TESTS = (
    *("tests/belief/test_operators.py", "tests/belief/test_mass_functions.py"),
    *("tests/belief/test_decisions.py", "tests/belief/test_focal_sets.py"),
    *("tests/belief/test_discounting.py", "tests/belief/test_refinement.py"),
)


@pytest.mark.parametrize(
    "tests", [KERNEL_TESTS, CALCULUS_TESTS], ids=["kernels", "calculus"]
)
def test_tests_of_the_package(pyodide, test_packages, tests):
    printed = pyodide("run_pytest.py", test_packages, ROOT, *tests)
    assert " passed" in printed.splitlines()[-1]


def test_fits(pyodide):
    done = subprocess.run(
        [sys.executable, HERE / "fits.py"], capture_output=True, text=True, check=True
    )
    here = json.loads(done.stdout)
    there = json.loads(pyodide("fits.py"))
    assert there == here
    assert len(here) >= 25
